"""The older form is read as v1, with one line that shows the v1 form."""

import pytest

from koordpy.config.load import parse, parse_whole
from koordpy.config.validate import check_start
from koordpy.errors import ConfigError
from koordpy.framework.registry import Registry

OLD = "kubescheduler.config.k8s.io/v1beta3"
NEW = "kubescheduler.config.k8s.io/v1"
POINTS = "".join(
    f"      {point}: {{enabled: [{{name: DeviceShare}}]}}\n" for point in ("preFilter", "filter", "reserve", "preBind")
)


def article(version: str, args: str) -> str:
    """The file of the article on sharing GPUs."""
    return (
        f"apiVersion: {version}\nkind: KubeSchedulerConfiguration\nleaderElection: {{leaderElect: false}}\n"
        f"profiles:\n  - schedulerName: koord-scheduler\n    plugins:\n{POINTS}"
        f"    pluginConfig: [{{name: DeviceShare, args: {args}}}]\n"
    )


def test_the_articles_file_comes_to_the_same_as_its_v1_form() -> None:
    old = parse_whole(
        article(OLD, f"{{apiVersion: {OLD}, kind: DeviceShareArgs, allocator: default}}"), "f", Registry()
    )
    new = parse_whole(
        article(NEW, f"{{apiVersion: {NEW}, kind: DeviceShareArgs, allocator: default}}"), "f", Registry()
    )
    assert old.profiles == new.profiles
    assert old.configuration.model_dump() == new.configuration.model_dump()


def test_the_warning_is_one_line_and_shows_a_v1_form_that_can_be_read() -> None:
    text = article(OLD, f"{{apiVersion: {OLD}, kind: DeviceShareArgs, allocator: default}}")
    read = parse(text, "conf.yaml")
    (warning,) = check_start(read, "conf.yaml")
    assert "\n" not in warning
    assert warning.startswith(f"conf.yaml: apiVersion {OLD} is old; read as {NEW}, with the default plugins of that ")
    assert "(changed: line 1 and in the arguments of DeviceShare)" in warning
    shown = warning[warning.index("{apiVersion") :]
    assert OLD not in shown
    assert parse(shown, "shown").model_dump() == read.model_dump()


def test_old_arguments_in_a_new_file_are_read_likewise() -> None:
    read = parse_whole(article(NEW, f"{{apiVersion: {OLD}, kind: DeviceShareArgs}}"), "conf.yaml", Registry())
    (warning,) = check_start(read.configuration, "conf.yaml")
    assert "(changed: arguments of DeviceShare)" in warning


def test_mistakes_of_an_old_file_are_told_with_its_own_lines() -> None:
    with pytest.raises(ConfigError) as refused:
        parse_whole(article(OLD, "{allocator: densest}"), "conf.yaml", Registry())
    assert str(refused.value) == (
        "conf.yaml:11: profiles[0].pluginConfig[0].args.allocator is 'densest': "
        "unknown; it is one of default, binpack, spread"
    )


@pytest.mark.parametrize("body", ["profiles: 5", "profiles: [5]", "profiles: [{pluginConfig: [5, {args: []}]}]"])
def test_an_old_file_that_is_wrong_is_refused_and_no_crash(body: str) -> None:
    with pytest.raises(ConfigError):
        parse(f"apiVersion: {OLD}\nkind: KubeSchedulerConfiguration\n{body}\n", "conf.yaml")


def test_a_file_of_v1_says_nothing() -> None:
    assert check_start(parse(article(NEW, "{}"), "conf.yaml"), "conf.yaml") == []

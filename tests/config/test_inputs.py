"""Files from the field behave as their first lines say; here, as far as reading and expanding goes."""

from pathlib import Path

import pytest

from koordpy.config.load import Loaded, load_whole, parse_whole
from koordpy.config.validate import check_start
from koordpy.errors import ConfigError
from koordpy.framework.build import build_all
from koordpy.framework.registry import Registry

INPUTS = Path(__file__).parents[1] / "inputs"


def path_of(number: str) -> Path:
    (path,) = INPUTS.glob(f"{number}-*.yaml")
    return path


def started(number: str) -> tuple[Loaded, list[str]]:
    """Everything of a start that needs no cluster."""
    loaded = load_whole(path_of(number), Registry())
    warnings = [*check_start(loaded.configuration, number), *loaded.warnings]
    build_all(loaded.profiles, Registry(), lambda *said: None)
    return loaded, warnings


def refusal(number: str) -> list[str]:
    with pytest.raises(ConfigError) as error:
        started(number)
    return str(error.value).splitlines()


def points_of(loaded: Loaded, plugin: str) -> set[str]:
    (profile,) = loaded.profiles
    return {point for point, names in profile.points.items() if plugin in names}


def test_08_a_full_file_starts_with_device_share_everywhere_and_its_own_weight() -> None:
    loaded, warnings = started("08")
    assert warnings == []
    assert points_of(loaded, "DeviceShare") == {"preFilter", "filter", "preScore", "score", "reserve", "preBind"}
    assert loaded.profiles[0].weights["DeviceShare"] == 3
    assert loaded.configuration.leader_election.leader_elect


def test_09_exactly_three_plugins_run() -> None:
    loaded, warnings = started("09")
    assert loaded.profiles[0].plugins == ("PrioritySort", "DeviceShare", "DefaultBinder")
    assert warnings == []


def test_09_without_the_binder_is_refused() -> None:
    text = path_of("09").read_text(encoding="utf-8").replace("          - name: DefaultBinder\n", "")
    with pytest.raises(
        ConfigError, match='at least one bind plugin is needed for profile with scheduler name "koordpy-m'
    ):
        parse_whole(text, "09", Registry())


def test_10_an_old_version_is_refused_in_one_line_with_file_found_and_supported() -> None:
    (line,) = refusal("10")
    assert line.startswith(f"{path_of('10')}:3: apiVersion is 'kubescheduler.config.k8s.io/v1beta2': ")
    assert "kubescheduler.config.k8s.io/v1 " in line


def test_11_exactly_the_unknown_fields_are_told_in_one_message() -> None:
    assert [line.split(" ")[1] for line in refusal("11")] == ["kubeconfig", "leaderElect"]


@pytest.mark.parametrize("number", ["25", "26"])
def test_25_and_26_are_read_like_v1_with_one_line_and_run_where_they_say(number: str) -> None:
    loaded, warnings = started(number)
    (old,) = warnings
    assert "{apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration, " in old
    assert "v1beta3 is old" in old
    assert points_of(loaded, "DeviceShare") == {"preFilter", "filter", "reserve", "preBind"}


def test_26_with_an_unknown_allocator_is_refused_with_the_three_that_there_are() -> None:
    text = path_of("26").read_text(encoding="utf-8").replace("allocator: binpack", "allocator: densest")
    with pytest.raises(ConfigError, match="allocator is 'densest': unknown; it is one of default, binpack, spread"):
        parse_whole(text, "26", Registry())

"""What a configuration comes to, and what may not start although it can be read."""

import pytest

from koordpy.config.defaults import DEFAULT_PLUGINS
from koordpy.config.expand import default_configuration, resolve
from koordpy.config.load import parse
from koordpy.config.validate import check_start
from koordpy.errors import ConfigError

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
NO_ELECTION = "leaderElection: {leaderElect: false}\n"


def test_o01_a_nameless_profile_is_read_as_kube_schedulers() -> None:
    (profile,) = resolve(parse(HEAD, "conf.yaml"))
    assert profile.scheduler_name == "default-scheduler"


def test_without_a_file_the_profile_has_a_name_of_its_own() -> None:
    (profile,) = resolve(default_configuration())
    assert profile.scheduler_name == "koordpy-scheduler"
    assert [warning for warning in check_start(default_configuration(), "defaults") if "race" in warning] == []


def test_every_profile_gets_the_default_plugins_in_their_order_and_its_own_arguments() -> None:
    text = (
        HEAD
        + "profiles:\n- schedulerName: a\n  pluginConfig: [{name: X, args: {k: 1}}, {name: Y}]\n- schedulerName: b\n"
    )
    first, second = resolve(parse(text, "conf.yaml"))
    assert first.plugins == second.plugins == tuple(name for name, _ in DEFAULT_PLUGINS)
    assert first.weights == {"TaintToleration": 3, "NodeResourcesFit": 1, "DeviceShare": 1}
    assert (first.args, second.args) == ({"X": {"k": 1}, "Y": {}}, {})


@pytest.mark.parametrize("body", ["", "profiles: [{}]\n", "profiles: [{pluginConfig: []}]\n"])
def test_a_nameless_profile_does_not_start_and_is_told_the_line_to_add(body: str) -> None:
    with pytest.raises(ConfigError) as refused:
        check_start(parse(HEAD + body, "conf.yaml"), "conf.yaml")
    text = str(refused.value)
    assert text.startswith("conf.yaml: profiles[0].schedulerName: read as default-scheduler, kube-scheduler's own name")
    assert "Add the line `schedulerName: koordpy-scheduler` to this profile" in text
    assert "or `schedulerName: default-scheduler` if you mean to replace kube-scheduler" in text


def test_kube_schedulers_name_written_out_starts_with_a_warning() -> None:
    text = HEAD + NO_ELECTION + "profiles: [{schedulerName: default-scheduler}]\n"
    (warning,) = check_start(parse(text, "conf.yaml"), "conf.yaml")
    assert warning.startswith("conf.yaml: schedulerName default-scheduler is kube-scheduler's own; ")
    assert "two schedulers now race for the same Pods" in warning


def test_leader_election_that_is_not_there_is_warned_about() -> None:
    text = HEAD + "profiles: [{schedulerName: a}]\n"
    (warning,) = check_start(parse(text, "conf.yaml"), "conf.yaml")
    assert "this version has no leader election; run one replica" in warning


def test_a_profile_with_a_name_and_no_election_starts_without_a_word() -> None:
    text = HEAD + NO_ELECTION + "profiles: [{schedulerName: a}]\n"
    assert check_start(parse(text, "conf.yaml"), "conf.yaml") == []

"""What may not start although it can be read, and what is said at start."""

import pytest

from koordpy.config.expand import default_configuration, resolve
from koordpy.config.load import parse
from koordpy.config.validate import check_start
from koordpy.errors import ConfigError

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
NO_ELECTION = "leaderElection: {leaderElect: false}\n"
NAMED = NO_ELECTION + "profiles: [{schedulerName: a}]\n"


def warnings(body: str) -> list[str]:
    return check_start(parse(HEAD + body, "conf.yaml"), "conf.yaml")


def refused(body: str) -> str:
    with pytest.raises(ConfigError) as error:
        warnings(body)
    return str(error.value)


def test_o01_a_nameless_profile_is_read_as_kube_schedulers() -> None:
    (profile,) = resolve(parse(HEAD, "conf.yaml"))
    assert profile.scheduler_name == "default-scheduler"


def test_without_a_file_the_profile_has_a_name_of_its_own() -> None:
    (profile,) = resolve(default_configuration())
    assert profile.scheduler_name == "koordpy-scheduler"
    assert [warning for warning in check_start(default_configuration(), "defaults") if "race" in warning] == []


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ("", "conf.yaml"),
        ("profiles: [{}]\n", "conf.yaml:3"),
        ("profiles: [{pluginConfig: []}]\n", "conf.yaml:3"),
        ("profiles: []\n", "conf.yaml:3"),
    ],
)
def test_a_nameless_profile_does_not_start_and_is_told_the_line_to_add(body: str, place: str) -> None:
    text = refused(body)
    assert text.startswith(f"{place}: profiles[0].schedulerName: read as default-scheduler, kube-scheduler's own name")
    assert "Add the line `schedulerName: koordpy-scheduler` to this profile" in text
    assert "or `schedulerName: default-scheduler` if you mean to replace kube-scheduler" in text


def test_an_extender_does_not_start_and_is_told_why_and_the_way_out() -> None:
    (told,) = refused(NAMED + "extenders: [{urlPrefix: 'https://ext', filterVerb: filter}]\n").splitlines()
    assert told.startswith("conf.yaml:5: extenders[0] is 'https://ext': koordpy does not call extenders: ")
    assert "its scheduling cycle never awaits" in told
    assert "Make it a plugin, in Python; one that binds: the `bind` hook of a plugin" in told


def test_all_reasons_not_to_start_are_told_at_once() -> None:
    assert len(refused("extenders: [{urlPrefix: a}, {urlPrefix: b}]\n").splitlines()) == 3


def test_kube_schedulers_name_written_out_starts_with_a_warning() -> None:
    (warning,) = warnings(NO_ELECTION + "profiles: [{schedulerName: default-scheduler}]\n")
    assert warning.startswith("conf.yaml: schedulerName default-scheduler is kube-scheduler's own; ")
    assert "two schedulers now race for the same Pods" in warning


@pytest.mark.parametrize("election", ["", "leaderElection:\n", "leaderElection: {leaderElect: true}\n"])
def test_a_profile_with_a_name_and_an_election_starts_without_a_word(election: str) -> None:
    assert warnings(f"{election}profiles: [{{schedulerName: a}}, {{schedulerName: b}}]\n") == []


def test_kube_schedulers_lease_is_never_taken_and_ours_is_named() -> None:
    told = refused(
        "leaderElection:\n  resourceNamespace: kube-system\n  resourceName: kube-scheduler\n"
        "profiles: [{schedulerName: a}]\n"
    )
    assert told == (
        "conf.yaml:5: leaderElection.resourceName is 'kube-scheduler': with resourceNamespace kube-system this is "
        "kube-scheduler's own lease, and of the two only one would schedule. Leave both keys out: "
        "koordpy-system/koordpy-scheduler"
    )


@pytest.mark.parametrize(
    "election",
    [
        "{resourceName: kube-scheduler}",
        "{resourceNamespace: kube-system}",
        "{leaderElect: false, resourceName: kube-scheduler, resourceNamespace: kube-system}",
    ],
    ids=["in our namespace", "our name", "no election"],
)
def test_a_lease_that_is_not_kube_schedulers_may_be_called_anything(election: str) -> None:
    assert warnings(f"leaderElection: {election}\nprofiles: [{{schedulerName: a}}]\n") == []


def test_a_profile_with_a_name_and_no_election_starts_without_a_word() -> None:
    assert warnings(NAMED) == []


def test_keys_that_nothing_reads_are_named_in_one_warning() -> None:
    (warning,) = warnings(
        NO_ELECTION + "parallelism: 4\nclientConnection: {qps: 200, burst: 100, contentType: application/json}\n"
        "enableProfiling: false\nprofiles: [{schedulerName: a}]\n"
    )
    assert warning == (
        "conf.yaml: read, but without effect in this version: parallelism, enableProfiling, clientConnection.qps"
    )

"""Every mistake of a file is told with its file and line, path, value, and what would be right."""

from pathlib import Path
from typing import Any

import pytest

from koordpy.config.load import load, parse
from koordpy.config.models import KubeSchedulerConfiguration
from koordpy.errors import ConfigError

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def row(name: str, *values: Any) -> Any:
    return pytest.param(*values, id=name)


def complaints(text: str) -> list[str]:
    with pytest.raises(ConfigError) as refused:
        parse(text, "conf.yaml")
    return str(refused.value).splitlines()


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        row(
            "O28 an unknown field at the top",
            "podMaxBackoffSecond: 3\n",
            "conf.yaml:3: podMaxBackoffSecond is '3': unknown field; did you mean podMaxBackoffSeconds?",
        ),
        row(
            "a point that does not exist",
            "profiles:\n- schedulerName: a\n  plugins: {scores: {}}\n",
            "conf.yaml:5: profiles[0].plugins.scores is '{}': unknown field; did you mean score?",
        ),
        row(
            "a field that is nowhere near any other",
            "leaderElection: {colour: red}\n",
            "conf.yaml:3: leaderElection.colour is 'red': unknown field; known here are leaderElect, leaseDuration, ",
        ),
        row(
            "Python's spelling of a field",
            "pod_max_backoff_seconds: 3\n",
            "conf.yaml:3: pod_max_backoff_seconds is '3': unknown field; did you mean podMaxBackoffSeconds?",
        ),
        row(
            "an unknown field that is null",
            "podMaxBackoffSecond:\n",
            "conf.yaml:3: podMaxBackoffSecond is 'null': unknown field; did you mean podMaxBackoffSeconds?",
        ),
        row(
            "a key that stands twice",
            "podMaxBackoffSeconds: 20\npodMaxBackoffSeconds: 30\n",
            "conf.yaml:4: podMaxBackoffSeconds: this key stands here twice, first on line 3",
        ),
        row(
            "a key that stands twice further down",
            "profiles:\n- schedulerName: a\n  schedulerName: b\n",
            "conf.yaml:5: profiles[0].schedulerName: this key stands here twice, first on line 4",
        ),
        row(
            "a back-off of zero",
            "podInitialBackoffSeconds: 0\n",
            "conf.yaml:3: podInitialBackoffSeconds is '0': must be greater than 0",
        ),
        row(
            "a negative back-off",
            "podMaxBackoffSeconds: -1\n",
            "conf.yaml:3: podMaxBackoffSeconds is '-1': must be greater than or equal to PodInitialBackoffSeconds",
        ),
        row(
            "a back-off that is a text",
            'podMaxBackoffSeconds: "10"\n',
            "conf.yaml:3: podMaxBackoffSeconds is '10': must be a whole number, not a text; take the quotes away",
        ),
        row(
            "a yes that is a text",
            "leaderElection:\n  leaderElect: 'yes'\n",
            "conf.yaml:4: leaderElection.leaderElect is 'yes': must be true or false",
        ),
        row(
            "a list where a mapping belongs",
            "leaderElection: []\n",
            "conf.yaml:3: leaderElection is '[]': must be a mapping",
        ),
        row(
            "a mapping where a list belongs",
            "profiles: {schedulerName: a}\n",
            'conf.yaml:3: profiles is \'{"schedulerName":"a"}\': must be a list',
        ),
        row(
            "an empty schedulerName",
            "profiles:\n- schedulerName: ''\n",
            "conf.yaml:4: profiles[0].schedulerName is '\"\"': Required",
        ),
        row(
            "a pluginConfig without a name",
            "profiles:\n- pluginConfig:\n  - args: {}\n",
            "conf.yaml:5: profiles[0].pluginConfig[0].name: Required: the plugin that these arguments are for",
        ),
        row(
            "arguments that are no mapping",
            "profiles:\n- pluginConfig:\n  - name: DeviceShare\n    args: 5\n",
            "conf.yaml:6: profiles[0].pluginConfig[0].args is '5': must be a mapping",
        ),
        row(
            "O06 a maximum below the initial back-off",
            "podInitialBackoffSeconds: 20\npodMaxBackoffSeconds: 10\n",
            "conf.yaml:4: podMaxBackoffSeconds is '10': must be greater than or equal to PodInitialBackoffSeconds",
        ),
        row(
            "O02 one of two profiles without a name",
            "profiles: [{}, {schedulerName: b}]\n",
            "conf.yaml:3: profiles[0].schedulerName: Required: with several profiles each needs a name",
        ),
        row(
            "O03 two profiles of one name",
            "profiles: [{schedulerName: b}, {schedulerName: b}]\n",
            "conf.yaml:3: profiles[1].schedulerName is 'b': Duplicate: an earlier profile has this name",
        ),
    ],
)
def test_a_mistake_is_told_with_its_place(body: str, complaint: str) -> None:
    (told,) = complaints(HEAD + body)
    assert told.startswith(complaint)


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        row(
            "O02 a profile without a name",
            "profiles:\n- {}\n- schedulerName: b\n",
            "conf.yaml:4: profiles[0].schedulerName",
        ),
        row(
            "O03 a name given twice",
            "profiles:\n- schedulerName: b\n- schedulerName: b\n",
            "conf.yaml:5: profiles[1].schedulerName",
        ),
        row(
            "O06 the maximum",
            "podMaxBackoffSeconds: 1\npodInitialBackoffSeconds: 2\n",
            "conf.yaml:3: podMaxBackoffSeconds",
        ),
    ],
)
def test_a_mistake_between_two_fields_is_told_with_the_line_of_one_of_them(body: str, complaint: str) -> None:
    assert complaints(HEAD + body)[0].startswith(complaint)


def test_all_mistakes_of_a_file_are_told_at_once_in_the_files_order() -> None:
    told = complaints(HEAD + "podMaxBackoffSeconds: x\nparallelism: 0\nprofiles:\n- scheduler: a\n")
    assert [line.split(" ")[0] + " " + line.split(" ")[1] for line in told] == [
        "conf.yaml:3: podMaxBackoffSeconds",
        "conf.yaml:4: parallelism",
        "conf.yaml:6: profiles[0].scheduler",
    ]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        row(
            "an older version",
            HEAD.replace("/v1", "/v1beta2"),
            "conf.yaml:1: apiVersion is 'kubescheduler.config.k8s.io/v1beta2': not read; write apiVersion: ",
        ),
        row(
            "another kind",
            HEAD.replace("KubeSched", "Sched"),
            "conf.yaml:2: kind is 'SchedulerConfiguration': not read; write kind: KubeSchedulerConfiguration",
        ),
        row(
            "no version",
            "kind: KubeSchedulerConfiguration\n",
            "conf.yaml: apiVersion: missing; write apiVersion: kubescheduler.config.k8s.io/v1 ",
        ),
        row(
            "a list",
            "- a\n",
            "conf.yaml: document is '[\"a\"]': a mapping with apiVersion: kubescheduler.config.k8s.io/v1",
        ),
        row("a text", "hello\n", "conf.yaml: document is 'hello': a mapping with apiVersion"),
        row("nothing", "", "conf.yaml: document is 'null': a mapping with apiVersion"),
        row("a comment", "# later\n", "conf.yaml: document is 'null': a mapping with apiVersion"),
        row("a bracket that is not closed", HEAD + "profiles: [\n", "conf.yaml:4: document: no YAML: "),
        row(
            "a tab", HEAD + "profiles:\n\t- a\n", "conf.yaml:4: document: no YAML: a tab; YAML is indented with spaces"
        ),
        row("a control character", HEAD + "a: \x01\n", "conf.yaml:1: document: no YAML: "),
        row("an alias of nothing", HEAD + "profiles: *x\n", "conf.yaml:3: document: no YAML: found undefined alias"),
        row(
            "a tag of Python",
            HEAD + "profiles: !!python/object:os.system {}\n",
            "conf.yaml:3: profiles is '{}': must be a list",
        ),
        row("two documents", HEAD + "---\n" + HEAD, "conf.yaml:3: document: only one document is read"),
    ],
)
def test_what_is_no_configuration_is_refused(text: str, complaint: str) -> None:
    assert complaints(text)[0].startswith(complaint)


@pytest.mark.parametrize(
    "key",
    [
        row("a list as a key", "? [a, b]\n: 1\n"),
        row("a mapping as a key", "? {a: b}\n: 1\n"),
        row("a number as a key", "1: 2\n"),
    ],
)
def test_a_strange_key_is_a_mistake_and_no_crash(key: str) -> None:
    assert complaints(HEAD + key)


def test_other_keys_are_not_judged_under_another_version() -> None:
    told = complaints("apiVersion: v9\nkind: Other\nwhatever: 1\n")
    assert [line.partition(" is ")[0] for line in told] == ["conf.yaml:1: apiVersion"]


def test_o01_a_minimal_file_means_upstreams_defaults() -> None:
    read = parse(HEAD, "conf.yaml")
    assert (read.pod_initial_backoff_seconds, read.pod_max_backoff_seconds) == (1, 10)
    assert read.leader_election.leader_elect
    assert [profile.scheduler_name for profile in read.profiles] == [None]


def test_what_stands_in_the_file_is_read() -> None:
    read = parse(
        HEAD
        + """
podInitialBackoffSeconds: 2
podMaxBackoffSeconds: 30
leaderElection: {leaderElect: false}
clientConnection: {kubeconfig: /etc/kube.conf}
profiles:
- schedulerName: gpu
  pluginConfig:
  - name: NodeResourcesFit
    args: {ignoredResources: [acme.io/npu]}
- schedulerName: other
""",
        "conf.yaml",
    )
    assert (read.pod_initial_backoff_seconds, read.pod_max_backoff_seconds) == (2, 30)
    assert (read.leader_election.leader_elect, read.client_connection.kubeconfig) == (False, "/etc/kube.conf")
    assert [profile.scheduler_name for profile in read.profiles] == ["gpu", "other"]
    (config,) = read.profiles[0].plugin_config
    assert (config.name, config.args) == ("NodeResourcesFit", {"ignoredResources": ["acme.io/npu"]})


def test_json_is_yaml() -> None:
    text = '{"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}'
    assert isinstance(parse(text, "conf.json"), KubeSchedulerConfiguration)


def test_an_anchor_may_be_used() -> None:
    read = parse(HEAD + "podInitialBackoffSeconds: &x 4\npodMaxBackoffSeconds: *x\n", "conf.yaml")
    assert read.pod_max_backoff_seconds == 4


def test_a_file_is_named_as_it_was_given(tmp_path: Path) -> None:
    path = tmp_path / "conf.yaml"
    path.write_text(HEAD + "nope: 1\n", encoding="utf-8")
    with pytest.raises(ConfigError) as refused:
        load(path)
    assert str(refused.value).startswith(f"{path}:3: nope is '1': unknown field")
    assert (refused.value.source, [problem.path for problem in refused.value.problems]) == (str(path), ["nope"])


@pytest.mark.parametrize("content", [row("no such file", None), row("no UTF-8", b"\xff\xfe\xff")])
def test_a_file_that_cannot_be_read_says_why(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "conf.yaml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError) as refused:
        load(path)
    assert str(refused.value).startswith(f"{path}: file: cannot be read: ")

"""What each field may be: upstream's rules in upstream's words, and all mistakes of a file at once."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from koordpy.config.durations import format_duration, parse_duration
from koordpy.config.load import parse, parse_whole
from koordpy.errors import ConfigError
from koordpy.framework.registry import Registry

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def row(name: str, *values: Any) -> Any:
    return pytest.param(*values, id=name)


def complaints(body: str) -> list[str]:
    with pytest.raises(ConfigError) as refused:
        parse_whole(HEAD + body, "conf.yaml", Registry())
    return str(refused.value).splitlines()


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        row("no parallelism", "parallelism: 0\n", "parallelism is '0': should be an integer value greater than zero"),
        row(
            "a number beyond 32 bits", "parallelism: 4294967296\n", "parallelism is '4294967296': must be at most 2147"
        ),
        row(
            "a percentage", "percentageOfNodesToScore: 101\n", "percentageOfNodesToScore is '101': not in valid range ["
        ),
        row(
            "a profile's percentage",
            "profiles: [{percentageOfNodesToScore: -1}]\n",
            "profiles[0].percentageOfNodesToScore is '-1': not in valid range [0-100]",
        ),
        row("burst", "clientConnection: {burst: -1}\n", "clientConnection.burst is '-1': must be non-negative"),
        row(
            "qps that is a text", "clientConnection: {qps: many}\n", "clientConnection.qps is 'many': must be a number"
        ),
        row(
            "a lease no longer than the deadline",
            "leaderElection: {leaseDuration: 15s, renewDeadline: 15s}\n",
            "leaderElection.leaseDuration is '15s': must be greater than `RenewDeadline`, which is 15s",
        ),
        row(
            "a deadline too near to the retries",
            "leaderElection: {renewDeadline: 2s, retryPeriod: 2s}\n",
            "leaderElection.renewDeadline is '2s': must be greater than 1.2 times `RetryPeriod`, which is 2s",
        ),
        row(
            "a lease of no time",
            "leaderElection: {leaseDuration: 0s}\n",
            "leaderElection.leaseDuration is '0s': must be greater than zero",
        ),
        row(
            "a lease that would be written as one that is given back",
            "leaderElection: {leaseDuration: 1900ms, renewDeadline: 1s, retryPeriod: 100ms}\n",
            "leaderElection.leaseDuration is '1.9s': must be at least 2s: a lease of one second counts as given back",
        ),
        row(
            "a deadline that a busy loop would miss",
            "leaderElection: {renewDeadline: 999ms, retryPeriod: 100ms}\n",
            "leaderElection.renewDeadline is '999ms': must be at least 1s: a scheduler whose loop is busy for half of",
        ),
        row(
            "renewals without a pause",
            "leaderElection: {retryPeriod: 100us}\n",
            "leaderElection.retryPeriod is '100µs': must be at least 100ms: each of them is a request to the API",
        ),
        *(
            row(
                f"a lease called {name!r}",
                f"leaderElection: {{resourceName: '{name}'}}\n",
                f"leaderElection.resourceName is '{name}': {right}",
            )
            for name, right in {
                "Foo Bar/..": "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters",
                "Scheduler": "a lowercase RFC 1123 subdomain must consist of",
                "scheduler ": "a lowercase RFC 1123 subdomain must consist of",
                "a..b": "a lowercase RFC 1123 subdomain must consist of",
                "a" * 254: "must be no more than 253 bytes",
            }.items()
        ),
        *(
            row(
                f"a lease in namespace {name!r}",
                f"leaderElection: {{resourceNamespace: '{name}'}}\n",
                f"leaderElection.resourceNamespace is '{name}': {right}",
            )
            for name, right in {
                "../x": "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-'",
                "kube-system ": "a lowercase RFC 1123 label must consist of",
                "Kube-System": "a lowercase RFC 1123 label must consist of",
                "a.b": "a lowercase RFC 1123 label must consist of",
                "a" * 64: "must be no more than 63 bytes",
            }.items()
        ),
        row(
            "another lock",
            "leaderElection: {resourceLock: endpoints}\n",
            "leaderElection.resourceLock is 'endpoints': resourceLock value must be \"leases\"",
        ),
        row(
            "a duration without a unit",
            "leaderElection: {leaseDuration: 15}\n",
            "leaderElection.leaseDuration is '15': a duration is a text with a unit, as 15s, 1m30s or 500ms; if",
        ),
        row(
            "a duration in days",
            "leaderElection: {leaseDuration: 1d}\n",
            "leaderElection.leaseDuration is '1d': a duration is a text with a unit",
        ),
        row(
            "an extender that prioritises without a weight",
            "extenders: [{urlPrefix: 'http://x', prioritizeVerb: p}]\n",
            "extenders[0].weight is '0': must have a positive weight applied to it",
        ),
        row(
            "two extenders that bind",
            "extenders: [{bindVerb: b}, {bindVerb: c}]\n",
            "extenders[1].bindVerb is 'c': only one extender can implement bind; found 2: extenders[0], extenders[1]",
        ),
        row(
            "an extender for a resource of Kubernetes' own",
            "extenders: [{managedResources: [{name: cpu}]}]\n",
            "extenders[0].managedResources[0].name is 'cpu': is an invalid extended resource name",
        ),
        row(
            "two extenders for one resource",
            "extenders: [{managedResources: [{name: a.io/x}]}, {managedResources: [{name: a.io/x}]}]\n",
            "extenders[1].managedResources[0].name is 'a.io/x': Duplicate: duplicate extender managed resource name",
        ),
    ],
)
def test_a_value_out_of_its_range_is_told_in_upstreams_words(body: str, complaint: str) -> None:
    (told,) = complaints(body)
    assert told.startswith(f"conf.yaml:3: {complaint}")


@pytest.mark.parametrize(
    "body",
    [
        row(
            "timings of an election that does not take place",
            "{leaderElect: false, leaseDuration: 0s, renewDeadline: 0s, retryPeriod: 9h}",
        ),
        row("a short election", "{leaseDuration: 3s, renewDeadline: 1500ms, retryPeriod: 500ms}"),
        row("the shortest election", "{leaseDuration: 2s, renewDeadline: 1s, retryPeriod: 100ms}"),
        row("a null means absent", "{leaderElect: null, leaseDuration: null}"),
        row("an empty text is the default", "{resourceName: '', resourceLock: '', resourceNamespace: ''}"),
        row("fractions and several units", "{leaseDuration: 1m1.5s, renewDeadline: 1m1s, retryPeriod: 500ms}"),
    ],
)
def test_a_leader_election_that_upstream_takes_is_taken(body: str) -> None:
    read = parse(f"{HEAD}leaderElection: {body}\n", "conf.yaml").leader_election
    assert (read.resource_lock, read.resource_name, read.resource_namespace) == (
        "leases",
        "koordpy-scheduler",
        "koordpy-system",
    )


def test_a_file_of_nulls_is_an_empty_file() -> None:
    keys = ("leaderElection", "clientConnection", "profiles", "extenders", "parallelism", "percentageOfNodesToScore")
    read = parse(HEAD + "".join(f"{key}:\n" for key in keys), "conf.yaml")
    assert read.model_dump() == parse(HEAD, "conf.yaml").model_dump()


def test_an_empty_list_of_profiles_is_the_default_profile_as_upstream() -> None:
    assert len(parse(HEAD + "profiles: []\n", "conf.yaml").profiles) == 1


def test_explicit_zeros_of_the_client_connection_are_defaulted_as_upstream() -> None:
    read = parse(HEAD + "clientConnection: {qps: 0, burst: 0}\n", "conf.yaml").client_connection
    assert (read.qps, read.burst) == (Decimal(50), 100)


def test_rates_are_exact() -> None:
    assert parse(HEAD + "clientConnection: {qps: 0.1}\n", "conf.yaml").client_connection.qps == Decimal("0.1")


@pytest.mark.parametrize(
    ("text", "nanoseconds", "printed"),
    [
        ("15s", 15_000_000_000, "15s"),
        ("1m30s", 90_000_000_000, "1m30s"),
        ("500ms", 500_000_000, "500ms"),
        ("1.5h", 5_400_000_000_000, "1h30m0s"),
        ("-2s", -2_000_000_000, "-2s"),
        ("0", 0, "0s"),
        ("100us", 100_000, "100µs"),
        ("1ns", 1, "1ns"),
        ("0.3s", 300_000_000, "300ms"),
    ],
)
def test_durations_are_read_and_printed_as_go_does(text: str, nanoseconds: int, printed: str) -> None:
    assert parse_duration(text) == nanoseconds
    assert format_duration(nanoseconds) == printed
    assert parse_duration(printed) == nanoseconds


def test_one_mistake_hides_no_other_whatever_their_kinds() -> None:
    told = complaints(
        "parallelism: 0\n"
        "parallelism: 3\n"
        "podMaxBackoffSecond: 3\n"
        "podMaxBackoffSeconds: '9'\n"
        "leaderElection: {leaseDuration: 15, resourceLock: endpoints}\n"
        "profiles:\n"
        "- schedulerName: a\n"
        "  plugins:\n"
        "    score: {enabled: [{name: TaintToleration, weight: -1}, 5]}\n"
        "    filter: {enabled: [{name: Nope}]}\n"
        "  pluginConfig:\n"
        "  - {name: InterPodAffinity, args: {hardPodAffinityWeight: 101}}\n"
        "- schedulerName: a\n"
    )
    assert [line.split(" ")[0] + line.split(" ")[1].rstrip(":") for line in told] == [
        "conf.yaml:4:parallelism",
        "conf.yaml:4:parallelism",
        "conf.yaml:5:podMaxBackoffSecond",
        "conf.yaml:6:podMaxBackoffSeconds",
        "conf.yaml:7:leaderElection.leaseDuration",
        "conf.yaml:7:leaderElection.resourceLock",
        "conf.yaml:11:profiles[0].plugins.score.enabled[1]",
        "conf.yaml:11:profiles[0].plugins.score.enabled[0].weight",
        "conf.yaml:12:profiles[0].plugins.filter.enabled[0]",
        "conf.yaml:14:profiles[0].pluginConfig[0].args.hardPodAffinityWeight",
        "conf.yaml:15:profiles[1].schedulerName",
    ]


def test_a_list_that_cannot_be_read_makes_no_second_mistake_of_what_it_would_have_said() -> None:
    (told,) = complaints("profiles: [{plugins: {bind: {enabled: DefaultBinder, disabled: [{name: '*'}]}}}]\n")
    assert "plugins.bind.enabled is 'DefaultBinder': must be a list" in told


def test_a_field_that_lost_its_indentation_is_told_where_it_belongs() -> None:
    told = complaints("clientConnection:\nkubeconfig: /etc/kube.conf\nleaderElection:\nleaderElect: true\n")
    assert told == [
        "conf.yaml:4: kubeconfig is '/etc/kube.conf': unknown field here; it belongs into clientConnection, indented",
        "conf.yaml:6: leaderElect is 'true': unknown field here; it belongs into leaderElection, indented",
    ]


@pytest.mark.parametrize(
    "version", ["v1beta1", "v1beta2", "v2", "componentconfig/v1alpha1", "v1", '""', "", "[1]", "1", "null"]
)
@pytest.mark.parametrize("kind", ["KubeSchedulerConfiguration", "Pod"])
def test_another_version_is_one_line_with_file_found_and_right(version: str, kind: str, tmp_path: Path) -> None:
    group = "kubescheduler.config.k8s.io/" if version in ("v1beta1", "v1beta2", "v2") else ""
    with pytest.raises(ConfigError) as refused:
        parse(f"apiVersion: {group}{version}\nkind: {kind}\nnope: 1\n", "conf.yaml")
    (line,) = str(refused.value).splitlines()
    assert line.startswith("conf.yaml:1: apiVersion")
    assert "apiVersion: kubescheduler.config.k8s.io/v1 " in line
    assert version in ("", "null") or version in line


@pytest.mark.parametrize("kind", ["Pod", '""', "", "[]"])
def test_another_kind_is_one_line(kind: str) -> None:
    with pytest.raises(ConfigError) as refused:
        parse(f"apiVersion: kubescheduler.config.k8s.io/v1\nkind: {kind}\nnope: 1\n", "conf.yaml")
    (line,) = str(refused.value).splitlines()
    assert line.startswith("conf.yaml:2: kind")
    assert "write kind: KubeSchedulerConfiguration" in line

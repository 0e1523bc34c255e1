"""NodeResourcesFit through the real framework. Rows with an id like A02 are those of the kube-scheduler cases."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from koordpy.errors import ConfigError
from koordpy.framework.runner import Framework
from koordpy.scheduler.outcome import NotPlaced, Placed
from koordpy.testing import CycleHarness, build_profile, make_node, make_pod
from koordpy_api import Code, CycleState, NoArgs, NodeInfo, Status
from koordpy_api.objects import Node, Pod

UU, U = Code.UNSCHEDULABLE_AND_UNRESOLVABLE, Code.UNSCHEDULABLE
NPU = "acme.io/npu"
Args = Mapping[str, Any]


def fit(args: Args | None = None) -> Framework:
    return build_profile(("PrioritySort", "NodeResourcesFit", "DefaultBinder"), args={"NodeResourcesFit": args or {}})


def oak(cpu: str | int = 4, memory: str = "8Gi", name: str = "oak", **more: Any) -> Node:
    return make_node(name, cpu=cpu, memory=memory, **more)


def ask(**more: Any) -> Pod:
    return make_pod("asks", **more)


def on_oak(*requests: Mapping[str, str | int], node: str = "oak") -> list[Pod]:
    return [make_pod(f"on-{node}-{i}", node=node, requests=asked) for i, asked in enumerate(requests)]


def ratio(points: Sequence[tuple[int, int]], *resources: str) -> Args:
    """RequestedToCapacityRatio along (utilization, score) points."""
    shape = [{"utilization": utilization, "score": score} for utilization, score in points]
    listed = {"resources": [{"name": name} for name in resources]} if resources else {}
    return {
        "scoringStrategy": {
            "type": "RequestedToCapacityRatio",
            "requestedToCapacityRatio": {"shape": shape},
            **listed,
        }
    }


def row(name: str, *values: Any) -> Any:
    return pytest.param(*values, id=name)


@pytest.mark.parametrize(
    ("node", "present", "pod"),
    [
        row("A02 an exact fit passes", oak(2), on_oak({"cpu": "1500m"}), ask(requests={"cpu": "500m"})),
        row("A07 a pod that asks for nothing fits on an overcommitted node", oak(1), on_oak({"cpu": 3}), ask()),
        row(
            "A08 an explicit zero is not checked",
            oak(1),
            on_oak({"cpu": 3}),
            ask(requests={"cpu": 0, "memory": "1Mi"}),
        ),
        row("A14 scoring's defaults do not count here", oak(1), on_oak(*[{}] * 10), ask(requests={"cpu": 1})),
    ],
)
def test_a_pod_fits(node: Node, present: Sequence[Pod], pod: Pod) -> None:
    assert isinstance(CycleHarness([node, *present], fit()).schedule(pod), Placed)


@pytest.mark.parametrize(
    ("node", "present", "pod", "refusal"),
    [
        row(
            "A03 more than the node has is unresolvable",
            oak(2),
            [],
            ask(requests={"cpu": "2001m"}),
            (UU, "Insufficient cpu"),
        ),
        row(
            "A04 all reasons are kept, and one unresolvable makes the whole unresolvable",
            oak(2, "4Gi"),
            on_oak({"cpu": "1900m", "memory": "1Gi"}),
            ask(requests={"cpu": "500m", "memory": "5Gi"}),
            (UU, "Insufficient cpu", "Insufficient memory"),
        ),
        row("A06 no pods allowed is still only unschedulable", oak(pods=0), [], ask(), (U, "Too many pods")),
        row(
            "A09 a node without the extended resource",
            oak(),
            [],
            ask(requests={NPU: 1}),
            (UU, f"Insufficient {NPU}"),
        ),
        row(
            "A10 an extended resource that is used up",
            oak(extended={NPU: 2}),
            on_oak({NPU: 2}),
            ask(requests={NPU: 1}),
            (U, f"Insufficient {NPU}"),
        ),
        row(
            "A13 ephemeral storage",
            oak(extended={"ephemeral-storage": "10Gi"}),
            on_oak({"ephemeral-storage": "9Gi"}),
            ask(requests={"ephemeral-storage": "2Gi"}),
            (U, "Insufficient ephemeral-storage"),
        ),
        row(
            "A15 huge pages are compared like an extended resource",
            oak(extended={"hugepages-2Mi": "64Mi"}),
            on_oak({"hugepages-2Mi": "40Mi"}),
            ask(requests={"hugepages-2Mi": "32Mi", "cpu": "100m"}),
            (U, "Insufficient hugepages-2Mi"),
        ),
        row(
            "A16 the overhead is added to the request",
            oak(1),
            [],
            ask(requests={"cpu": "900m"}, overhead={"cpu": "200m"}),
            (UU, "Insufficient cpu"),
        ),
        row(
            "the reasons come in upstream's order, whatever the Pod's",
            oak(1, "1Gi", pods=0),
            [],
            ask(requests={NPU: 1, "ephemeral-storage": 1, "memory": "2Gi", "cpu": 2, "acme.io/a": 1}),
            (
                UU,
                "Too many pods",
                "Insufficient cpu",
                "Insufficient memory",
                "Insufficient ephemeral-storage",
                "Insufficient acme.io/a",
                f"Insufficient {NPU}",
            ),
        ),
        row(
            "a node whose slots are taken",
            oak(pods=1),
            on_oak({}),
            ask(),
            (U, "Too many pods"),
        ),
    ],
)
def test_a_pod_is_refused_in_upstreams_words(
    node: Node, present: Sequence[Pod], pod: Pod, refusal: tuple[Any, ...]
) -> None:
    assert refused(CycleHarness([node, *present], fit()), pod) == refusal


def test_a11_an_ignored_resource_is_not_compared() -> None:
    harness = CycleHarness([oak()], fit({"ignoredResources": [NPU]}))
    assert isinstance(harness.schedule(ask(requests={NPU: 1})), Placed)


def test_a12_an_ignored_group_is_the_text_before_the_slash() -> None:
    harness = CycleHarness([oak()], fit({"ignoredResourceGroups": ["acme.io"]}))
    assert refused(harness, ask(requests={NPU: 1, "other.io/x": 1})) == (UU, "Insufficient other.io/x")


def test_only_extended_resources_can_be_ignored() -> None:
    harness = CycleHarness([oak(1)], fit({"ignoredResources": ["cpu"], "ignoredResourceGroups": ["cpu"]}))
    assert refused(harness, ask(requests={"cpu": 2})) == (UU, "Insufficient cpu")


class Accountant:
    """Decides alone whether an acme.io/npu is free."""

    Args = NoArgs

    def __init__(self, args: object, handle: object) -> None: ...

    @staticmethod
    def accounts_for(args: object) -> frozenset[str]:
        return frozenset({NPU})


@pytest.mark.parametrize(
    ("extended", "present", "outcome"),
    [
        row("a node that does not publish it is left to the plugin that accounts for it", {}, [], None),
        row("a node that publishes enough of it", {NPU: 4}, [{NPU: 1}], None),
        row("a node that publishes too little is refused", {NPU: 2}, [], (UU, f"Insufficient {NPU}")),
        row(
            "a node that publishes it and has given it away is refused",
            {NPU: 3},
            [{NPU: 1}],
            (U, f"Insufficient {NPU}"),
        ),
        row("a node that publishes none of it is refused", {NPU: 0}, [], (UU, f"Insufficient {NPU}")),
    ],
)
def test_an_accounted_resource_is_compared_only_where_the_node_publishes_it(
    extended: dict[str, int], present: Sequence[Mapping[str, int]], outcome: tuple[Any, ...] | None
) -> None:
    names = ("PrioritySort", "NodeResourcesFit", "Accountant", "DefaultBinder")
    profile = build_profile(names, given={"Accountant": Accountant})
    harness = CycleHarness([oak(extended=extended), *on_oak(*present)], profile)
    pod = ask(requests={NPU: 3})
    if outcome is None:
        assert isinstance(harness.schedule(pod), Placed)
    else:
        assert refused(harness, pod) == outcome


@pytest.mark.parametrize(
    ("nodes", "present", "pod", "scores", "args"),
    [
        row(
            "C01 the share that would be left, over cpu and memory",
            [oak(4, "8Gi", "ash"), oak(8, "8Gi", "fir")],
            [],
            ask(requests={"cpu": 1, "memory": "2Gi"}),
            {"ash": 75, "fir": 81},
            {},
        ),
        row(
            "C02 pods that ask for nothing count 100m and 200Mi each",
            [oak(1, "2000Mi", "ash"), oak(1, "2000Mi", "fir")],
            on_oak({}, {}, {}, node="ash"),
            ask(requests={"cpu": "100m", "memory": "200Mi"}),
            {"ash": 60, "fir": 90},
            {},
        ),
        row("C03 so does the incoming pod", [oak(1, "1000Mi", "ash")], [], ask(), {"ash": 85}, {}),
        row(
            "C04 over the capacity gives 0 for that resource",
            [oak(1, "4Gi", "ash")],
            on_oak({"cpu": "900m", "memory": 0}, node="ash"),
            ask(requests={"cpu": "200m", "memory": "1Gi"}),
            {"ash": 37},
            {},
        ),
        row(
            "C05 weights, and integer division twice",
            [oak(3, "7Gi", "ash")],
            [],
            ask(requests={"cpu": 1, "memory": "2Gi"}),
            {"ash": 67},
            {"scoringStrategy": {"resources": [{"name": "cpu", "weight": 3}, {"name": "memory", "weight": 1}]}},
        ),
        row(
            "C14 pod-level requests of pods on the node count",
            [oak(4, "8000Mi", "ash")],
            [make_pod("level", node="ash", resources={"cpu": 2, "memory": "4000Mi"})],
            ask(requests={"cpu": "400m", "memory": "800Mi"}),
            {"ash": 40},
            {},
        ),
        row(
            "C13 pod-level requests of the incoming pod do not count, as upstream",
            [oak(4, "8000Mi", "ash")],
            [],
            make_pod("asks", resources={"cpu": 2, "memory": "4000Mi"}),
            {"ash": 97},
            {},
        ),
        row(
            "ephemeral storage counts also for a pod that asks for none",
            [oak(name="ash", extended={"ephemeral-storage": "10Gi"})],
            on_oak({"ephemeral-storage": "4Gi"}, node="ash"),
            ask(requests={"cpu": 1}),
            {"ash": 60},
            {"scoringStrategy": {"resources": [{"name": "ephemeral-storage"}]}},
        ),
        row(
            "an extended resource that the pod does not ask for is skipped",
            [oak(name="ash", extended={NPU: 4})],
            [],
            ask(requests={"cpu": 1, "memory": "4Gi"}),
            {"ash": 62},
            {"scoringStrategy": {"resources": [{"name": "cpu"}, {"name": "memory"}, {"name": NPU, "weight": 5}]}},
        ),
        row(
            "an extended resource that the pod asks for counts with its weight",
            [oak(name="ash", extended={NPU: 4}), oak(name="fir")],
            on_oak({NPU: 1}, node="ash"),
            ask(requests={"cpu": 1, NPU: 1}),
            {"ash": 53, "fir": 75},
            {"scoringStrategy": {"resources": [{"name": "cpu"}, {"name": NPU, "weight": 5}]}},
        ),
        row(
            "a node that has none of the resources gets 0",
            [oak(name="ash")],
            [],
            ask(requests={NPU: 1}),
            {"ash": 0},
            {"scoringStrategy": {"resources": [{"name": NPU}]}},
        ),
        row(
            "a weight of zero counts as one",
            [oak(4, "8Gi", "ash")],
            [],
            ask(requests={"cpu": 1, "memory": "4Gi"}),
            {"ash": 62},
            {"scoringStrategy": {"resources": [{"name": "cpu", "weight": 0}, {"name": "memory"}]}},
        ),
        row(
            "C07 MostAllocated counts no more than the capacity",
            [oak(1, "1Gi", "ash")],
            on_oak({"cpu": "900m", "memory": "512Mi"}, node="ash"),
            ask(requests={"cpu": "500m", "memory": "256Mi"}),
            {"ash": 87},
            {"scoringStrategy": {"type": "MostAllocated"}},
        ),
        row(
            "C08 a falling line",
            [oak(4, "10000", "ash"), oak(6, "10000", "fir")],
            [],
            ask(requests={"cpu": 3, "memory": "5000"}),
            {"ash": 38, "fir": 50},
            ratio([(0, 10), (100, 0)]),
        ),
        row(
            "C09 a resource that scores 0 does not count",
            [oak(4, "8Gi", "ash")],
            [],
            ask(requests={"cpu": 2, "memory": 0}),
            {"ash": 50},
            ratio([(0, 0), (100, 10)]),
        ),
        row(
            "C12 a shape with a peak",
            [oak(10, name="u10"), oak("2500m", name="u40"), oak("1428m", name="u70")],
            [],
            ask(requests={"cpu": 1}),
            {"u10": 40, "u40": 100, "u70": 50},
            ratio([(0, 2), (40, 10), (100, 0)], "cpu"),
        ),
        row(
            "outside of its points a shape is constant, and a request above the capacity is 100 percent",
            [oak(10, name="low"), oak("500m", name="high")],
            [],
            ask(requests={"cpu": 1}),
            {"low": 30, "high": 70},
            ratio([(20, 3), (80, 7)], "cpu"),
        ),
    ],
)
def test_every_strategy_scores_as_upstream(
    nodes: Sequence[Node], present: Sequence[Pod], pod: Pod, scores: dict[str, int], args: Args
) -> None:
    assert scored(CycleHarness([*nodes, *present], fit(args)), pod) == scores


@settings(deadline=None)
@given(
    cpu=st.integers(0, 64_000),
    memory=st.integers(0, 2**40),
    present=st.lists(st.integers(0, 4000), max_size=5),
    asked=st.integers(0, 4000),
)
def test_the_score_lies_between_0_and_100_whatever_the_node_and_the_pods(
    cpu: int, memory: int, present: list[int], asked: int
) -> None:
    node = oak(f"{cpu}m", str(memory))
    harness = CycleHarness([node, *on_oak(*({"cpu": f"{each}m"} for each in present))], fit())
    (score,) = scored(harness, ask(requests={"cpu": f"{asked}m"})).values()
    assert 0 <= score <= 100


@pytest.mark.parametrize(
    ("args", "path"),
    [
        row("an unknown key", {"ignoredResource": [NPU]}, "args.ignoredResource is '[\"acme.io/npu\"]': unknown field"),
        row(
            "a strategy that nobody knows",
            {"scoringStrategy": {"type": "Most"}},
            "args.scoringStrategy.type is 'Most'",
        ),
        row(
            "a weight above 100",
            {"scoringStrategy": {"resources": [{"name": "cpu", "weight": 101}]}},
            "args.scoringStrategy.resources[0].weight is '101'",
        ),
        row(
            "a weight that is a text",
            {"scoringStrategy": {"resources": [{"name": "cpu", "weight": "1"}]}},
            "args.scoringStrategy.resources[0].weight is '1'",
        ),
        row(
            "a resource without a name",
            {"scoringStrategy": {"resources": [{"weight": 1}]}},
            "args.scoringStrategy.resources[0].name: required",
        ),
        row("a text instead of a list", {"ignoredResources": NPU}, "args.ignoredResources is 'acme.io/npu'"),
    ],
)
def test_wrong_arguments_are_refused_with_their_path(args: Args, path: str) -> None:
    with pytest.raises(ConfigError) as refused:
        fit(args)
    assert str(refused.value).startswith(f"pluginConfig of NodeResourcesFit: {path}")


def refused(harness: CycleHarness, pod: Pod) -> tuple[Any, ...]:
    """(code, reason, …) of the one node."""
    outcome = harness.schedule(pod)
    assert isinstance(outcome, NotPlaced)
    assert outcome.diagnosis
    (status,) = outcome.diagnosis.refusals.values()
    assert status.plugin == "NodeResourcesFit"
    return (status.code, *status.reasons)


def scored(harness: CycleHarness, pod: Pod) -> dict[str, int]:
    """Of all nodes, also those that the filter would refuse."""
    state = CycleState()
    nodes: Sequence[NodeInfo] = harness.cache.update_snapshot().nodes
    assert not isinstance(harness.framework.run_pre_filter(state, pod, nodes), Status)
    totals = harness.framework.run_score(state, pod, nodes)
    assert not isinstance(totals, Status)
    return {node.name: int(total) for node, total in zip(nodes, totals, strict=True)}


def test_an_audit_tells_nodes_whose_pods_ask_for_more_than_there_is() -> None:
    pods = on_oak({"cpu": 3, NPU: 1}, {"cpu": 2})
    harness = CycleHarness([oak(cpu=4, pods=1, extended={NPU: 1}), oak(cpu=4, name="elm"), *pods], fit())
    told = [str(finding) for finding in harness.framework.run_audit(harness.cache.update_snapshot().nodes)]
    assert told == [
        "Node oak: status.allocatable[pods] is '1': its pods ask for 2",
        "Node oak: status.allocatable[cpu] is '4000m': its pods ask for 5000m",
    ]

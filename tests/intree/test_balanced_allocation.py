"""NodeResourcesBalancedAllocation prefers nodes whose resources the Pod fills evenly. D02: a kube-scheduler case."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from koordpy.framework.registry import Registry
from koordpy.framework.runner import Framework
from koordpy.testing import CycleHarness, build_profile, check_plugin, columns_of, make_node, make_pod
from koordpy.testing.shapes import check_shapes
from koordpy_api import Code, CycleState, NodeInfo, PodInfo, Status
from koordpy_api.objects import Node, Pod

PLUGIN = "NodeResourcesBalancedAllocation"
NPU, LINK = "acme.io/npu", "acme.io/link"
Requests = Mapping[str, str | int]


def row(name: str, *values: Any) -> Any:
    return pytest.param(*values, id=name)


def balanced(*resources: str) -> Framework:
    args = {PLUGIN: {"resources": [{"name": name} for name in resources]}}
    return build_profile(("PrioritySort", PLUGIN, "DefaultBinder"), args=args)


def node(name: str, cpu: str | int = 4, memory: str = "8Gi", **extended: int) -> Node:
    return make_node(
        name, cpu=cpu, memory=memory, extended={f"acme.io/{key}": value for key, value in extended.items()}
    )


def on(name: str, *requests: Requests) -> list[Pod]:
    return [make_pod(f"on-{name}-{number}", node=name, requests=asked) for number, asked in enumerate(requests)]


@pytest.mark.parametrize(
    ("nodes", "present", "asked", "resources", "scores"),
    [
        row(
            "D02 an empty node is spoilt by what is uneven",
            [node("ash"), node("fir", memory="16Gi")],
            [],
            {"cpu": 2, "memory": "4Gi"},
            (),
            {"ash": 75, "fir": 68},
        ),
        row(
            "D03 the node that the pod mends is the best",
            [node("ash"), node("fir")],
            on("ash", {"cpu": 2}),
            {"memory": "4Gi"},
            (),
            {"ash": 87, "fir": 62},
        ),
        row(
            "D04 from 50 to 100",
            [node("ash", 2, "4Gi"), node("fir", 2, "4Gi")],
            on("ash", {"cpu": 2}),
            {"memory": "4Gi"},
            (),
            {"ash": 100, "fir": 50},
        ),
        row(
            "D06 more than all counts as all",
            [node("ash", 1, "1Gi")],
            on("ash", {"cpu": 3, "memory": "512Mi"}),
            {"memory": "512Mi"},
            (),
            {"ash": 87},
        ),
        row(
            "D07 pods that ask for nothing do not count",
            [node("ash")],
            on("ash", {}, {}, {}),
            {"cpu": 1, "memory": "2Gi"},
            (),
            {"ash": 75},
        ),
        row(
            "one resource is always even",
            [node("ash", memory="0"), node("fir", 0, "0")],
            [],
            {"cpu": 1},
            (),
            {"ash": 75, "fir": 75},
        ),
        row(
            "an extended resource counts if the pod asks for it",
            [node("ash", npu=4)],
            [],
            {"cpu": 1, NPU: 4},
            ("cpu", NPU),
            {"ash": 56},
        ),
        row(
            "and not if it does not",
            [node("ash", npu=4)],
            on("ash", {NPU: 4}),
            {"cpu": 1},
            ("cpu", NPU),
            {"ash": 75},
        ),
        row(
            "three resources, of which a node may have only two, or one",
            [node("ash", 7, "3Gi", npu=3), node("fir", 7, "3Gi"), node("elm", 0, "3Gi")],
            [*on("ash", {"cpu": 2, NPU: 1}), *on("fir", {"cpu": 2})],
            {"cpu": 1, "memory": "1Gi", NPU: 1},
            ("cpu", "memory", NPU),
            {"ash": 75, "fir": 80, "elm": 75},
        ),
    ],
)
def test_a_node_is_good_if_the_pod_leaves_it_even(
    nodes: Sequence[Node], present: Sequence[Pod], asked: Requests, resources: Sequence[str], scores: dict[str, int]
) -> None:
    profile = balanced(*resources)
    harness = CycleHarness([*nodes, *present], profile)
    everyone = harness.cache.update_snapshot().columns.nodes
    pod = make_pod("asks", requests=asked)
    totals = profile.run_score(CycleState(), pod, list(everyone))
    assert not isinstance(totals, Status)
    assert {node.name: int(total) for node, total in zip(everyone, totals, strict=True)} == scores
    check_shapes(profile, pod, columns_of(everyone))


def test_d08_amounts_that_the_pod_sets_itself_count() -> None:
    profile = balanced()
    nodes = CycleHarness([node("ash")], profile).cache.update_snapshot().columns.nodes
    totals = profile.run_score(CycleState(), make_pod("asks", resources={"cpu": 4, "memory": 0}), list(nodes))
    assert not isinstance(totals, Status)
    assert totals.tolist() == [50]


@pytest.mark.parametrize("asked", [{}, {"cpu": 0}, {NPU: 1}], ids=["nothing", "an explicit zero", "something else"])
def test_d01_a_pod_that_asks_for_none_of_them_is_not_scored(asked: Requests) -> None:
    profile = balanced()
    nodes = CycleHarness([node("ash")], profile).cache.update_snapshot().nodes
    ((_, pre_score),) = profile.chains["pre_score"]
    assert pre_score(CycleState(), make_pod("asks", requests=asked), nodes).code is Code.SKIP


amount = st.one_of(st.integers(0, 9), st.sampled_from([7001, 2**46 + 1, 2**53 + 1, 2**56 - 1, 2**60]))
amounts = st.dictionaries(st.sampled_from(["cpu", "memory", "ephemeral-storage", NPU, LINK]), amount)
listed = st.lists(st.sampled_from(["cpu", "memory", "ephemeral-storage", NPU, LINK]), unique=True, max_size=5)
change = st.tuples(st.integers(0, 19), st.booleans(), amounts)


def pod_of(asked: Mapping[str, int], name: str = "asks") -> Pod:
    return make_pod(name, requests={key: f"{value}m" if key == "cpu" else value for key, value in asked.items()})


@settings(deadline=None, max_examples=60)
@given(
    resources=listed,
    cluster=st.lists(amounts, min_size=1, max_size=20),
    pods=st.lists(amounts, min_size=1, max_size=3),
    rounds=st.lists(st.lists(change, max_size=15), max_size=3),
)
def test_both_shapes_say_the_same_while_nodes_change(
    resources: list[str],
    cluster: list[dict[str, int]],
    pods: list[dict[str, int]],
    rounds: list[list[tuple[int, bool, dict[str, int]]]],
) -> None:
    profile = balanced(*resources)
    names = [f"n{number}" for number in range(len(cluster))]
    columns = columns_of(
        [NodeInfo(name, make_node(name), allocatable=offers) for name, offers in zip(names, cluster, strict=True)]
    )
    for changes in [[], *rounds]:
        for number, is_pod, what in changes:
            before = columns.nodes[number % len(cluster)]
            more = PodInfo.of(pod_of(what, f"p{len(before.pods)}"), ())
            other = replace(before, node=make_node(before.name), allocatable=what)
            columns.change(before.with_pod(more) if is_pod else other)
            columns.catch_up()
        for asked in pods:
            check_shapes(profile, pod_of(asked), columns)


def test_it_keeps_the_rules_that_every_plugin_keeps() -> None:
    world = [node("n1", npu=2), node("n2", 2), *on("n1", {"cpu": 1})]
    check_plugin(Registry().declaration(PLUGIN).plugin, pod=make_pod("asks", requests={"cpu": 1}), objects=world)

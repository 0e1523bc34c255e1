"""NodeResourcesFit says of all nodes at once what it says of each: random clusters, of which nodes change meanwhile."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from koordpy.testing import build_profile, columns_of, make_node, make_pod
from koordpy.testing.shapes import check_shapes
from koordpy_api import CycleState, NoArgs, NodeInfo, PodInfo
from koordpy_api.objects import Pod

OURS, NPU = "other.io/ours", "acme.io/npu"
NAMES = ("cpu", "memory", "ephemeral-storage", "hugepages-2Mi", OURS, NPU, "acme.io/link")
SCORED = [{"name": "cpu", "weight": 3}, {"name": "memory"}, {"name": "ephemeral-storage", "weight": 2}, {"name": NPU}]
SHAPE = [{"utilization": 10, "score": 2}, {"utilization": 40, "score": 10}, {"utilization": 90, "score": 0}]
ARGS: Mapping[str, Mapping[str, Any]] = {
    "as it is": {},
    "least allocated of many": {"scoringStrategy": {"resources": SCORED}},
    "most allocated": {"scoringStrategy": {"type": "MostAllocated", "resources": SCORED}},
    "by a shape": {
        "scoringStrategy": {
            "type": "RequestedToCapacityRatio",
            "resources": SCORED,
            "requestedToCapacityRatio": {"shape": SHAPE},
        },
        "ignoredResources": ["acme.io/link"],
    },
    "without a group": {"ignoredResourceGroups": ["acme.io"]},
}

few = st.integers(0, 12)
amount = st.one_of(few, few.map(lambda n: n * 1000), st.sampled_from([2**46 - 1, 2**46 + 1, 2**53 + 1, 2**56, 2**60]))
offered = st.dictionaries(st.sampled_from(NAMES), amount)
asked = st.dictionaries(st.sampled_from(NAMES), st.one_of(few, few, few, amount), max_size=4)
change = st.tuples(st.integers(0, 19), st.one_of(st.none(), offered, asked.map(lambda each: (each,))))


class Accountant:
    """Decides alone of other.io/ours."""

    Args = NoArgs

    def __init__(self, args: object, handle: object) -> None: ...

    @staticmethod
    def accounts_for(args: object) -> frozenset[str]:
        return frozenset({OURS})


def pod(requests: Mapping[str, int], name: str = "asks") -> Pod:
    return make_pod(name, requests={key: f"{value}m" if key == "cpu" else value for key, value in requests.items()})


def node(number: int, offers: Mapping[str, int], pods: int = 3) -> NodeInfo:
    return NodeInfo(f"n{number}", make_node(f"n{number}"), allocatable={**offers, "pods": pods})


def changed(before: NodeInfo, number: int, how: Any) -> NodeInfo:
    """Other capacities, a Pod more, or a Pod less."""
    match how:
        case None:
            return before.without_pod(next(iter(before.pods), ""))
        case (requests,):
            return before.with_pod(PodInfo.of(pod(requests, f"on-{number}-{len(before.pods)}"), ()))
    return replace(before, node=make_node(before.name), allocatable={**how, "pods": 3})


@pytest.mark.parametrize("args", ARGS.values(), ids=ARGS.keys())
@settings(deadline=None, max_examples=30)
@given(
    cluster=st.lists(offered, min_size=1, max_size=20),
    pods=st.lists(asked, min_size=1, max_size=3),
    rounds=st.lists(st.lists(change, max_size=15), max_size=3),
)
def test_both_shapes_say_the_same_while_nodes_change(
    args: Mapping[str, Any],
    cluster: list[dict[str, int]],
    pods: list[dict[str, int]],
    rounds: list[list[tuple[int, Any]]],
) -> None:
    names = ("PrioritySort", "NodeResourcesFit", "Accountant", "DefaultBinder")
    profile = build_profile(names, given={"Accountant": Accountant}, args={"NodeResourcesFit": args})
    columns = columns_of([node(number, offers) for number, offers in enumerate(cluster)])
    for changes in [[], *rounds]:
        for number, how in changes:
            columns.change(changed(columns.nodes[number % len(cluster)], number, how))
            columns.catch_up()
        for requests in pods:
            check_shapes(profile, pod(requests), columns)


def test_a_pod_may_ask_for_more_resources_than_a_code_has_bits() -> None:
    many = {f"acme.io/r{number}": 1 + number % 2 for number in range(20)}
    nodes = [node(n, dict.fromkeys(list(many)[n:], 1), pods=n % 2) for n in range(20)]
    check_shapes(build_profile(("PrioritySort", "NodeResourcesFit", "DefaultBinder")), pod(many), columns_of(nodes))


def test_amounts_that_a_float_cannot_hold_are_rated_exactly() -> None:
    hundredth = 2**49
    nodes = [node(0, {"memory": 100 * hundredth + 1}), node(1, {"memory": 1000})]
    args = {"NodeResourcesFit": {"scoringStrategy": {"resources": [{"name": "memory"}]}}}
    profile = build_profile(("PrioritySort", "NodeResourcesFit", "DefaultBinder"), args=args)
    check_shapes(profile, pod({"memory": 99 * hundredth + 1}), columns_of(nodes))


@pytest.mark.parametrize(("cpu", "refuses"), [(1000, False), (5000, True)])
def test_where_every_node_has_enough_there_is_no_array_of_verdicts(cpu: int, refuses: bool) -> None:
    profile = build_profile(("PrioritySort", "NodeResourcesFit", "DefaultBinder"))
    columns, state = columns_of([node(n, {"cpu": 4000 + n, "memory": 10**9}) for n in range(3)]), CycleState()
    profile.run_pre_filter(state, pod({"cpu": cpu}), columns.nodes)
    (filter_nodes,) = [hook for _, hook in profile.chains["filter_nodes"]]
    assert (filter_nodes(state, pod({"cpu": cpu}), columns) is not None) is refuses

"""NodeInfo is a value: pods come and go, and its sums are always those of the pods on it."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from koordpy.testing import make_node, make_pod
from koordpy_api import NodeInfo, PodInfo, QuantityError
from koordpy_api.resources import add

PREFIX = ("scheduling.koordinator.sh/",)


def info(name: str, **more: Any) -> PodInfo:
    return PodInfo.of(make_pod(name, node="n1", **more), PREFIX)


requests = st.dictionaries(st.sampled_from(["cpu", "memory", "acme.io/npu", "pods"]), st.integers(0, 50), max_size=3)
pods = st.builds(lambda number, asked: info(f"p{number}", requests=asked), st.integers(0, 6), requests)


def books(node: NodeInfo) -> tuple[dict[str, int], dict[str, int]]:
    return dict(node.requested), dict(node.non_zero_requested)


def recount(node: NodeInfo) -> tuple[dict[str, int], dict[str, int]]:
    requested: dict[str, int] = {}
    non_zero: dict[str, int] = {}
    for pod in node.pods.values():
        requested, non_zero = add(requested, pod.requests), add(non_zero, pod.non_zero_requests)
    return requested, non_zero


def without_zeros(node: NodeInfo) -> list[dict[str, int]]:
    return [{name: amount for name, amount in sums.items() if amount} for sums in books(node)]


@settings(deadline=None)
@given(st.lists(st.one_of(pods, st.integers(0, 6))))
def test_the_sums_are_those_of_the_pods_after_any_order_of_events(events: list[PodInfo | int]) -> None:
    node = NodeInfo("n1")
    for event in events:
        node = node.without_pod(f"uid-default-p{event}") if isinstance(event, int) else node.with_pod(event)
        counted = [{name: amount for name, amount in sums.items() if amount} for sums in recount(node)]
        assert without_zeros(node) == counted


@settings(deadline=None)
@given(st.lists(pods), pods)
def test_taking_a_pod_away_restores_what_was_before_it_came(before: list[PodInfo], pod: PodInfo) -> None:
    node = NodeInfo("n1")
    for each in before:
        node = node.with_pod(each)
    node = node.without_pod(pod.uid)
    after = node.with_pod(pod).without_pod(pod.uid)
    assert after.pods == node.pods
    assert without_zeros(after) == without_zeros(node)


@settings(deadline=None)
@given(st.lists(pods))
def test_a_node_whose_pods_all_went_is_empty(present: list[PodInfo]) -> None:
    node = NodeInfo("n1")
    for pod in present:
        node = node.with_pod(pod)
    for pod in present:
        node = node.without_pod(pod.uid)
    assert (node.pods, *without_zeros(node)) == ({}, {}, {})


def test_a_newer_version_of_a_pod_replaces_the_older_one() -> None:
    node = NodeInfo("n1").with_pod(info("a", requests={"cpu": 1})).with_pod(info("a", requests={"cpu": 3}))
    assert (len(node.pods), node.requested) == (1, {"cpu": 3000})


def test_a_pod_that_is_not_there_goes_without_a_trace() -> None:
    node = NodeInfo("n1").with_pod(info("a"))
    assert node.without_pod("uid-of-nobody") is node


def test_a_change_makes_a_new_node_and_leaves_the_old_one_alone() -> None:
    empty = NodeInfo("n1").with_node(make_node("n1"))
    full = empty.with_pod(info("a", requests={"cpu": 1}))
    assert (len(empty.pods), empty.requested) == (0, {})
    assert full.node is empty.node
    with pytest.raises(AttributeError):
        full.name = "n2"  # type: ignore[misc]


def test_a_node_without_its_object_has_nothing_to_offer_and_takes_nobody() -> None:
    ghost = NodeInfo("n1").with_node(make_node("n1", labels={"a": "b"})).with_pod(info("a")).with_node(None)
    assert (ghost.allocatable, ghost.labels, ghost.taints, ghost.allowed_pods) == ({}, {}, [], 0)
    assert ghost.unschedulable
    assert list(ghost.pods) == ["uid-default-a"]


def test_a_node_that_offers_no_quantity_is_an_error() -> None:
    with pytest.raises(QuantityError, match="'lots' is not a quantity"):
        NodeInfo("n1").with_node(make_node("n1", extended={"acme.io/npu": "lots"}))


def test_of_a_pods_annotations_only_the_declared_prefixes_stay() -> None:
    annotations = {"scheduling.koordinator.sh/device-allocated": "{}", "kubectl.kubernetes.io/secret": "token"}
    assert info("a", annotations=annotations).annotations == {"scheduling.koordinator.sh/device-allocated": "{}"}


def test_without_a_declared_prefix_no_annotation_stays() -> None:
    assert PodInfo.of(make_pod(annotations={"a": "b"}), ()).annotations == {}


def test_an_assumed_pod_is_on_the_node_that_was_chosen_for_it() -> None:
    assert PodInfo.of(make_pod("a"), (), "n7").node_name == "n7"
    assert PodInfo.of(make_pod("a", node="n1"), ()).node_name == "n1"


def test_what_stays_of_a_pod_names_the_ports_that_it_takes_on_its_node() -> None:
    ports = [{"hostPort": 80}, {"containerPort": 81}, {"hostPort": 53, "protocol": "UDP", "hostIP": "10.0.0.1"}]
    pod = make_pod(containers=[{"ports": ports}], init_containers=[{"ports": [{"hostPort": 82}]}])
    assert PodInfo.of(pod, ()).host_ports == (("TCP", "0.0.0.0", 80), ("UDP", "10.0.0.1", 53))

"""ZoneQuota through a real scheduling cycle; no cluster is needed."""

from zone_quota import ZoneQuota

from koordpy.scheduler.outcome import NotPlaced, Placed
from koordpy.testing import CycleHarness, build_profile, check_plugin, make_node, make_pod
from koordpy_api.objects import Node


def node(name: str, zone: str) -> Node:
    return make_node(name, labels={"topology.kubernetes.io/zone": zone})


def harness(*nodes: Node, max_pods: int = 1) -> CycleHarness:
    names = ("PrioritySort", "ZoneQuota", "DefaultBinder")
    return CycleHarness(nodes, build_profile(names, args={"ZoneQuota": {"maxPods": max_pods}}))


def test_a_full_zone_is_left_out() -> None:
    cycle = harness(node("a1", "a"), node("a2", "a"), node("b1", "b"))
    first, second = cycle.schedule(make_pod("first")), cycle.schedule(make_pod("second"))
    assert isinstance(first, Placed)
    assert isinstance(second, Placed)
    assert {first.node_name[0], second.node_name[0]} == {"a", "b"}


def test_where_every_zone_is_full_the_pod_is_told_so() -> None:
    cycle = harness(node("a1", "a"))
    cycle.add(make_pod("there", node="a1"))
    refused = cycle.schedule(make_pod("web"))
    assert isinstance(refused, NotPlaced)
    assert refused.status.message == "0/1 nodes are available: 1 zone a is full."


def test_a_bind_that_fails_makes_room_again() -> None:
    cycle = harness(node("a1", "a"))
    placed = cycle.schedule(make_pod("first"))
    assert isinstance(placed, Placed)
    cycle.forget(placed)
    assert isinstance(cycle.schedule(make_pod("second")), Placed)


def test_it_keeps_the_rules_of_the_house() -> None:
    check_plugin(ZoneQuota, {"maxPods": 2})

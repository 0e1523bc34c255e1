"""QuietNodes says the same of all nodes at once as of each, whatever happens to them."""

from random import Random

from quiet_nodes import TIER, QuietNodes

from koordpy.scheduler.outcome import NotPlaced, Placed
from koordpy.testing import CycleHarness, build_profile, check_plugin, check_shapes, make_node, make_pod
from koordpy_api.objects import Node, Pod

NAMES = ("PrioritySort", "QuietNodes", "DefaultBinder")


def node(name: str, tier: str = "") -> Node:
    return make_node(name, labels={TIER: tier} if tier else {})


def pod(name: str, tier: str = "", on: str = "") -> Pod:
    return make_pod(name, labels={TIER: tier} if tier else {}, node=on)


def test_a_pod_goes_to_a_node_of_its_tier_until_all_of_them_are_loud() -> None:
    names = [f"{tier}{number}" for tier in ("gold", "lead") for number in range(20)]
    cycle = CycleHarness(
        [node(name, name[:4]) for name in names], build_profile(NAMES, args={"QuietNodes": {"maxPods": 1}})
    )
    placed = [cycle.schedule(pod(f"p{number}", "gold")) for number in range(40)]
    places = [each.node_name[:4] for each in placed if isinstance(each, Placed)]
    assert places == ["gold"] * 20 + ["lead"] * 20
    refused = cycle.schedule(pod("last"))
    assert isinstance(refused, NotPlaced)
    assert refused.status.message == "0/40 nodes are available: 40 node(s) were loud enough."


def test_both_shapes_say_the_same_while_nodes_and_pods_come_and_go() -> None:
    rng = Random(7)
    cycle = CycleHarness((), build_profile(NAMES, args={"QuietNodes": {"maxPods": 2}}))
    known: dict[str, Node] = {}
    for step in range(200):
        name = f"n{rng.randrange(30)}"
        new = node(name, rng.choice(["gold", "lead", ""]))
        if name in known:
            cycle.update(known[name], new)
        else:
            cycle.add(new)
        known[name] = new
        cycle.add(pod(f"p{step}", on=f"n{rng.randrange(30)}"))
        for tier in ("gold", ""):
            check_shapes(cycle.framework, pod("asks", tier), cycle.cache.update_snapshot().columns)


def test_it_keeps_the_rules_of_the_house() -> None:
    check_plugin(QuietNodes, {"maxPods": 1}, pod=pod("asks", "gold"))

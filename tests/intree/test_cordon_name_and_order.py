"""NodeUnschedulable, NodeName, PrioritySort, and who speaks first in the default profile."""

from typing import Any

import pytest

from koordpy.testing import build_profile, make_node, make_pod
from koordpy_api import Code, QueuedPod
from koordpy_api.objects import Pod
from tests.intree.scenes import judge

UU = Code.UNSCHEDULABLE_AND_UNRESOLVABLE
CORDONED = (UU, "NodeUnschedulable", "node(s) were unschedulable")
CORDON = "node.kubernetes.io/unschedulable"
SECOND = 10**9


def row(name: str, *values: Any) -> Any:
    return pytest.param(*values, id=name)


def test_e11_a_cordoned_node_takes_nobody() -> None:
    nodes = [make_node("oak", unschedulable=True), make_node("elm")]
    assert judge(["NodeUnschedulable"], nodes, make_pod()) == {"oak": CORDONED, "elm": ()}


@pytest.mark.parametrize(
    ("toleration", "fits"),
    [
        row("E12 the cordon's own key and effect", {"key": CORDON, "operator": "Exists", "effect": "NoSchedule"}, True),
        row("an empty key covers it too", {"operator": "Exists"}, True),
        row("Equal with an empty value covers it", {"key": CORDON}, True),
        row("another effect does not", {"key": CORDON, "operator": "Exists", "effect": "NoExecute"}, False),
        row("another key does not", {"key": "team", "operator": "Exists"}, False),
    ],
)
def test_a_cordoned_node_takes_pods_that_tolerate_it(toleration: dict[str, str], fits: bool) -> None:
    pod = make_pod(tolerations=[toleration])
    assert judge(["NodeUnschedulable"], [make_node("oak", unschedulable=True)], pod) == {
        "oak": () if fits else CORDONED
    }


def test_e13_a_pod_that_names_its_node_runs_there_or_nowhere() -> None:
    refusal = (UU, "NodeName", "node(s) didn't match the requested node name")
    verdict = judge(["NodeName"], [make_node("oak"), make_node("elm")], make_pod(node="elm"))
    assert verdict == {"oak": refusal, "elm": ()}


def test_a_pod_that_names_no_node_may_run_anywhere() -> None:
    assert judge(["NodeName"], [make_node("oak"), make_node("elm")], make_pod()) == {"oak": (), "elm": ()}


def test_e19_only_the_first_refusal_of_a_node_is_told() -> None:
    oak = make_node("oak", unschedulable=True, cpu=1, taints=[{"key": "z", "effect": "NoSchedule"}])
    assert judge(None, [oak], make_pod(requests={"cpu": 4})) == {"oak": CORDONED}


def queued(name: str, priority: int | None, at_s: int) -> tuple[str, QueuedPod]:
    pod: Pod = make_pod(name, priority=priority)
    return name, QueuedPod(pod, at_s * SECOND, 0, 1)


def order(*pods: tuple[str, QueuedPod]) -> list[str]:
    key = build_profile(("PrioritySort", "DefaultBinder")).queue_sort
    return [name for name, _ in sorted(pods, key=lambda each: key(each[1]))]


def test_n08_the_higher_priority_comes_first_and_then_who_waits_longer() -> None:
    assert order(queued("a", 1, 5), queued("b", 9, 9), queued("c", 9, 7)) == ["c", "b", "a"]


def test_a_pod_without_a_priority_has_priority_zero() -> None:
    assert order(queued("low", -1, 1), queued("none", None, 2), queued("zero", 0, 3), queued("high", 1, 9)) == [
        "high",
        "none",
        "zero",
        "low",
    ]


def test_the_largest_priorities_of_system_pods_keep_their_order() -> None:
    assert order(queued("node", 2_000_001_000, 9), queued("cluster", 2_000_000_000, 1)) == ["node", "cluster"]

"""After which changes the in-tree plugins let a Pod be tried again. Rows with an id like N24: kube-scheduler cases."""

from typing import Any

import pytest
from msgspec.structs import replace

from koordpy.testing import CycleHarness, make_node, make_pod
from koordpy_api.objects import KubeObject, Pod
from tests.intree.scenes import pod_of

SSD = {"disk": "ssd"}
POD = pod_of({"nodeSelector": SSD, "containers": [{"name": "c", "ports": [{"hostPort": 80}]}]}, "p")
K, M = ({"key": key, "effect": "NoSchedule"} for key in ("k", "m"))
SOFT = {"key": "k", "effect": "PreferNoSchedule"}
ANY = [{"operator": "Exists"}]
OTHER = [{"key": "x", "operator": "Exists"}]


def node(*taints: dict[str, str], **more: Any) -> KubeObject:
    return make_node("n1", taints=taints, **more)


def listening(port: int, ip: str = "", *, node: str = "", promised: str = "", udp: bool = False) -> Pod:
    """Another Pod with a port of its node."""
    written = {"hostPort": port, "hostIP": ip, "protocol": "UDP" if udp else "TCP"}
    pod = pod_of({"nodeName": node, "containers": [{"name": "c", "ports": [written]}]}, "q")
    return replace(pod, status=replace(pod.status, nominated_node_name=promised))


def itself(**more: Any) -> Pod:
    return make_pod("p", **more)


CORDONED = node(unschedulable=True)
GATED = itself(scheduling_gates=["a", "b"])
ROWS = [
    ("N24 the only taint goes", "TaintToleration", node(K), node(), True),
    ("N25 one of two taints goes", "TaintToleration", node(K, M), node(M), False),
    ("a hard taint becomes a soft one", "TaintToleration", node(K), node(SOFT), True),
    ("another taint comes", "TaintToleration", node(K), node(K, M), False),
    ("it never had one and gets another label", "TaintToleration", node(), node(labels={"a": "b"}), False),
    ("a node comes without a taint", "TaintToleration", None, node(), True),
    ("a node comes with a taint", "TaintToleration", None, node(K), False),
    ("a node goes", "TaintToleration", node(), None, False),
    ("the pod tolerates more", "TaintToleration", itself(), itself(tolerations=ANY), True),
    ("another pod tolerates more", "TaintToleration", make_pod("q"), make_pod("q", tolerations=ANY), False),
    ("a node is uncordoned", "NodeUnschedulable", CORDONED, node(), True),
    ("an open node gets rid of a taint", "NodeUnschedulable", node(K), node(), False),
    ("a cordoned node loses a taint", "NodeUnschedulable", node(K, unschedulable=True), CORDONED, False),
    ("an open node comes", "NodeUnschedulable", None, node(), True),
    ("a cordoned node comes", "NodeUnschedulable", None, CORDONED, False),
    ("the pod tolerates everything", "NodeUnschedulable", itself(), itself(tolerations=ANY), True),
    ("the pod tolerates something else", "NodeUnschedulable", itself(), itself(tolerations=OTHER), False),
    ("N26 a label makes it match", "NodeAffinity", node(), node(labels=SSD), True),
    ("N27 it matched before", "NodeAffinity", node(labels=SSD), node(labels={**SSD, "a": "b"}), False),
    ("a label stops matching", "NodeAffinity", node(labels=SSD), node(), False),
    ("a node comes that matches", "NodeAffinity", None, node(labels=SSD), True),
    ("a node comes that does not match", "NodeAffinity", None, node(), False),
    ("a node goes", "NodeAffinity", node(labels=SSD), None, False),
    ("N29 a pod goes that listened elsewhere", "NodePorts", listening(81, node="n1"), None, False),
    ("a pod goes that listened there", "NodePorts", listening(80, node="n1"), None, True),
    ("a pod goes that listened there on one address", "NodePorts", listening(80, "10.0.0.1", node="n1"), None, True),
    ("a pod goes that listened with another protocol", "NodePorts", listening(80, node="n1", udp=True), None, False),
    ("a pod goes that was on no node", "NodePorts", listening(80), None, False),
    ("a pod goes that was promised a node", "NodePorts", listening(80, promised="n1"), None, True),
    ("a node comes", "NodePorts", None, node(), True),
    ("a node changes its label", "NodePorts", node(), node(labels=SSD), False),
    ("a node comes", "NodeName", None, node(), True),
    ("a node changes its label", "NodeName", node(), node(labels={"a": "b"}), False),
    ("N14 its last gate goes", "SchedulingGates", itself(scheduling_gates=["a"]), itself(), True),
    ("one gate of two goes", "SchedulingGates", GATED, itself(scheduling_gates=["b"]), False),
    ("another pod's last gate goes", "SchedulingGates", make_pod("q", scheduling_gates=["a"]), make_pod("q"), False),
    ("a node comes", "SchedulingGates", None, node(), False),
]  # fmt: skip


@pytest.mark.parametrize(
    ("plugin", "old", "new", "wakes"), [pytest.param(*row[1:], id=f"{row[1]}: {row[0]}") for row in ROWS]
)
def test_a_change_wakes_a_refused_pod_only_if_it_may_help(
    plugin: str, old: KubeObject | None, new: KubeObject | None, wakes: bool
) -> None:
    pod = new if isinstance(new, Pod) and new.uid == POD.uid else POD
    assert CycleHarness().wakes(plugin, pod, old, new) is wakes


def test_n13_the_gates_of_a_pod_are_named_in_the_refusal() -> None:
    refusal = CycleHarness().framework.run_pre_enqueue(itself(scheduling_gates=["hold.io/a", "b"]))
    assert refusal is not None
    assert (refusal.plugin, refusal.reasons) == ("SchedulingGates", ("waiting for scheduling gates: [hold.io/a b]",))
    assert CycleHarness().framework.run_pre_enqueue(itself()) is None


@pytest.mark.parametrize(
    ("value", "problems"),
    [("high", 0), ("-2147483648", 0), ("2147483648", 1), ("High", 1), ("1.5", 1), ("", 1)],
)
def test_a_priority_label_that_says_nothing_is_told_by_check(value: str, problems: int) -> None:
    pod = make_pod(labels={"koordinator.sh/priority": value})
    found = [problem for plugin, problem in CycleHarness().framework.run_check(pod) if plugin == "PrioritySort"]
    assert len(found) == problems

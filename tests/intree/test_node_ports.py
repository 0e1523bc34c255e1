"""NodePorts: two Pods cannot listen on one port of a node."""

from typing import Any

import pytest

from koordpy.scheduler.outcome import NotPlaced, Placed
from koordpy.testing import CycleHarness, build_profile, make_node
from koordpy_api import Code
from koordpy_api.objects import Pod
from tests.intree.scenes import pod_of, same_verdicts

PROFILE = ["PrioritySort", "NodePorts", "DefaultBinder"]
REFUSED = "1 node(s) didn't have free ports for the requested pod ports"


def row(name: str, *values: Any) -> Any:
    return pytest.param(*values, id=name)


def port(number: int, ip: str = "", protocol: str = "") -> dict[str, Any]:
    optional = {"hostIP": ip, "protocol": protocol}
    return {"hostPort": number} | {key: value for key, value in optional.items() if value}


def listening(name: str, *ports: dict[str, Any], node: str = "", init: str | None = None) -> Pod:
    """init: an init container has the ports, with this restartPolicy."""
    with_ports = {"name": "c", "ports": list(ports)}
    if init is None:
        return pod_of({"nodeName": node, "containers": [with_ports]}, name)
    spec = {"nodeName": node, "initContainers": [with_ports | {"restartPolicy": init}]}
    return pod_of(spec | {"containers": [{"name": "d"}]}, name)


def cycle(*pods: Pod, nodes: int = 1) -> CycleHarness:
    return CycleHarness([*(make_node(f"n{each}") for each in range(nodes)), *pods], build_profile(PROFILE))


def fits(harness: CycleHarness, pod: Pod) -> bool:
    same_verdicts(harness, "NodePorts", pod)
    outcome = harness.schedule(pod)
    if isinstance(outcome, Placed):
        harness.forget(outcome)
        return True
    assert outcome.status.message == f"0/1 nodes are available: {REFUSED}."
    assert outcome.diagnosis is not None
    (refusal,) = outcome.diagnosis.refusals.values()
    assert (refusal.code, refusal.plugin) == (Code.UNSCHEDULABLE, "NodePorts")
    return False


@pytest.mark.parametrize(
    ("taken", "wanted", "is_free"),
    [
        row("E14 a port is taken", port(80), port(80), False),
        row("another is free", port(80), port(81), True),
        row("E15 each protocol has ports of its own", port(80, protocol="UDP"), port(80), True),
        row("a protocol that is not said is TCP", port(80), port(80, protocol="TCP"), False),
        row("E18 who listens on all addresses listens on each", port(80), port(80, "10.0.0.9"), False),
        row("and who wants all wants each", port(80, "10.0.0.9"), port(80), False),
        row("0.0.0.0 is all addresses too", port(80, "0.0.0.0"), port(80, "10.0.0.9"), False),
        row("two addresses do not meet", port(80, "10.0.0.1"), port(80, "10.0.0.2"), True),
        row("one address meets itself", port(80, "10.0.0.1"), port(80, "10.0.0.1"), False),
    ],
)
def test_a_port_is_free_unless_somebody_listens_there(
    taken: dict[str, Any], wanted: dict[str, Any], is_free: bool
) -> None:
    assert fits(cycle(listening("web", taken, node="n0")), listening("p", wanted)) is is_free


@pytest.mark.parametrize(
    ("init", "is_free"),
    [row("a sidecar goes on listening", "Always", False), row("an init container has ended by then", "", True)],
)
def test_of_init_containers_only_sidecars_hold_their_ports(init: str, is_free: bool) -> None:
    assert fits(cycle(listening("web", port(80), node="n0", init=init)), listening("p", port(80))) is is_free
    assert fits(cycle(listening("web", port(80), node="n0")), listening("p", port(80), init=init)) is is_free


def test_a_port_of_the_container_alone_is_nobodys() -> None:
    harness = cycle(listening("web", port(80), node="n0"))
    assert fits(harness, pod_of({"containers": [{"name": "c", "ports": [{"containerPort": 80}]}]}, "p"))


def test_a_port_is_free_again_once_its_pod_has_gone_or_its_bind_has_failed() -> None:
    web, p = listening("web", port(80), node="n0"), listening("p", port(80), port(81))
    harness = cycle(web)
    assert not fits(harness, p)
    harness.delete(web)
    placed = harness.schedule(p)
    assert isinstance(placed, Placed)
    assert not fits(harness, listening("q", port(81)))
    harness.forget(placed)
    assert fits(harness, listening("q", port(81)))


def test_a_port_that_nobody_can_share_spreads_its_pods_over_the_nodes() -> None:
    harness = cycle(nodes=3)
    outcomes = [harness.schedule(listening(f"p{number}", port(80))) for number in range(4)]
    placed = [each.node_name for each in outcomes if isinstance(each, Placed)]
    assert sorted(placed) == ["n0", "n1", "n2"]
    assert isinstance(outcomes[3], NotPlaced)


def test_pods_on_a_node_that_comes_later_hold_their_ports_there() -> None:
    harness = CycleHarness([listening("web", port(80), node="late")], build_profile(PROFILE))
    harness.add(make_node("late"))
    assert not fits(harness, listening("p", port(80)))


def test_its_book_is_what_a_recount_of_the_pods_finds() -> None:
    web, other = listening("web", port(80), node="n0"), listening("other", port(81, "10.0.0.1"), node="n0")
    harness = cycle(web, other)
    placed = harness.schedule(listening("p", port(82)))
    assert isinstance(placed, Placed)
    assumed = frozenset((placed.pod.uid,))
    assert harness.framework.run_recount([web, other], assumed) == []
    (unknown,) = harness.framework.run_recount([web, other, listening("late", port(83), node="n0")], assumed)
    assert "uid-default-late listens on n0, which nobody believes" in unknown
    (gone,) = harness.framework.run_recount([web], assumed)
    assert "uid-default-other is believed to listen on n0" in gone

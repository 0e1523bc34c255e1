"""After which changes NodeResourcesFit lets a Pod be tried again. Rows with an id like N21 are kube-scheduler cases."""

from typing import Any

import pytest

from koordpy.testing import CycleHarness, make_node, make_pod, pod_manifest, read_object
from koordpy_api.objects import KubeObject, Node, Pod

POD = make_pod("p", requests={"cpu": 3})
NPU = "acme.io/npu"


def node(cpu: int = 4, **more: Any) -> Node:
    return make_node("n1", cpu=cpu, **more)


def running(cpu: int, name: str = "other", **more: Any) -> Pod:
    return make_pod(name, node="n1", requests={"cpu": cpu}, **more)


def nominated(node_name: str) -> Pod:
    return read_object(Pod, {**pod_manifest("q", uid="q"), "status": {"nominatedNodeName": node_name}})


def wakes(believed: list[KubeObject], old: KubeObject | None, new: KubeObject | None, pod: Pod = POD) -> bool:
    """believed: what the scheduler knows after the change."""
    return CycleHarness(believed).wakes("NodeResourcesFit", pod, old, new)


def test_n21_a_node_that_grows_in_something_else_does_not() -> None:
    big = node(memory="16Gi")
    assert not wakes([big], node(memory="8Gi"), big)


def test_n22_a_node_that_comes_and_is_too_small_does_not() -> None:
    assert not wakes([node(2)], None, node(2))
    assert wakes([node(4)], None, node(4))


def test_n23_a_pod_that_was_on_no_node_and_promised_none_does_not_by_going() -> None:
    assert not wakes([node()], make_pod("q"), None)
    assert wakes([node()], nominated("n1"), None)


@pytest.mark.parametrize(
    ("left", "is_woken"),
    [
        pytest.param([running(1)], True, id="enough of it is free"),
        pytest.param([running(2)], False, id="there is still too little"),
        pytest.param([], False, id="there was enough before, so it was refused there by somebody else"),
    ],
)
def test_a_pod_that_goes_wakes_whoever_fits_on_its_node_now(left: list[KubeObject], is_woken: bool) -> None:
    assert wakes([node(), *left], running(1, "gone"), None) is is_woken


def test_a_pod_that_goes_from_a_node_that_is_gone_or_unknown_does_not() -> None:
    assert not wakes([running(1)], running(1, "gone"), None)
    assert not wakes([], running(1, "gone"), None)


@pytest.mark.parametrize(
    ("old", "new", "is_woken"),
    [
        pytest.param(node(2), node(4), True, id="more of what the pod asks"),
        pytest.param(node(2), node(2, labels={"a": "b"}), False, id="a label"),
        pytest.param(node(1), node(2), False, id="more, and still not enough"),
        pytest.param(node(pods=0), node(pods=1), True, id="room for one more pod"),
        pytest.param(node(), node(extended={NPU: 1}), False, id="something that the pod does not ask for"),
        pytest.param(node(taints=[{"key": "k", "effect": "NoSchedule"}]), node(), False, id="a taint less"),
        pytest.param(node(), None, False, id="it goes"),
    ],
)
def test_a_node_that_changes(old: Node, new: Node | None, is_woken: bool) -> None:
    assert wakes([new] if new else [], old, new) is is_woken


def test_a_pod_that_asks_for_less_is_woken_and_so_is_who_fits_beside_one_that_does() -> None:
    less = make_pod("p", requests={"cpu": 2})
    assert wakes([node(2)], POD, less, less)
    assert wakes([node(), running(1)], running(2), running(1))
    assert not wakes([node(), running(2)], running(3), running(2))
    other = make_pod("q", requests={"cpu": 2})
    assert not wakes([node(2)], other, make_pod("q", requests={"cpu": 1}))


def test_what_is_worked_out_of_a_pod_is_not_that_of_an_older_version() -> None:
    harness = CycleHarness([node()])
    big = make_pod("p", requests={"cpu": 9})
    assert not harness.wakes("NodeResourcesFit", big, running(2), None)
    assert harness.wakes("NodeResourcesFit", POD, running(2), None)


def test_a_pod_that_asks_for_less_where_there_was_room_before_wakes_nobody() -> None:
    assert not wakes([node(8), running(1)], running(2), running(1))

"""After which changes DeviceShare lets a Pod be tried again."""

from collections.abc import Mapping
from typing import Any

import pytest

from koordpy.testing import CycleHarness, gpu, make_device, make_node, make_pod
from koordpy_api.koordinator import DEVICE_ALLOCATED, GPU_CORE, GPU_ISOLATION_PROVIDER, GPU_MEMORY_RATIO, NVIDIA_GPU
from koordpy_api.objects import Device, KubeObject, Node, Pod

ONE = {NVIDIA_GPU: 1}
HALF = {GPU_CORE: 50, GPU_MEMORY_RATIO: 50}
POD = make_pod("p", requests=ONE)


def node(name: str = "n1", **more: Any) -> Node:
    return make_node(name, **more)


def device(*cards: Mapping[str, Any], **more: Any) -> Device:
    return make_device("n1", cards, **more)


def holder(percent: int = 100, name: str = "holder", requests: Mapping[str, int] = ONE) -> Pod:
    resources = f'{{"{GPU_CORE}":{percent},"{GPU_MEMORY_RATIO}":{percent}}}'
    told = {DEVICE_ALLOCATED: f'{{"gpu":[{{"minor":0,"resources":{resources}}}]}}'}
    return make_pod(name, node="n1", requests=requests, annotations=told)


def wakes(believed: list[KubeObject], old: KubeObject | None, new: KubeObject | None, pod: Pod = POD) -> bool:
    """believed: what the scheduler knows after the change."""
    return CycleHarness(believed).wakes("DeviceShare", pod, old, new)


# -- Devices ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("believed", "old", "new", "is_woken"),
    [
        pytest.param([node()], None, device(gpu(0)), True, id="FC-068 cards become known"),
        pytest.param([node()], None, device(), False, id="a Device comes without a card"),
        pytest.param([], None, device(gpu(0)), False, id="of a node that is not there"),
        pytest.param([node(), holder()], None, device(gpu(0)), False, id="of which a pod holds the only card"),
        pytest.param([node()], device(gpu(0, health=False)), device(gpu(0)), True, id="a card is healthy again"),
        pytest.param([node()], device(gpu(0)), device(gpu(0, health=False)), False, id="a card breaks"),
        pytest.param([node()], device(gpu(0)), device(gpu(0)), False, id="FC-069 the same content once more"),
        pytest.param([node(), holder()], device(gpu(0)), device(gpu(0), gpu(1)), True, id="a card more"),
        pytest.param([node()], device(gpu(0)), None, False, id="it goes"),
    ],
)
def test_a_device_that_comes_or_changes(
    believed: list[KubeObject], old: Device | None, new: Device | None, is_woken: bool
) -> None:
    assert wakes([*believed, *([new] if new else [])], old, new) is is_woken


# -- pods ------------------------------------------------------------------------------------------------------------


def test_a_pod_that_goes_wakes_whoever_gets_a_card_of_its_node_now() -> None:
    assert wakes([node(), device(gpu(0))], holder(), None)
    assert not wakes([node(), device(gpu(0)), holder(50, "still", HALF)], holder(50, requests=HALF), None)
    shares = make_pod("p", requests=HALF)
    assert wakes([node(), device(gpu(0)), holder(50, "still", HALF)], holder(50, requests=HALF), None, shares)


def test_a_pod_without_devices_helps_nobody_by_going() -> None:
    assert not wakes([node(), device(gpu(0))], make_pod("q", node="n1", requests={"cpu": 1}), None)


def test_a_pod_that_was_only_held_there_does_by_being_let_go_of() -> None:
    assert wakes([node(), device(gpu(0))], make_pod("q", node="n1", requests=ONE), None)


def test_cards_of_a_device_plugin_alone_are_counted_too() -> None:
    plain = node(extended=ONE)
    gone = make_pod("q", node="n1", requests=ONE)
    assert wakes([plain], gone, None)
    assert not wakes([plain, make_pod("r", node="n1", requests=ONE)], gone, None)
    assert wakes([plain], node(), plain)


def test_a_running_pod_that_can_be_read_at_last_opens_its_node() -> None:
    broken = make_pod("holder", node="n1", requests=HALF, annotations={DEVICE_ALLOCATED: "{"})
    shares = make_pod("p", requests=HALF)
    read = holder(50, requests=HALF)
    assert wakes([node(), device(gpu(0)), read], broken, read, shares)
    labelled = make_pod(
        "holder", node="n1", requests=HALF, labels={"a": "b"}, annotations=dict(read.metadata.annotations)
    )
    assert not wakes([node(), device(gpu(0)), labelled], read, labelled, shares)


def test_a_pod_that_asks_for_something_else_is_woken_and_one_that_only_gets_a_label_is_not() -> None:
    hinted = make_pod("p", requests=ONE, annotations={"scheduling.koordinator.sh/device-allocate-hint": "{}"})
    broken = make_pod("p", requests=ONE, annotations={"scheduling.koordinator.sh/device-allocate-hint": "{"})
    labelled = make_pod("p", requests=ONE, labels={"a": "b"})
    assert wakes([], broken, hinted, hinted)
    assert not wakes([], hinted, broken, broken)
    assert not wakes([], POD, labelled, labelled)


def test_what_no_node_can_give_no_change_of_a_node_makes_good() -> None:
    never = make_pod("p", requests={GPU_CORE: 150, GPU_MEMORY_RATIO: 50})
    assert not wakes([node(), device(gpu(0))], None, device(gpu(0)), never)
    assert not wakes([node(), device(gpu(0))], holder(), None, never)


# -- nodes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "pod", "is_woken"),
    [
        pytest.param(None, node(), POD, True, id="it comes, and its cards are known"),
        pytest.param(None, node("n2"), POD, False, id="one comes without cards"),
        pytest.param(
            node(), node(labels={"a": "b"}), POD, True, id="a label; a gate may look at it, and the card is free"
        ),
        pytest.param(
            node(), node(taints=[{"key": "k", "effect": "NoSchedule"}]), POD, False, id="nothing that a device hangs on"
        ),
        pytest.param(
            node(),
            node(labels={GPU_ISOLATION_PROVIDER: "HAMi-core"}),
            make_pod("p", requests=HALF, labels={GPU_ISOLATION_PROVIDER: "HAMi-core"}),
            True,
            id="the isolation that the pod wants",
        ),
        pytest.param(
            node(),
            node(labels={"a": "b"}),
            make_pod("p", requests=HALF, labels={GPU_ISOLATION_PROVIDER: "HAMi-core"}),
            False,
            id="without the isolation that the pod wants",
        ),
        pytest.param(node(), None, POD, False, id="it goes"),
    ],
)
def test_a_node_that_comes_or_changes(old: Node | None, new: Node | None, pod: Pod, is_woken: bool) -> None:
    believed: list[KubeObject] = [device(gpu(0)), *([new] if new else [])]
    assert wakes(believed, old, new, pod) is is_woken

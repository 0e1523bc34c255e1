"""Our own behaviour, where differences.yaml says that it is not Koordinator's. Through hooks, one test a difference."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from koordpy.testing import gpu, make_device, make_node, make_pod
from koordpy_api import Code
from koordpy_api.koordinator import (
    DEVICE_ALLOCATED,
    FPGA,
    GPU,
    GPU_CORE,
    GPU_MEMORY,
    GPU_MEMORY_RATIO,
    GPU_SHARED,
    NVIDIA_GPU,
    RDMA,
    SCHEDULING_PREFIX,
)
from koordpy_api.objects import Pod
from tests.parity.readers.koordinator.alloc import score_of
from tests.parity.readers.koordinator.answers import devices_of
from tests.parity.readers.koordinator.stage import NODE, Stage, holder

GI = 1024**3
HALF = {GPU_CORE: "50", GPU_MEMORY_RATIO: "50"}
SHORT = "Insufficient gpu devices"


def staged(*cards: Mapping[str, Any], args: Mapping[str, Any] | None = None) -> Stage:
    stage = Stage(args)
    stage.harness.add(make_device(NODE, cards))
    return stage


def hold(stage: Stage, name: str, minor: int = 0, **amounts: Any) -> Pod:
    """A Pod that runs on the node with so much of one card."""
    names = {"core": GPU_CORE, "ratio": GPU_MEMORY_RATIO, "memory": GPU_MEMORY}
    pod = holder(name, {"gpu": {str(minor): {names[key]: amount for key, amount in amounts.items()}}})
    stage.harness.add(pod)
    return pod


def refused(stage: Stage, pod: Pod) -> tuple[str, ...]:
    """The reasons; none if the node takes the Pod."""
    refusal = stage.pre_filter(pod) or stage.filter(pod)
    return () if refusal is None else refusal.reasons


def given(stage: Stage, pod: Pod) -> dict[int, dict[str, int]]:
    """Minor → what the Pod gets of that GPU."""
    assert not refused(stage, pod)
    assert stage.reserve(pod) is None
    return {each["minor"]: each["resources"] for each in devices_of(stage.annotations(pod))["devices"]["gpu"]}


def free(stage: Stage, minor: int = 0) -> int:
    """Percent of the card's memory that a Pod could get."""
    asks = (make_pod(f"ask-{percent}", requests={GPU_MEMORY_RATIO: percent}) for percent in range(100, 0, -1))
    return next((100 - gone for gone, pod in enumerate(asks) if not refused(stage, pod)), 0)


# -- requests ----------------------------------------------------------------------------------------------------------


def test_29_of_100_bytes_are_29_percent() -> None:
    assert given(staged(gpu(0, memory=100)), make_pod(requests={GPU_MEMORY: 29}))[0][GPU_MEMORY_RATIO] == 29


def test_cores_of_two_cards_with_bytes_are_two_cards() -> None:
    per_card = {GPU_CORE: 100, GPU_MEMORY: 8 * GI, GPU_MEMORY_RATIO: 50}
    asked = make_pod(requests={GPU_CORE: 200, GPU_MEMORY: "16Gi"})
    assert given(staged(gpu(0), gpu(1)), asked) == {0: per_card, 1: per_card}


def test_bytes_that_do_not_divide_over_cards_are_rounded_up() -> None:
    for asked in ({GPU_CORE: 200, GPU_MEMORY: 1}, {GPU_SHARED: 2, GPU_MEMORY: 1}):
        cards = given(staged(gpu(0), gpu(1)), make_pod(requests=asked))
        assert [cards[minor][GPU_MEMORY] for minor in (0, 1)] == [1, 1]


def test_more_core_than_the_cards_have_is_refused_with_what_would_be_right() -> None:
    refusal = staged(gpu(0), gpu(1)).pre_filter(make_pod(requests={GPU_CORE: 200, GPU_MEMORY_RATIO: 100}))
    assert refusal is not None
    assert refusal.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    assert refusal.message.endswith(
        "koordinator.sh/gpu-core: 200 is of 2 cards, but koordinator.sh/gpu-memory-ratio: 100 of 1; "
        "ask koordinator.sh/gpu-memory-ratio: 200 for all of their memory, or add koordinator.sh/gpu.shared: 2"
    )


def test_a_designated_card_that_is_not_there_refuses_the_node_and_not_the_attempt() -> None:
    annotations = {
        DEVICE_ALLOCATED: json.dumps({"gpu": [{"minor": 5, "resources": HALF}]}),
        "internal.scheduling.koordinator.sh/scheduling-hint": '{"extensions":{"DeviceShare":{}}}',
    }
    stage, pod = staged(gpu(0)), make_pod(requests=HALF, annotations=annotations)
    assert stage.pre_filter(pod) is None
    refusal = stage.filter(pod)
    assert refusal is not None
    assert refusal.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    assert refusal.reasons[0].startswith("fillGPUTotalMem failed: no healthy gpu device with minor 5 of allocation")


@pytest.mark.parametrize("amount", ["500m", "0.5"])
def test_part_of_a_counted_card_is_refused_and_not_rounded_up(amount: str) -> None:
    assert "must be an integer" in refused(staged(gpu(0)), make_pod(requests={NVIDIA_GPU: amount}))[0]


def test_a_hint_that_is_null_breaks_nothing() -> None:
    hint = {SCHEDULING_PREFIX + "device-allocate-hint": '{"gpu": null}'}
    stage, pod = staged(gpu(0)), make_pod(requests=HALF, annotations=hint)
    refusal = stage.pre_filter(pod)
    assert refusal is None or (refusal.is_rejected and "hint" in refusal.message.lower())


def test_an_unreadable_allocation_on_a_pod_that_is_not_bound_refuses_nothing() -> None:
    broken = {DEVICE_ALLOCATED: '{"gpu":['}
    assert not refused(staged(gpu(0)), make_pod("cpu", requests={"cpu": 1}, annotations=broken))
    assert given(staged(gpu(0)), make_pod("card", requests=HALF, annotations=broken))


# -- the choice --------------------------------------------------------------------------------------------------------


def test_what_a_card_does_not_report_is_not_given() -> None:
    bare = gpu(0, resources={GPU_MEMORY_RATIO: "100", GPU_MEMORY: "16Gi"})
    assert refused(staged(bare), make_pod(requests=HALF)) == (SHORT,)


def test_percents_that_rounding_left_over_are_no_room() -> None:
    """Of 1000 bytes 999 are held, but rounded down pod by pod they were written as 90 percent."""
    stage = staged(gpu(0, memory=1000))
    hold(stage, "a", memory=999, ratio=90)
    assert refused(stage, make_pod(requests={GPU_MEMORY_RATIO: 10})) == (SHORT,)


def test_every_device_type_that_is_short_is_told() -> None:
    nic = {"type": "rdma", "minor": 0, "id": "0000:10:00.0", "health": True, "resources": {RDMA: "100"}}
    asked = make_pod(requests={GPU: 200, RDMA: 200, FPGA: 100})
    reasons = refused(staged(gpu(0), nic), asked)
    assert reasons == ("Insufficient fpga devices", SHORT, "Insufficient rdma devices")


def test_all_cards_of_a_pod_count_in_a_nodes_score() -> None:
    stage = staged(*(gpu(minor) for minor in range(4)))
    pod = make_pod(requests={NVIDIA_GPU: 4})
    assert not refused(stage, pod)
    assert score_of(stage, pod) == 50  # ratio: nothing left; bytes are not completed before scoring


@pytest.mark.parametrize(("allocator", "minor"), [("default", 0), ("binpack", 1), ("spread", 2)])
def test_the_allocator_orders_the_cards_of_a_node(allocator: str, minor: int) -> None:
    stage = staged(*(gpu(minor) for minor in range(3)), args={"allocator": allocator})
    hold(stage, "a", minor=0, core=25, ratio=25, memory="4Gi")
    hold(stage, "b", minor=1, core=50, ratio=50, memory="8Gi")
    assert [*given(stage, make_pod(requests={GPU: 25}))] == [minor]


def test_the_cards_are_written_in_flat_form_too() -> None:
    stage = staged(gpu(0, uuid="GPU-a"), gpu(1, uuid="GPU-b"))
    pod = make_pod(requests={NVIDIA_GPU: 2})
    given(stage, pod)
    written = stage.annotations(pod)
    assert written["scheduling.koordinator.sh/gpu-minors"] == "0,1"
    assert written["koordpy.dev/gpu-uuids"] == "GPU-a,GPU-b"


# -- nodes -------------------------------------------------------------------------------------------------------------


def test_a_share_is_refused_on_a_node_without_a_device() -> None:
    refusal = refused(Stage(), make_pod(requests=HALF))
    assert len(refusal) == 1 and "Device" in refusal[0]


@pytest.mark.parametrize(("cards", "fits"), [(2, True), (4, False)])
def test_counted_cards_fit_on_a_node_that_only_has_a_device_plugin(cards: int, fits: bool) -> None:
    stage = Stage()
    stage.harness.add(make_node(NODE, extended={NVIDIA_GPU: 2}))
    assert (not refused(stage, make_pod(requests={NVIDIA_GPU: cards}))) is fits


def test_a_missing_isolation_provider_refuses_the_node_and_not_the_attempt() -> None:
    labels = {"koordinator.sh/gpu-isolation-provider": "HAMi-core"}
    stage = staged(gpu(0))
    pod = make_pod(requests=HALF, labels=labels)
    assert stage.pre_filter(pod) is None
    refusal = stage.filter(pod)
    assert refusal is not None and refusal.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE


def test_a_running_pod_that_cannot_be_read_closes_its_node_for_pods_with_devices() -> None:
    stage = staged(gpu(0), gpu(1))
    stage.harness.add(make_pod("old", node=NODE, phase="Running", annotations={DEVICE_ALLOCATED: '{"gpu":['}))
    assert refused(stage, make_pod(requests=HALF))
    assert not refused(stage, make_pod("cpu", requests={"cpu": 1}))


def test_cards_that_another_scheduler_gave_without_a_word_limit_how_many_are_given() -> None:
    stage = staged(gpu(0), gpu(1))
    foreign = make_pod(
        "foreign", node=NODE, phase="Running", requests={NVIDIA_GPU: 1}, scheduler_name="default-scheduler"
    )
    stage.harness.add(foreign)
    assert not refused(stage, make_pod("one", requests={NVIDIA_GPU: 1}))
    assert refused(stage, make_pod("two", requests={NVIDIA_GPU: 2})) == (SHORT,)


# -- books -------------------------------------------------------------------------------------------------------------


def test_a_pod_gives_back_exactly_what_was_booked_for_it() -> None:
    stage = staged(gpu(0))
    pod = hold(stage, "a", core=50, ratio=50, memory="8Gi")
    broken = make_pod("a", uid=pod.uid, node=NODE, phase="Running", annotations={DEVICE_ALLOCATED: '{"gpu":['})
    stage.harness.update(pod, broken)
    assert free(stage) == 50
    stage.harness.delete(broken)
    assert free(stage) == 100


def test_a_changed_annotation_replaces_what_was_booked() -> None:
    stage = staged(gpu(0))
    pod = hold(stage, "a", core=50, ratio=50, memory="8Gi")
    hold(stage, "a", core=25, ratio=25, memory="4Gi")
    assert free(stage) == 75
    stage.harness.delete(pod)
    assert free(stage) == 100


def test_what_was_held_of_a_card_is_not_held_of_the_one_that_replaces_it() -> None:
    stage = Stage()
    old, new = make_device(NODE, [gpu(0, uuid="GPU-old")]), make_device(NODE, [gpu(0, uuid="GPU-new")])
    stage.harness.add(old)
    wire = [{"minor": 0, "id": "GPU-old", "resources": {GPU_CORE: "100", GPU_MEMORY_RATIO: "100", GPU_MEMORY: "16Gi"}}]
    stage.harness.add(
        make_pod("a", node=NODE, phase="Running", annotations={DEVICE_ALLOCATED: json.dumps({"gpu": wire})})
    )
    assert free(stage) == 0
    stage.harness.update(old, new)
    assert free(stage) == 100
    stage.harness.update(new, old)
    assert free(stage) == 0


def test_a_device_entry_without_a_minor_is_left_out_and_told() -> None:
    nameless = {key: value for key, value in gpu(0).items() if key != "minor"}
    stage = Stage()
    stage.harness.add(make_device(NODE, [nameless, gpu(1)]))
    assert [*given(stage, make_pod(requests=HALF))] == [1]

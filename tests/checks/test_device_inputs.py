"""Files with pods and Devices as people have them: what the scheduler makes of their requests."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from koordpy.config import manifests
from koordpy.queue.pod_info import QueuedPodInfo
from koordpy.scheduler.outcome import NotPlaced, Placed
from koordpy.testing import CycleHarness, build_profile, gpu, make_device, make_node, make_pod
from koordpy_api.koordinator import DEVICE_ALLOCATED, GPU_CORE, GPU_MEMORY, GPU_MEMORY_RATIO
from koordpy_api.objects import Device, KubeObject, Pod

INPUTS = Path(__file__).parents[1] / "inputs"
GI = 1024**3
Harness = Callable[..., CycleHarness]


def objects_of(name: str) -> list[KubeObject]:
    found = manifests.read((INPUTS / name).read_bytes())
    assert not [mistake for each in found for mistake in each.mistakes]
    return [each.obj for each in found if each.obj is not None]


def pods(name: str, count: int) -> list[Pod]:
    """So many pods like that of the file, told apart by name and UID."""
    (pod,) = (obj for obj in objects_of(name) if isinstance(obj, Pod))
    replace = msgspec.structs.replace
    return [
        replace(pod, metadata=replace(pod.metadata, name=f"{pod.metadata.name}-{i}", uid=f"uid-{i}"))
        for i in range(count)
    ]


def place(harness: CycleHarness, pod: Pod) -> dict[int, dict[str, Any]] | str:
    """Minor → what is recorded of it, or why the Pod is not placed."""
    outcome = harness.schedule(pod)
    if isinstance(outcome, NotPlaced):
        return outcome.status.message
    assert isinstance(outcome, Placed)
    text = harness.plan(outcome).pod.annotations[DEVICE_ALLOCATED]
    return {each["minor"]: each["resources"] for each in json.loads(text)["gpu"]}


def test_the_most_that_runs_at_once_is_held_also_by_init_containers(cycle: Harness) -> None:
    one, two = pods("04-pod-init-gpu.yaml", 2)
    harness = cycle(make_node("n1"), make_device("n1", 2), make_node("n2"), make_device("n2", 1))
    held = place(harness, one)
    assert sorted(held) == [0, 1]
    assert "Insufficient gpu devices" in place(harness, two)


def test_a_pod_in_two_dialects_is_refused_with_both_names(cycle: Harness) -> None:
    (both,) = pods("05-pod-two-dialects.yaml", 1)
    message = place(cycle(make_node("n1"), make_device("n1", 2)), both)
    assert "invalid resource device requests: [koordinator.sh/gpu nvidia.com/gpu]" in message


def test_four_quarters_share_a_card_and_the_fifth_takes_the_next(cycle: Harness) -> None:
    """As packed: the profile of the article's binpack file says so."""
    packing = build_profile(args={"DeviceShare": {"allocator": "binpack"}})
    harness = cycle(make_node("osprey-1"), *objects_of("24-article-device-with-status.yaml"), framework=packing)
    held = [place(harness, pod) for pod in pods("21-article-pod-small-inference.yaml", 5)]
    assert [[*each] for each in held] == [[0], [0], [0], [0], [1]]
    assert held[0] == {0: {GPU_CORE: "25", GPU_MEMORY: "4Gi", GPU_MEMORY_RATIO: "25"}}


def test_two_pods_of_eight_gi_share_a_card_of_sixteen(cycle: Harness) -> None:
    harness = cycle(make_node("n1"), make_device("n1", 1))
    one, two, three = pods("22-article-pod-medium-inference.yaml", 3)
    half = {0: {GPU_CORE: "50", GPU_MEMORY: "8Gi", GPU_MEMORY_RATIO: "50"}}
    assert [place(harness, one), place(harness, two)] == [half, half]
    assert "Insufficient gpu devices" in place(harness, three)


def test_a_card_that_reports_less_than_it_is_sold_as_refuses_the_second_in_bytes(cycle: Harness) -> None:
    harness = cycle(make_node("n1"), make_device("n1", [gpu(0, memory="15360Mi")]))
    one, two = pods("22-article-pod-medium-inference.yaml", 2)
    assert place(harness, one) == {0: {GPU_CORE: "50", GPU_MEMORY: "8Gi", GPU_MEMORY_RATIO: "53"}}
    outcome = harness.schedule(two)
    assert isinstance(outcome, NotPlaced) and outcome.diagnosis is not None
    details = outcome.diagnosis.refusals["n1"].details
    assert details[f"gpu[0].free.{GPU_CORE}"] == details[f"gpu[0].asked.{GPU_CORE}"] == 50
    assert (details[f"gpu[0].free.{GPU_MEMORY}"], details[f"gpu[0].asked.{GPU_MEMORY}"]) == (7 * GI, 8 * GI)


def test_two_whole_cards_are_refused_where_one_of_two_is_used_at_all(cycle: Harness) -> None:
    (train,) = pods("23-article-pod-two-card-training.yaml", 1)
    whole = {GPU_CORE: "100", GPU_MEMORY: "16Gi", GPU_MEMORY_RATIO: "100"}
    assert place(cycle(make_node("n1"), make_device("n1", 2)), train) == {0: whole, 1: whole}
    used = cycle(make_node("n1"), make_device("n1", 2))
    place(used, *pods("21-article-pod-small-inference.yaml", 1))
    assert "Insufficient gpu devices" in place(used, train)


def test_a_replica_made_again_under_its_name_leaves_nothing_behind(cycle: Harness) -> None:
    template = next(obj for obj in objects_of("07-statefulset-whole-cards.yaml") if isinstance(obj, Pod))
    replace = msgspec.structs.replace
    first, second, again = (
        replace(template, metadata=replace(template.metadata, name=name, namespace="default", uid=uid))
        for name, uid in [("silk-train-0", "u1"), ("silk-train-1", "u2"), ("silk-train-0", "u3")]
    )
    harness = cycle(make_node("n1"), make_device("n1", 4))
    assert [sorted(place(harness, pod)) for pod in (first, second)] == [[0, 1], [2, 3]]
    assert "Insufficient gpu devices" in place(harness, again)
    harness.delete(first)
    assert sorted(place(harness, again)) == [0, 1]


def test_the_status_of_a_device_holds_nothing(cycle: Harness) -> None:
    device = objects_of("24-article-device-with-status.yaml")
    assert [type(each) for each in device] == [Device]
    harness = cycle(make_node("osprey-1"), *device)
    assert sorted(place(harness, *pods("23-article-pod-two-card-training.yaml", 1))) == [0, 1]


def test_a_pod_with_a_priority_in_a_word_is_placed_without_a_warning_and_comes_first_in_the_queue(
    cycle: Harness,
) -> None:
    one, two = pods("29-article-pod-priority-label.yaml", 2)
    harness = cycle(make_node("n1"), make_device("n1", 1))
    assert harness.framework.run_check(one) == []
    keys = [
        harness.framework.queue_sort(QueuedPodInfo(pod, queued_at, 0.0).view())
        for pod, queued_at in ((one, 9.0), (make_pod("older"), 1.0))
    ]
    assert keys[0] < keys[1]
    assert sorted(place(harness, one)) == [0]
    assert "Insufficient gpu devices" in place(harness, two)  # 20Gi would be too much, though compute would allow it

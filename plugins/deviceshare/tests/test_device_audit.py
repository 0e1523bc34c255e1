"""What of a cluster's cards cannot be right, and where the books differ from the objects."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from koordpy.testing import gpu, make_device, make_pod
from koordpy_api.koordinator import DEVICE_ALLOCATED, GPU_CORE, GPU_MEMORY_RATIO, NVIDIA_GPU
from koordpy_api.objects import Device, Pod
from koordpy_deviceshare.auditing import audit, recount
from koordpy_deviceshare.cache import DeviceCache
from koordpy_deviceshare.dialects import read_allocations


def holder(name: str, *cards: tuple[int, int], uuid: str = "", text: str | None = None, node: str = "n1") -> Pod:
    """cards: (minor, percent)."""
    entries = [
        {"minor": minor, "resources": {GPU_CORE: str(part), GPU_MEMORY_RATIO: str(part)}}
        | ({"id": uuid} if uuid else {})
        for minor, part in cards
    ]
    return make_pod(name, node=node, annotations={DEVICE_ALLOCATED: text or json.dumps({"gpu": entries})})


def books(*pods: Pod, device: Device | None = None) -> DeviceCache:
    cache = DeviceCache(lambda *_: None)
    cache.node_seen("n1", exists=True)
    if device is not None:
        cache.added(device)
    for pod in pods:
        cache.pod_seen(pod.spec.node_name, pod)
    return cache


def told(cache: DeviceCache) -> list[str]:
    return [str(finding) for finding in audit(cache)]


TWO = make_device("n1", 2)
NOBODY = frozenset[str]()
ANNOTATION = f"metadata.annotations[{DEVICE_ALLOCATED}]"


def test_books_that_are_right_have_nothing_to_tell() -> None:
    cache = books(holder("a", (0, 50)), holder("b", (0, 50)), holder("c", (1, 100)), device=TWO)
    assert told(cache) == []
    assert list(recount(cache, [TWO, holder("a", (0, 50)), holder("b", (0, 50)), holder("c", (1, 100))], NOBODY)) == []


def test_a_card_that_is_given_away_twice_is_told_with_its_holders() -> None:
    (core, memory, ratio) = told(books(holder("a", (0, 100)), holder("b", (0, 50)), device=TWO))
    assert core == (f"Device n1: gpu 0 {GPU_CORE} is '150': no more than 100; held by default/a, default/b")
    assert "gpu-memory is" in memory
    assert "gpu-memory-ratio is '150'" in ratio


def test_a_minor_that_no_device_lists_is_told_of_its_pod() -> None:
    assert told(books(holder("a", (7, 50)), device=TWO)) == [
        f"Pod default/a: {ANNOTATION} is 'gpu 7': the Device of n1 lists no such minor"
    ]


def test_cards_on_a_node_without_a_device_are_told() -> None:
    assert told(books(holder("a", (0, 50)))) == [f"Pod default/a: {ANNOTATION} is 'gpu 0': n1 has no Device"]


def test_a_card_that_was_exchanged_is_told() -> None:
    cache = books(holder("a", (0, 50), uuid="GPU-old"), device=make_device("n1", [gpu(0, uuid="GPU-old")]))
    cache.updated(TWO, make_device("n1", [gpu(0, uuid="GPU-new")]))
    (line,) = told(cache)
    assert "'gpu 0 GPU-old': the Device of n1 has another card there now" in line


def test_an_annotation_that_cannot_be_read_is_told_whether_or_not_something_is_booked() -> None:
    cache = books(holder("a", text='{"gpu":[{"minor":0,'), holder("b", (1, 50)), device=TWO)
    cache.pod_seen("n1", holder("b", text="[]"))
    lines = told(cache)
    assert [line.partition(":")[0] for line in lines] == ["Pod default/a", "Pod default/b"]


def test_a_device_with_an_entry_that_means_no_card_is_told() -> None:
    device = make_device("n1", [gpu(0), gpu(1) | {"minor": None}])
    assert told(books(device=device)) == ["Device n1: spec.devices[1].minor: a device needs a minor, 0 or more"]


def test_more_nameless_cards_than_are_left_are_told() -> None:
    foreign = [make_pod(f"f{number}", node="n1", requests={NVIDIA_GPU: 1}) for number in range(2)]
    assert told(books(*foreign, device=TWO)) == []
    (line,) = told(books(*foreign, holder("a", (0, 50)), device=TWO))
    assert "is '2': no more than 1, which nobody else holds" in line


@pytest.mark.parametrize(
    ("objects", "difference"),
    [
        pytest.param([TWO], "pod default/a: it is not on n1, and still booked there", id="a pod that went"),
        pytest.param([holder("a", (0, 50))], "node n1: its Device is gone", id="a Device that went"),
        pytest.param([make_device("n1", 1), holder("a", (0, 50))], "what its Device lists", id="a Device that changed"),
        pytest.param([TWO, holder("a", (1, 50))], "is not what its annotation says", id="another card"),
        pytest.param([TWO, holder("a", (0, 50)), holder("b", (1, 50))], "is not booked", id="a pod that was missed"),
        pytest.param([TWO, holder("a", (0, 50), node="n2")], "is not booked", id="a pod that is elsewhere"),
        pytest.param(
            [TWO, holder("a", (0, 50)), make_device("n3", 1)], "n3: its Device is not known", id="a new Device"
        ),
    ],
)
def test_a_recount_tells_of(objects: list[Any], difference: str) -> None:
    cache = books(holder("a", (0, 50)), device=TWO)
    assert any(difference in line for line in recount(cache, objects, NOBODY))


def test_a_recount_tells_of_an_assumption_that_should_be_settled_and_of_sums_that_are_wrong() -> None:
    cache = books(device=TWO)
    pod = holder("a", (0, 50))
    devices = read_allocations(pod.metadata.annotations)
    assert devices is not None
    cache.assume("n1", pod, devices)
    held = frozenset([pod.uid])
    assert list(recount(cache, [TWO], held)) == []
    assert any("still an assumption" in line for line in recount(cache, [TWO, pod], NOBODY))
    assert any("nothing is held for it any more" in line for line in recount(cache, [TWO], NOBODY))
    sums: Mapping[str, Any] = cache.books["n1"].sums
    sums["gpu"].clear()
    assert any("the sums are not those of its records" in line for line in recount(cache, [TWO], held))

"""The table of workloads and the ceiling's plan: they say what they promise."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Mapping
from itertools import islice
from random import Random
from typing import Any

import msgspec
import pytest

from koordpy.clock import LoopClock
from koordpy.cluster.embedded.cluster import EmbeddedCluster
from koordpy.cluster.kinds import EVENT, NAMESPACE
from koordpy.cluster.recorder import Recorder
from koordpy.scheduler.outcome import Placed
from koordpy.testing import CycleHarness, read_object
from koordpy.virtual_time import run
from koordpy_api.koordinator import DEVICE_ALLOCATED, GPU_CORE, decode_device_allocated
from koordpy_api.objects import Device, Node, Pod
from tests.perf import workloads
from tests.perf.environs import Meta
from tests.perf.plan import Chain, card_places, chains
from tests.perf.workloads import CARDS, PATTERN, SHARES, WORKLOADS, Kind, Workload, card_pod

GPU_SHARES = WORKLOADS["gpu-shares"]


def created(workload: Workload) -> list[Meta]:
    """As the API server would answer."""
    return [Meta(pod["metadata"]["name"], f"{number:036}", "1000") for number, pod in enumerate(workload.backlog())]


def plan(workload: Workload, *, with_events: bool = True) -> list[Chain]:
    return list(chains(workload, created(workload), with_events=with_events))


def requests(pod: Mapping[str, Any]) -> str:
    return str(sorted(pod["spec"]["containers"][0]["resources"]["requests"].items()))


@pytest.mark.parametrize(("name", "kinds"), [("basic", 1), ("signatures-100", 100), ("signatures-all", 10_000)])
def test_pods_are_of_as_many_kinds_as_the_name_says(name: str, kinds: int) -> None:
    assert len({requests(pod) for pod in WORKLOADS[name].backlog()}) == kinds


def test_of_twenty_pods_with_cards_thirteen_want_a_quarter_five_a_half_one_a_card_and_one_two() -> None:
    assert Counter(PATTERN) == {"q": 13, "h": 5, "w": 1, "t": 1}
    assert len({requests(card_pod(number)) for number in range(20)}) == 4


def test_the_pods_of_gpu_shares_all_fit_by_count() -> None:
    wanted = GPU_SHARES.pods / len(PATTERN) * sum(SHARES[kind] for kind in PATTERN)
    assert wanted == 3_500
    assert wanted < GPU_SHARES.nodes * CARDS == 4_000


def test_the_ceilings_own_places_for_cards_overlap_nowhere_and_need_no_further_node() -> None:
    used: dict[tuple[int, int], int] = defaultdict(int)
    for node, annotations in islice(card_places(), GPU_SHARES.pods):
        assert node < GPU_SHARES.nodes
        for device in decode_device_allocated(annotations[DEVICE_ALLOCATED])["gpu"]:
            used[node, device.minor] += device.resources[GPU_CORE]
    assert max(used.values()) == 100


def test_the_ceiling_writes_annotations_as_long_as_koordpys() -> None:
    workload = GPU_SHARES.resized(5, 20)
    objects = workload.objects()
    harness = CycleHarness(
        read_object(Node, each) if each["kind"] == "Node" else read_object(Device, each) for each in objects
    )
    for pod, chain in zip(workload.backlog(), plan(workload), strict=True):
        pod["metadata"]["uid"] = pod["metadata"]["name"]
        placed = harness.schedule(read_object(Pod, pod))
        assert isinstance(placed, Placed)
        ours = harness.plan(placed).pod.annotations
        theirs = msgspec.json.decode(chain[0].body)["metadata"]["annotations"]
        assert {key: len(text) for key, text in ours.items()} == {key: len(text) for key, text in theirs.items()}


def test_the_ceiling_writes_events_as_long_as_koordpys() -> None:
    workload = WORKLOADS["basic"].smaller(100)
    binding, event = (msgspec.json.decode(write.body) for write in plan(workload)[0])
    (meta, *_), (pod, *_) = created(workload), workload.backlog()
    pod["metadata"] |= {"uid": meta.uid, "resourceVersion": meta.resource_version}
    stored = run(_recorded(read_object(Pod, pod), binding["target"]["name"]))
    assert set(event) <= set(stored)
    assert {key: len(str(text)) for key, text in event.items() if key != "metadata"} == {
        key: len(str(stored[key])) for key in event if key != "metadata"
    }
    assert len(stored["metadata"]["name"]) == len(event["metadata"]["name"])


async def _recorded(pod: Pod, node: str) -> Mapping[str, Any]:
    """The Event that koordpy writes when it has bound a pod."""
    clock = LoopClock()
    cluster = EmbeddedCluster(clock, Random(0))
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": workloads.NAMESPACE}}
    cluster.store.create(NAMESPACE, "", namespace)
    recorder = Recorder(cluster, clock, "localhost")
    writing = asyncio.create_task(recorder.run())
    recorder.record(pod, "Normal", "Scheduled", "Binding", f"Successfully assigned {pod.key} to {node}")
    assert await recorder.drain(10)
    writing.cancel()
    (event,) = cluster.store.list(EVENT).items
    return event.document


def test_a_pod_that_fits_nowhere_gets_its_condition_and_the_others_a_bind_and_each_an_event() -> None:
    workload = WORKLOADS["never-fit"].smaller(100)
    methods = Counter(write.method for chain in plan(workload) for write in chain)
    assert workload.never_fit == 20
    assert methods == {"PATCH": 20, "POST": 2 * workload.pods + 20}
    assert Counter(write.method for chain in plan(workload, with_events=False) for write in chain)["POST"] == 100


def test_pods_of_the_memory_workload_are_bound_to_nodes_that_are_there() -> None:
    workload = WORKLOADS["memory"].smaller(100)
    objects = list(workload.objects())
    nodes = {each["metadata"]["name"] for each in objects if each["kind"] == "Node"}
    assert {each["spec"]["nodeName"] for each in objects if each["kind"] == "Pod"} == nodes
    assert len(list(workload.arrivals())) == workload.extra == 10


def test_a_smaller_workload_does_not_count_for_the_page() -> None:
    assert all(each.is_whole and not each.smaller(100).is_whole for each in WORKLOADS.values())
    assert not any(list(each.backlog()) for each in WORKLOADS.values() if each.kind is not Kind.BACKLOG)

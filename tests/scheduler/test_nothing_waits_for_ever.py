"""A hint may be wrong in a way that nobody sees for long: a Pod fits and is not woken. Random changes find that."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any, Final

from hypothesis import given, settings
from hypothesis import strategies as st

from koordpy.scheduler.outcome import NotPlaced
from koordpy.testing import CycleHarness, device_manifest, gpu, node_manifest, pod_manifest, read_object
from koordpy_api.koordinator import DEVICE_ALLOCATED, GPU_CORE, GPU_MEMORY_RATIO, NVIDIA_GPU
from koordpy_api.objects import Device, KubeObject, Node, Pod
from tests.scheduler.stage import Stage, perform

NODES: Final = ("n0", "n1")
TAINT: Final = {"key": "k", "effect": "NoSchedule"}
SHAPES: Final[Sequence[dict[str, Any]]] = (
    {"requests": {"cpu": 3}},
    {"requests": {"cpu": 1, NVIDIA_GPU: 1}},
    {"requests": {NVIDIA_GPU: 2}},
    {"requests": {"cpu": 2, GPU_CORE: 50, GPU_MEMORY_RATIO: 50}},
    {"requests": {"cpu": 1}, "tolerations": [TAINT | {"operator": "Exists"}]},
    {"requests": {"cpu": 1}, "scheduling_gates": ["hold"]},
)
NODE: Final = st.sampled_from(NODES)
NUMBER: Final = st.integers(0, 5)
PAUSES_S: Final = st.sampled_from([0.0, 0.2, 0.2, 2.0])
POD: Final = st.tuples(st.just("pod"), NUMBER, st.integers(0, len(SHAPES) - 1))
OTHERS: Final = (
    st.tuples(st.just("delete"), NUMBER, st.none()),
    st.tuples(st.just("ungate"), NUMBER, st.none()),
    st.tuples(st.just("cpu"), NODE, st.integers(1, 6)),
    st.tuples(st.just("room"), NODE, st.integers(0, 3)),
    st.tuples(st.just("taint"), NODE, st.booleans()),
    st.tuples(st.just("cordon"), NODE, st.booleans()),
    st.tuples(st.just("gone"), NODE, st.none()),
    st.tuples(st.just("cards"), NODE, st.lists(st.booleans(), max_size=2)),
    st.tuples(st.just("no cards"), NODE, st.none()),
)
STEPS: Final = st.lists(st.sampled_from(OTHERS), min_size=1, max_size=4, unique_by=id).flatmap(
    # Few sorts of changes at a time: where everything changes, something always wakes a Pod, by accident.
    lambda some: st.lists(st.tuples(st.one_of(POD, *some), PAUSES_S), min_size=10, max_size=25)
)


class Changes:
    """What one example does to the cluster."""

    def __init__(self, stage: Stage) -> None:
        self._cluster = stage.cluster

    def do(self, step: str, what: Any, how: Any) -> None:
        match step:
            case "pod" if not self._cluster.has_pod(f"p{what}"):
                self._cluster.add(pod_manifest(f"p{what}", **SHAPES[how]))
            case "delete" if self._cluster.has_pod(f"p{what}"):
                self._cluster.delete("Pod", f"p{what}")
            case "ungate" if self._cluster.has_pod(f"p{what}"):
                self._cluster.change("Pod", f"p{what}", lambda pod: pod["spec"].pop("schedulingGates", None))
            case "cpu" | "room" | "taint" | "cordon":
                self._node(what, step, how)
            case "gone" if self._has("Node", what):
                self._cluster.delete("Node", what)
            case "cards":
                cards = [gpu(minor, uuid=f"GPU-{what}-{minor}", health=healthy) for minor, healthy in enumerate(how)]
                if self._has("Device", what):
                    self._cluster.change("Device", what, lambda device: device["spec"].update(devices=cards))
                else:
                    self._cluster.add(device_manifest(what, cards))
            case "no cards" if self._has("Device", what):
                self._cluster.delete("Device", what)

    def _node(self, name: str, step: str, how: Any) -> None:
        if not self._has("Node", name):
            self._cluster.add(node_manifest(name, cpu=4))
        self._cluster.change("Node", name, lambda node: _changed(node, step, how))

    def _has(self, kind: str, name: str) -> bool:
        return any(obj.metadata.name == name for obj in objects(self._cluster.asked.store, kind))


def _changed(node: dict[str, Any], step: str, how: Any) -> None:
    match step:
        case "cpu":
            node["status"]["allocatable"]["cpu"] = str(how)
        case "room":
            node["status"]["allocatable"]["pods"] = str(how)
        case "taint":
            node["spec"]["taints"] = [TAINT] if how else []
        case "cordon":
            node["spec"]["unschedulable"] = how


def objects(store: Any, kind: str) -> list[KubeObject]:
    structs: dict[str, type[KubeObject]] = {"Pod": Pod, "Node": Node, "Device": Device}
    struct = structs[kind]
    return [read_object(struct, each.document) for each in store.list(struct.KIND).items]


def fitting(store: Any) -> list[str]:
    """The pending pods that a scheduler which starts now would place."""
    pods = [pod for pod in objects(store, "Pod") if isinstance(pod, Pod)]
    waiting = [pod for pod in pods if not pod.spec.node_name and not pod.spec.scheduling_gates]
    told = [*objects(store, "Device"), *objects(store, "Node"), *(pod for pod in pods if pod.spec.node_name)]
    return [pod.key for pod in waiting if not isinstance(CycleHarness(told).schedule(pod), NotPlaced)]


@settings(deadline=None, max_examples=60)
@given(STEPS)
def test_whoever_fits_is_placed_within_the_longest_back_off(
    steps: Sequence[tuple[tuple[str, Any, Any], float]],
) -> None:
    async def scene(stage: Stage) -> None:
        changes = Changes(stage)
        for step, pause_s in steps:
            changes.do(*step)
            await asyncio.sleep(pause_s)
        await asyncio.sleep(25)
        assert fitting(stage.cluster.asked.store) == []
        for pod in objects(stage.cluster.asked.store, "Pod"):
            stage.cluster.delete("Pod", pod.metadata.name)

    perform(scene, node_manifest("n0", cpu=4), device_manifest("n0", 1))


def test_mending_what_another_pod_says_it_holds_wakes_who_fits_beside_it() -> None:
    def hold(stage: Stage, percent: int) -> None:
        amounts = {GPU_CORE: percent, GPU_MEMORY_RATIO: percent}
        told = {DEVICE_ALLOCATED: json.dumps({"gpu": [{"minor": 0, "resources": amounts}]})}
        stage.cluster.change("Pod", "foreign", lambda pod: pod["metadata"].update(annotations=told))

    async def scene(stage: Stage) -> None:
        broken = pod_manifest("foreign", node="n0", scheduler_name="other", annotations={DEVICE_ALLOCATED: "{"})
        stage.cluster.add(broken)
        stage.cluster.add(pod_manifest("waits", requests={GPU_CORE: 60, GPU_MEMORY_RATIO: 60}))
        for percent, minors in ((80, []), (40, [0])):
            await asyncio.sleep(5)
            assert stage.minors("waits") == []
            hold(stage, percent)
            await asyncio.sleep(5)
            assert stage.minors("waits") == minors

    perform(scene, node_manifest("n0"), device_manifest("n0", 1))

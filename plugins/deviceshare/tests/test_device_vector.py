"""Both shapes say the same, on any nodes, after anything that may happen to them; and the columns are the books."""

import json
from random import Random
from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from koordpy.cache.columns import Columns
from koordpy.testing import columns_of, gpu, make_device, make_node, make_pod
from koordpy_api.columns import Selection
from koordpy_api.koordinator import (
    AMD_GPU,
    DEVICE_ALLOCATE_HINT,
    DEVICE_ALLOCATED,
    FPGA,
    GPU,
    GPU_CORE,
    GPU_ISOLATION_PROVIDER,
    GPU_MEMORY,
    GPU_MEMORY_RATIO,
    GPU_MODEL,
    GPU_PARTITION_SPEC,
    GPU_SHARED,
    GPU_VENDOR,
    NPU_CORE,
    NVIDIA_GPU,
    RDMA,
    SCHEDULING_HINTS,
)
from koordpy_api.node_info import NodeInfo, PodInfo
from koordpy_api.objects import Device, Pod
from koordpy_api.state import CycleState
from koordpy_api.status import Code, Status
from koordpy_deviceshare.args import DeviceShareArgs
from koordpy_deviceshare.card_columns import CardColumns
from koordpy_deviceshare.scheduling import DeviceShare
from koordpy_deviceshare.type_columns import MOST, TypeColumns

from .deviceshare_stage import Host, assigned

NAMES = [f"node-{number}" for number in range(12)]
VENDORS = ("", "nvidia", "amd", "acme")
MODELS = ("", "T4", "A100")
PROVIDERS = ("", "HAMi-core")
SOUND = ("16Gi", "24Gi", "23028Mi", "1001")
STRANGE = ("0", str(MOST), str(MOST + 1), str(2**60))
TYPES = ("gpu", "rdma", "fpga")


def hint(**by_type: Any) -> dict[str, str]:
    return {DEVICE_ALLOCATE_HINT: json.dumps(by_type)}


REQUESTS: list[dict[str, Any]] = [
    {"requests": {NVIDIA_GPU: 1}},
    {"requests": {NVIDIA_GPU: 2}},
    {"requests": {AMD_GPU: 1}},
    {"requests": {GPU: 40}},
    {"requests": {GPU: 300}},
    {"requests": {GPU_CORE: 25, GPU_MEMORY_RATIO: 40}},
    {"requests": {GPU_CORE: 60, GPU_MEMORY_RATIO: 5}},
    {"requests": {GPU_CORE: 30, GPU_MEMORY: "7Gi"}},
    {"requests": {GPU_MEMORY: 250}},
    {"requests": {GPU_MEMORY: str(MOST)}},
    {"requests": {GPU_MEMORY: str(MOST + 1)}},
    {"requests": {GPU_MEMORY_RATIO: 30}},
    {"requests": {GPU_SHARED: 2, GPU_CORE: 100, GPU_MEMORY_RATIO: 60}},
    {"requests": {GPU_SHARED: 3, GPU_MEMORY: "10Gi"}},
    {"requests": {NPU_CORE: 8, GPU_MEMORY_RATIO: 100}},
    {"requests": {RDMA: 25}},
    {"requests": {RDMA: 200}},
    {"requests": {GPU: 50, RDMA: 50, FPGA: 100}},
    {"requests": {GPU: 50}, "labels": {GPU_ISOLATION_PROVIDER: "HAMi-core"}},
    {"requests": {NVIDIA_GPU: 1}, "annotations": {GPU_PARTITION_SPEC: "{}"}},
    {"requests": {GPU: 50}, "annotations": hint(gpu={"selector": {"matchLabels": {"pool": "fast"}}})},
    {"requests": {GPU: 50}, "annotations": hint(gpu={"requiredTopologyScope": "Node"})},
    {"requests": {RDMA: 5}, "annotations": hint(rdma={"allocateStrategy": "ApplyForAll"})},
    {"requests": {RDMA: 2}, "annotations": hint(rdma={"allocateStrategy": "RequestsAsCount"})},
    {
        "requests": {GPU: 30},
        "annotations": {
            SCHEDULING_HINTS[1]: '{"extensions":{"DeviceShare":{}}}',
            DEVICE_ALLOCATED: '{"gpu":[{"minor":1,"resources":{"koordinator.sh/gpu-memory-ratio":"50"}}]}',
        },
    },
]
PROFILES: list[dict[str, Any]] = [
    {},
    {
        "scoringStrategy": {
            "type": "MostAllocated",
            "resources": [
                {"name": GPU_MEMORY_RATIO, "weight": 3},
                {"name": GPU_MEMORY, "weight": 2},
                {"name": RDMA, "weight": 1},
            ],
        },
        "gpuShareUnsupportedModels": [{"vendor": "nvidia", "model": "T4"}, {"vendor": "", "model": ""}],
    },
    {"scoringStrategy": {"type": "LeastAllocated", "resources": [{"name": GPU_CORE, "weight": 7}]}},
    {"scoringStrategy": {"type": "LeastAllocated"}},
]
WORDS = (
    '{"gpu":[{"minor":0,"resources":{"koordinator.sh/gpu-core":"30","koordinator.sh/gpu-memory-ratio":"40"}}]}',
    '{"gpu":[{"minor":1,"id":"U1","resources":{"koordinator.sh/gpu-memory":"5Gi"}},{"minor":7,"resources":null}]}',
    '{"gpu":[{"minor":2,"resources":{"koordinator.sh/gpu-core":"100","koordinator.sh/gpu-memory-ratio":"100"}}]}',
    '{"rdma":[{"minor":0,"resources":{"koordinator.sh/rdma":"80"}}],"fpga":[{"minor":5,"resources":{}}]}',
    '{"gpu":[{"minor":0,"resources":null},{"minor":3,"resources":null}]}',
    '{"gpu":[{"minor":0,',
    "null",
)

some_nodes = st.lists(st.sampled_from(NAMES), min_size=1, max_size=6, unique=True)
one_node = st.sampled_from(NAMES)


Listed = tuple[list[dict[str, Any]], dict[str, str]]
"""The entries of a Device, and its labels."""


def some_device(seed: int) -> Listed:
    """Any number of devices of any types, alike mostly, and some sick or strange."""
    rng = Random(seed)
    sound = rng.random() < 0.5
    memory = rng.choice(SOUND if sound else SOUND + STRANGE)
    entries: list[dict[str, Any]] = []
    for minor in sorted(rng.sample(range(9), rng.randint(0, 8))):
        uuid, health = rng.choice(("", f"U{minor}", "U1", "U2")), sound or rng.random() < 0.8
        entries.append(gpu(minor, memory=memory, health=health, uuid=uuid, labels={"pool": rng.choice(("fast", ""))}))
        if not sound and rng.random() < 0.3:
            name = rng.choice((GPU_CORE, GPU_MEMORY_RATIO, GPU_MEMORY, NPU_CORE))
            entries[-1]["resources"][name] = rng.choice(("0", "8", "100", "250", str(2**62)))
    for kind, name in (("rdma", RDMA), ("fpga", FPGA)):
        entries += [
            {"type": kind, "minor": minor, "health": rng.random() < 0.8, "resources": {name: "100"}}
            for minor in range(rng.randint(0, 2))
        ]
    return entries, {GPU_VENDOR: rng.choice(VENDORS)}


# A number stands for each: hypothesis ends a life early that draws much.
devices = st.integers(0, 2**16).map(some_device)


class BothShapes(RuleBasedStateMachine):
    """The host with several profiles, and its columns of the nodes that it knows."""

    @initialize(seed=st.integers(0, 2**16))
    def begin(self, seed: int) -> None:
        self.host = Host(DeviceShareArgs.model_validate(PROFILES[0]))
        self.profiles = [
            self.host.plugin,
            *(DeviceShare(DeviceShareArgs.model_validate(p), self.host) for p in PROFILES[1:]),
        ]
        self.devices: dict[str, Device] = {}
        self.pods: dict[str, tuple[Pod, str]] = {}
        self.names = 0
        plugin = {NVIDIA_GPU: 3, AMD_GPU: 1}
        self.nodes = {name: NodeInfo(name).with_node(make_node(name, extended=plugin)) for name in NAMES[:-2]}
        for number, name in enumerate(NAMES[:-3]):
            self.list_devices([name], some_device(seed + number))
        self.columns = columns_of(list(self.nodes.values()))

    # What may happen

    @rule(names=some_nodes, listed=devices)
    def list_devices(self, names: list[str], listed: Listed) -> None:
        for name in names:
            new = make_device(name, listed[0], labels=listed[1])
            old = self.devices.get(name)
            self.host.list_device(new) if old is None else self.host.change_device(old, new)
            self.devices[name] = new

    @rule(name=one_node)
    def delete_device(self, name: str) -> None:
        if (old := self.devices.pop(name, None)) is not None:
            self.host.delete_device(old)

    @rule(names=some_nodes, word=st.none() | st.sampled_from(WORDS))
    def arrive(self, names: list[str], word: str | None) -> None:
        for name in names:
            annotations = None if word is None else {DEVICE_ALLOCATED: word}
            pod = self.pod(node=name, requests={NVIDIA_GPU: 1}, annotations=annotations)
            self.host.see(pod)
            self.count(pod, name)

    @rule(name=one_node, asked=st.sampled_from(REQUESTS))
    def hold(self, name: str, asked: dict[str, Any]) -> None:
        pod = self.pod(**asked)
        if self.host.hold(pod, name) is None:
            self.count(pod, name)

    @precondition(lambda self: self.pods)
    @rule(data=st.data(), word=st.none() | st.sampled_from(WORDS))
    def echo(self, data: st.DataObject, word: str | None) -> None:
        pod, name = self.pods[data.draw(st.sampled_from(sorted(self.pods)))]
        if pod.uid in self.host.states and data.draw(st.booleans()):
            word = self.host.plan(pod, name) or None
        bound = assigned(pod, name, word)
        self.host.see_again(pod, bound)
        self.pods[pod.uid] = bound, name

    @precondition(lambda self: self.pods)
    @rule(data=st.data(), undone=st.booleans())
    def leave(self, data: st.DataObject, undone: bool) -> None:
        for uid in data.draw(st.lists(st.sampled_from(sorted(self.pods)), min_size=1, max_size=4, unique=True)):
            pod, name = self.pods.pop(uid)
            if undone and uid in self.host.states:
                self.host.give_up(pod, name)
            else:
                self.host.lose(pod, name)
            if (node := self.nodes.get(name)) is not None:
                self.put(node.without_pod(uid))

    @rule(
        name=one_node,
        labels=st.tuples(st.sampled_from(VENDORS), st.sampled_from(MODELS), st.sampled_from(PROVIDERS)),
        cards=st.integers(0, 4),
    )
    def put_node(self, name: str, labels: tuple[str, str, str], cards: int) -> None:
        """It comes or changes. cards: what its device plugin offers."""
        keys = (GPU_VENDOR, GPU_MODEL, GPU_ISOLATION_PROVIDER)
        said = {key: value for key, value in zip(keys, labels, strict=True) if value}
        node = make_node(name, labels=said, extended={NVIDIA_GPU: cards, AMD_GPU: cards} if cards else None)
        self.host.show_node(name)
        self.put((self.nodes.get(name) or NodeInfo(name)).with_node(node))

    @rule(name=one_node)
    def remove_node(self, name: str) -> None:
        self.host.hide_node(name)
        if self.nodes.pop(name, None) is not None:
            self.columns.order(list(self.nodes.values()))

    @rule(seed=st.randoms(use_true_random=False))
    def reorder(self, seed: Any) -> None:
        names = list(self.nodes)
        seed.shuffle(names)
        self.nodes = {name: self.nodes[name] for name in names}
        self.columns.order(list(self.nodes.values()))

    # What must hold

    @rule(asked=st.lists(st.sampled_from(range(len(REQUESTS))), min_size=1, max_size=6), profile=st.integers(0, 3))
    def ask(self, asked: list[int], profile: int) -> None:
        self.columns.catch_up()
        for number in asked:
            both_say_the_same(self.profiles[profile], make_pod("asks", **REQUESTS[number]), self.columns)

    @rule()
    def rebuild(self) -> None:
        self.columns.catch_up()
        kept: CardColumns = self.host.believed["DeviceShare/columns"]  # type: ignore[assignment]
        kept.catch_up(self.columns)
        anew = CardColumns(self.host.plugin.books)
        anew.catch_up(self.columns)
        same_columns(kept, anew)

    def teardown(self) -> None:
        if hasattr(self, "columns"):
            self.ask(list(range(len(REQUESTS))), self.names % len(PROFILES))
            self.rebuild()

    # Inside

    def pod(self, **more: Any) -> Pod:
        self.names += 1
        return make_pod(f"pod-{self.names}", **more)

    def count(self, pod: Pod, name: str) -> None:
        self.pods[pod.uid] = pod, name
        if (node := self.nodes.get(name)) is not None:
            self.put(node.with_pod(PodInfo.of(pod, DeviceShare.ANNOTATIONS, name)))

    def put(self, node: NodeInfo) -> None:
        is_known, self.nodes[node.name] = node.name in self.nodes, node
        if not hasattr(self, "columns"):
            return
        self.columns.change(node) if is_known else self.columns.order(list(self.nodes.values()))


def both_say_the_same(plugin: DeviceShare, pod: Pod, columns: Columns) -> None:
    state = CycleState()
    if plugin.pre_filter(state, pod, columns.nodes) is not None:
        return
    verdicts = plugin.filter_nodes(state, pod, columns)
    regular = set(range(len(columns))) - set(columns.irregular.tolist())
    for row, node in enumerate(columns.nodes):
        if row in regular:
            code = 0 if verdicts is None else int(verdicts.codes[row])
            said = verdicts.reasons[code - 1] if verdicts is not None and code else None
            assert bare(said) == bare(plugin.filter(state, pod, node)), (node.name, pod)
    some = np.array([row for row in range(len(columns)) if row % 3], dtype=np.intp)
    rows: Selection
    for rows in (slice(None), some):
        scores = plugin.score_nodes(state, pod, columns, rows)
        nodes = [columns.nodes[row] for row in np.arange(len(columns))[rows].tolist()]
        assert scores.dtype == np.int64
        assert scores.flags.writeable
        assert scores.tolist() == [plugin.score(state, pod, node) for node in nodes], pod


def held(minor: int, core: int, memory: str) -> dict[str, Any]:
    return {"minor": minor, "resources": {GPU_CORE: str(core), GPU_MEMORY: memory}}


def test_of_many_nodes_that_changed_those_whose_emptiest_card_lacks_cores_are_looked_at_card_by_card() -> None:
    host = Host()
    nodes = [NodeInfo(f"n{number}").with_node(make_node(f"n{number}")) for number in range(30)]
    for node in nodes:
        host.list_device(make_device(node.name, [gpu(0, memory="16Gi"), gpu(1, memory="16Gi")]))
    columns, asks = columns_of(nodes), make_pod("asks", requests={GPU_CORE: 50, GPU_MEMORY: "4Gi"})
    both_say_the_same(host.plugin, asks, columns)
    for number in range(20, 30):
        cards = (
            [held(0, 80, "1Gi"), held(1, 10 if number == 28 else 90, "8Gi")] if number > 27 else [held(0, 10, "1Gi")]
        )
        host.see(assigned(make_pod(f"pod-{number}"), f"n{number}", json.dumps({"gpu": cards})))
    both_say_the_same(host.plugin, asks, columns)
    verdicts = host.plugin.filter_nodes(_asking(host, asks), asks, columns)
    assert verdicts is not None
    assert np.flatnonzero(verdicts.codes).tolist() == [29]


def _asking(host: Host, pod: Pod) -> CycleState:
    state = CycleState()
    assert host.plugin.pre_filter(state, pod, []) is None
    return state


def bare(status: Status | None) -> tuple[Code, tuple[str, ...]] | None:
    return None if status is None else (status.code, status.reasons)


def same_columns(kept: CardColumns, anew: CardColumns) -> None:
    for name in ("no_device", "unreadable", "plain"):
        assert np.array_equal(getattr(kept, name), getattr(anew, name)), name
    assert (kept.unknown_nodes, kept.unreadable_nodes) == (anew.unknown_nodes, anew.unreadable_nodes)
    vendors = [[each.vendor.values[number] for number in each.vendor.ids] for each in (kept, anew)]
    assert vendors[0] == vendors[1]
    for kind in TYPES:
        left, right = kept.type(kind), anew.type(kind)
        assert np.array_equal(left.lasting, right.lasting)
        assert np.array_equal(left.has_free, right.has_free)
        assert same_matrix(left.empty, right.empty, False)
        for name in (GPU_CORE, GPU_MEMORY, GPU_MEMORY_RATIO, NPU_CORE, RDMA, FPGA):
            assert same_matrix(left.most(name), right.most(name), -1), (kind, name)
            same_sums(left, right, name)
        assert left.irregular == right.irregular
        for lead in (GPU_MEMORY, GPU_MEMORY_RATIO):
            old, new = left.leaders(lead, GPU_CORE), right.leaders(lead, GPU_CORE)
            assert np.array_equal(old.lead, new.lead)
            assert np.array_equal(old.other, new.other)


def same_matrix(kept: Any, anew: Any, nothing: object) -> bool:
    """Kept ones may be wider: nothing grows narrow again."""
    return bool(np.array_equal(kept[: len(anew)], anew) and (kept[len(anew) :] == nothing).all())


def same_sums(kept: TypeColumns, anew: TypeColumns, name: str) -> None:
    left, right = kept.sums(name), anew.sums(name)
    for part in ("total", "free", "divisor", "emptiness", "fullness"):
        assert np.array_equal(getattr(left, part), getattr(right, part)), (name, part)
    assert (left.is_everywhere, left.is_nowhere) == (right.is_everywhere, right.is_nowhere)


TestBothShapes = BothShapes.TestCase
TestBothShapes.settings = settings(max_examples=60, stateful_step_count=50, deadline=None)

"""Any sequence of events: no card is given twice, the books are what the pods say, every undo and restart restores."""

import os
from collections import Counter
from typing import Any, ClassVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from koordpy.testing import gpu, make_device, make_pod
from koordpy_api.errors import AnnotationError
from koordpy_api.koordinator import (
    DEVICE_ALLOCATED,
    GPU,
    GPU_CORE,
    GPU_MEMORY,
    GPU_MEMORY_RATIO,
    NVIDIA_GPU,
    AllocatedDevice,
    decode_device_allocated,
)
from koordpy_api.objects import Device, Pod
from koordpy_api.quantity import value_of
from koordpy_deviceshare.model import Health

from .deviceshare_stage import Amounts, Host, assigned

NODES = ("node", "second")
MINORS = (0, 1, 2, 63)
MEMORY = {"U0": "16Gi", "U1": "24Gi", "U2": "23028Mi", "U3": "1001", "U4": "16Gi"}
"""What there is: five cards, each of its own size wherever it is put."""
PARTS = (GPU_CORE, GPU_MEMORY_RATIO, GPU_MEMORY)
SIGHTS = ("placed", "refused", "deleted a Device", "restarted")
LONG = int(os.environ.get("LONG_EXAMPLES", "0"))

nodes = st.sampled_from(NODES)
percents = st.integers(1, 100)
asked = st.one_of(
    st.builds(lambda n: {NVIDIA_GPU: n}, st.integers(1, 3)),
    st.builds(lambda p: {GPU: p}, percents),
    st.builds(lambda c, r: {GPU_CORE: c, GPU_MEMORY_RATIO: r}, percents, percents),
    st.builds(lambda c, b: {GPU_CORE: c, GPU_MEMORY: b}, percents, st.integers(1, 20 * 1024**3)),
)
listed = st.builds(
    lambda minors, uuids, healthy: [
        gpu(minor, uuid=uuid, memory=MEMORY[uuid], health=well)
        for minor, uuid, well in zip(minors, uuids, healthy, strict=False)
    ],
    st.lists(st.sampled_from(MINORS), unique=True),
    st.permutations(sorted(MEMORY)),
    st.lists(st.booleans() | st.just(True), min_size=4, max_size=4),
)
foreign = st.sampled_from(
    [
        '{"gpu":[{"minor":0,"resources":{"koordinator.sh/gpu-core":"30","koordinator.sh/gpu-memory-ratio":"40"}}]}',
        '{"gpu":[{"minor":1,"id":"U1","resources":{"koordinator.sh/gpu-memory":"5Gi"}},{"minor":63,"resources":null}]}',
        '{"gpu":[{"minor":2,"resources":{"kubernetes.io/gpu":"1","koordinator.sh/gpu-memory-ratio":"130"}}]}',
        '{"gpu":[{"minor":2,"id":"U7","resources":{"koordinator.sh/gpu-core":"100"}}]}',
        '{"rdma":[{"minor":0,"resources":{"koordinator.sh/rdma":"1"}}],"gpu":[]}',
        '{"gpu":[{"minor":0,',
        '{"gpu":[{"minor":-1,"resources":{}}]}',
        "null",
    ]
)

leftover = st.none() | foreign
"""What a Pod's YAML says of devices before it is bound: nothing, mostly, or what was copied with another Pod's."""


class Books(RuleBasedStateMachine):
    """The host and the API server, doing whatever they may do.

    ours: pods that the plugin placed and nobody meddled with, by UID: node and annotation.
    unknown: UIDs of pods that have held nobody knows what since they were first seen.
    log: what was done and how it was answered; another host that is done the same must answer the same.
    """

    seen: ClassVar[Counter[str]] = Counter()

    @initialize(first=listed.filter(bool))
    def begin(self, first: list[dict[str, object]]) -> None:
        self.host = Host()
        self.log: list[tuple[str, tuple[Any, ...], object]] = []
        self.sights: set[str] = set()
        self.devices: dict[str, Device] = {}
        self.held: dict[str, tuple[Pod, str]] = {}
        self.bound: dict[str, Pod] = {}
        self.ours: dict[str, tuple[str, str]] = {}
        self.meddled: set[str] = set()
        self.unknown: set[str] = set()
        self.names = 0
        for node in NODES:
            self.do("show_node", node)
        self.list_device("node", first)

    def do(self, act: str, *args: Any) -> Any:
        answer = getattr(self.host, act)(*args)
        self.log.append((act, args, answer))
        return answer

    # Devices

    @rule(node=nodes, entries=listed)
    def list_device(self, node: str, entries: list[dict[str, object]]) -> None:
        new = make_device(node, entries)
        if (old := self.devices.get(node)) is None:
            self.do("list_device", new)
        else:
            self.do("change_device", old, new)
        self.devices[node] = new

    @rule(node=nodes)
    def delete_device(self, node: str) -> None:
        if (old := self.devices.pop(node, None)) is not None:
            self.sights.add("deleted a Device")
            self.do("delete_device", old)

    # Our own pods

    @rule(node=nodes, requests=asked | st.just({}), copied=leftover)
    def hold(self, node: str, requests: Amounts, copied: str | None) -> None:
        self.names += 1
        annotations = None if copied is None else {DEVICE_ALLOCATED: copied}
        pod = make_pod(f"ours-{self.names}", requests=requests, annotations=annotations)
        before = self.host.plugin.books.devices_of(node)
        if (refusal := self.do("hold", pod, node)) is not None:
            self.sights.add("refused")
            assert self.host.try_node(pod, node) == refusal
            assert self.host.plugin.books.devices_of(node) == before
            return
        self.held[pod.uid] = (pod, node)
        was = {card.minor: card for card in before.gpus}
        changed = [card for card in self.host.plugin.books.devices_of(node).gpus if card != was[card.minor]]
        assert all(card.health is Health.HEALTHY for card in changed)
        text = self.do("plan", pod, node)
        if text not in ("", "{}"):  # else it gets none, or its node's device plugin gives them
            self.sights.add("placed")
            self.ours[pod.uid] = (node, text)
            assert sorted(card.minor for card in changed) == [d.minor for d in decode_device_allocated(text)["gpu"]]
            for card in changed:
                assert all(card.used.get(name, 0) <= card.total[name] for name in PARTS)
                assert NVIDIA_GPU not in requests or card.held_by == (pod.key,)

    @rule(node=nodes, requests=asked)
    def hold_and_give_up(self, node: str, requests: Amounts) -> None:
        before = self.host.plugin.books.devices_of(node)
        pod = make_pod("undone", requests=requests)
        self.do("hold", pod, node)
        for _ in range(2):
            self.do("give_up", pod, node)
        assert self.host.plugin.books.devices_of(node) == before

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def echo(self, data: st.DataObject) -> None:
        pod, node = self.held.pop(data.draw(st.sampled_from(sorted(self.held))))
        before, reported = self.host.plugin.books.devices_of(node), self.host.reports.copy()
        self.bound[pod.uid] = self._as_bound(pod, node)
        self.do("see_again", pod, self.bound[pod.uid])
        assert pod.uid not in self.ours or self.host.plugin.books.devices_of(node) == before
        assert not self.host.plugin.books.is_assumed(node, pod.uid)
        assert self.host.reports == reported

    def _as_bound(self, pod: Pod, node: str) -> Pod:
        """With what our Binding has written over whatever it said before."""
        return assigned(pod, node, self.host.plan(pod, node) or None)

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def fail(self, data: st.DataObject) -> None:
        pod, node = self.held.pop(data.draw(st.sampled_from(sorted(self.held))))
        self.ours.pop(pod.uid, None)
        self.do("give_up", pod, node)

    @precondition(lambda self: self.held)
    @rule(data=st.data(), text=foreign | st.none())
    def somebody_else_binds(self, data: st.DataObject, text: str | None) -> None:
        pod, node = self.held.pop(data.draw(st.sampled_from(sorted(self.held))))
        self.ours.pop(pod.uid, None)
        self.meddled.add(pod.uid)
        self.bound[pod.uid] = assigned(pod, node, text)
        self.do("see_again", pod, self.bound[pod.uid])

    # Anybody's pods

    @rule(node=nodes, text=foreign | st.none())
    def arrive(self, node: str, text: str | None) -> None:
        self.names += 1
        annotations = None if text is None else {DEVICE_ALLOCATED: text}
        pod = make_pod(f"theirs-{self.names}", node=node, requests={NVIDIA_GPU: 1}, annotations=annotations)
        for _ in range(2):
            self.do("see", pod)
        self.bound[pod.uid] = pod
        if _told(pod) is None:
            self.unknown.add(pod.uid)

    @precondition(lambda self: self.bound)
    @rule(data=st.data(), text=foreign | st.none())
    def change(self, data: st.DataObject, text: str | None) -> None:
        old = self.bound[data.draw(st.sampled_from(sorted(self.bound)))]
        new = assigned(old, old.spec.node_name, text)
        self.do("see_again", old, new)
        self.bound[new.uid] = new
        self.ours.pop(new.uid, None)
        self.meddled.add(new.uid)
        if any(device.resources for device in _told(new) or ()):
            self.unknown.discard(new.uid)

    @precondition(lambda self: self.bound)
    @rule(data=st.data(), finished=st.booleans())
    def leave(self, data: st.DataObject, finished: bool) -> None:
        pod = self.bound.pop(data.draw(st.sampled_from(sorted(self.bound))))
        self.ours.pop(pod.uid, None)
        self.meddled.discard(pod.uid)
        self.unknown.discard(pod.uid)
        if finished:
            self.do("see_again", pod, assigned(pod, pod.spec.node_name, phase="Succeeded"))
        self.do("lose", pod)

    # The scheduler itself

    @rule(arrived=st.booleans())
    def restart(self, arrived: bool) -> None:
        """arrived: did the binds that were under way reach the API server?"""
        for pod, node in self.held.values():
            if arrived:
                self.bound[pod.uid] = self._as_bound(pod, node)
                self.host.see_again(pod, self.bound[pod.uid])
            else:
                self.ours.pop(pod.uid, None)
                self.host.give_up(pod, node)
        self.held.clear()
        before, self.host, self.log = self.host, Host(), []
        for node in NODES:
            self.do("show_node", node)
        for device in self.devices.values():
            self.do("list_device", device)
        for pod in self.bound.values():
            self.do("see", pod)
        self.unknown = {pod.uid for pod in self.bound.values() if _told(pod) is None}
        for node in self._untouched():
            assert _listed(self.host, node) == _listed(before, node)
        self.sights.add("restarted")

    def _untouched(self) -> list[str]:
        """Where pods say the same as ever; of a broken word, what was known before is not known after a restart."""
        odd = {self.bound[uid].spec.node_name for uid in self.meddled if uid in self.bound}
        ids = {node: {entry.id for entry in device.spec.devices} for node, device in self.devices.items()}
        for pod in self.bound.values():
            node = pod.spec.node_name
            if any(device.id and device.id not in ids.get(node, ()) for device in _told(pod) or ()):
                odd.add(node)  # a card that is gone is not known to have been there
        return [node for node in self.devices if node not in odd]

    # What always holds

    @invariant()
    def the_sums_are_what_the_records_say(self) -> None:
        assert self.host.plugin.books.sums() == self.host.plugin.books.recount()

    @invariant()
    def our_pods_together_never_have_more_of_a_card_than_it_has(self) -> None:
        held: Counter[tuple[str, str, str]] = Counter()
        for node, text in self.ours.values():
            for device in decode_device_allocated(text)["gpu"]:
                for name in PARTS:
                    held[node, device.id, name] += device.resources[name]
        for (_, uuid, name), amount in held.items():
            assert amount <= (value_of(MEMORY[uuid]) if name == GPU_MEMORY else 100)

    @invariant()
    def a_node_with_a_word_that_cannot_be_read_takes_nobody(self) -> None:
        for uid in self.unknown:
            asks = make_pod("asks", requests={GPU: 1})
            assert self.host.try_node(asks, self.bound[uid].spec.node_name) is not None

    @invariant()
    def only_listed_healthy_cards_have_a_total(self) -> None:
        for node in NODES:
            entries = self.devices[node].spec.devices if node in self.devices else []
            healthy = {entry.minor for entry in entries if entry.health}
            for card in self.host.plugin.books.devices_of(node).gpus:
                assert not card.total or card.minor in healthy

    def teardown(self) -> None:
        """Equal runs have decided equally; and when all pods are gone, nothing is held."""
        if not hasattr(self, "host"):
            return
        again = Host()
        for act, args, answer in self.log:
            assert getattr(again, act)(*args) == answer
        for pod, node in self.held.values():
            self.host.give_up(pod, node)
        for pod in self.bound.values():
            self.host.lose(pod)
        for node in NODES:
            assert all(not card.used and not card.held_by for card in self.host.plugin.books.devices_of(node).gpus)
            assert self.host.plugin.books.unreadable_on(node) == ()
        type(self).seen.update(["examples", *self.sights])


def _listed(host: Host, node: str) -> list[object]:
    return [card for card in host.plugin.books.devices_of(node).gpus if card.is_listed]


def _told(pod: Pod) -> list[AllocatedDevice] | None:
    """The devices of its annotation; None if that cannot be read."""
    try:
        told = decode_device_allocated(pod.metadata.annotations.get(DEVICE_ALLOCATED, "null"))
        return [device for devices in told.values() for device in devices]
    except AnnotationError:
        return None


TestAnySequenceOfEvents = Books.TestCase
TestAnySequenceOfEvents.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


@pytest.mark.skipif(not LONG, reason="make device-long: LONG_EXAMPLES says how many")
@pytest.mark.timeout(0)
def test_a_long_run_has_seen_everything_that_matters() -> None:
    Books.seen.clear()
    run_state_machine_as_test(Books, settings=settings(max_examples=LONG, stateful_step_count=50, deadline=None))
    examples = Books.seen["examples"]
    shares = {sight: 100 * Books.seen[sight] / examples for sight in SIGHTS}
    print(f"\n{examples} examples: " + ", ".join(f"{share:.0f} % {sight}" for sight, share in shares.items()))
    assert min(shares.values()) >= 20

"""The queue against a model of it without any cleverness, in virtual time, on random operations."""

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from hypothesis import given, settings
from hypothesis import strategies as st

from koordpy.framework.registrations import Registration
from koordpy.queue.backoff import Backoff
from koordpy.testing import make_pod
from koordpy.virtual_time import run
from koordpy_api import ActionType, ClusterEvent, QueueingHint, Status
from koordpy_api.events import NODE, POD
from koordpy_api.objects import KubeObject, Pod
from tests.queue.waiting_room import WaitingRoom, now

PODS: Final = 5
EVENTS: Final = (
    ClusterEvent(NODE, ActionType.ADD),
    ClusterEvent(NODE, ActionType.UPDATE_NODE_LABEL),
    ClusterEvent(NODE, ActionType.UPDATE_NODE_TAINT),
)


def even(pod: Pod, old: KubeObject | None, new: KubeObject | None) -> QueueingHint:
    return QueueingHint.when(pod.spec.priority % 2 == 0)


REGISTERED: Final = (
    Registration("A", EVENTS[0]),
    Registration("B", EVENTS[0], even),
    Registration("B", EVENTS[1]),
    Registration("C", EVENTS[1], even),
    Registration("Gate", EVENTS[2]),
    Registration("A", ClusterEvent(POD, ActionType.UPDATE_POD_LABEL)),
)
"""Nobody of A, B, C is registered for the third; a Pod that waits for nothing waits five minutes."""


@dataclass
class Entry:
    """place: active, backoff, unschedulable, gated, flying."""

    number: int
    place: str
    queued_at: float
    failures: int = 0
    errors: int = 0
    attempts: int = 0
    refused_by: frozenset[str] = frozenset()
    pending: frozenset[str] = frozenset()
    label: int = 0
    missed: list[ClusterEvent | str] = field(default_factory=list)

    def ready_at(self) -> float:
        wait_s = Backoff().seconds(self.errors or self.failures)
        return math.ceil(self.queued_at + wait_s) if wait_s else self.queued_at


class Model:
    """closed: pods with an odd number are gated."""

    def __init__(self) -> None:
        self.pods: dict[int, Entry] = {}
        self.closed = False

    def add(self, number: int, label: int) -> None:
        if (entry := self.pods.get(number)) is None:
            self.pods[number] = entry = Entry(number, "", now(), label=label)
            self.enter(entry, "active")
        elif entry.label != label:
            entry.label = label
            event = ClusterEvent("UnschedulablePod", ActionType.UPDATE_POD_LABEL)
            if entry.place == "flying":
                for each in self.at("flying"):
                    each.missed.append(event)
            elif entry.place in ("unschedulable", "gated"):
                self.wake(entry, event)

    def happened(self, event: ClusterEvent) -> None:
        for entry in self.at("unschedulable", "gated"):
            self.wake(entry, event)
        for entry in self.at("flying"):
            entry.missed.append(event)

    def wake(self, entry: Entry, event: ClusterEvent) -> None:
        if worth := self.worth(entry, event):
            self.requeue(entry, worth)

    def worth(self, entry: Entry, event: ClusterEvent | str) -> str:
        """Empty, "later" or "now"."""
        if event == f"activate {entry.number}":
            return "later"
        if not isinstance(event, ClusterEvent):
            return ""
        asked = frozenset({"Gate"}) if entry.place == "gated" else entry.refused_by
        saying = {
            each.plugin
            for each in REGISTERED
            if each.event.covers(event) and each.plugin in asked and (each.hint is None or entry.number % 2 == 0)
        }
        return "now" if saying & entry.pending else "later" if saying else ""

    @staticmethod
    def concerns(entry: Entry, event: ClusterEvent) -> bool:
        return any(each.event.covers(event) and each.plugin in entry.refused_by for each in REGISTERED)

    def requeue(self, entry: Entry, worth: str) -> None:
        self.enter(entry, "active" if worth == "now" or entry.ready_at() <= now() else "backoff")

    def enter(self, entry: Entry, place: str) -> None:
        if self.closed and entry.number % 2:
            entry.place = "gated"
            entry.refused_by |= {"Gate"}
        else:
            entry.place = place

    def activate(self, number: int) -> None:
        entry = self.pods.get(number)
        if entry is None:
            return
        if entry.place == "backoff":
            entry.place = "active"
        elif entry.place in ("unschedulable", "gated"):
            self.enter(entry, "active")
        elif entry.place == "flying":
            for each in self.at("flying"):
                each.missed.append(f"activate {number}")

    def add_back(self, number: int, by: frozenset[str], pending: frozenset[str]) -> None:
        entry = self.pods[number]
        entry.queued_at, entry.refused_by, entry.pending = now(), by, pending
        entry.failures, entry.errors = (entry.failures + 1, 0) if by else (entry.failures, entry.errors + 1)
        entry.place, missed, entry.missed = "unschedulable", entry.missed, []
        if not by:
            self.requeue(entry, "later")
        else:
            worths = {self.worth(entry, event) for event in missed} - {""}
            asked = [event for event in missed if isinstance(event, ClusterEvent) and self.concerns(entry, event)]
            if worths or len(asked) > 1:
                self.requeue(entry, "now" if "now" in worths else "later")

    def next_due(self) -> float:
        """When somebody can be popped at the earliest; infinity if never."""
        if self.at("active") or any(not entry.errors for entry in self.at("backoff")):
            return now()
        due = [max(entry.ready_at(), now()) for entry in self.at("backoff")]
        return min([*due, *(max(entry.queued_at + 300, now()) for entry in self.at("unschedulable"))], default=math.inf)

    def pop(self) -> int | None:
        for entry in self.at("backoff"):
            if entry.ready_at() <= now():
                entry.place = "active"
        for entry in self.at("unschedulable"):
            if entry.queued_at + 300 <= now():
                self.requeue(entry, "later")
        ready = sorted(self.at("active"), key=self.sort_key)
        early = [entry for entry in self.at("backoff") if not entry.errors]
        early.sort(key=lambda entry: (entry.ready_at(), self.sort_key(entry)))
        if not (chosen := next(iter([*ready, *early]), None)):
            return None
        chosen.place, chosen.refused_by, chosen.pending = "flying", frozenset(), frozenset()
        chosen.attempts += 1
        return chosen.number

    def at(self, *places: str) -> list[Entry]:
        return [entry for entry in self.pods.values() if entry.place in places]

    def sizes(self) -> dict[str, int]:
        return {place: len(self.at(place)) for place in ("active", "backoff", "unschedulable", "gated")}

    @staticmethod
    def sort_key(entry: Entry) -> int:
        return -entry.number  # priorities differ, so nothing else decides


NUMBERS: Final = st.integers(0, PODS - 1)
PLUGINS: Final = st.frozensets(st.sampled_from("ABC"))
OPERATIONS: Final = st.one_of(
    st.tuples(st.just("add"), NUMBERS, st.integers(0, 1)),
    st.tuples(st.just("delete"), NUMBERS, st.none()),
    st.tuples(st.just("activate"), NUMBERS, st.none()),
    st.tuples(st.just("happen"), st.integers(0, len(EVENTS) - 1), st.none()),
    st.tuples(st.just("sleep"), st.sampled_from([1, 2, 5, 40, 1200]), st.none()),  # quarters of a second
    st.tuples(st.just("gate"), st.integers(0, 1), st.none()),
    st.tuples(st.just("pop"), st.none(), st.none()),
    st.tuples(st.just("add_back"), PLUGINS, PLUGINS),
    st.tuples(st.just("add_back"), PLUGINS, PLUGINS),
    st.tuples(st.just("done"), st.none(), st.none()),
)


class Pair:
    """Both, always told the same."""

    def __init__(self) -> None:
        self.model = Model()
        self.room = WaitingRoom(registered=REGISTERED, gate=self._gate)
        self.flying: list[int] = []

    def _gate(self, pod: Pod, first: str) -> Status | None:
        return Status.unschedulable("closed").by("Gate") if self.model.closed and pod.spec.priority % 2 else None

    async def do(self, operation: str, first: object, second: object) -> None:
        match operation, first, second:
            case "add", int(number), int(label):
                self.room.queue.add(make_pod(f"p{number}", priority=number, labels={"is": str(label)}))
                self.model.add(number, label)
            case "delete", int(number), _:
                self.room.queue.delete(uid(number))
                self.model.pods.pop(number, None)
                self.flying = [each for each in self.flying if each != number]
            case "activate", int(number), _:
                self.room.queue.activate([uid(number)])
                self.model.activate(number)
            case "happen", int(which), _:
                self.room.queue.happened(EVENTS[which], None, None)
                self.model.happened(EVENTS[which])
            case "sleep", int(quarters), _:
                await asyncio.sleep(quarters / 4)
            case "gate", int(closed), _:
                self.model.closed = bool(closed)
            case "pop", _, _:
                if self.model.next_due() <= now():
                    await self.pop()
            case "add_back", frozenset() as by, frozenset() as pending if self.flying:
                await self.add_back(by, pending & by)
            case "done", _, _ if self.flying:
                number = self.flying.pop(0)
                self.room.queue.done(uid(number))
                del self.model.pods[number]

    async def pop(self) -> None:
        number = self.model.pop()
        if number is None:  # who was due is gated
            assert await self.room.is_empty_for(0)
            return
        queued = await self.room.queue.pop()
        assert (queued.pod.uid, queued.attempts) == (uid(number), self.model.pods[number].attempts)
        self.flying.append(number)

    async def add_back(self, by: frozenset[str], pending: frozenset[str]) -> None:
        number = self.flying.pop(0)
        queued = self.room.queue._in_flight.get(uid(number))
        assert queued is not None
        assert self.room.queue.add_back(queued, by, pending)
        self.model.add_back(number, by, pending)


def uid(number: int) -> str:
    return f"uid-default-p{number}"


@settings(deadline=None, max_examples=300)
@given(st.lists(OPERATIONS, max_size=60))
def test_the_queue_does_what_its_model_does(operations: Sequence[tuple[str, object, object]]) -> None:
    async def main() -> None:
        pair = Pair()
        for operation in operations:
            await pair.do(*operation)
            pair.room.queue.pods()
            assert pair.room.queue.sizes() == pair.model.sizes(), operation
            assert len({pod.uid for _, pod in pair.room.queue.pods()}) == len(pair.model.pods)
        pair.model.closed = False
        pair.room.queue.happened(EVENTS[2], None, None)
        pair.model.happened(EVENTS[2])
        while (due := pair.model.next_due()) < math.inf:  # whoever lives comes out, at the time that the model says
            await asyncio.sleep(due - now())
            await pair.pop()
        assert not pair.model.at("gated")
        assert pair.room.queue.rejected_by() == {}
        for number in pair.flying:
            pair.room.queue.done(uid(number))
        assert pair.room.queue.inflight_events() == {"PodPopped": 0}

    run(main())

"""Kubernetes Events, in a lane of their own: writing them may fail, lag or be given up, and never holds a bind back.

Each note about a Pod is an Event of its own, so that the newest refusal is the one that people read. When a note is
repeated its Event counts that: written after a minute, then each time after twice as long, at most half an hour, which
also keeps the Event from expiring while its Pod waits.
Source: k8s.io/client-go/tools/events/event_broadcaster.go (recordToSink, maxTriesPerEvent) and event_recorder.go
(makeEvent). Upstream's series goes by the reason alone: the note that it shows is the first one.
"""

import asyncio
import contextlib
import logging
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from koordpy.clock import Clock
from koordpy.cluster.event_lane import Entry, EventKind, Lane, Mark, shorten
from koordpy.cluster.kinds import EVENT
from koordpy.cluster.protocol import Cluster
from koordpy.errors import ApiError, Conflict, NotFound, TooManyRequests, Unreachable
from koordpy.telemetry.logs import fields
from koordpy_api.objects import Pod

QUEUE_LENGTH: Final = 20_000
REMEMBERED: Final = 20_000
MAX_TRIES: Final = 12
FIRST_PAUSE_S: Final = 0.5
LONGEST_PAUSE_S: Final = 10.0
ON_THE_WIRE: Final = 4
FIRST_COUNT_AFTER_S: Final = 60.0
COUNT_AT_LEAST_EVERY_S: Final = 30 * 60.0
DROPPABLE: Final = "Scheduled"
"""The reason of Events that may be dropped: what they say stands on the Pod, too."""

logger = logging.getLogger("koordpy.cluster")


@dataclass(slots=True)
class _Told:
    """A note that was recorded before. name: of its Event, once that is written. due: when to write the count again."""

    due: float
    pause_s: float = FIRST_COUNT_AFTER_S
    count: int = 1
    name: str = ""


class Recorder:
    """`record` from anywhere on the event loop; `run` in a task beside it. A Pod's Events speak for its schedulerName.

    When 20,000 wait, the oldest Scheduled is dropped. Whatever else waits is kept: if there is nothing but that, a
    Pod's newest refusal takes the place of the one before it. Scheduled waits until all others are written.
    room: how many may be under way at once, at this moment; at least one.
    written, dropped: how many Events reached the API server, and how many were given up: the queue was full, too many
    tries failed, or the API server refused (the Pod's namespace is terminating).
    """

    def __init__(
        self, cluster: Cluster, clock: Clock, hostname: str, room: Callable[[], int] = lambda: ON_THE_WIRE
    ) -> None:
        self.written = 0
        self.dropped = 0
        self._cluster = cluster
        self._clock = clock
        self._hostname = hostname
        self._room = room
        self._kept, self._droppable = Lane(), Lane()
        self._told: OrderedDict[Mark, _Told] = OrderedDict()
        self._refusals: set[tuple[int, str]] = set()
        self._last_number = 0
        self._writing = 0
        self._filled = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def waiting(self) -> int:
        return len(self._kept) + len(self._droppable)

    def record(self, pod: Pod, type_: EventKind, reason: str, action: str, note: str) -> None:
        """Queue one Event about a Pod. Never awaits, never raises. A note that it had before is only counted."""
        time = self._clock.now()
        if time.tzinfo is not UTC:
            time = time.astimezone(UTC)
        self._last_number = max(self._last_number + 1, int(time.timestamp() * 1_000_000) * 1000)
        entry = Entry(
            pod.metadata, pod.spec.scheduler_name, type_, reason, action, shorten(note), time, self._last_number
        )
        # A Pod is bound once, and 50,000 of them are much to remember.
        if reason != DROPPABLE and not self._is_news(entry.mark):
            return
        if self.waiting >= QUEUE_LENGTH and not self._make_room(entry):
            return
        lane = self._droppable if reason == DROPPABLE else self._kept
        lane.push(entry)
        self._idle.clear()
        self._filled.set()

    def _is_news(self, mark: Mark) -> bool:
        """Should this be written now?"""
        if (told := self._told.get(mark)) is not None:
            return self._again(mark, told)
        self._told[mark] = _Told(self._clock.monotonic() + FIRST_COUNT_AFTER_S)
        if len(self._told) > REMEMBERED:
            self._told.popitem(last=False)
        return True

    def _again(self, mark: Mark, told: _Told) -> bool:
        """One more of the same. Returns: whether that should be written now."""
        self._told.move_to_end(mark)
        told.count += 1
        now = self._clock.monotonic()
        if not told.name or now < told.due:
            return False
        told.pause_s = min(told.pause_s * 2, COUNT_AT_LEAST_EVERY_S)
        told.due = now + told.pause_s
        return True

    def _make_room(self, newcomer: Entry) -> bool:
        """Returns: whether the newcomer may come in."""
        if self._droppable:
            self._drop(self._droppable.pop())
        elif newcomer.reason == DROPPABLE:
            self._drop(newcomer)
            return False
        elif (earlier := self._kept.take_earlier(newcomer)) is not None:
            self._drop(earlier)
        return True

    async def run(self) -> None:
        """Write, a few at a time. Never returns; cancel it."""
        async with asyncio.TaskGroup() as group:
            while True:
                await self._filled.wait()
                self._filled.clear()
                while self.waiting and self._writing < self._room():
                    self._writing += 1
                    group.create_task(self._write_some())

    async def drain(self, timeout_s: float) -> bool:
        """Wait until everything recorded is written or given up; `run` must be running. Returns: whether it is."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._idle.wait()
        except TimeoutError:
            return False
        return True

    async def _write_some(self) -> None:
        """As long as there are any, and room for one more writer."""
        try:
            while self._writing <= self._room() and (entry := self._next()) is not None:
                if self.waiting and self._writing < self._room():
                    self._filled.set()  # there is room for more writers by now
                await self._write(entry)
        finally:
            self._writing -= 1
            if self.waiting:
                self._filled.set()
            elif not self._writing:
                self._idle.set()

    def _next(self) -> Entry | None:
        lane = self._kept or self._droppable
        return lane.pop() if lane else None

    async def _write(self, entry: Entry) -> None:
        for attempt in range(MAX_TRIES):
            try:
                await self._send(entry)
            except (Unreachable, ApiError) as error:
                if not _may_pass(error):
                    self.dropped += 1
                    self._complain(entry, error)
                    return
                if attempt == MAX_TRIES - 1:
                    self._drop(entry)
                    self._complain(entry, error)
                    return
                retry_after_s = error.retry_after_s if isinstance(error, ApiError) else None
                await asyncio.sleep(max(min(FIRST_PAUSE_S * 2.0**attempt, LONGEST_PAUSE_S), retry_after_s or 0.0))
            else:
                break
        self.written += 1

    async def _send(self, entry: Entry) -> None:
        """Create it; or, if the same was said before, say how often it was."""
        told, namespace = self._told.get(entry.mark), entry.regarding.namespace
        if told is not None and told.name:
            series = {"count": told.count, "lastObservedTime": _written(entry.time)}
            try:
                await self._cluster.patch(EVENT, namespace, told.name, {"series": series})
                return
            except NotFound:
                told.name, told.count = "", 1  # it has expired; the next one begins anew
        with contextlib.suppress(Conflict):  # the name is ours alone: an earlier try arrived, only its answer did not
            await self._cluster.create(EVENT, namespace, self._body(entry))
        if told is not None:
            told.name = entry.name

    def _body(self, entry: Entry) -> dict[str, object]:
        meta = entry.regarding
        regarding = {"apiVersion": "v1", "kind": "Pod", "namespace": meta.namespace, "name": meta.name}
        return {
            "apiVersion": EVENT.api_version,
            "kind": EVENT.name,
            "metadata": {"namespace": meta.namespace, "name": entry.name},
            "eventTime": _written(entry.time),
            "reportingController": entry.component,
            "reportingInstance": f"{entry.component}-{self._hostname}",
            "regarding": {**regarding, "uid": meta.uid, "resourceVersion": meta.resource_version},
            "type": entry.type,
            "reason": entry.reason,
            "action": entry.action,
            "note": entry.note,
        }

    def _complain(self, entry: Entry, error: Unreachable | ApiError) -> None:
        refusal = (error.status, error.reason) if isinstance(error, ApiError) else (0, "Unreachable")
        if refusal not in self._refusals:
            self._refusals.add(refusal)
            meta = entry.regarding
            said = fields(pod=f"{meta.namespace}/{meta.name}", event=entry.reason, why=str(error))
            logger.warning("an Event is given up", extra=said)

    def _drop(self, entry: Entry) -> None:
        """Give up an Event that the API server might have taken; if the same happens again, it is news again."""
        self.dropped += 1
        self._told.pop(entry.mark, None)


def _written(time: datetime) -> str:
    return time.isoformat(timespec="microseconds")[: -len("+00:00")] + "Z"


def _may_pass(error: Unreachable | ApiError) -> bool:
    return isinstance(error, Unreachable | TooManyRequests) or error.status >= 500

"""Kubernetes Events, in a lane of their own: writing them may fail, lag or be given up, and never holds a bind back.

Source: k8s.io/client-go/tools/events/event_broadcaster.go (recordToSink, maxTriesPerEvent) and event_recorder.go
(makeEvent). Upstream counts repetitions in a series; here a repetition is not written.
"""

import asyncio
import logging
from collections import OrderedDict, deque
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Literal

from koordpy.clock import Clock
from koordpy.cluster.kinds import EVENT
from koordpy.cluster.protocol import Cluster
from koordpy.errors import ApiError, Conflict, TooManyRequests, Unreachable
from koordpy_api.objects import ObjectMeta, Pod

NOTE_BYTES: Final = 1024
QUEUE_LENGTH: Final = 20_000
REMEMBERED: Final = 20_000
MAX_TRIES: Final = 12
FIRST_PAUSE_S: Final = 0.5
LONGEST_PAUSE_S: Final = 10.0
# An Event's name is the Pod's, a dot and 16 hex digits, and may be as long as the Pod's alone.
_NAME_ROOM: Final = 253 - 17

EventKind = Literal["Normal", "Warning"]
logger = logging.getLogger("koordpy.cluster")


@dataclass(frozen=True, slots=True)
class _Entry:
    regarding: ObjectMeta
    component: str
    type: EventKind
    reason: str
    action: str
    note: str
    time: datetime
    number: int  # when it came, and what tells its name from others'

    @property
    def mark(self) -> tuple[str, str, int]:
        """What makes two Events the same. A hash of the note, because 20,000 notes of 1 KiB are much to remember."""
        return (self.regarding.uid, self.reason, hash(self.note))


class Recorder:
    """`record` from anywhere on the event loop; `run` in a task beside it. A Pod's Events speak for its schedulerName.

    written, dropped: how many Events reached the API server, and how many were given up: the queue was full, too many
    tries failed, or the API server refused (the Pod's namespace is terminating).
    """

    def __init__(self, cluster: Cluster, clock: Clock, hostname: str, in_flight: int = 4) -> None:
        self.written = 0
        self.dropped = 0
        self._cluster = cluster
        self._clock = clock
        self._hostname = hostname
        self._in_flight = in_flight
        self._queues: dict[EventKind, deque[_Entry]] = {"Normal": deque(), "Warning": deque()}
        self._seen: OrderedDict[tuple[str, str, int], None] = OrderedDict()
        self._refusals: set[tuple[int, str]] = set()
        self._last_number = 0
        self._writing = 0
        self._filled = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()

    def record(self, pod: Pod, type_: EventKind, reason: str, action: str, note: str) -> None:
        """Queue one Event about a Pod. Never awaits, never raises. The same note is not written twice for one Pod."""
        time = self._clock.now().astimezone(UTC)
        self._last_number = max(self._last_number + 1, int(time.timestamp() * 1_000_000) * 1000)
        entry = _Entry(
            pod.metadata, pod.spec.scheduler_name, type_, reason, action, _shorten(note), time, self._last_number
        )
        if entry.mark in self._seen:
            self._seen.move_to_end(entry.mark)
            return
        self._seen[entry.mark] = None
        if len(self._seen) > REMEMBERED:
            self._seen.popitem(last=False)
        self._queues[type_].append(entry)
        if sum(map(len, self._queues.values())) > QUEUE_LENGTH:
            self._drop((self._queues["Normal"] or self._queues["Warning"]).popleft())
        self._idle.clear()
        self._filled.set()

    async def run(self) -> None:
        """Write, a few at a time. Never returns; cancel it."""
        async with asyncio.TaskGroup() as group:
            for _ in range(self._in_flight):
                group.create_task(self._write_all())

    async def drain(self, timeout_s: float) -> bool:
        """Wait until everything recorded is written or given up; `run` must be running. Returns: whether it is."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._idle.wait()
        except TimeoutError:
            return False
        return True

    async def _write_all(self) -> None:
        while True:
            entry = self._next()
            if entry is None:
                self._filled.clear()
                await self._filled.wait()
                continue
            self._writing += 1
            try:
                await self._write(entry)
            finally:
                self._writing -= 1
                if not self._writing and not any(self._queues.values()):
                    self._idle.set()

    def _next(self) -> _Entry | None:
        queues = [queue for queue in self._queues.values() if queue]
        return min(queues, key=lambda queue: queue[0].number).popleft() if queues else None

    async def _write(self, entry: _Entry) -> None:
        body = self._body(entry)
        for attempt in range(MAX_TRIES):
            try:
                await self._cluster.create(EVENT, entry.regarding.namespace, body)
            except Conflict:
                break  # the name is ours alone: an earlier try arrived, only its answer did not
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

    def _body(self, entry: _Entry) -> dict[str, object]:
        meta = entry.regarding
        regarding = {"apiVersion": "v1", "kind": "Pod", "namespace": meta.namespace, "name": meta.name}
        name = f"{meta.name[:_NAME_ROOM].rstrip('.-')}.{entry.number:016x}"
        return {
            "apiVersion": EVENT.api_version,
            "kind": EVENT.name,
            "metadata": {"namespace": meta.namespace, "name": name},
            "eventTime": entry.time.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "reportingController": entry.component,
            "reportingInstance": f"{entry.component}-{self._hostname}",
            "regarding": {**regarding, "uid": meta.uid, "resourceVersion": meta.resource_version},
            "type": entry.type,
            "reason": entry.reason,
            "action": entry.action,
            "note": entry.note,
        }

    def _complain(self, entry: _Entry, error: Unreachable | ApiError) -> None:
        refusal = (error.status, error.reason) if isinstance(error, ApiError) else (0, "Unreachable")
        if refusal not in self._refusals:
            self._refusals.add(refusal)
            meta = entry.regarding
            logger.warning("the Event %s of %s/%s is given up: %s", entry.reason, meta.namespace, meta.name, error)

    def _drop(self, entry: _Entry) -> None:
        """Give up an Event that the API server might have taken; if the same happens again, it is news again."""
        self.dropped += 1
        self._seen.pop(entry.mark, None)


def _may_pass(error: Unreachable | ApiError) -> bool:
    return isinstance(error, Unreachable | TooManyRequests) or error.status >= 500


def _shorten(note: str) -> str:
    """At most 1024 bytes, which the API server demands; the last four then are " ...". Never half a character."""
    encoded = note.encode(errors="replace")
    if len(encoded) > NOTE_BYTES:
        return encoded[: NOTE_BYTES - 4].decode(errors="ignore") + " ..."
    return encoded.decode()

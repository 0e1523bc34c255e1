"""SchedulingQueue: who is tried next.

    add ──▶ active ──pop──▶ in flight ──done──▶ (gone)
              ▲                │
              │ time is up     └──add_back──▶ backing off, or unschedulable
              └────────────────────────────────┘      │ wake_all: something changed that may help
                         ▲                            │ or five minutes passed
                         └────────────────────────────┘

On each way to active a plugin may gate the pod: it then waits aside, and is asked again whenever something changed.
A plain queue: every change of the cluster that may help wakes every unschedulable pod, within its back-off.
Source: pkg/scheduler/backend/queue (scheduling_queue.go).
"""

import asyncio
import heapq
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Final

from koordpy.clock import Clock
from koordpy.queue.backoff import Backoff
from koordpy_api import QueuedPod, SortKey, Status
from koordpy_api.objects import Pod

MAX_IN_UNSCHEDULABLE_S: Final = 300.0
_NANO: Final = 10**9
# So many entries of pods that are elsewhere by now may lie in the heap of those that wait; more are swept out.
_STALE_ENTRIES: Final = 1000


@dataclass(slots=True)
class QueuedPodInfo:
    """A pod in the queue, with its history. Times in seconds of the monotonic clock."""

    pod: Pod
    queued_at: float
    first_queued_at: float
    attempts: int = 0
    failures: int = 0
    errors: int = 0

    def view(self) -> QueuedPod:
        """What `queue_sort` sees."""
        queued_at, first = int(self.queued_at * _NANO), int(self.first_queued_at * _NANO)
        return QueuedPod(self.pod, queued_at, first, self.attempts)


class SchedulingQueue:
    """One per scheduler; all pods of its profiles."""

    def __init__(
        self,
        sort_key: Callable[[QueuedPod], SortKey],
        clock: Clock,
        backoff: Backoff,
        gate: Callable[[Pod], Status | None] = lambda pod: None,
    ) -> None:
        """gate: why this pod must not be tried now, if there is a reason."""
        self._sort_key = sort_key
        self._gate = gate
        self._clock = clock
        self._backoff = backoff
        self._sequence = count()
        self._work = asyncio.Event()
        # The heaps may hold entries whose pod is elsewhere by now; the maps below say what is true.
        self._active_heap: list[tuple[SortKey, int, str]] = []
        self._ready_heap: list[tuple[float, int, str]] = []
        self._active: dict[str, tuple[int, QueuedPodInfo]] = {}
        self._waiting: dict[str, tuple[int, QueuedPodInfo]] = {}
        self._unschedulable: dict[str, QueuedPodInfo] = {}
        self._gated: dict[str, QueuedPodInfo] = {}
        self._in_flight: dict[str, QueuedPodInfo] = {}

    # -- reading -----------------------------------------------------------------------------------------------------

    def sizes(self) -> dict[str, int]:
        """By the names of scheduler_pending_pods."""
        unschedulable = len(self._unschedulable)
        return {
            "active": len(self._active),
            "backoff": len(self._waiting) - unschedulable,
            "unschedulable": unschedulable,
            "gated": len(self._gated),
        }

    def is_in_flight(self, uid: str) -> bool:
        return uid in self._in_flight

    # -- what the informers say --------------------------------------------------------------------------------------

    def add(self, pod: Pod) -> None:
        """A pod that nobody has tried yet, or a newer version of one that waits."""
        uid = pod.uid
        if (flying := self._in_flight.get(uid)) is not None:
            flying.pod = pod
        elif uid in self._active:
            queued = self._active[uid][1]
            queued.pod = pod
            self._push_active(queued)
        elif uid in self._waiting or uid in self._gated:
            queued = self._gated[uid] if uid in self._gated else self._waiting[uid][1]
            before, queued.pod = queued.pod, pod
            if _asks_differently(before, pod):
                self._wake(queued)
        else:
            now = self._clock.monotonic()
            self._admit(QueuedPodInfo(pod, now, now))

    def delete(self, uid: str) -> None:
        """The pod is gone, or no longer ours to schedule. One in flight will not be queued again."""
        self._active.pop(uid, None)
        self._waiting.pop(uid, None)
        self._unschedulable.pop(uid, None)
        self._gated.pop(uid, None)
        self._in_flight.pop(uid, None)

    def wake_all(self) -> None:
        """Something changed that may make room: nobody waits longer than his back-off."""
        for queued in [*self._unschedulable.values(), *self._gated.values()]:
            self._wake(queued)

    # -- the loop ----------------------------------------------------------------------------------------------------

    async def pop(self) -> QueuedPodInfo:
        """The next pod, as soon as there is one. It is in flight until done or add_back."""
        while True:
            wait_s = self._move_ready()
            while self._active_heap:
                _, sequence, uid = heapq.heappop(self._active_heap)
                if self._active.get(uid, (None,))[0] == sequence:
                    _, queued = self._active.pop(uid)
                    queued.attempts += 1
                    self._in_flight[uid] = queued
                    return queued
            self._work.clear()
            try:
                async with asyncio.timeout(wait_s):
                    await self._work.wait()
            except TimeoutError:
                pass

    def done(self, uid: str) -> None:
        """The attempt ended and the pod need not be queued again."""
        self._in_flight.pop(uid, None)

    def add_back(self, queued: QueuedPodInfo, *, refused: bool, wait_for_change: bool) -> bool:
        """After a failed attempt. refused: plugins said no, as opposed to something having broken.

        wait_for_change: nothing could have changed since the refusal, so it waits until something does.
        Returns whether it was queued: not if it was deleted or bound meanwhile.
        """
        uid = queued.pod.uid
        if self._in_flight.pop(uid, None) is None:
            return False
        queued.queued_at = self._clock.monotonic()
        queued.failures, queued.errors = (queued.failures + 1, 0) if refused else (queued.failures, queued.errors + 1)
        if wait_for_change:
            self._unschedulable[uid] = queued
            self._push_waiting(queued, queued.queued_at + MAX_IN_UNSCHEDULABLE_S)
        else:
            self._wake(queued)
        return True

    # -- inside ------------------------------------------------------------------------------------------------------

    def _ready_at(self, queued: QueuedPodInfo) -> float:
        return queued.queued_at + self._backoff.seconds(queued.errors or queued.failures)

    def _wake(self, queued: QueuedPodInfo) -> None:
        """To its back-off, which may be over already; unless it is gated."""
        self._unschedulable.pop(queued.pod.uid, None)
        if not self._is_gated(queued):
            self._push_waiting(queued, self._ready_at(queued))

    def _admit(self, queued: QueuedPodInfo) -> None:
        """To the active pods, unless it is gated."""
        if not self._is_gated(queued):
            self._push_active(queued)

    def _is_gated(self, queued: QueuedPodInfo) -> bool:
        """Ask; a pod that is gated is nowhere else."""
        uid = queued.pod.uid
        if self._gate(queued.pod) is None:
            self._gated.pop(uid, None)
            return False
        self._waiting.pop(uid, None)
        self._gated[uid] = queued
        return True

    def _push_active(self, queued: QueuedPodInfo) -> None:
        sequence = next(self._sequence)
        self._active[queued.pod.uid] = sequence, queued
        heapq.heappush(self._active_heap, (self._sort_key(queued.view()), sequence, queued.pod.uid))
        self._work.set()

    def _push_waiting(self, queued: QueuedPodInfo, ready_at: float) -> None:
        sequence = next(self._sequence)
        self._waiting[queued.pod.uid] = sequence, queued
        heapq.heappush(self._ready_heap, (ready_at, sequence, queued.pod.uid))
        if len(self._ready_heap) > 2 * len(self._waiting) + _STALE_ENTRIES:
            self._ready_heap = [each for each in self._ready_heap if self._waiting.get(each[2], (None,))[0] == each[1]]
            heapq.heapify(self._ready_heap)
        self._work.set()

    def _move_ready(self) -> float | None:
        """Move every pod whose time has come to the active heap; how long until the next one, if any."""
        now = self._clock.monotonic()
        while self._ready_heap:
            ready_at, sequence, uid = self._ready_heap[0]
            is_current = self._waiting.get(uid, (None,))[0] == sequence
            if is_current and ready_at > now:
                return ready_at - now
            heapq.heappop(self._ready_heap)
            if is_current:
                _, queued = self._waiting.pop(uid)
                # After its back-off it was asked already; after five minutes of nothing, it was not.
                if self._unschedulable.pop(uid, None) is None:
                    self._push_active(queued)
                else:
                    self._admit(queued)
        return None


def _asks_differently(before: Pod, after: Pod) -> bool:
    """Could this update make the pod fit? The echo of our own condition on it must not wake it."""
    return (
        before.spec != after.spec
        or before.metadata.labels != after.metadata.labels
        or before.metadata.annotations != after.metadata.annotations
    )

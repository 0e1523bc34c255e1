"""Who waits how long before the next attempt. Source: pkg/scheduler/backend/queue (backoff_queue.go)."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from koordpy.queue.heap import PodHeap
from koordpy.queue.pod_info import QueuedPodInfo
from koordpy_api import QueuedPod, SortKey


@dataclass(frozen=True, slots=True)
class Backoff:
    """initial_s doubled for each failure, up to max_s: 1, 2, 4, 8, 10, 10 …"""

    initial_s: int = 1
    max_s: int = 10

    def seconds(self, failures: int) -> int:
        """How long to wait after so many failures."""
        if failures <= 0:
            return 0
        exponent = min(failures - 1, 62)  # beyond, the shift would only make a useless large number
        return min(self.initial_s << exponent, self.max_s)


class BackoffQueue:
    """Pods whose back-off is not over: those that plugins refused, and those of which an attempt broke.

    A back-off ends with a whole second of the clock, so that of the pods of one second the most important comes first.
    """

    def __init__(self, backoff: Backoff, sort_key: Callable[[QueuedPod], SortKey]) -> None:
        self._backoff = backoff
        self._sort_key = sort_key
        self._refused = PodHeap()
        self._broken = PodHeap()

    def __len__(self) -> int:
        return len(self._refused) + len(self._broken)

    def __iter__(self) -> Iterator[QueuedPodInfo]:
        yield from self._refused
        yield from self._broken

    def ready_at(self, queued: QueuedPodInfo) -> float:
        """When its back-off is, or was, over."""
        waits_s = self._backoff.seconds(queued.errors or queued.failures)
        return math.ceil(queued.queued_at + waits_s) if waits_s else queued.queued_at

    def get(self, uid: str) -> QueuedPodInfo | None:
        return self._refused.get(uid) or self._broken.get(uid)

    def add(self, queued: QueuedPodInfo) -> None:
        """Or give it another place, if it changed."""
        ready_at = self.ready_at(queued)
        if queued.errors:
            self._broken.push((ready_at,), queued)
        else:
            self._refused.push((ready_at, self._sort_key(queued.view())), queued)

    def remove(self, uid: str) -> QueuedPodInfo | None:
        return self._refused.remove(uid) or self._broken.remove(uid)

    def next_ready(self) -> float | None:
        """When the first back-off is over."""
        return min((key[0] for heap in (self._refused, self._broken) if (key := heap.first_key())), default=None)

    def pop_ready(self, now: float) -> QueuedPodInfo | None:
        """A pod whose back-off is over."""
        for heap in (self._refused, self._broken):
            if (key := heap.first_key()) is not None and key[0] <= now:
                return heap.pop()
        return None

    def pop_early(self) -> QueuedPodInfo | None:
        """The refused pod that is next, though its back-off is not over: something may have changed for it.

        Never one of which an attempt broke: what broke is spared.
        """
        return self._refused.pop()

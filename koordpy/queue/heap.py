"""A heap of pods that knows where each is."""

import heapq
from collections.abc import Iterator
from itertools import count
from typing import Any, Final

from koordpy.queue.pod_info import QueuedPodInfo

Key = tuple[Any, ...]
"""What pods are ordered by; the same sort of tuple for all pods of one heap."""

# So many entries of pods that left may lie in a heap; more are swept out.
_STALE_ENTRIES: Final = 1000


class PodHeap:
    """The pod with the smallest key first, equal ones in order of arrival. A pod is in it once, by its UID."""

    def __init__(self) -> None:
        self._sequence = count()
        # The list may hold entries whose pod left, or has another key by now; the map says what is true.
        self._entries: list[tuple[Key, int, str]] = []
        self._pods: dict[str, tuple[Key, int, QueuedPodInfo]] = {}

    def __len__(self) -> int:
        return len(self._pods)

    def __iter__(self) -> Iterator[QueuedPodInfo]:
        return (queued for _, _, queued in self._pods.values())

    def get(self, uid: str) -> QueuedPodInfo | None:
        entry = self._pods.get(uid)
        return entry[2] if entry else None

    def push(self, key: Key, queued: QueuedPodInfo) -> None:
        """A pod that is in it already gets a new place."""
        uid, sequence = queued.pod.uid, next(self._sequence)
        self._pods[uid] = key, sequence, queued
        heapq.heappush(self._entries, (key, sequence, uid))
        if len(self._entries) > 2 * len(self._pods) + _STALE_ENTRIES:
            self._entries = [(key, sequence, uid) for uid, (key, sequence, _) in self._pods.items()]
            heapq.heapify(self._entries)

    def remove(self, uid: str) -> QueuedPodInfo | None:
        entry = self._pods.pop(uid, None)
        return entry[2] if entry else None

    def first_key(self) -> Key | None:
        """The smallest key; None if nobody is here."""
        while self._entries:
            key, sequence, uid = self._entries[0]
            if (entry := self._pods.get(uid)) is not None and entry[1] == sequence:
                return key
            heapq.heappop(self._entries)
        return None

    def pop(self) -> QueuedPodInfo | None:
        if self.first_key() is None:
            return None
        _, _, uid = heapq.heappop(self._entries)
        return self._pods.pop(uid)[2]

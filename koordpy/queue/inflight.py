"""Attempts under way, and what happened meanwhile. Source: pkg/scheduler/backend/queue (active_queue.go)."""

from collections import Counter, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from koordpy.queue.hints import Concern
from koordpy.queue.pod_info import QueuedPodInfo
from koordpy_api.objects import KubeObject

POD_POPPED: Final = "PodPopped"
"""The label under which scheduler_inflight_events counts the attempts themselves."""


@dataclass(frozen=True, slots=True)
class Happening:
    """An event with the object before and after it. concern None: it helps the pod `only`, and nobody else."""

    concern: Concern | None
    label: str
    old: KubeObject | None = None
    new: KubeObject | None = None
    only: str = ""


class InFlight:
    """Each attempt sees all that happened since it began; nobody's events are kept longer than the oldest attempt."""

    def __init__(self) -> None:
        self._pods: dict[str, tuple[int, QueuedPodInfo]] = {}
        self._happened: deque[Happening] = deque()
        self._dropped = 0
        self._labels: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._pods)

    def __iter__(self) -> Iterator[QueuedPodInfo]:
        return (queued for _, queued in self._pods.values())

    def get(self, uid: str) -> QueuedPodInfo | None:
        entry = self._pods.get(uid)
        return entry[1] if entry else None

    def begin(self, queued: QueuedPodInfo) -> None:
        self._pods[queued.pod.uid] = self._dropped + len(self._happened), queued

    def record(self, happening: Happening) -> None:
        """Kept only if somebody is in flight."""
        if self._pods:
            self._happened.append(happening)
            self._labels[happening.label] += 1

    def end(self, uid: str) -> list[Happening] | None:
        """What happened since the attempt began; None if there is no such attempt."""
        entry = self._pods.pop(uid, None)
        if entry is None:
            return None
        missed = [self._happened[place] for place in range(entry[0] - self._dropped, len(self._happened))]
        self._forget()
        return missed

    def counts(self) -> Mapping[str, int]:
        """By the names of scheduler_inflight_events."""
        return {**self._labels, POD_POPPED: len(self._pods)}

    def _forget(self) -> None:
        """What no attempt needs any more. Attempts are in the order in which they began."""
        oldest = next((began for began, _ in self._pods.values()), self._dropped + len(self._happened))
        while self._dropped < oldest:
            label = self._happened.popleft().label
            self._dropped += 1
            self._labels[label] -= 1
            if not self._labels[label]:
                del self._labels[label]

"""A pod in the queue, with its history."""

from dataclasses import dataclass
from typing import Final

from koordpy_api import QueuedPod
from koordpy_api.objects import Pod

NOBODY: Final = frozenset[str]()
_NANO: Final = 10**9


@dataclass(slots=True)
class QueuedPodInfo:
    """Times in seconds of the monotonic clock.

    queued_at: since when it waits this time. first_queued_at: since when it waits at all.
    first_attempt_at: when it could be tried for the first time; None before.
    failures, errors: refusals so far, and what went wrong in a row since; each has its own back-off.
    refused_by: the plugins that refused the last attempt, or gate the pod. pending: those that wake it themselves.
    gated_by: who keeps it from being tried. was_flushed: did it come back only because it had waited so long?
    was_warned: does its owner know what in it cannot be read?
    """

    pod: Pod
    queued_at: float
    first_queued_at: float
    first_attempt_at: float | None = None
    attempts: int = 0
    failures: int = 0
    errors: int = 0
    refused_by: frozenset[str] = NOBODY
    pending: frozenset[str] = NOBODY
    gated_by: str = ""
    was_flushed: bool = False
    was_warned: bool = False

    @property
    def profile(self) -> str:
        return self.pod.spec.scheduler_name

    def view(self) -> QueuedPod:
        """What `queue_sort` sees."""
        queued_at, first = int(self.queued_at * _NANO), int(self.first_queued_at * _NANO)
        return QueuedPod(self.pod, queued_at, first, self.attempts)

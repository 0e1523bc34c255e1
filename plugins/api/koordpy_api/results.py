"""Every answer of a hook that is not a Status, a number or nothing."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from koordpy_api.objects import Pod


@dataclass(frozen=True, slots=True)
class QueuedPod:
    """A Pod that waits for its turn, as `queue_sort` sees it. Times: nanoseconds of a monotonic clock.

    queued_at: since when it waits this time; a failed attempt starts the waiting anew.
    first_queued_at: since when it waits at all.
    attempts: how often it was tried.
    """

    pod: Pod
    queued_at: int
    first_queued_at: int
    attempts: int


SortKey = tuple[int, ...]
"""What `queue_sort` answers; the smallest is tried first."""


@dataclass(frozen=True, slots=True)
class PreFilterResult:
    """Only these nodes are worth looking at. Several plugins' answers are intersected."""

    node_names: frozenset[str]


@dataclass(frozen=True, slots=True)
class PodPatch:
    """What a plugin wants written on the Pod; the host sends it inside the Binding."""

    annotations: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PreBindPlan:
    """What has to be written before, or with, the bind."""

    pod: PodPatch


@dataclass(frozen=True, slots=True)
class Binding:
    """Bind the Pod to this node; the host writes it."""

    node_name: str

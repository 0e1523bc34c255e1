"""Every answer of a hook that is not a Status, a number or nothing."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from koordpy_api.objects import Pod
from koordpy_api.status import Status


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
class PostFilterResult:
    """What came of making room for a Pod that fits nowhere.

    nominated_node_name: where it will fit once room is made; "" takes an earlier nomination back.
    refusal: Status.unschedulable with the reasons if no room could be made; then the next plugin is asked too.
    """

    nominated_node_name: str
    refusal: Status | None = None


@dataclass(frozen=True, slots=True)
class Wait:
    """Hold the Pod on its node until this plugin allows or rejects it, at most `timeout_s` (15 minutes if longer)."""

    timeout_s: float


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

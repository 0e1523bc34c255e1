"""Which events may help a Pod that a plugin refused: what plugins register, and what holds for those that do not.

Source: pkg/scheduler (scheduler.go, buildQueueingHintMap), pkg/scheduler/framework (events.go).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from koordpy.errors import PluginError
from koordpy.framework.declaration import Declaration
from koordpy.framework.points import REFUSING_POINTS, REGISTRATION_HOOK
from koordpy.queue.changes import of_kind
from koordpy_api import ActionType, ClusterEvent, EventRegistration
from koordpy_api.events import NODE, POD, RESOURCES, HintFunction
from koordpy_api.objects import Kind

EVERY_EVENT: Final = tuple(
    ClusterEvent(resource, ActionType.ALL)
    for resource in (
        POD,
        NODE,
        "PersistentVolume",
        "PersistentVolumeClaim",
        "storage.k8s.io/CSINode",
        "storage.k8s.io/CSIDriver",
        "storage.k8s.io/CSIStorageCapacity",
        "storage.k8s.io/StorageClass",
        "resource.k8s.io/ResourceClaim",
        "resource.k8s.io/DeviceClass",
    )
)
"""What a plugin is registered for that registers nothing itself. Source: UnionedGVKs and its users."""


@dataclass(frozen=True, slots=True)
class Registration:
    """After `event`, a Pod that `plugin` refused may be worth another attempt. No hint: it always is."""

    plugin: str
    event: ClusterEvent
    hint: HintFunction | None = None


def registrations_of(
    declaration: Declaration, ask: Callable[..., Any] | None, watched: Sequence[Kind] = ()
) -> list[Registration]:
    """What holds for one plugin. ask: its bound hook, if it has one. watched: the kinds that its profile watches.

    Raises: PluginError if the hook raises, or answers something that is no registration.
    """
    if declaration.points.isdisjoint(REFUSING_POINTS):
        return []
    if ask is None:
        events = [*EVERY_EVENT, *(of_kind(kind, ActionType.ALL) for kind in watched)]
        return [Registration(declaration.name, event) for event in dict.fromkeys(events)]
    try:
        answers = ask()
    except (Exception, SystemExit) as error:
        raise PluginError(f"{declaration.title}: {REGISTRATION_HOOK} raises {type(error).__name__}: {error}") from error
    if not isinstance(answers, Sequence) or not all(_is_registration(each) for each in answers):
        raise PluginError(
            f"{declaration.title}: {REGISTRATION_HOOK} answers {answers!r}; a list of koordpy_api.EventRegistration "
            "is wanted"
        )
    for each in answers:
        if not each.event.is_known:
            raise PluginError(
                f"{declaration.title}: {REGISTRATION_HOOK} names resource {each.event.resource!r}; it is one of "
                f"{', '.join(sorted(RESOURCES))}, or a custom one as plural.version.group"
            )
    made = [Registration(declaration.name, each.event, each.hint) for each in answers]
    return made + _taints(declaration.name, [each.event for each in answers])


def _is_registration(answer: object) -> bool:
    if not isinstance(answer, EventRegistration) or not isinstance(answer.event, ClusterEvent):
        return False
    return answer.hint is None or callable(answer.hint)


def _taints(plugin: str, events: Sequence[ClusterEvent]) -> list[Registration]:
    """A node that joins is often tainted at first; whoever waits for a node waits for the end of its taint, too."""
    taint = ClusterEvent(NODE, ActionType.UPDATE_NODE_TAINT)
    actions = ActionType(0)
    for event in events:
        if event.resource == NODE:
            actions |= event.action
    if actions & ActionType.ADD and not actions & ActionType.UPDATE_NODE_TAINT:
        return [Registration(plugin, taint)]
    return []

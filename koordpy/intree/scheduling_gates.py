"""SchedulingGates: a Pod is not tried while somebody keeps a gate on it."""

from collections.abc import Sequence

from koordpy_api import (
    ActionType,
    ClusterEvent,
    EventRegistration,
    Handle,
    NoArgs,
    QueueingHint,
    Status,
    hookimpl,
)
from koordpy_api.events import POD
from koordpy_api.objects import KubeObject, Pod


class SchedulingGates:
    """Source: kube-scheduler's schedulinggates plugin. It looks at no node, so it has nothing to say of all at once."""

    Args = NoArgs

    def __init__(self, args: NoArgs, handle: Handle) -> None:
        pass

    @hookimpl
    def pre_enqueue(self, pod: Pod) -> Status | None:
        if not pod.spec.scheduling_gates:
            return None
        names = " ".join(gate.name for gate in pod.spec.scheduling_gates)
        return Status.unresolvable(f"waiting for scheduling gates: [{names}]")

    @hookimpl
    def events_to_register(self) -> Sequence[EventRegistration]:
        gone = ClusterEvent(POD, ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED)
        return [EventRegistration(gone, _is_itself)]


def _is_itself(pod: Pod, old: KubeObject | None, new: KubeObject | None) -> QueueingHint:
    return QueueingHint.when(new is not None and new.metadata.uid == pod.uid)

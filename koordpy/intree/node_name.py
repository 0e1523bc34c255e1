"""NodeName: a Pod that names its node runs there or nowhere."""

from collections.abc import Sequence

from koordpy_api import (
    ActionType,
    ClusterEvent,
    CycleState,
    EventRegistration,
    Handle,
    NoArgs,
    NodeInfo,
    Status,
    hookimpl,
)
from koordpy_api.events import NODE
from koordpy_api.objects import Pod

REFUSAL = Status.unresolvable("node(s) didn't match the requested node name")


class NodeName:
    """Source: kube-scheduler's nodename plugin."""

    Args = NoArgs

    def __init__(self, args: NoArgs, handle: Handle) -> None:
        pass

    @hookimpl
    def filter(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> Status | None:
        wanted = pod.spec.node_name
        return REFUSAL if wanted and wanted != node_info.name else None

    @hookimpl
    def events_to_register(self) -> Sequence[EventRegistration]:
        return [EventRegistration(ClusterEvent(NODE, ActionType.ADD))]

"""NodeName: a Pod that names its node runs there or nowhere."""

from collections.abc import Sequence

import numpy as np

from koordpy_api import (
    ActionType,
    ClusterEvent,
    CycleState,
    EventRegistration,
    Handle,
    NoArgs,
    NodeColumns,
    NodeInfo,
    Status,
    Verdicts,
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
    def filter_nodes(self, pod: Pod, columns: NodeColumns) -> Verdicts | None:
        if not (wanted := pod.spec.node_name):
            return None
        codes = np.ones(len(columns), dtype=np.uint16)
        if (row := columns.row_of(wanted)) is not None:
            codes[row] = 0
        return Verdicts(codes, (REFUSAL,))

    @hookimpl
    def events_to_register(self) -> Sequence[EventRegistration]:
        return [EventRegistration(ClusterEvent(NODE, ActionType.ADD))]

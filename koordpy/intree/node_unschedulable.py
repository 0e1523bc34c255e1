"""NodeUnschedulable: a cordoned node takes only Pods that tolerate it."""

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
    QueueingHint,
    Status,
    Verdicts,
    hookimpl,
)
from koordpy_api.events import NODE, POD
from koordpy_api.objects import KubeObject, Node, Pod, Taint
from koordpy_api.selectors import is_tolerated

REFUSAL = Status.unresolvable("node(s) were unschedulable")
CORDON = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


class NodeUnschedulable:
    """Source: kube-scheduler's nodeunschedulable plugin."""

    Args = NoArgs

    def __init__(self, args: NoArgs, handle: Handle) -> None:
        pass

    @hookimpl
    def filter(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> Status | None:
        if not node_info.unschedulable or _tolerates(pod):
            return None
        return REFUSAL

    @hookimpl
    def filter_nodes(self, pod: Pod, columns: NodeColumns) -> Verdicts | None:
        cordoned = columns.unschedulable
        if not np.count_nonzero(cordoned) or _tolerates(pod):
            return None
        return Verdicts.where(cordoned, REFUSAL)

    @hookimpl
    def events_to_register(self) -> Sequence[EventRegistration]:
        return [
            EventRegistration(ClusterEvent(NODE, ActionType.ADD | ActionType.UPDATE_NODE_TAINT), _is_uncordoned),
            EventRegistration(ClusterEvent(POD, ActionType.UPDATE_POD_TOLERATION), _tolerates_now),
        ]


def _tolerates(pod: Pod) -> bool:
    return is_tolerated(CORDON, pod.spec.tolerations)


def _is_uncordoned(pod: Pod, old: KubeObject | None, new: KubeObject | None) -> QueueingHint:
    """Also a new node that never was cordoned."""
    was_open = isinstance(old, Node) and not old.spec.unschedulable
    is_open = isinstance(new, Node) and not new.spec.unschedulable
    return QueueingHint.when(is_open and not was_open)


def _tolerates_now(pod: Pod, old: KubeObject | None, new: KubeObject | None) -> QueueingHint:
    return QueueingHint.when(isinstance(new, Pod) and new.uid == pod.uid and _tolerates(new))

"""NodeUnschedulable: a cordoned node takes only Pods that tolerate it."""

from koordpy_api import CycleState, Handle, NoArgs, NodeInfo, Status, hookimpl
from koordpy_api.objects import Pod, Taint
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
        if not node_info.unschedulable or is_tolerated(CORDON, pod.spec.tolerations):
            return None
        return REFUSAL

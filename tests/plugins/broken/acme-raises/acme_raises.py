"""Divides by the number of a node's GPUs."""

from koordpy_api import Handle, NoArgs, NodeInfo, Status, hookimpl


class Raises:
    """Divides by the number of a node's GPUs, which most nodes do not have."""

    Args = NoArgs

    def __init__(self, args: NoArgs, handle: Handle) -> None: ...

    @hookimpl
    def filter(self, node_info: NodeInfo) -> Status | None:
        share = 100 // node_info.allocatable.get("acme.io/gpu", 0)
        return None if share else Status.unschedulable("too many gpus to share")

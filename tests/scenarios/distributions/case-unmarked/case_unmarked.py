"""Forgot the marker."""

from koordpy_api import Handle, NoArgs, NodeInfo, Status
from koordpy_api.objects import Pod


class Unmarked:
    """Its filter is no hook."""

    Args = NoArgs

    def __init__(self, args: NoArgs, handle: Handle) -> None: ...

    def filter(self, pod: Pod, node_info: NodeInfo) -> Status | None:
        return None

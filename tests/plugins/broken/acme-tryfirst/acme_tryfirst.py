"""Wants to be asked before all others."""

from koordpy_api import Handle, NoArgs, NodeInfo, Status, hookimpl
from koordpy_api.objects import Pod


class TryFirst:
    """Wants to be asked before all others."""

    Args = NoArgs

    def __init__(self, args: NoArgs, handle: Handle) -> None: ...

    @hookimpl(tryfirst=True)
    def filter(self, pod: Pod, node_info: NodeInfo) -> Status | None:
        return None

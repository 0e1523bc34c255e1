"""Does not say which arguments it takes."""

from koordpy_api import Handle, NoArgs, NodeInfo, Status, hookimpl
from koordpy_api.objects import Pod


class WithoutArgs:
    """Does not say which arguments it takes."""

    def __init__(self, args: NoArgs, handle: Handle) -> None: ...

    @hookimpl
    def filter(self, pod: Pod, node_info: NodeInfo) -> Status | None:
        return None

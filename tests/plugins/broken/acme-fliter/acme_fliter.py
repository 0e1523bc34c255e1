"""Its only hook is misspelt."""

from koordpy_api import Handle, NoArgs, NodeInfo, Status, hookimpl
from koordpy_api.objects import Pod


class Misspelt:
    """Its only hook is misspelt."""

    Args = NoArgs

    def __init__(self, args: NoArgs, handle: Handle) -> None: ...

    @hookimpl
    def fliter(self, pod: Pod, node_info: NodeInfo) -> Status | None:
        return None

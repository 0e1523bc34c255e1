"""Written for a plugin API that this koordpy does not have."""

from koordpy_api import Handle, NoArgs, NodeInfo, Status, hookimpl
from koordpy_api.objects import Pod


class FromTomorrow:
    """Written for a plugin API that this koordpy does not have."""

    Args = NoArgs
    API_VERSION = 99

    def __init__(self, args: NoArgs, handle: Handle) -> None: ...

    @hookimpl
    def filter(self, pod: Pod, node_info: NodeInfo) -> Status | None:
        return None

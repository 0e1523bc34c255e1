"""Offers a name that is taken."""

from koordpy_api import Handle, NoArgs, NodeInfo, Status, hookimpl
from koordpy_api.objects import Pod


class DeviceShare:
    """Something else than koordpy-deviceshare's."""

    Args = NoArgs

    def __init__(self, args: NoArgs, handle: Handle) -> None: ...

    @hookimpl
    def filter(self, pod: Pod, node_info: NodeInfo) -> Status | None:
        return None

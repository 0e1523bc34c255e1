"""Offers ZoneQuota, and so does bolt-zonequota."""

from koordpy_api import Handle, NoArgs, NodeInfo, Status, hookimpl
from koordpy_api.objects import Pod


class ZoneQuota:
    """Offers ZoneQuota, and so does bolt-zonequota."""

    Args = NoArgs

    def __init__(self, args: NoArgs, handle: Handle) -> None: ...

    @hookimpl
    def filter(self, pod: Pod, node_info: NodeInfo) -> Status | None:
        return None

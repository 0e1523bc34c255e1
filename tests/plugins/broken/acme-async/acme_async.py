"""Asks a server about every node."""

import asyncio

from koordpy_api import Handle, NoArgs, NodeInfo, Status, hookimpl
from koordpy_api.objects import Pod


class AsyncFilter:
    """Asks a server about every node."""

    Args = NoArgs

    def __init__(self, args: NoArgs, handle: Handle) -> None: ...

    @hookimpl
    async def filter(self, pod: Pod, node_info: NodeInfo) -> Status | None:
        await asyncio.sleep(0.1)
        return None

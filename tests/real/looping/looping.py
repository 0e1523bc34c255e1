"""A plugin that never comes back from `filter` of a Pod whose name begins with "trap"."""

import re

from koordpy_api import CycleState, Handle, NodeInfo, PluginArgs, hookimpl
from koordpy_api.objects import Pod


class LoopingArgs(PluginArgs):
    """how: python, or c for a call that lets no other thread of Python run."""

    how: str = "python"


class Looping:
    Args = LoopingArgs

    def __init__(self, args: LoopingArgs, handle: Handle) -> None:
        self._how = args.how

    @hookimpl
    def filter(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> None:
        if pod.metadata.name.startswith("trap"):
            if self._how == "c":
                re.match(r"(a+)+$", "a" * 64 + "b")
            while True:
                pass

"""Written for another host: its filter takes a node's name."""

from koordpy_api import Handle, NoArgs, Status, hookimpl
from koordpy_api.objects import Pod


class WrongArgument:
    """Written for another host: its filter takes a node's name."""

    Args = NoArgs

    def __init__(self, args: NoArgs, handle: Handle) -> None: ...

    @hookimpl
    def filter(self, pod: Pod, node_name: str) -> Status | None:
        return None

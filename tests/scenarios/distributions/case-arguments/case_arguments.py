"""Takes fewer arguments than a hook has, or one more with a default."""

from koordpy_api import CycleState, Handle, NoArgs, NodeInfo, Status, hookimpl
from koordpy_api.objects import Pod


class Fewer:
    """Wants the Pod alone."""

    Args = NoArgs

    def __init__(self, args: NoArgs, handle: Handle) -> None: ...

    @hookimpl
    def filter(self, pod: Pod) -> Status | None:
        return None


class Extra:
    """Has an argument for its own use."""

    Args = NoArgs

    def __init__(self, args: NoArgs, handle: Handle) -> None: ...

    @hookimpl
    def filter(self, state: CycleState, pod: Pod, node_info: NodeInfo, extra: str | None = None) -> Status | None:
        return None

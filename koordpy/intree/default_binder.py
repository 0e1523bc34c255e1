"""DefaultBinder: every Pod is bound by the host's own Binding request."""

from koordpy_api import Binding, CycleState, Handle, NoArgs, hookimpl
from koordpy_api.objects import Pod


class DefaultBinder:
    """Source: kube-scheduler's defaultbinder plugin."""

    Args = NoArgs

    def __init__(self, args: NoArgs, handle: Handle) -> None:
        pass

    @hookimpl
    def bind(self, state: CycleState, pod: Pod, node_name: str) -> Binding:
        return Binding(node_name)

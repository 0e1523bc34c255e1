"""The binding cycle: what is written with the bind, and the bind itself. These hooks may be `async def`."""

from koordpy_api.markers import hookspec
from koordpy_api.objects import Pod
from koordpy_api.results import Binding, PreBindPlan
from koordpy_api.state import CycleState
from koordpy_api.status import Status


@hookspec
def pre_bind(state: CycleState, pod: Pod, node_name: str) -> PreBindPlan | Status | None:
    """What has to be written before this Pod may run?

    Called   once a bind, in profile order; the plans of all plugins are merged.
    Returns  None; a PreBindPlan; or a refusal.
    Raises   any exception ends the attempt as an error and is blamed on this plugin.
    Must not write anything itself: the host sends the plan.
    Source   kube-scheduler PreBindPlugin.
    """


@hookspec
def bind(state: CycleState, pod: Pod, node_name: str) -> Binding | Status | None:
    """Who binds this Pod, and how?

    Called   once a bind, in profile order, until one takes it.
    Returns  None or Status.skip() to leave it to the next; a Binding, which the host writes; a Status if the plugin
             talked to another binder itself: Status(Code.SUCCESS) if that went well.
    Raises   any exception ends the attempt as an error and is blamed on this plugin.
    Must not write the Binding itself, unless it answers with a Status.
    Source   kube-scheduler BindPlugin.
    """


@hookspec
def post_bind(state: CycleState, pod: Pod, node_name: str) -> None:
    """The Pod is bound.

    Called   once a bind, after it, in profile order.
    Returns  nothing; what is said here changes nothing any more.
    Raises   any exception is blamed on this plugin; the others are still told.
    Must not write to the cluster.
    Source   kube-scheduler PostBindPlugin.
    """

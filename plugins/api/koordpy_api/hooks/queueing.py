"""Before a Pod's attempt: its place in the queue, and what plugins learn of pods and nodes."""

from collections.abc import Sequence

from koordpy_api.events import EventRegistration
from koordpy_api.markers import hookspec
from koordpy_api.node_info import NodeInfo, PodInfo
from koordpy_api.objects import Pod
from koordpy_api.results import QueuedPod, SortKey
from koordpy_api.status import Status


@hookspec
def pre_enqueue(pod: Pod) -> Status | None:
    """May this Pod be tried at all?

    Called   whenever the Pod would enter the active queue or its back-off, in profile order, until one refuses.
    Returns  None, or a refusal: then the Pod is gated, and nobody tries it before an event lets it be asked again.
    Raises   any exception is blamed on this plugin, and gates the Pod like a refusal.
    Must not await, do I/O, or be slow: everything else waits.
    Source   kube-scheduler PreEnqueuePlugin.
    """


@hookspec
def queue_sort(queued: QueuedPod) -> SortKey:  # type: ignore[empty-body]
    """Where does this Pod stand in the queue?

    Called   when it enters the active queue; exactly one plugin of all profiles answers.
    Returns  a tuple of integers; the smallest is popped first, equal ones in order of arrival.
    Raises   any exception is blamed on this plugin; the Pod is queued last.
    Must not await, do I/O, or give two lengths of tuple.
    Source   kube-scheduler QueueSortPlugin, whose Less(a, b) is key(a) < key(b).
    """


@hookspec
def events_to_register() -> Sequence[EventRegistration]:  # type: ignore[empty-body]
    """Which events may help a Pod that this plugin refused?

    Called   once, when the profile is built.
    Returns  the registrations; a plugin without this hook is registered for every event of the usual kinds, and of
             those that some plugin of its profile watches.
    Raises   any exception keeps the profile from starting and is blamed on this plugin.
    Must not await or do I/O.
    Source   kube-scheduler EnqueueExtensions.
    """


@hookspec
def pod_refused(pod: Pod, plugins: frozenset[str]) -> None:
    """An attempt ended without a node for this Pod.

    Called   once per such attempt, of the plugins of the Pod's profile; not when something broke. plugins: the names
             of all that were among the reasons, be it at PreFilter, Filter, Reserve or Permit.
    Returns  nothing; PostFilter is the hook that can still do something about it.
    Raises   any exception is blamed on this plugin; the others are still told.
    Must not await, do I/O, or keep the whole Pod.
    Source   koordpy.
    """


@hookspec
def pod_added(pod: Pod, node_info: NodeInfo) -> None:
    """A Pod now counts on this node.

    Called   once a Pod: when it is assumed, or when it arrives assigned by someone else; node_info has it.
    Returns  nothing; a plugin keeps here what it wants to know later.
    Raises   any exception is blamed on this plugin; the others are still told.
    Must not await, do I/O, or keep the whole Pod.
    Source   koordpy; upstream plugins run informers of their own.
    """


@hookspec
def pod_updated(old: PodInfo, new: Pod, node_info: NodeInfo) -> None:
    """A Pod that counts on this node changed there, or the API server confirmed that it is bound there.

    Called   for every update between pod_added and pod_removed.
    Returns  nothing.
    Raises   any exception is blamed on this plugin; the others are still told.
    Must not await, do I/O, or keep the whole Pod.
    Source   koordpy.
    """


@hookspec
def pod_removed(pod: PodInfo, node_info: NodeInfo) -> None:
    """A Pod counts on this node no longer: forgotten, finished, deleted, or seen elsewhere.

    Called   once for every pod_added; node_info is the node without it.
    Returns  nothing.
    Raises   any exception is blamed on this plugin; the others are still told.
    Must not await or do I/O.
    Source   koordpy.
    """


@hookspec
def node_updated(old: NodeInfo, new: NodeInfo) -> None:
    """A node came, changed or went; one that is not known has `node` None.

    Called   for every change of the Node object, not for pods that come and go.
    Returns  nothing.
    Raises   any exception is blamed on this plugin; the others are still told.
    Must not await or do I/O.
    Source   koordpy.
    """

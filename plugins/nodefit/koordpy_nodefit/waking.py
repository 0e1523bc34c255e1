"""After which events a Pod that did not fit may fit. Source: kube-scheduler's noderesources plugin (fit.go)."""

from collections.abc import Callable, Sequence

from koordpy_api import ActionType, ClusterEvent, EventRegistration, NodeInfo, PodInfo, QueueingHint
from koordpy_api.events import NODE, POD
from koordpy_api.objects import KubeObject, Node, Pod

SKIP = QueueingHint.SKIP


class Waking:
    """An event helps a Pod that fits on a node after it, and did not fit there before.

    find: a node as it is believed to be now. fits: does this Pod fit on it?
    """

    def __init__(self, find: Callable[[str], NodeInfo | None], fits: Callable[[Pod, NodeInfo], bool]) -> None:
        self._find = find
        self._fits = fits
        # Of the last event: many Pods are asked about it, one after the other.
        self._last: tuple[object, object, NodeInfo, NodeInfo | None] | None = None

    def registrations(self) -> Sequence[EventRegistration]:
        # The end of a taint changes nothing of what fits: whoever refused the node for it is asked himself.
        node = ActionType.ADD | ActionType.UPDATE_NODE_ALLOCATABLE | ActionType.UPDATE_NODE_TAINT
        return [
            EventRegistration(ClusterEvent(POD, ActionType.DELETE), self.pod_gone),
            EventRegistration(ClusterEvent(POD, ActionType.UPDATE_POD_SCALE_DOWN), self.asks_less),
            EventRegistration(ClusterEvent(NODE, node), self.node_changed),
        ]

    def pod_gone(self, pod: Pod, old: KubeObject | None, new: KubeObject | None) -> QueueingHint:
        if not isinstance(old, Pod):
            return SKIP
        return self._compare(pod, old.spec.node_name or old.status.nominated_node_name, old, new)

    def asks_less(self, pod: Pod, old: KubeObject | None, new: KubeObject | None) -> QueueingHint:
        """The Pod itself, or one that runs where there is room now."""
        if not isinstance(new, Pod):
            return SKIP
        return QueueingHint.QUEUE if new.uid == pod.uid else self._compare(pod, new.spec.node_name, old, new)

    def node_changed(self, pod: Pod, old: KubeObject | None, new: KubeObject | None) -> QueueingHint:
        if not isinstance(new, Node):
            return SKIP
        if isinstance(old, Node) and old.status.allocatable == new.status.allocatable:
            return SKIP
        return self._compare(pod, new.metadata.name, old, new)

    def _compare(self, pod: Pod, name: str, old: KubeObject | None, new: KubeObject | None) -> QueueingHint:
        now = self._find(name) if name else None
        if now is None or now.node is None or not self._fits(pod, now):
            return SKIP
        before = self._before(now, old, new)
        return QueueingHint.when(before is None or not self._fits(pod, before))

    def _before(self, now: NodeInfo, old: KubeObject | None, new: KubeObject | None) -> NodeInfo | None:
        """The node without what the event changed; None if it was not there, or nobody counted on it."""
        last = self._last
        if last is None or last[0] is not old or last[1] is not new or last[2] is not now:
            self._last = last = old, new, now, _undone(now, old)
        return last[3]


def _undone(now: NodeInfo, old: KubeObject | None) -> NodeInfo | None:
    match old:
        case Node():
            return now.with_node(old)
        case Pod() if old.spec.node_name:
            return now.with_pod(PodInfo.of(old, ()))
        case _:
            return None

"""After which events a Pod that got no device may get one."""

from collections.abc import Callable, Sequence
from typing import Final

from koordpy_api.events import NODE, POD, ActionType, ClusterEvent, EventRegistration, QueueingHint
from koordpy_api.memo import PodMemo
from koordpy_api.objects import Device, KubeObject, Node, Pod
from koordpy_api.status import Status
from koordpy_deviceshare.dialects import DIALECTS, RESOURCES, Wish, read_wish, tells_the_same

DEVICE: Final = f"{Device.KIND.plural}.{Device.KIND.version}.{Device.KIND.group}"
SKIP: Final = QueueingHint.SKIP


class Waking:
    """Nothing that happens on a node helps a Pod for which its devices would not do afterwards.

    fits: would they, as they are now? Asked after the books were told of the event.
    """

    def __init__(self, fits: Callable[[Pod, Wish, str], bool]) -> None:
        self._fits = fits
        self._wishes = PodMemo[Wish | Status | None](read_wish)

    def registrations(self) -> Sequence[EventRegistration]:
        # The end of a taint changes no device: whoever refused the node for it is asked himself.
        node = ActionType.UPDATE_NODE_ALLOCATABLE | ActionType.UPDATE_NODE_LABEL | ActionType.UPDATE_NODE_TAINT
        return [
            EventRegistration(ClusterEvent(DEVICE, ActionType.ADD | ActionType.UPDATE), self.device_changed),
            EventRegistration(ClusterEvent(POD, ActionType.DELETE), self.pod_gone),
            EventRegistration(ClusterEvent(POD, ActionType.UPDATE), self.pod_changed),
            EventRegistration(ClusterEvent(NODE, ActionType.ADD | node), self.node_changed),
        ]

    def device_changed(self, pod: Pod, old: KubeObject | None, new: KubeObject | None) -> QueueingHint:
        if not isinstance(new, Device):
            return SKIP
        if isinstance(old, Device) and (old.spec, old.metadata.labels) == (new.spec, new.metadata.labels):
            return SKIP
        return self._when_it_fits(pod, new.metadata.name)

    def pod_gone(self, pod: Pod, old: KubeObject | None, new: KubeObject | None) -> QueueingHint:
        if not isinstance(old, Pod) or not _may_hold_devices(old):
            return SKIP
        return self._when_it_fits(pod, old.spec.node_name)

    def pod_changed(self, pod: Pod, old: KubeObject | None, new: KubeObject | None) -> QueueingHint:
        """The Pod itself asks for something else; or what another one holds is told otherwise, or readably at last."""
        if not isinstance(old, Pod) or not isinstance(new, Pod):
            return SKIP
        if new.uid == pod.uid:
            wish = self._wishes.of(new)
            return QueueingHint.when(not isinstance(wish, Status) and wish != read_wish(old))
        if tells_the_same(old.metadata.annotations, new.metadata.annotations):
            return SKIP
        return self._when_it_fits(pod, new.spec.node_name)

    def node_changed(self, pod: Pod, old: KubeObject | None, new: KubeObject | None) -> QueueingHint:
        if not isinstance(new, Node):
            return SKIP
        if isinstance(old, Node) and _of_interest(old) == _of_interest(new):
            return SKIP
        return self._when_it_fits(pod, new.metadata.name)

    def _when_it_fits(self, pod: Pod, node: str) -> QueueingHint:
        """What no node can give, no event on a node will make good."""
        wish = self._wishes.of(pod)
        return QueueingHint.when(isinstance(wish, Wish) and bool(node) and self._fits(pod, wish, node))


def _of_interest(node: Node) -> object:
    return node.metadata.labels, node.status.allocatable


def _may_hold_devices(pod: Pod) -> bool:
    annotations = pod.metadata.annotations
    if any(key in annotations for dialect in DIALECTS for key in dialect.ANNOTATIONS):
        return True
    containers = (*pod.spec.containers, *pod.spec.init_containers)
    return any(
        not RESOURCES.isdisjoint(each.resources.limits) or not RESOURCES.isdisjoint(each.resources.requests)
        for each in containers
    )

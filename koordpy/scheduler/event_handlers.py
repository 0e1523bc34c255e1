"""Watch events → cache and queue; the only door in. Source: pkg/scheduler (eventhandlers.go)."""

from collections.abc import Callable
from dataclasses import dataclass

from koordpy.cache.cache import Cache
from koordpy.framework.handle import Report
from koordpy.queue.queue import SchedulingQueue
from koordpy_api import Problem, QuantityError
from koordpy_api.objects import KubeObject, Node, Pod


@dataclass(frozen=True, slots=True)
class PodEvents:
    """Assigned Pods of every scheduler go to the cache; unassigned ones of ours to the queue.

    is_ours: does one of our profiles have this schedulerName? release: end a Pod's waiting at Permit, if it waits.
    """

    cache: Cache
    queue: SchedulingQueue
    is_ours: Callable[[str], bool]
    report: Report
    release: Callable[[str], None]

    def added(self, obj: Pod) -> None:
        if obj.is_terminated:
            self.deleted(obj)
        elif obj.spec.node_name:
            self._count(obj)
        elif self._wants_a_node(obj):
            self.queue.add(obj)
        else:
            self.queue.delete(obj.uid)

    def updated(self, old: Pod, new: Pod) -> None:
        if not new.spec.node_name and self.cache.is_assumed(new.uid):
            # From before our bind, which the API server will refuse if this one makes a difference; then this is what
            # is tried again. Once the bind is through it says nothing any more.
            if new.metadata.deletion_timestamp:
                self.release(new.uid)
            if self.queue.is_in_flight(new.uid):
                self.added(new)
            return
        self.added(new)

    def deleted(self, obj: Pod) -> None:
        """Gone, or finished for good: it holds nothing any more, and neither does what we assumed for it."""
        self.queue.delete(obj.uid)
        self.release(obj.uid)
        if self.cache.pod(obj.uid) is not None:
            self.cache.remove_pod(obj.uid)
            self.queue.wake_all()

    def _count(self, pod: Pod) -> None:
        self.queue.delete(pod.uid)
        self.release(pod.uid)  # if it still waits, somebody else bound it
        before = self.cache.pod(pod.uid)
        try:
            self.cache.set_pod(pod)
        except QuantityError as error:
            self.report("Pod", pod.key, Problem("spec", "", f"{error}; it counts as it did before"))
            return
        now = self.cache.pod(pod.uid)
        if before and now and (before.requests, before.node_name) != (now.requests, now.node_name):
            self.queue.wake_all()  # resized, or not where we believed: room elsewhere

    def _wants_a_node(self, pod: Pod) -> bool:
        if not self.is_ours(pod.spec.scheduler_name):
            return False
        # A gated Pod's bind would be refused; taking the last gate away is an update that comes through here.
        return not pod.metadata.deletion_timestamp and not pod.spec.scheduling_gates


@dataclass(frozen=True, slots=True)
class NodeEvents:
    """Nodes go to the cache, and every change may help a Pod that waits."""

    cache: Cache
    queue: SchedulingQueue
    report: Report

    def added(self, obj: Node) -> None:
        try:
            self.cache.set_node(obj)
        except QuantityError as error:
            self.report("Node", obj.key, Problem("status.allocatable", "", f"{error}; the node stays as it was"))
            return
        self.queue.wake_all()

    def updated(self, old: Node, new: Node) -> None:
        before, now = old.metadata, new.metadata
        if (old.spec, old.status, before.labels, before.annotations) != (
            new.spec,
            new.status,
            now.labels,
            now.annotations,
        ):
            self.added(new)  # a kubelet's heartbeat changes none of these

    def deleted(self, obj: Node) -> None:
        self.cache.remove_node(obj.metadata.name)


@dataclass(frozen=True, slots=True)
class WakeUp:
    """After the plugins were told of one of their objects, every change of it may help a Pod that waits."""

    queue: SchedulingQueue

    def added(self, obj: KubeObject) -> None:
        self.queue.wake_all()

    def updated(self, old: KubeObject, new: KubeObject) -> None:
        self.queue.wake_all()

    def deleted(self, obj: KubeObject) -> None:
        """Less than before helps nobody."""

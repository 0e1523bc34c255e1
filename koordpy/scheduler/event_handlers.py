"""Watch events → cache and queue; the only door in. Source: pkg/scheduler (eventhandlers.go)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from koordpy.cache.cache import Cache
from koordpy.framework.handle import Report
from koordpy.queue.changes import (
    NODE_ADDED,
    NODE_DELETED,
    POD_ASSIGNED,
    POD_DELETED,
    node_events,
    of_kind,
    on_node,
    pod_events,
)
from koordpy.queue.queue import SchedulingQueue
from koordpy_api import ActionType, Problem, QuantityError
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
        self._see(obj, obj)

    def updated(self, old: Pod, new: Pod) -> None:
        if not new.spec.node_name and self.cache.is_assumed(new.uid):
            # From before our bind, which the API server will refuse if this one makes a difference; then this is what
            # is tried again. Once the bind is through it says nothing any more.
            if new.metadata.deletion_timestamp:
                self.release(new.uid)
            if self.queue.is_in_flight(new.uid):
                self._see(old, new)
            return
        self._see(old, new)
        if not new.spec.node_name and new.status.nominated_node_name != old.status.nominated_node_name:
            self._nominated_no_more(old)

    def deleted(self, obj: Pod) -> None:
        """Gone, or finished for good: it holds nothing any more, and neither does what we assumed for it."""
        self.queue.delete(obj.uid)
        self.release(obj.uid)
        if (held := self.cache.pod(obj.uid)) is not None:
            self.cache.remove_pod(obj.uid)
            self.queue.happened(POD_DELETED, on_node(obj, held.node_name), None)
        elif not obj.spec.node_name:
            self._nominated_no_more(obj)

    def _see(self, old: Pod, new: Pod) -> None:
        """old: the version before; the same one if it is the first."""
        if new.is_terminated:
            self.deleted(new)
        elif new.spec.node_name:
            self._count(old, new)
        else:
            if old.spec.node_name:
                self._count_no_more(new)
            if self.is_ours(new.spec.scheduler_name):
                self.queue.add(new)  # also one that is being deleted: whoever pops it says so
            else:
                self.queue.delete(new.uid)

    def _count(self, old: Pod, pod: Pod) -> None:
        self.queue.delete(pod.uid)
        self.release(pod.uid)  # if it still waits, somebody else bound it
        before, was_assumed = self.cache.pod(pod.uid), self.cache.is_assumed(pod.uid)
        try:
            self.cache.set_pod(pod)
        except QuantityError as error:
            self.report("Pod", pod.key, Problem("spec", "", f"{error}; it counts as it did before"))
            return
        if before and before.node_name != pod.spec.node_name:  # not where we believed: room elsewhere
            self.queue.happened(POD_DELETED, on_node(pod, before.node_name), None)
        if before is None or was_assumed or not old.spec.node_name:
            self.queue.happened(POD_ASSIGNED, None, pod)
        else:
            for event in pod_events(old, pod, self.cache.annotation_prefixes):
                self.queue.happened(event, old, pod)

    def _count_no_more(self, pod: Pod) -> None:
        """It was bound and is not any more, as after etcd was restored. What we assume of it ourselves stays."""
        held = self.cache.pod(pod.uid)
        if held is not None and not self.cache.is_assumed(pod.uid):
            self.cache.remove_pod(pod.uid)
            self.queue.happened(POD_DELETED, on_node(pod, held.node_name), None)

    def _nominated_no_more(self, pod: Pod) -> None:
        """The room that was kept for it is there for whoever had to respect that."""
        if pod.status.nominated_node_name:
            priority, uid = pod.spec.priority, pod.uid
            self.queue.happened(
                POD_DELETED, pod, None, lambda other: other.spec.priority <= priority and other.uid != uid
            )


@dataclass(frozen=True, slots=True)
class NodeEvents:
    """Nodes go to the cache, and what changed may help a Pod that waits."""

    cache: Cache
    queue: SchedulingQueue
    report: Report

    def added(self, obj: Node) -> None:
        if self._take(obj):
            self.queue.happened(NODE_ADDED, None, obj)

    def updated(self, old: Node, new: Node) -> None:
        if _content(old) == _content(new):
            return  # a kubelet's heartbeat
        is_known = self.cache.has_node(new.metadata.name)
        if not self._take(new):
            return
        if not is_known:  # could not be read before
            self.queue.happened(NODE_ADDED, None, new)
            return
        for event in node_events(old, new):
            self.queue.happened(event, old, new)

    def deleted(self, obj: Node) -> None:
        self.cache.remove_node(obj.metadata.name)
        self.queue.happened(NODE_DELETED, obj, None)

    def _take(self, node: Node) -> bool:
        try:
            self.cache.set_node(node)
        except QuantityError as error:
            self.report("Node", node.key, Problem("status.allocatable", "", f"{error}; the node stays as it was"))
            return False
        return True


@dataclass(frozen=True, slots=True)
class WakeUp:
    """After the plugins were told of an object of a kind that one of them watches: it may help a Pod that waits."""

    queue: SchedulingQueue

    def added(self, obj: KubeObject) -> None:
        self.queue.happened(of_kind(obj.KIND, ActionType.ADD), None, obj)

    def updated(self, old: KubeObject, new: KubeObject) -> None:
        if _content(old) != _content(new):
            self.queue.happened(of_kind(new.KIND, ActionType.UPDATE), old, new)

    def deleted(self, obj: KubeObject) -> None:
        self.queue.happened(of_kind(obj.KIND, ActionType.DELETE), obj, None)


HANDLED_APART: Final = (Pod, Node)
"""Kinds whose changes PodEvents and NodeEvents tell the queue in detail."""


def _content(obj: KubeObject) -> KubeObject:
    """Everything but which version it is."""
    return replace(obj, metadata=replace(obj.metadata, resource_version="", generation=0))

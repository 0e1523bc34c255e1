"""Cache: nodes, the pods assigned to them, and the pods that we assume there until the API server confirms.

    (unknown) ──assume──▶ assumed ──add_pod, same node──▶ known ──remove_pod──▶ (unknown)
        │                    │                              ▲
        │                    └──forget──▶ (unknown)         │
        └───────────────add_pod: bound by anybody───────────┘

An assumed pod never expires: only the API server's word, or forget, ends it. A pod whose node we do not know counts on
a node without a Node object until that comes. Source: pkg/scheduler/backend/cache (cache.go).
"""

import logging
from collections.abc import Iterator, Sequence
from typing import Protocol

import msgspec

from koordpy.cache.columns import Columns
from koordpy.cache.images import ImageBook
from koordpy.cache.node_order import NodeOrder
from koordpy.cache.snapshot import Snapshot
from koordpy_api import NodeInfo, PodInfo
from koordpy_api.objects import Node, Pod

logger = logging.getLogger("koordpy.cache")


class CacheListener(Protocol):
    """Told of every change; the plugins of a profile."""

    def pod_added(self, pod: Pod, node_info: NodeInfo) -> None: ...

    def pod_updated(self, old: PodInfo, new: Pod, node_info: NodeInfo) -> None: ...

    def pod_removed(self, pod: PodInfo, node_info: NodeInfo) -> None: ...

    def node_updated(self, old: NodeInfo, new: NodeInfo) -> None: ...


class _Placed(msgspec.Struct, frozen=True, gc=False):
    info: PodInfo
    assumed: bool


class Cache:
    """One per scheduler, shared by all profiles; pods are known by UID."""

    def __init__(self, listeners: Sequence[CacheListener] = (), annotation_prefixes: tuple[str, ...] = ()) -> None:
        self._listeners = tuple(listeners)
        self.annotation_prefixes = annotation_prefixes
        self._placed: dict[str, _Placed] = {}
        self._assumed = 0
        self._nodes: dict[str, NodeInfo] = {}
        self._images = ImageBook()
        self._order = NodeOrder()
        # The known nodes in their order; made anew for the next snapshot once the order has changed.
        self._columns = Columns((), self._images)
        self._snapshot = Snapshot.of(self._columns)
        self._is_in_order = True

    # -- reading -----------------------------------------------------------------------------------------------------

    def update_snapshot(self) -> Snapshot:
        """What we believe now; it stays as it is until this is called again."""
        if not self._is_in_order:
            self._columns.order([self._nodes[name] for name in self._order.names()])
            self._snapshot = Snapshot.of(self._columns)
            self._is_in_order = True
        self._columns.catch_up()
        return self._snapshot

    def is_assumed(self, uid: str) -> bool:
        placed = self._placed.get(uid)
        return placed is not None and placed.assumed

    def has_node(self, name: str) -> bool:
        return name in self._order

    def node(self, name: str) -> NodeInfo | None:
        """The node, also while only pods name it."""
        return self._nodes.get(name)

    def pod(self, uid: str) -> PodInfo | None:
        placed = self._placed.get(uid)
        return placed.info if placed else None

    def pods(self) -> Iterator[PodInfo]:
        """All that count somewhere."""
        return (placed.info for placed in self._placed.values())

    def nodes(self) -> Iterator[NodeInfo]:
        """All of them, also those that only pods name."""
        return iter(self._nodes.values())

    def order(self) -> Iterator[str]:
        """The names of the known nodes, one of each zone in turn."""
        return self._order.names()

    def image_counts(self) -> dict[str, int]:
        """Image name → how many nodes list it."""
        return self._images.counts()

    def sizes(self) -> dict[str, int]:
        """By the names of scheduler_cache_size."""
        return {"nodes": len(self._order), "pods": len(self._placed), "assumed_pods": self._assumed}

    # -- nodes -------------------------------------------------------------------------------------------------------

    def set_node(self, node: Node) -> None:
        """A Node came or changed.

        Raises: QuantityError if it offers something that is no quantity; then nothing changes.
        """
        old = self._nodes.get(node.metadata.name) or NodeInfo(node.metadata.name)
        valid = old.with_node(node)
        self._is_in_order &= not self._order.put(node.metadata.name, node.metadata.labels)
        new = self._store(valid.with_images(self._images.move(old.images, node)))
        for listener in self._listeners:
            listener.node_updated(old, new)

    def remove_node(self, name: str) -> None:
        """A Node went; its pods count on until they go too."""
        if (old := self._nodes.get(name)) is None or old.node is None:
            return
        self._is_in_order &= not self._order.remove(name)
        new = self._store(old.with_node(None).with_images(self._images.move(old.images, None)))
        for listener in self._listeners:
            listener.node_updated(old, new)

    # -- pods --------------------------------------------------------------------------------------------------------

    def assume(self, pod: Pod, node_name: str) -> None:
        """Count a Pod on a node before the API server knows.

        Raises: ValueError if it counts somewhere already, which is a bug of the caller.
        """
        if pod.uid in self._placed:
            raise ValueError(f"pod {pod.key} ({pod.uid}) is in the cache already")
        self._add(pod, PodInfo.of(pod, self.annotation_prefixes, node_name), assumed=True)

    def forget(self, uid: str) -> None:
        """Undo assume; nothing happens if the pod is not assumed (any more)."""
        if self.is_assumed(uid):
            self._drop(uid)

    def set_pod(self, pod: Pod) -> None:
        """An assigned Pod came or changed, whoever bound it; this also confirms what we assumed.

        Raises: QuantityError if it asks for something that is no quantity; then nothing changes.
        """
        info = PodInfo.of(pod, self.annotation_prefixes)
        placed = self._placed.get(pod.uid)
        if placed is None:
            self._add(pod, info, assumed=False)
        elif placed.info.node_name != info.node_name:
            logger.warning("pod %s is on %s, we believed on %s", pod.key, info.node_name, placed.info.node_name)
            self._drop(pod.uid)
            self._add(pod, info, assumed=False)
        else:
            self._assumed -= placed.assumed
            node = self._nodes[info.node_name]
            if info == placed.info:  # our own bind has come back, or nothing that anybody believes of a Pod has changed
                self._placed[pod.uid] = _Placed(placed.info, assumed=False)
            else:
                self._placed[pod.uid] = _Placed(info, assumed=False)
                node = self._store(node.with_pod(info))
            for listener in self._listeners:
                listener.pod_updated(placed.info, pod, node)

    def remove_pod(self, uid: str) -> None:
        """A Pod finished or was deleted; nothing happens if it was not known."""
        if uid in self._placed:
            self._drop(uid)

    # -- inside ------------------------------------------------------------------------------------------------------

    def _add(self, pod: Pod, info: PodInfo, *, assumed: bool) -> None:
        self._placed[info.uid] = _Placed(info, assumed)
        self._assumed += assumed
        node = self._nodes.get(info.node_name) or NodeInfo(info.node_name)
        node = self._store(node.with_pod(info))
        for listener in self._listeners:
            listener.pod_added(pod, node)

    def _drop(self, uid: str) -> None:
        placed = self._placed.pop(uid)
        self._assumed -= placed.assumed
        node = self._store(self._nodes[placed.info.node_name].without_pod(uid))
        for listener in self._listeners:
            listener.pod_removed(placed.info, node)

    def _store(self, node: NodeInfo) -> NodeInfo:
        """Put a new value of a node where the old one was. Only nodes with a Node object are in the snapshot."""
        if node.node is None and not node.pods:
            self._nodes.pop(node.name, None)
            return node
        self._nodes[node.name] = node
        if self._is_in_order:
            self._columns.change(node)
        return node

"""NodeInfo and PodInfo: what the scheduler believes of a node and of the pods on it."""

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec
from msgspec.structs import replace

from koordpy_api.objects import HostPort, Node, Pod, Taint
from koordpy_api.resources import PODS, add, held_requests, parse_amounts, subtract


class PodInfo(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What stays of a Pod once it is assigned to a node. Never its environment, so no dump can leak it.

    A struct that the garbage collector does not visit: there are 50,000 of them, and none is part of a cycle.

    requests, non_zero_requests: what it counts on its node; units as in koordpy_api.resources.
    annotations: only those under a prefix that an enabled plugin declared in `ANNOTATIONS`.
    host_ports: those that it takes on its node itself.
    """

    uid: str
    namespace: str
    name: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    priority: int
    phase: str
    node_name: str
    scheduler_name: str
    deletion_timestamp: str
    requests: Mapping[str, int]
    non_zero_requests: Mapping[str, int]
    host_ports: tuple[HostPort, ...] = ()

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @classmethod
    def of(cls, pod: Pod, annotation_prefixes: tuple[str, ...], node_name: str = "") -> "PodInfo":
        """Raises: QuantityError if the Pod asks for something that is no quantity."""
        meta = pod.metadata
        requests, non_zero_requests = held_requests(pod)
        return cls(
            uid=meta.uid,
            namespace=meta.namespace,
            name=meta.name,
            labels=meta.labels,
            annotations={k: v for k, v in meta.annotations.items() if k.startswith(annotation_prefixes)},
            priority=pod.spec.priority,
            phase=pod.status.phase,
            node_name=node_name or pod.spec.node_name,
            scheduler_name=pod.spec.scheduler_name,
            deletion_timestamp=meta.deletion_timestamp,
            requests=requests,
            non_zero_requests=non_zero_requests,
            host_ports=pod.host_ports,
        )


@dataclass(slots=True)
class ImageState:
    """One image name in the whole cluster; every node that lists it holds this same object.

    size_bytes: as the first node that listed it said. node_count: how many do now; it moves with the cluster, between
    cycles, which no value of a node need be made anew for.
    """

    size_bytes: int
    node_count: int = 0


class NodeInfo(msgspec.Struct, frozen=True, gc=False):
    """A node with the pods assigned to it, of every scheduler. A value: each change makes a new one.

    A struct as PodInfo, because every Pod that comes or goes makes one: a frozen dataclass takes eight times as long.

    node: None while pods name a node that we do not know (yet, or any more).
    pods: by UID. allocatable, requested, non_zero_requested: units as in koordpy_api.resources.
    images: those that the node has, by each of their names.
    """

    name: str
    node: Node | None = None
    pods: Mapping[str, PodInfo] = {}
    allocatable: Mapping[str, int] = {}
    requested: Mapping[str, int] = {}
    non_zero_requested: Mapping[str, int] = {}
    images: Mapping[str, ImageState] = {}

    @property
    def labels(self) -> Mapping[str, str]:
        return self.node.metadata.labels if self.node else {}

    @property
    def taints(self) -> list[Taint]:
        return self.node.spec.taints if self.node else []

    @property
    def unschedulable(self) -> bool:
        return self.node is None or self.node.spec.unschedulable

    @property
    def allowed_pods(self) -> int:
        return self.allocatable.get(PODS, 0)

    def with_node(self, node: Node | None) -> "NodeInfo":
        """Raises: QuantityError if the node offers something that is no quantity."""
        return replace(self, node=node, allocatable=parse_amounts(node.status.allocatable) if node else {})

    def with_images(self, images: Mapping[str, ImageState]) -> "NodeInfo":
        return replace(self, images=images)

    def with_pod(self, pod: PodInfo) -> "NodeInfo":
        """With this pod; one of the same UID is replaced."""
        base = self
        if (before := self.pods.get(pod.uid)) is not None:
            if (before.requests, before.non_zero_requests) == (pod.requests, pod.non_zero_requests):
                return self._with_pods({**self.pods, pod.uid: pod}, self.requested, self.non_zero_requested)
            base = self.without_pod(pod.uid)
        return self._with_pods(
            {**base.pods, pod.uid: pod},
            add(base.requested, pod.requests),
            add(base.non_zero_requested, pod.non_zero_requests),
        )

    def without_pod(self, uid: str) -> "NodeInfo":
        """Without this pod; the same node if it is not there."""
        if (pod := self.pods.get(uid)) is None:
            return self
        pods = dict(self.pods)
        del pods[uid]
        return self._with_pods(
            pods, subtract(self.requested, pod.requests), subtract(self.non_zero_requested, pod.non_zero_requests)
        )

    def _with_pods(
        self, pods: Mapping[str, PodInfo], requested: Mapping[str, int], non_zero_requested: Mapping[str, int]
    ) -> "NodeInfo":
        # Not by `replace`, which takes several times as long: this is done for every Pod that comes or goes.
        return NodeInfo(self.name, self.node, pods, self.allocatable, requested, non_zero_requested, self.images)

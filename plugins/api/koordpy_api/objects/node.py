"""Node."""

from typing import ClassVar

import msgspec

from koordpy_api.objects.meta import Kind, KubeObject, KubeStruct
from koordpy_api.quantity import RawQuantity


class Taint(KubeStruct, frozen=True):
    key: str = ""
    value: str = ""
    effect: str = ""


class NodeSpec(KubeStruct, frozen=True):
    unschedulable: bool = False
    taints: list[Taint] = []


class ContainerImage(KubeStruct, frozen=True):
    names: list[str] | None = None
    size_bytes: int = 0


class NodeCondition(KubeStruct, frozen=True):
    """Without the time of the last heartbeat, so that a heartbeat changes nothing."""

    type: str = ""
    status: str = ""


class NodeStatus(KubeStruct, frozen=True):
    allocatable: dict[str, RawQuantity] = {}
    conditions: list[NodeCondition] = []
    declared_features: list[str] = []
    images: list[ContainerImage] = []


class Node(KubeObject, frozen=True):
    KIND: ClassVar[Kind] = Kind("", "v1", "Node", "nodes", namespaced=False)

    spec: NodeSpec = msgspec.field(default_factory=NodeSpec)
    status: NodeStatus = msgspec.field(default_factory=NodeStatus)

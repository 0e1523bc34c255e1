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


class NodeStatus(KubeStruct, frozen=True):
    allocatable: dict[str, RawQuantity] = {}


class Node(KubeObject, frozen=True):
    KIND: ClassVar[Kind] = Kind("", "v1", "Node", "nodes", namespaced=False)

    spec: NodeSpec = msgspec.field(default_factory=NodeSpec)
    status: NodeStatus = msgspec.field(default_factory=NodeStatus)

"""Kubernetes objects, as far as koordpy reads them.

Each is a frozen msgspec struct that names only the fields somebody here looks at; every other field of the document is
skipped while decoding. In Kubernetes' JSON an absent field, and a null, mean the default given here. An object type
carries its `KIND`, which says where the API server keeps it. Objects are values: nobody changes one after decoding.
"""

from koordpy_api.objects.device import Device, DeviceInfo, DeviceSpec
from koordpy_api.objects.meta import Kind, KubeObject, ObjectMeta
from koordpy_api.objects.node import ContainerImage, Node, NodeSpec, NodeStatus, Taint
from koordpy_api.objects.pod import (
    ALL_IPS,
    Container,
    ContainerStatus,
    HostPort,
    NodeAffinity,
    NodeSelector,
    NodeSelectorTerm,
    Pod,
    PodCondition,
    PodSchedulingGate,
    PodSpec,
    PodStatus,
    ResourceRequirements,
    Toleration,
)

__all__ = [
    "ALL_IPS",
    "Container",
    "ContainerImage",
    "ContainerStatus",
    "Device",
    "DeviceInfo",
    "DeviceSpec",
    "HostPort",
    "Kind",
    "KubeObject",
    "Node",
    "NodeAffinity",
    "NodeSelector",
    "NodeSelectorTerm",
    "NodeSpec",
    "NodeStatus",
    "ObjectMeta",
    "Pod",
    "PodCondition",
    "PodSchedulingGate",
    "PodSpec",
    "PodStatus",
    "ResourceRequirements",
    "Taint",
    "Toleration",
]

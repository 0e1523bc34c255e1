"""Cluster events, and which of them may help a Pod that a plugin refused.

Source: kube-scheduler's framework (events.go, types.go).
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, IntFlag
from typing import Final

from koordpy_api.objects import KubeObject, Pod


class ActionType(IntFlag):
    """What happened to an object; one bit each, in upstream's order."""

    ADD = 1 << 0
    DELETE = 1 << 1
    UPDATE_NODE_ALLOCATABLE = 1 << 2
    UPDATE_NODE_LABEL = 1 << 3
    UPDATE_NODE_TAINT = 1 << 4
    UPDATE_NODE_CONDITION = 1 << 5
    UPDATE_NODE_ANNOTATION = 1 << 6
    UPDATE_NODE_DECLARED_FEATURE = 1 << 7
    UPDATE_POD_LABEL = 1 << 8
    UPDATE_POD_SCALE_DOWN = 1 << 9
    UPDATE_POD_TOLERATION = 1 << 10
    UPDATE_POD_SCHEDULING_GATES_ELIMINATED = 1 << 11
    UPDATE_POD_GENERATED_RESOURCE_CLAIM = 1 << 12
    UPDATE = (1 << 13) - (1 << 2)
    ALL = (1 << 13) - 1


POD: Final = "Pod"
NODE: Final = "Node"
ANY_RESOURCE: Final = "*"
# Only what comes in is told apart so; a plugin registers for Pod, and gets both.
ASSIGNED_POD: Final = "AssignedPod"
UNSCHEDULABLE_POD: Final = "UnschedulablePod"

RESOURCES: Final = frozenset(
    {
        POD,
        NODE,
        "PersistentVolume",
        "PersistentVolumeClaim",
        "storage.k8s.io/CSINode",
        "storage.k8s.io/CSIDriver",
        "storage.k8s.io/VolumeAttachment",
        "storage.k8s.io/CSIStorageCapacity",
        "storage.k8s.io/StorageClass",
        "resource.k8s.io/ResourceClaim",
        "resource.k8s.io/ResourceSlice",
        "resource.k8s.io/DeviceClass",
        "scheduling.k8s.io/PodGroup",
        ANY_RESOURCE,
    }
)
"""What can be registered for, beside a custom resource as plural.version.group (devices.v1alpha1.example.com)."""


@dataclass(frozen=True, slots=True)
class ClusterEvent:
    """Something that happens to objects of one kind. resource: one of RESOURCES, or plural.version.group."""

    resource: str
    action: ActionType

    @property
    def is_known(self) -> bool:
        """Can a plugin register for this kind?"""
        return self.resource in RESOURCES or self.resource.count(".") >= 2

    def covers(self, incoming: "ClusterEvent") -> bool:
        """Does a registration for this event want to hear of `incoming`? Source: ClusterEvent.Match."""
        if self.resource == ANY_RESOURCE and self.action == ActionType.ALL:
            return True
        same = self.resource in (ANY_RESOURCE, incoming.resource) or (
            self.resource == POD and incoming.resource in (ASSIGNED_POD, UNSCHEDULABLE_POD)
        )
        return same and bool(self.action & incoming.action) and incoming.action <= self.action

    def __str__(self) -> str:
        """NodeAdd, PodUpdateNodeLabel and so on."""
        name = self.action.name or str(self.action)
        return self.resource + "".join(part.capitalize() for part in name.replace("|", "_").split("_"))


class QueueingHint(Enum):
    """Is a Pod worth another attempt after an event?"""

    SKIP = "skip"
    QUEUE = "queue"

    @classmethod
    def when(cls, may_help: bool) -> "QueueingHint":
        return cls.QUEUE if may_help else cls.SKIP


HintFunction = Callable[[Pod, KubeObject | None, KubeObject | None], QueueingHint]
"""hint(pod, old, new): `old` is None for what came, `new` for what went.

Asked once per event and waiting Pod, after plugins were told of the event; so it must be quick. An exception counts as
QUEUE. `pod` itself may be `new`: then it is the Pod that changed.
"""


@dataclass(frozen=True, slots=True)
class EventRegistration:
    """One event that may help a Pod which this plugin refused. Without a hint, every such event does."""

    event: ClusterEvent
    hint: HintFunction | None = None

"""Pod."""

from typing import ClassVar

import msgspec

from koordpy_api.objects.meta import Kind, KubeObject, KubeStruct
from koordpy_api.quantity import RawQuantity


class ResourceRequirements(KubeStruct, frozen=True):
    requests: dict[str, RawQuantity] = {}
    limits: dict[str, RawQuantity] = {}


class Container(KubeStruct, frozen=True):
    name: str = ""
    resources: ResourceRequirements = msgspec.field(default_factory=ResourceRequirements)
    restart_policy: str = ""

    @property
    def is_sidecar(self) -> bool:
        """Only says something of an init container: it keeps running beside the others."""
        return self.restart_policy == "Always"


class Toleration(KubeStruct, frozen=True):
    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""


class PodSchedulingGate(KubeStruct, frozen=True):
    name: str = ""


class PodSpec(KubeStruct, frozen=True):
    node_name: str = ""
    scheduler_name: str = "default-scheduler"
    priority: int = 0
    containers: list[Container] = []
    init_containers: list[Container] = []
    resources: ResourceRequirements = msgspec.field(default_factory=ResourceRequirements)
    overhead: dict[str, RawQuantity] = {}
    tolerations: list[Toleration] = []
    scheduling_gates: list[PodSchedulingGate] = []


class PodCondition(KubeStruct, frozen=True):
    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    observed_generation: int = 0


class PodStatus(KubeStruct, frozen=True):
    phase: str = ""
    conditions: list[PodCondition] = []


class Pod(KubeObject, frozen=True):
    KIND: ClassVar[Kind] = Kind("", "v1", "Pod", "pods", namespaced=True)

    spec: PodSpec = msgspec.field(default_factory=PodSpec)
    status: PodStatus = msgspec.field(default_factory=PodStatus)

    @property
    def uid(self) -> str:
        return self.metadata.uid

    @property
    def is_terminated(self) -> bool:
        """It will never run again, so it holds nothing. A phase that nobody knows holds everything."""
        return self.status.phase in ("Succeeded", "Failed")

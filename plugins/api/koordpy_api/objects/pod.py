"""Pod."""

from typing import ClassVar, Final

import msgspec

from koordpy_api.objects.meta import Kind, KubeObject, KubeStruct
from koordpy_api.quantity import RawQuantity

HostPort = tuple[str, str, int]
"""Protocol, IP and number of a port that a Pod takes on its node itself; ALL_IPS for every IP of it."""

ALL_IPS: Final = "0.0.0.0"  # noqa: S104 - nothing is bound here


class ResourceRequirements(KubeStruct, frozen=True):
    requests: dict[str, RawQuantity] = {}
    limits: dict[str, RawQuantity] = {}


class ContainerPort(KubeStruct, frozen=True):
    host_ip: str = msgspec.field(default="", name="hostIP")
    host_port: int = 0
    protocol: str = ""


class Container(KubeStruct, frozen=True):
    name: str = ""
    image: str = ""
    ports: list[ContainerPort] = []
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


class NodeSelectorRequirement(KubeStruct, frozen=True):
    """Of a label or field of a node. Tuples from here up to NodeAffinity, so that what Pods wish can be a key."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class NodeSelectorTerm(KubeStruct, frozen=True):
    """All of it must hold; nothing holds for an empty one."""

    match_expressions: tuple[NodeSelectorRequirement, ...] = ()
    match_fields: tuple[NodeSelectorRequirement, ...] = ()


class NodeSelector(KubeStruct, frozen=True):
    """One of the terms must hold."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()


class PreferredSchedulingTerm(KubeStruct, frozen=True):
    weight: int = 0
    preference: NodeSelectorTerm = msgspec.field(default_factory=NodeSelectorTerm)


class NodeAffinity(KubeStruct, frozen=True):
    required: NodeSelector | None = msgspec.field(default=None, name="requiredDuringSchedulingIgnoredDuringExecution")
    preferred: tuple[PreferredSchedulingTerm, ...] = msgspec.field(
        default=(), name="preferredDuringSchedulingIgnoredDuringExecution"
    )


class PodAffinityTerm(KubeStruct, frozen=True):
    topology_key: str = ""


class PodAffinity(KubeStruct, frozen=True):
    """Of either sort: to be near other pods, or away from them."""

    required_during_scheduling_ignored_during_execution: list[PodAffinityTerm] = []


class Affinity(KubeStruct, frozen=True):
    node_affinity: NodeAffinity = msgspec.field(default_factory=NodeAffinity)
    pod_affinity: PodAffinity = msgspec.field(default_factory=PodAffinity)
    pod_anti_affinity: PodAffinity = msgspec.field(default_factory=PodAffinity)


class TopologySpreadConstraint(KubeStruct, frozen=True):
    topology_key: str = ""
    when_unsatisfiable: str = "DoNotSchedule"


class ClaimVolume(KubeStruct, frozen=True):
    claim_name: str = ""


class ImageVolume(KubeStruct, frozen=True):
    reference: str = ""


class Volume(KubeStruct, frozen=True):
    name: str = ""
    image: ImageVolume = msgspec.field(default_factory=ImageVolume)
    persistent_volume_claim: ClaimVolume = msgspec.field(default_factory=ClaimVolume)


class PodResourceClaim(KubeStruct, frozen=True):
    name: str = ""


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
    node_selector: dict[str, str] = {}
    affinity: Affinity = msgspec.field(default_factory=Affinity)
    topology_spread_constraints: list[TopologySpreadConstraint] = []
    volumes: list[Volume] = []
    resource_claims: list[PodResourceClaim] = []
    scheduling_gates: list[PodSchedulingGate] = []


class ContainerStatus(KubeStruct, frozen=True):
    """resources: what it has now; None before its kubelet says so. allocated_resources: what it was promised."""

    name: str = ""
    resources: ResourceRequirements | None = None
    allocated_resources: dict[str, RawQuantity] = {}


class PodCondition(KubeStruct, frozen=True):
    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    observed_generation: int = 0


class PodStatus(KubeStruct, frozen=True):
    phase: str = ""
    conditions: list[PodCondition] = []
    nominated_node_name: str = ""
    container_statuses: list[ContainerStatus] = []
    init_container_statuses: list[ContainerStatus] = []
    resources: ResourceRequirements | None = None
    """As ContainerStatus.resources and allocated_resources, of the Pod's own `spec.resources`."""
    allocated_resources: dict[str, RawQuantity] = {}


class Pod(KubeObject, frozen=True):
    KIND: ClassVar[Kind] = Kind("", "v1", "Pod", "pods", namespaced=True)

    spec: PodSpec = msgspec.field(default_factory=PodSpec)
    status: PodStatus = msgspec.field(default_factory=PodStatus)

    @property
    def uid(self) -> str:
        return self.metadata.uid

    @property
    def host_ports(self) -> tuple[HostPort, ...]:
        """Those of all containers that go on running; an init container's only if it is a sidecar."""
        running = self.spec.containers
        if self.spec.init_containers:
            running = [*(each for each in self.spec.init_containers if each.is_sidecar), *running]
        ports = [port for container in running for port in container.ports if port.host_port > 0]
        if not ports:
            return ()
        return tuple([(port.protocol or "TCP", port.host_ip or ALL_IPS, port.host_port) for port in ports])

    @property
    def is_terminated(self) -> bool:
        """It will never run again, so it holds nothing. A phase that nobody knows holds everything."""
        return self.status.phase in ("Succeeded", "Failed")

"""The kinds that the embedded cluster keeps. Another kind is one more row."""

from dataclasses import dataclass
from typing import Final

import msgspec

from koordpy.cluster.kinds import EVENT, LEASE, NAMESPACE
from koordpy_api.objects import Device, Kind, KubeObject, Node, Pod
from koordpy_api.objects.meta import KubeStruct

CORE_EVENT: Final = Kind("", "v1", "Event", "events", namespaced=True)
"""The older form of an Event, which kubectl reads. It is kept as one object with the newer one."""


class _LeaseSpec(KubeStruct, frozen=True):
    holder_identity: str = ""
    lease_duration_seconds: int = 1
    lease_transitions: int = 0


class _Lease(KubeObject, frozen=True):
    spec: _LeaseSpec = msgspec.field(default_factory=_LeaseSpec)


class _Event(KubeObject, frozen=True):
    regarding: dict[str, str] = {}
    involved_object: dict[str, str] = {}
    note: str = ""


@dataclass(frozen=True, slots=True)
class Resource:
    """A kind, and what its API server would know of it. model: what its objects must be decodable as.

    fields: what a field selector may name, beside the metadata. has_status: the status is a subresource, which the
    main resource never writes. is_custom: defined by a CRD, so there is no strategic patch.
    """

    kind: Kind
    short_names: tuple[str, ...] = ()
    model: type[KubeObject] = KubeObject
    fields: tuple[str, ...] = ()
    has_status: bool = False
    is_custom: bool = False
    has_generation: bool = False
    update_needs_version: bool = False

    @property
    def qualified(self) -> str:
        """As error texts name the resource: devices.scheduling.koordinator.sh."""
        return f"{self.kind.plural}.{self.kind.group}".rstrip(".")

    @property
    def titled(self) -> str:
        """As other error texts name it: Device.scheduling.koordinator.sh."""
        return f"{self.kind.name}.{self.kind.group}".rstrip(".")


_POD: Final = ("spec.nodeName", "spec.schedulerName", "status.phase", "status.nominatedNodeName")
_REFERENCE: Final = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_CORE: Final = (*(f"involvedObject.{each}" for each in _REFERENCE), "reason", "type")
_NEWER: Final = (*(f"regarding.{each}" for each in _REFERENCE), "reason", "type")

RESOURCES: Final = (
    Resource(NAMESPACE, ("ns",), fields=("status.phase",), has_status=True),
    Resource(Node.KIND, ("no",), Node, has_status=True),
    Resource(Pod.KIND, ("po",), Pod, _POD, has_status=True, has_generation=True),
    Resource(CORE_EVENT, ("ev",), _Event, _CORE),
    Resource(EVENT, ("ev",), _Event, _NEWER),
    Resource(LEASE, (), _Lease, update_needs_version=True),
    Resource(Device.KIND, (), Device, is_custom=True, has_generation=True, update_needs_version=True),
)

"""Device: Koordinator's list of the devices of one node; its name is the node's."""

from typing import ClassVar

import msgspec

from koordpy_api.objects.meta import Kind, KubeObject, KubeStruct
from koordpy_api.quantity import RawQuantity


class DeviceInfo(KubeStruct, frozen=True):
    """One device. The schema does not require `minor`; a device without one cannot be given to anybody."""

    type: str = ""
    labels: dict[str, str] = {}
    id: str = ""
    minor: int | None = None
    health: bool = False
    resources: dict[str, RawQuantity] = {}


class DeviceSpec(KubeStruct, frozen=True):
    devices: list[DeviceInfo] = []


class Device(KubeObject, frozen=True):
    KIND: ClassVar[Kind] = Kind("scheduling.koordinator.sh", "v1alpha1", "Device", "devices", namespaced=False)

    spec: DeviceSpec = msgspec.field(default_factory=DeviceSpec)

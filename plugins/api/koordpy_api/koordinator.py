"""Koordinator's names on the wire, and the codec of its device-allocated annotation.

Source: Koordinator's apis/extension (resource.go, device_share.go). Scheduler, agent and manager agree by importing
this page.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final, NoReturn

import msgspec

from koordpy_api.errors import AnnotationError, Problem, QuantityError
from koordpy_api.quantity import RawQuantity, format_binary, format_decimal, value_of

SCHEDULING_PREFIX: Final = "scheduling.koordinator.sh/"
DEVICE_ALLOCATED: Final = SCHEDULING_PREFIX + "device-allocated"
GPU_MINORS: Final = SCHEDULING_PREFIX + "gpu-minors"
GPU_UUIDS: Final = "koordpy.dev/gpu-uuids"
"""With GPU_MINORS: what an environment by the downward API needs. Never read back; DEVICE_ALLOCATED is what counts."""

HOLDS_NOTHING: Final[Mapping[str, str]] = {DEVICE_ALLOCATED: "{}", GPU_MINORS: "", GPU_UUIDS: ""}
"""What says that a Pod holds no device. A Binding can overwrite an annotation, and remove none."""

DEVICE_ALLOCATE_HINT: Final = SCHEDULING_PREFIX + "device-allocate-hint"
DEVICE_JOINT_ALLOCATE: Final = SCHEDULING_PREFIX + "device-joint-allocate"
GPU_PARTITION_SPEC: Final = SCHEDULING_PREFIX + "gpu-partition-spec"
GPU_PARTITIONS: Final = SCHEDULING_PREFIX + "gpu-partitions"
"""On a Device: which of its cards form partitions."""
SCHEDULING_HINTS: Final = (
    "internal.scheduling.koordinator.sh/scheduling-hint",
    SCHEDULING_PREFIX + "scheduling-hint",
)
"""Where a hint for one scheduling attempt may stand; the first is today's."""

PRIORITY: Final = "koordinator.sh/priority"
"""A label: where a Pod stands among those of its spec.priority. An int32, or one of these words."""
PRIORITY_WORDS: Final[Mapping[str, int]] = {"high": 1000, "medium": 0, "low": -1000}
_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,10}")
_INT32: Final = range(-(2**31), 2**31)

GPU_ISOLATION_PROVIDER: Final = "koordinator.sh/gpu-isolation-provider"
"""A label, of pods and of nodes."""
GPU_VENDOR: Final = "node.koordinator.sh/gpu-vendor"
GPU_MODEL: Final = "node.koordinator.sh/gpu-model"

NVIDIA_GPU: Final = "nvidia.com/gpu"
AMD_GPU: Final = "amd.com/gpu"
HYGON_DCU: Final = "dcu.com/gpu"
GPU: Final = "koordinator.sh/gpu"
GPU_CORE: Final = "koordinator.sh/gpu-core"
GPU_MEMORY: Final = "koordinator.sh/gpu-memory"
GPU_MEMORY_RATIO: Final = "koordinator.sh/gpu-memory-ratio"
GPU_SHARED: Final = "koordinator.sh/gpu.shared"
NPU_CORE: Final = "huawei.com/npu-core"
NPU_CPU: Final = "huawei.com/npu-cpu"
NPU_DVPP: Final = "huawei.com/npu-dvpp"
RDMA: Final = "koordinator.sh/rdma"
FPGA: Final = "koordinator.sh/fpga"

DEVICE_RESOURCES: Final = frozenset(
    {
        *(NVIDIA_GPU, AMD_GPU, HYGON_DCU, GPU, GPU_CORE, GPU_MEMORY, GPU_MEMORY_RATIO, GPU_SHARED),
        *(NPU_CORE, NPU_CPU, NPU_DVPP, RDMA, FPGA),
    }
)
"""Every resource name that asks for a device."""

_DEPRECATED_PREFIX: Final = "kubernetes.io/"
DEPRECATED_RESOURCES: Final[Mapping[str, str]] = {
    _DEPRECATED_PREFIX + suffix: "koordinator.sh/" + suffix
    for suffix in ("rdma", "fpga", "gpu", "gpu-core", "gpu-memory", "gpu-memory-ratio")
}
"""Older names and what they are called now."""


class VirtualFunction(msgspec.Struct, frozen=True, omit_defaults=True, rename={"bus_id": "busID"}):
    """One of the virtual functions of a NIC."""

    minor: int = 0
    bus_id: str = ""


class AllocatedDevice(msgspec.Struct, frozen=True):
    """One device as the annotation records it. Amounts: percent for core and ratio, bytes for memory.

    vfs: the virtual functions of it that were given. template: by which template it was cut.
    """

    minor: int
    resources: dict[str, int]
    id: str = ""
    vfs: tuple[VirtualFunction, ...] = ()
    template: str = ""


Allocations = Mapping[str, Sequence[AllocatedDevice]]
"""Device type (`gpu`, `rdma`, `fpga`) → what a Pod holds of it."""


class _WireExtension(msgspec.Struct):
    vfs: list[VirtualFunction] | None = None
    template: str | None = msgspec.field(name="gpuSharedResourceTemplate", default=None)


class _WireDevice(msgspec.Struct, omit_defaults=True):
    """The annotation's entry; null means absent, as Go reads it."""

    minor: int
    resources: dict[str, RawQuantity | None] | None
    id: str | None = None
    extension: _WireExtension | None = None


_DECODER: Final = msgspec.json.Decoder(dict[str, list[_WireDevice] | None] | None)


def current_names(amounts: Mapping[str, RawQuantity]) -> dict[str, RawQuantity]:
    """The same amounts under today's names. A deprecated name counts only where the new one is absent."""
    renamed = {DEPRECATED_RESOURCES.get(name, name): amount for name, amount in amounts.items()}
    return {name: amounts.get(name, amount) for name, amount in renamed.items()}


def read_priority(labels: Mapping[str, str]) -> int | Problem:
    """What the label PRIORITY says; 0 without one, and a Problem if it says nothing that means something."""
    if (text := labels.get(PRIORITY)) is None:
        return 0
    if (number := PRIORITY_WORDS.get(text)) is not None:
        return number
    if _NUMBER.fullmatch(text) and int(text) in _INT32:
        return int(text)
    return Problem(
        f"metadata.labels[{PRIORITY}]", text, f"an int32, or one of {', '.join(PRIORITY_WORDS)}; it counts as 0"
    )


def encode_device_allocated(allocations: Allocations) -> str:
    """The text of the device-allocated annotation: keys sorted, quantities canonical."""
    wire = {
        device_type: [
            {"minor": device.minor, "resources": _write_amounts(device.resources)}
            | ({"id": device.id} if device.id else {})
            | _write_extension(device)
            for device in devices
        ]
        for device_type, devices in sorted(allocations.items())
    }
    return msgspec.json.encode(wire).decode()


def encode_gpu_lists(allocations: Allocations) -> dict[str, str]:
    """The annotations GPU_MINORS and GPU_UUIDS: comma lists in one order, minors ascending; nothing without a GPU.

    A card without an id makes the list of ids empty: a list that misses one would hide a card, and an empty one shows
    a container none.
    """
    gpus = sorted(allocations.get("gpu", ()), key=lambda device: device.minor)
    if not gpus:
        return {}
    ids = [device.id for device in gpus]
    return {GPU_MINORS: ",".join(str(device.minor) for device in gpus), GPU_UUIDS: ",".join(ids) if all(ids) else ""}


def decode_device_allocated(text: str) -> dict[str, tuple[AllocatedDevice, ...]]:
    """Read a device-allocated annotation, whoever wrote it.

    Raises: AnnotationError naming the place in the text and what would be right.
    """
    try:
        wire = _DECODER.decode(text)
    except (msgspec.MsgspecError, RecursionError) as error:  # also text that is no JSON, or nested without end
        _refuse("", text, f"an object of device types with lists of {{minor, resources, id}} ({error})")
    return {
        device_type: tuple(_read_device(f"{device_type}[{i}]", device) for i, device in enumerate(devices or ()))
        for device_type, devices in (wire or {}).items()
    }


def _write_extension(device: AllocatedDevice) -> dict[str, object]:
    written: dict[str, object] = {}
    if device.vfs:
        written["vfs"] = device.vfs
    if device.template:
        written["gpuSharedResourceTemplate"] = device.template
    return {"extension": written} if written else {}


def _read_device(path: str, wire: _WireDevice) -> AllocatedDevice:
    if wire.minor < 0:
        _refuse(f".{path}.minor", str(wire.minor), "a minor is not negative")
    amounts = {}
    written = {name: raw for name, raw in (wire.resources or {}).items() if raw is not None}
    for name, raw in current_names(written).items():
        try:
            amounts[name] = value_of(raw)
        except QuantityError as error:
            _refuse(f".{path}.resources[{name}]", str(raw), str(error))
        if amounts[name] < 0:
            _refuse(f".{path}.resources[{name}]", str(raw), "an amount is not negative")
    more = wire.extension or _WireExtension()
    return AllocatedDevice(wire.minor, amounts, wire.id or "", tuple(more.vfs or ()), more.template or "")


def _refuse(path: str, value: str, right: str) -> NoReturn:
    raise AnnotationError(Problem(f"metadata.annotations[{DEVICE_ALLOCATED}]{path}", value[:120], right)) from None


def _write_amounts(amounts: Mapping[str, int]) -> dict[str, str]:
    return {
        name: format_binary(amount) if name == GPU_MEMORY else format_decimal(amount)
        for name, amount in sorted(amounts.items())
    }

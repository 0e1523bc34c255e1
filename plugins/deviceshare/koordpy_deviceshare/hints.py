"""What a Pod's annotations say about which devices it may get, read at one door.

Source: Koordinator's apis/extension (device_share.go: DeviceAllocateHint, DeviceJointAllocate, GPUPartitionSpec).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

import msgspec

from koordpy_api.koordinator import (
    DEVICE_ALLOCATE_HINT,
    DEVICE_JOINT_ALLOCATE,
    GPU_PARTITION_SPEC,
    SCHEDULING_HINTS,
)
from koordpy_api.selectors import LabelSelector, WrittenSelector, read_label_selector
from koordpy_deviceshare.args import ALLOCATORS

FOR_ALL: Final = "ApplyForAll"
AS_COUNT: Final = "RequestsAsCount"
DEVICE_LEVEL: Final = "DeviceLevel"
STRATEGIES: Final = ("", FOR_ALL, AS_COUNT, *ALLOCATORS)
"""What `allocateStrategy` may be; the last three are ours, and mean the same as the plugin's argument `allocator`."""

PLUGIN: Final = "DeviceShare"
"""The extension of a scheduling hint that makes the Pod's own allocation binding."""

HINTS: Final = frozenset({DEVICE_ALLOCATE_HINT, DEVICE_JOINT_ALLOCATE, GPU_PARTITION_SPEC, *SCHEDULING_HINTS})
"""Every annotation that says which devices a Pod may get."""

T = TypeVar("T")


class HintError(ValueError):
    """An annotation cannot be read; the text is the refusal."""


@dataclass(frozen=True, slots=True)
class Hint:
    """What is wished for one device type. selector: over the labels of a Device's entries."""

    selector: LabelSelector | None = None
    wants_virtual_function: bool = False
    strategy: str = ""
    scope: str = ""
    is_exclusive: bool = False


NO_HINT: Final = Hint()


@dataclass(frozen=True, slots=True)
class Hints:
    """by_type: device type → its hint. joint: types to be chosen together. partitioned: is a partition asked for?"""

    by_type: Mapping[str, Hint]
    joint: tuple[str, ...] = ()
    partitioned: bool = False
    is_designated: bool = False

    def of(self, device_type: str) -> Hint:
        return self.by_type.get(device_type, NO_HINT)


NO_HINTS: Final = Hints({})


class _WireHint(msgspec.Struct, rename="camel"):
    selector: WrittenSelector | None = None
    vf_selector: WrittenSelector | None = msgspec.field(name="vfSelector", default=None)
    allocate_strategy: str | None = None
    required_topology_scope: str | None = None
    exclusive_policy: str | None = None


class _WireJoint(msgspec.Struct, rename="camel"):
    device_types: list[str] | None = None
    required_scope: str | None = None


class _WirePartition(msgspec.Struct, rename="camel"):
    allocate_policy: str | None = None
    ring_bus_bandwidth: str | int | None = None


class _WireSchedulingHint(msgspec.Struct):
    extensions: dict[str, msgspec.Raw] | None = None


_HINTS: Final = msgspec.json.Decoder(dict[str, _WireHint | None] | None)
_JOINT: Final = msgspec.json.Decoder(_WireJoint | None)
_PARTITION: Final = msgspec.json.Decoder(_WirePartition | None)
_SCHEDULING: Final = msgspec.json.Decoder(_WireSchedulingHint | None)


def read_hints(annotations: Mapping[str, str]) -> Hints:
    """Raises: HintError naming the annotation and what is wrong with it."""
    if HINTS.isdisjoint(annotations):
        return NO_HINTS
    written = _decode(_HINTS, annotations.get(DEVICE_ALLOCATE_HINT), "DeviceAllocateHint") or {}
    by_type = {device_type: _hint(device_type, wire) for device_type, wire in written.items()}
    joint = _decode(_JOINT, annotations.get(DEVICE_JOINT_ALLOCATE), "DeviceJointAllocate")
    partitioned = GPU_PARTITION_SPEC in annotations
    _decode(_PARTITION, annotations.get(GPU_PARTITION_SPEC), "GPUPartitionSpec")
    types = tuple(joint.device_types or ()) if joint is not None else ()
    return Hints(by_type, types, partitioned, _is_designated(annotations))


def _is_designated(annotations: Mapping[str, str]) -> bool:
    text = next((annotations[key] for key in SCHEDULING_HINTS if key in annotations), None)
    hint = _decode(_SCHEDULING, text, "SchedulingHint")
    return hint is not None and PLUGIN in (hint.extensions or {})


def _decode(decoder: "msgspec.json.Decoder[T | None]", text: str | None, name: str) -> T | None:
    if text is None:
        return None
    try:
        return decoder.decode(text)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise HintError(f"invalid {name} annotation, err: {error}") from None


def _hint(device_type: str, wire: _WireHint | None) -> Hint:
    if wire is None:
        raise HintError(f"invalid DeviceAllocateHint annotation, err: the hint for {device_type} is null")
    if (strategy := wire.allocate_strategy or "") not in STRATEGIES:
        known = ", ".join(filter(None, STRATEGIES))
        raise HintError(f"invalid DeviceAllocateHint annotation, err: allocateStrategy {strategy} is none of {known}")
    if wire.vf_selector is not None:
        _selector(wire.vf_selector, "VFSelector", device_type)
    return Hint(
        selector=None if wire.selector is None else _selector(wire.selector, "Selector", device_type),
        wants_virtual_function=wire.vf_selector is not None,
        strategy=strategy,
        scope=wire.required_topology_scope or "",
        is_exclusive=wire.exclusive_policy == DEVICE_LEVEL,
    )


def _selector(written: WrittenSelector, name: str, device_type: str) -> LabelSelector:
    try:
        return read_label_selector(written)
    except ValueError as error:
        raise HintError(f"invalid {name} of DeviceHint, deviceType: {device_type}, err: {error}") from None

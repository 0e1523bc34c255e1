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
from koordpy_deviceshare.args import ALLOCATORS

FOR_ALL: Final = "ApplyForAll"
AS_COUNT: Final = "RequestsAsCount"
DEVICE_LEVEL: Final = "DeviceLevel"
STRATEGIES: Final = ("", FOR_ALL, AS_COUNT, *ALLOCATORS)
"""What `allocateStrategy` may be; the last three are ours, and mean the same as the plugin's argument `allocator`."""

PLUGIN: Final = "DeviceShare"
"""The extension of a scheduling hint that makes the Pod's own allocation binding."""

_OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist")
T = TypeVar("T")


class HintError(ValueError):
    """An annotation cannot be read; the text is the refusal."""


@dataclass(frozen=True, slots=True)
class Requirement:
    key: str
    operator: str
    values: frozenset[str] = frozenset()

    def matches(self, labels: Mapping[str, str]) -> bool:
        match self.operator:
            case "In":
                return self.key in labels and labels[self.key] in self.values
            case "NotIn":
                return labels.get(self.key) not in self.values
            case "Exists":
                return self.key in labels
            case _:
                return self.key not in labels


@dataclass(frozen=True, slots=True)
class Selector:
    """A label selector over the labels of a Device's entries. Without requirements it takes every entry."""

    requirements: tuple[Requirement, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        return all(each.matches(labels) for each in self.requirements)


@dataclass(frozen=True, slots=True)
class Hint:
    """What is wished for one device type."""

    selector: Selector | None = None
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


class _WireRequirement(msgspec.Struct):
    key: str = ""
    operator: str = ""
    values: list[str] | None = None


class _WireSelector(msgspec.Struct, rename="camel"):
    match_labels: dict[str, str] | None = None
    match_expressions: list[_WireRequirement] | None = None


class _WireHint(msgspec.Struct, rename="camel"):
    selector: _WireSelector | None = None
    vf_selector: _WireSelector | None = msgspec.field(name="vfSelector", default=None)
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


def _selector(wire: _WireSelector, name: str, device_type: str) -> Selector:
    requirements = [Requirement(key, "In", frozenset((value,))) for key, value in (wire.match_labels or {}).items()]
    for each in wire.match_expressions or ():
        values = frozenset(each.values or ())
        if each.operator not in _OPERATORS:
            wrong = f'"{each.operator}" is not a valid label selector operator'
        elif each.operator in ("In", "NotIn") and not values:
            wrong = f"{each.key}: for 'in', 'notin' operators, values set can't be empty"
        elif each.operator in ("Exists", "DoesNotExist") and values:
            wrong = f"{each.key}: values set must be empty for exists and does not exist"
        else:
            requirements.append(Requirement(each.key, each.operator, values))
            continue
        raise HintError(f"invalid {name} of DeviceHint, deviceType: {device_type}, err: {wrong}")
    return Selector(tuple(requirements))

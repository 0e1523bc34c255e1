"""Koordinator's dialect: which resource names may stand together, what they mean, and its annotation.

Source: Koordinator's pkg/scheduler/plugins/deviceshare (utils.go ValidateDeviceRequest, ConvertDeviceRequest,
device_allocator.go). Sums over the containers decide, as there.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from koordpy_api import koordinator
from koordpy_api.errors import AnnotationError, QuantityError
from koordpy_api.koordinator import (
    DEPRECATED_RESOURCES,
    DEVICE_ALLOCATED,
    DEVICE_JOINT_ALLOCATE,
    DEVICE_RESOURCES,
    GPU_ISOLATION_PROVIDER,
    Allocations,
    current_names,
    decode_device_allocated,
    encode_device_allocated,
)
from koordpy_api.objects import Container, Pod, PodSpec, ResourceRequirements
from koordpy_api.quantity import NANO, RawQuantity, parse_quantity
from koordpy_api.resources import container_requests, pod_requests
from koordpy_api.status import Status
from koordpy_deviceshare import refusals
from koordpy_deviceshare.dialects.combinations import by_type, validate
from koordpy_deviceshare.dialects.division import divide
from koordpy_deviceshare.hints import FOR_ALL, NO_HINTS, HintError, Hints, read_hints
from koordpy_deviceshare.model import Allocation, Amounts
from koordpy_deviceshare.request import DeviceRequest, TypeRequest
from koordpy_deviceshare.vendors import WHOLE_CARD_NAMES

NAMES: Final = DEVICE_RESOURCES | DEPRECATED_RESOURCES.keys()
ANNOTATIONS: Final = (DEVICE_ALLOCATED,)
HOLDS_NOTHING: Final = koordinator.HOLDS_NOTHING


def read(pod: Pod) -> DeviceRequest | Status | None:
    """What the Pod asks; None if it names no device, a refusal if what it asks is wrong or not supported yet."""
    written = _written_amounts(pod)
    names = frozenset[str]().union(*written)
    if NAMES.isdisjoint(names):
        return None
    if not DEPRECATED_RESOURCES.keys().isdisjoint(names):
        pod = _with_current_names(pod)
        written = _written_amounts(pod)
    try:
        if broken := _fractions(written):
            return refusals.fraction(*broken)
        total = _device_amounts(pod_requests(pod))
        containers = _by_container(pod, total)
    except QuantityError as error:
        return refusals.unreadable_amount(error)
    if not total and not containers:
        return None
    if (unlike := _unlike_limit(pod)) is not None:
        return refusals.unlike_limit(unlike)
    for asked in (*containers.values(), total):
        if min(asked.values(), default=0) < 0:
            return _refuse_negative(asked)
    if (refusal := validate(total)) is not None:
        return refusal
    return _understood(pod, containers, total)


def to_annotations(allocation: Allocation) -> Mapping[str, str]:
    return {DEVICE_ALLOCATED: encode_device_allocated(allocation.devices)}


def from_annotations(annotations: Mapping[str, str]) -> Allocations | None:
    """What the Pod holds; None if nothing is written. Raises: AnnotationError if it cannot be read."""
    if (text := annotations.get(DEVICE_ALLOCATED)) is None:
        return None
    return decode_device_allocated(text)


def _understood(pod: Pod, containers: Mapping[str, Amounts], total: Amounts) -> DeviceRequest | Status:
    """What is permitted, with the Pod's wishes for it."""
    annotations = pod.metadata.annotations
    try:
        hints = read_hints(annotations)
        designated = from_annotations(annotations) if hints.is_designated else None
    except HintError as error:
        return refusals.invalid_annotation(error)
    except AnnotationError as error:
        return refusals.invalid_annotation(error.problem)
    types = tuple(divide(kind, asked, hints.of(kind)) for kind, asked in sorted(by_type(total).items()))
    if hints is not NO_HINTS and (unsupported := _unsupported(types, hints)):
        return refusals.not_supported(unsupported)
    return DeviceRequest(
        containers=containers,
        total=total,
        types=types,
        vendor_cards=next(iter(total)) if len(total) == 1 and not WHOLE_CARD_NAMES.isdisjoint(total) else "",
        isolation=pod.metadata.labels.get(GPU_ISOLATION_PROVIDER, ""),
        partitioned=hints.partitioned,
        designated=designated,
    )


def _unsupported(types: Iterable[TypeRequest], hints: Hints) -> list[str]:
    """Wishes that narrow which devices the Pod may get, and that nobody hears yet."""
    asked = {each.type for each in types}
    wishes = [f"vfSelector for {kind}" for kind in sorted(asked) if hints.of(kind).wants_virtual_function]
    joint = [kind for kind in hints.joint if kind in asked and hints.of(kind).strategy != FOR_ALL]
    return [*wishes, DEVICE_JOINT_ALLOCATE] if len(joint) > 1 else wishes


def _refuse_negative(asked: Amounts) -> Status:
    """The API server lets none through; summed up, one would hide what another container asks."""
    name = min(name for name, amount in asked.items() if amount < 0)
    return refusals.negative(name, asked[name])


def _unlike_limit(pod: Pod) -> str | None:
    """A device whose request is not its limit, so that the Pod could use more than is booked."""
    for container in (*pod.spec.init_containers, *pod.spec.containers):
        requests, limits = container.resources.requests, container.resources.limits
        unlike = [
            name
            for name, limit in limits.items()
            if name in DEVICE_RESOURCES
            and (asked := requests.get(name, limit)) != limit
            and parse_quantity(asked).nanos != parse_quantity(limit).nanos
        ]
        if unlike:
            return min(unlike)
    return None


def _fractions(written: Iterable[Mapping[str, RawQuantity]]) -> tuple[str, RawQuantity] | None:
    """An amount that is no whole number, which sums would round up: half of nvidia.com/gpu would get a whole card."""
    for amounts in written:
        for name, raw in amounts.items():
            if name in DEVICE_RESOURCES and parse_quantity(raw).nanos % NANO:
                return name, raw
    return None


def _device_amounts(amounts: Amounts) -> Amounts:
    return {name: amount for name, amount in amounts.items() if amount and name in DEVICE_RESOURCES}


def _by_container(pod: Pod, total: Amounts) -> dict[str, Amounts]:
    spec = pod.spec
    if len(spec.containers) == 1 and not spec.init_containers and not spec.overhead:
        return {spec.containers[0].name: total} if total else {}
    return {
        container.name: asked
        for container in (*spec.init_containers, *spec.containers)
        if (asked := _device_amounts(container_requests(container)))
    }


def _written_amounts(pod: Pod) -> list[Mapping[str, RawQuantity]]:
    spec = pod.spec
    resources = [container.resources for container in (*spec.init_containers, *spec.containers)]
    return [spec.overhead, *[amounts for each in resources for amounts in (each.requests, each.limits)]]


def _with_current_names(pod: Pod) -> Pod:
    """The Pod as far as sums need it, renamed before they are taken: containers may mix old and new names."""
    spec = PodSpec(
        containers=[_renamed(container) for container in pod.spec.containers],
        init_containers=[_renamed(container) for container in pod.spec.init_containers],
        resources=pod.spec.resources,
        overhead=current_names(pod.spec.overhead),
    )
    return Pod(metadata=pod.metadata, spec=spec, status=pod.status)


def _renamed(container: Container) -> Container:
    resources = ResourceRequirements(
        requests=current_names(container.resources.requests), limits=current_names(container.resources.limits)
    )
    return Container(name=container.name, resources=resources, restart_policy=container.restart_policy)

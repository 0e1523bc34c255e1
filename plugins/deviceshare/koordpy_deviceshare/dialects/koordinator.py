"""Koordinator's dialect: which resource names may stand together, what they mean, and its annotation.

Source: Koordinator's pkg/scheduler/plugins/deviceshare (utils.go ValidateDeviceRequest, ConvertDeviceRequest,
device_allocator.go). Sums over the containers decide, as there.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from koordpy_api.errors import QuantityError
from koordpy_api.koordinator import (
    AMD_GPU,
    DEPRECATED_RESOURCES,
    DEVICE_ALLOCATED,
    DEVICE_RESOURCES,
    FPGA,
    GPU,
    GPU_CORE,
    GPU_MEMORY,
    GPU_MEMORY_RATIO,
    GPU_SHARED,
    HYGON_DCU,
    NPU_CORE,
    NPU_CPU,
    NPU_DVPP,
    NVIDIA_GPU,
    RDMA,
    SCHEDULING_PREFIX,
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
from koordpy_deviceshare.model import Allocation, Amounts
from koordpy_deviceshare.request import WHOLE_CARD, DeviceRequest

NAMES: Final = DEVICE_RESOURCES | DEPRECATED_RESOURCES.keys()
ANNOTATIONS: Final = (DEVICE_ALLOCATED,)

SUPPORTED: Final = (
    f"{NVIDIA_GPU}; {GPU}; {GPU_CORE} with {GPU_MEMORY_RATIO} (both up to 100, or the same multiple of 100); "
    f"{GPU_CORE} up to 100 with {GPU_MEMORY}"
)
_WISHES: Final = tuple(
    SCHEDULING_PREFIX + name for name in ("device-allocate-hint", "device-joint-allocate", "gpu-partition-spec")
)
"""Annotations that narrow which devices a Pod may get. None is heard yet."""

_BY_PERCENT: Final = (GPU, RDMA, FPGA)
_SINGLE_TYPES: Final = (RDMA, FPGA)

Rule = Callable[[Amounts], bool]


def read(pod: Pod) -> DeviceRequest | Status | None:
    """What the Pod asks; None if it names no device, a refusal if what it asks is wrong or not supported yet."""
    if not _names_devices(pod):
        return None
    pod = _with_current_names(pod)
    try:
        if broken := _fractions(pod):
            return refusals.fraction(*broken)
        total = _device_amounts(pod_requests(pod))
        containers = {
            container.name: asked
            for container in (*pod.spec.init_containers, *pod.spec.containers)
            if (asked := _device_amounts(container_requests(container)))
        }
    except QuantityError as error:
        return refusals.unreadable_amount(error)
    if not total and not containers:
        return None
    for asked in (*containers.values(), total):
        if (refusal := _refuse_negative(asked)) is not None:
            return refusal
    if (refusal := validate(total)) is not None:
        return refusal
    return _divided(pod, containers, total)


def to_annotations(allocation: Allocation) -> Mapping[str, str]:
    return {DEVICE_ALLOCATED: encode_device_allocated(allocation.devices)}


def from_annotations(annotations: Mapping[str, str]) -> Allocations | None:
    """What the Pod holds; None if nothing is written. Raises: AnnotationError if it cannot be read."""
    if (text := annotations.get(DEVICE_ALLOCATED)) is None:
        return None
    return decode_device_allocated(text)


def validate(total: Amounts) -> Status | None:
    """Refuse what Koordinator refuses, whether or not koordpy supports the rest."""
    for name in _BY_PERCENT:
        if name in total and not _is_share_or_cards(total[name]):
            return refusals.invalid_unit(name, total[name])
    gpu = {name: amount for name, amount in total.items() if name not in _SINGLE_TYPES}
    rule = _PERMITTED.get(frozenset(gpu))
    if gpu and (rule is None or not rule(gpu)):
        return refusals.invalid_combination(gpu)
    return None


def _divided(pod: Pod, containers: Mapping[str, Amounts], total: Amounts) -> DeviceRequest | Status:
    gpu = {name: amount for name, amount in total.items() if name not in _SINGLE_TYPES}
    divided = _divide(gpu)
    unsupported = {name: amount for name, amount in total.items() if divided is None or name not in gpu}
    wishes = [name for name in _WISHES if name in pod.metadata.annotations]
    if divided is None or unsupported or wishes:
        return refusals.not_supported([*refusals.write_amounts(unsupported), *wishes], SUPPORTED)
    count, per_card = divided
    return DeviceRequest(containers, total, count, per_card)


def _divide(gpu: Amounts) -> tuple[int, Amounts] | None:
    """How many cards, and what each gives; None for what is permitted but not supported yet."""
    match sorted(gpu.items()):
        case [(name, count)] if name == NVIDIA_GPU:
            return count, WHOLE_CARD
        case [(name, percent)] if name == GPU:
            return _divide({GPU_CORE: percent, GPU_MEMORY_RATIO: percent})
        case [(first, core), (second, ratio)] if (first, second) == (GPU_CORE, GPU_MEMORY_RATIO):
            if core <= 100 and ratio <= 100:
                return 1, gpu
            return (core // 100, WHOLE_CARD) if core == ratio else None
        case [(first, core), (second, _)] if (first, second) == (GPU_CORE, GPU_MEMORY):
            return (1, gpu) if core <= 100 else None
    return None


def _is_share_or_cards(percent: int) -> bool:
    return percent <= 100 or percent % 100 == 0


def _any(gpu: Amounts) -> bool:
    return True


def _by_percent(gpu: Amounts) -> bool:
    return all(_is_share_or_cards(gpu[name]) for name in (GPU_CORE, GPU_MEMORY_RATIO) if name in gpu)


def _evenly_shared(gpu: Amounts) -> bool:
    """Core and ratio must divide over the cards without a rest, and no card may give more than all of itself."""
    cards = gpu[GPU_SHARED]
    percents = [gpu[name] for name in (GPU_CORE, GPU_MEMORY_RATIO) if name in gpu]
    return all(percent % cards == 0 and percent // cards <= 100 for percent in percents)


def _one_npu_slice(gpu: Amounts) -> bool:
    return gpu[GPU_SHARED] <= 1 and gpu.get(NPU_DVPP, 0) <= 100


_PERMITTED: Final[Mapping[frozenset[str], Rule]] = {
    frozenset({NVIDIA_GPU}): _any,
    frozenset({AMD_GPU}): _any,
    frozenset({HYGON_DCU}): _any,
    frozenset({GPU}): _any,
    frozenset({GPU_MEMORY}): _any,
    frozenset({GPU_MEMORY_RATIO}): _by_percent,
    frozenset({GPU_CORE, GPU_MEMORY}): _by_percent,
    frozenset({GPU_CORE, GPU_MEMORY_RATIO}): _by_percent,
    frozenset({NPU_CORE, GPU_MEMORY_RATIO}): _by_percent,
    frozenset({GPU_SHARED, GPU_MEMORY}): _evenly_shared,
    frozenset({GPU_SHARED, GPU_MEMORY_RATIO}): _evenly_shared,
    frozenset({GPU_SHARED, GPU_CORE, GPU_MEMORY}): _evenly_shared,
    frozenset({GPU_SHARED, GPU_CORE, GPU_MEMORY_RATIO}): _evenly_shared,
    frozenset({GPU_SHARED, NPU_CORE, NPU_CPU, GPU_MEMORY}): _one_npu_slice,
    frozenset({GPU_SHARED, NPU_CORE, NPU_CPU, NPU_DVPP, GPU_MEMORY}): _one_npu_slice,
}
"""Exact set of names → what their amounts must satisfy. Any other set is refused."""


def _refuse_negative(asked: Amounts) -> Status | None:
    """The API server lets none through; summed up, one would hide what another container asks."""
    return next((refusals.invalid_unit(name, asked[name]) for name in sorted(asked) if asked[name] < 0), None)


def _fractions(pod: Pod) -> tuple[str, RawQuantity] | None:
    """An amount that is no whole number, which sums would round up: half of nvidia.com/gpu would get a whole card."""
    for amounts in _written_amounts(pod):
        for name, raw in amounts.items():
            if name in DEVICE_RESOURCES and parse_quantity(raw).nanos % NANO:
                return name, raw
    return None


def _device_amounts(amounts: Amounts) -> Amounts:
    return {name: amount for name, amount in amounts.items() if amount and name in DEVICE_RESOURCES}


def _names_devices(pod: Pod) -> bool:
    return any(not NAMES.isdisjoint(amounts) for amounts in _written_amounts(pod))


def _written_amounts(pod: Pod) -> Iterable[Mapping[str, RawQuantity]]:
    yield pod.spec.overhead
    for container in (*pod.spec.init_containers, *pod.spec.containers):
        yield container.resources.requests
        yield container.resources.limits


def _with_current_names(pod: Pod) -> Pod:
    """The Pod as far as sums need it, renamed before they are taken: containers may mix old and new names."""
    if all(DEPRECATED_RESOURCES.keys().isdisjoint(amounts) for amounts in _written_amounts(pod)):
        return pod
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

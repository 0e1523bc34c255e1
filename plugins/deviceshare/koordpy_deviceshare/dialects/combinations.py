"""Which of Koordinator's resource names may stand together, and with what amounts.

Source: Koordinator's deviceshare utils.go (ValidateDeviceRequest, ValidDeviceResourceCombinations).
"""

from collections.abc import Callable, Mapping
from typing import Final

from koordpy_api.koordinator import (
    AMD_GPU,
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
)
from koordpy_api.quantity import format_decimal
from koordpy_api.status import Status
from koordpy_deviceshare import refusals
from koordpy_deviceshare.model import GPU_TYPE, Amounts

SINGLE_TYPES: Final[Mapping[str, str]] = {RDMA: "rdma", FPGA: "fpga"}
"""Resources that are a device type of their own. All the others are of the type gpu."""

_BY_PERCENT: Final = (GPU, RDMA, FPGA)

Rule = Callable[[Amounts], str]
"""What is wrong with amounts that may stand together; "" if nothing is."""


def by_type(total: Amounts) -> dict[str, Amounts]:
    """Device type → what is asked of it."""
    sorted_out: dict[str, dict[str, int]] = {}
    for name, amount in total.items():
        sorted_out.setdefault(SINGLE_TYPES.get(name, GPU_TYPE), {})[name] = amount
    return dict(sorted_out)


def validate(total: Amounts) -> Status | None:
    """Refuse what Koordinator refuses, and say what would be right."""
    if not total:
        return refusals.nothing_asked()
    for name in _BY_PERCENT:
        if name in total and (right := _nearest_percent(total[name])):
            return refusals.invalid_unit(name, total[name], right)
    gpu = by_type(total).get(GPU_TYPE, {})
    if not gpu:
        return None
    rule = _PERMITTED.get(frozenset(gpu))
    if rule is None:
        return refusals.invalid_combination(gpu, _what_would_be_right(gpu))
    return refusals.invalid_combination(gpu, wrong) if (wrong := rule(gpu)) else None


def _nearest_percent(percent: int) -> str:
    """What to ask for instead of more than one device that is no whole number of them; "" if it is right as it is."""
    if percent <= 100 or percent % 100 == 0:
        return ""
    below = percent // 100 * 100
    return (
        f"above 100 only multiples of 100 are devices, ask for {format_decimal(below)} or {format_decimal(below + 100)}"
    )


def _any(gpu: Amounts) -> str:
    return ""


def _by_percent(gpu: Amounts) -> str:
    for name in (GPU_CORE, GPU_MEMORY_RATIO):
        if name in gpu and (right := _nearest_percent(gpu[name])):
            return f"{name}: {format_decimal(gpu[name])}: {right}"
    return ""


def _by_percent_of_equally_many(gpu: Amounts) -> str:
    """The ratio says how many cards; more core than they have could never be given."""
    if wrong := _by_percent(gpu):
        return wrong
    core, ratio = gpu[GPU_CORE], gpu[GPU_MEMORY_RATIO]
    wanted, cards = core // 100, max(1, ratio // 100)
    if core <= 100 * cards:
        return ""
    shared = "" if ratio % wanted else f", or add {GPU_SHARED}: {wanted}"
    return (
        f"{GPU_CORE}: {format_decimal(core)} is of {wanted} cards, but {GPU_MEMORY_RATIO}: {format_decimal(ratio)} of"
        f" {cards}; ask {GPU_MEMORY_RATIO}: {format_decimal(core)} for all of their memory{shared}"
    )


def _evenly_shared(gpu: Amounts) -> str:
    """Core and ratio must divide over the cards without a rest, and no card may give more than all of itself."""
    cards = gpu[GPU_SHARED]
    for name in (GPU_CORE, GPU_MEMORY_RATIO):
        if name in gpu and (gpu[name] % cards or gpu[name] // cards > 100):
            most = format_decimal(100 * cards)
            return f"{name}: {format_decimal(gpu[name])} must be a multiple of {GPU_SHARED} ({cards}), at most {most}"
    return ""


def _one_npu_slice(gpu: Amounts) -> str:
    if gpu[GPU_SHARED] > 1:
        return f"a slice of an NPU is of one card: {GPU_SHARED}: 1"
    return f"{NPU_DVPP} is at most 100" if gpu.get(NPU_DVPP, 0) > 100 else ""


_PERMITTED: Final[Mapping[frozenset[str], Rule]] = {
    frozenset({NVIDIA_GPU}): _any,
    frozenset({AMD_GPU}): _any,
    frozenset({HYGON_DCU}): _any,
    frozenset({GPU}): _any,
    frozenset({GPU_MEMORY}): _any,
    frozenset({GPU_MEMORY_RATIO}): _by_percent,
    frozenset({GPU_CORE, GPU_MEMORY}): _by_percent,
    frozenset({GPU_CORE, GPU_MEMORY_RATIO}): _by_percent_of_equally_many,
    frozenset({NPU_CORE, GPU_MEMORY_RATIO}): _by_percent,
    frozenset({GPU_SHARED, GPU_MEMORY}): _evenly_shared,
    frozenset({GPU_SHARED, GPU_MEMORY_RATIO}): _evenly_shared,
    frozenset({GPU_SHARED, GPU_CORE, GPU_MEMORY}): _evenly_shared,
    frozenset({GPU_SHARED, GPU_CORE, GPU_MEMORY_RATIO}): _evenly_shared,
    frozenset({GPU_SHARED, NPU_CORE, NPU_CPU, GPU_MEMORY}): _one_npu_slice,
    frozenset({GPU_SHARED, NPU_CORE, NPU_CPU, NPU_DVPP, GPU_MEMORY}): _one_npu_slice,
}
"""Exact set of names → what their amounts must satisfy. Any other set is refused."""


def _what_would_be_right(gpu: Amounts) -> str:
    """The nearest permitted set: what to leave out or to add, the amount of core also as memory."""
    asked = frozenset(gpu)
    if {GPU_MEMORY, GPU_MEMORY_RATIO} <= asked and asked - {GPU_MEMORY} in _PERMITTED:
        return f"leave out {GPU_MEMORY} or {GPU_MEMORY_RATIO}, each says the whole memory"
    if asked - {GPU_SHARED} == {GPU_CORE} or asked == {GPU_SHARED}:
        return _add_memory(gpu)
    nearest = min(_PERMITTED, key=lambda permitted: (len(permitted ^ asked), sorted(permitted)))
    advice = [f"leave out {', '.join(sorted(asked - nearest))}"] if asked - nearest else []
    return " and ".join([*advice, f"add {', '.join(sorted(nearest - asked))}"] if nearest - asked else advice)


def _add_memory(gpu: Amounts) -> str:
    if wrong := _by_percent(gpu):
        return wrong
    percent = gpu.get(GPU_CORE, 100 * gpu.get(GPU_SHARED, 1))
    return f"add {GPU_MEMORY_RATIO}: {format_decimal(percent)}"

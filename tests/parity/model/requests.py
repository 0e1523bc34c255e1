"""What a Pod asks: sums, permitted combinations, conversion, division. Source: koordinator.md section 3."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from koordpy_api import koordinator as names
from tests.parity.model.amounts import Amounts, plus, read_amounts
from tests.parity.model.differences import BYTES_UP, CORE_FITS, CORES_AND_BYTES, NONE, Differences

SHARED, CORE, MEMORY, RATIO = names.GPU_SHARED, names.GPU_CORE, names.GPU_MEMORY, names.GPU_MEMORY_RATIO
NPU_CORE, NPU_CPU, NPU_DVPP = names.NPU_CORE, names.NPU_CPU, names.NPU_DVPP
TYPES: Final = ("fpga", "gpu", "rdma")
"""In this order the first one that is short is told; upstream's order is random (13.19)."""

VENDORS: Final = (names.NVIDIA_GPU, names.AMD_GPU, names.HYGON_DCU)
NAMES: Final = {
    "gpu": (*VENDORS, names.GPU, SHARED, CORE, MEMORY, RATIO, NPU_CORE, NPU_CPU, NPU_DVPP),
    "rdma": (names.RDMA,),
    "fpga": (names.FPGA,),
}
BY_UNIT: Final = (names.GPU, names.RDMA, names.FPGA)
BY_PERCENT: Final = ({RATIO}, {CORE, MEMORY}, {CORE, RATIO}, {NPU_CORE, RATIO})
BY_SHARING: Final = ({SHARED, MEMORY}, {SHARED, RATIO}, {SHARED, CORE, MEMORY}, {SHARED, CORE, RATIO})
NPU_SLICES: Final = ({SHARED, NPU_CORE, NPU_CPU, MEMORY}, {SHARED, NPU_CORE, NPU_CPU, NPU_DVPP, MEMORY})
ALONE: Final = (*({name} for name in VENDORS), *({name} for name in BY_UNIT), {MEMORY})


@dataclass(frozen=True)
class PerCard:
    """A GPU request, divided."""

    count: int
    per_card: Amounts
    shared: bool


def pod_sum(pod: Mapping[str, Any]) -> Amounts:
    """The larger of what runs at last and what init containers need on the way, and the overhead."""
    containers = pod.get("containers") or [{"requests": pod.get("requests")}]
    running: Amounts = {}
    peak: Amounts = {}
    for container in pod.get("initContainers", ()):
        own = read_amounts(container.get("requests"))
        if container.get("restartPolicy") == "Always":
            running = plus(running, own)
            own = {}
        peak = _larger(peak, plus(running, own))
    for container in containers:
        running = plus(running, read_amounts(container.get("requests")))
    total = plus(_larger(peak, running), read_amounts(pod.get("overhead")))
    return {name: amount for name, amount in total.items() if amount}


def by_type(total: Amounts) -> dict[str, Amounts]:
    split = {kind: {name: total[name] for name in NAMES[kind] if name in total} for kind in TYPES}
    return {kind: asked for kind, asked in split.items() if asked}


def refusal(asked: Amounts, differences: Differences = NONE) -> str | None:
    """Of one device type. A text that ends in "[" goes on with names."""
    if not asked:
        return "pod request should not be empty"
    for name in BY_UNIT:
        if name in asked and not _is_share_or_cards(asked[name]):
            return f"invalid resource unit {name}: {asked[name]}"
    is_permitted = _is_permitted(asked) and not (CORE_FITS in differences and _core_is_beyond(asked))
    return None if is_permitted else "invalid resource device requests: ["


def is_slice(asked: Amounts) -> bool:
    """A share of an NPU, which a template has to cut."""
    return NPU_CORE in asked and per_card(converted(asked)).shared


def converted(asked: Amounts) -> Amounts:
    for name, amount in asked.items():
        if name in VENDORS:
            return {CORE: amount * 100, RATIO: amount * 100}
        if name == names.GPU:
            return {CORE: amount, RATIO: amount}
    return asked


def per_card(asked: Amounts, differences: Differences = NONE) -> PerCard:
    """Of a converted request."""
    count = _cards(asked, differences)
    per = {name: asked[name] // count for name in (CORE, NPU_CORE, NPU_CPU, NPU_DVPP) if name in asked}
    if RATIO in asked:
        per[RATIO] = asked[RATIO] // count
        return PerCard(count, per, per[RATIO] < 100)
    if MEMORY in asked:
        per[MEMORY] = -(-asked[MEMORY] // count) if BYTES_UP in differences else asked[MEMORY] // count
    return PerCard(count, per, MEMORY in asked)


def _cards(asked: Amounts, differences: Differences) -> int:
    if asked.get(SHARED, 0) > 0:
        return asked[SHARED]
    if asked.get(RATIO, 0) > 100 and asked[RATIO] % 100 == 0:
        return asked[RATIO] // 100
    if CORES_AND_BYTES in differences and MEMORY in asked and asked.get(CORE, 0) > 100:
        return asked[CORE] // 100
    return 1


def _core_is_beyond(asked: Amounts) -> bool:
    return {*asked} == {CORE, RATIO} and asked[CORE] > 100 * _cards(asked, NONE)


def _is_share_or_cards(amount: int) -> bool:
    return amount <= 100 or amount % 100 == 0


def _is_permitted(asked: Amounts) -> bool:
    combination = {*asked}
    if combination in ALONE:
        return True
    if combination in BY_PERCENT:
        return all(_is_share_or_cards(asked[name]) for name in (CORE, RATIO) if name in asked)
    if combination in BY_SHARING:
        cards = asked[SHARED]
        percents = [asked[name] for name in (CORE, RATIO) if name in asked]
        return all(percent % cards == 0 and percent // cards <= 100 for percent in percents)
    if combination in NPU_SLICES:
        return asked[SHARED] <= 1 and asked.get(NPU_DVPP, 0) <= 100
    return False


def _larger(a: Amounts, b: Amounts) -> Amounts:
    return {name: max(a.get(name, 0), b.get(name, 0)) for name in {**a, **b}}


def instances(
    hint: Mapping[str, Any], amount: int, minors: Sequence[int], labels: Sequence[Mapping[str, str]]
) -> tuple[int, int]:
    """How many devices of an RDMA or FPGA request, and what each gives. labels: of the type's entries that match."""
    if amount > 100 and amount % 100 == 0:
        return amount // 100, 100
    match hint.get("allocateStrategy"):
        case "ApplyForAll":
            return len(labels) if "selector" in hint else len(minors), amount
        case "RequestsAsCount":
            return amount, 100 if hint.get("exclusivePolicy") == "DeviceLevel" else 1
    return 1, amount

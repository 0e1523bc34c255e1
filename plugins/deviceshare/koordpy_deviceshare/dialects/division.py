"""How Koordinator's sums are divided over devices, in whole numbers. Bytes are rounded up: what is booked is never less
than what the Pod may use. Percent divide evenly, or the Pod is refused.

Source: Koordinator's deviceshare device_allocator.go (GPU), device_handler_default.go (RDMA, FPGA).
"""

from typing import Final

from koordpy_api.koordinator import GPU, GPU_CORE, GPU_MEMORY, GPU_MEMORY_RATIO, GPU_SHARED
from koordpy_deviceshare.args import ALLOCATORS
from koordpy_deviceshare.hints import AS_COUNT, FOR_ALL, NO_HINT, Hint
from koordpy_deviceshare.model import GPU_TYPE, Amounts
from koordpy_deviceshare.request import TypeRequest
from koordpy_deviceshare.vendors import PARTS, WHOLE_CARD_NAMES

_DIVIDED: Final = (GPU_CORE, *sorted(PARTS))


def divide(device_type: str, asked: Amounts, hint: Hint = NO_HINT) -> TypeRequest:
    """What is asked of one type, as so many devices that each give the same."""
    strategy = hint.strategy if hint.strategy in ALLOCATORS else ""
    if device_type == GPU_TYPE:
        converted = convert(asked)
        count, per_card = _over_cards(converted)
        return TypeRequest(
            device_type, converted, count, per_card, selector=hint.selector, strategy=strategy, scope=hint.scope
        )
    ((name, amount),) = asked.items()
    count, each, on_every = _over_instances(amount, hint)
    return TypeRequest(device_type, asked, count, {name: each}, on_every, hint.selector, strategy)


def convert(gpu: Amounts) -> Amounts:
    """Cards and percent of cards as core and ratio."""
    ((name, amount), *more) = gpu.items()
    if more or not (name == GPU or name in WHOLE_CARD_NAMES):
        return gpu
    percent = amount if name == GPU else amount * 100
    return {GPU_CORE: percent, GPU_MEMORY_RATIO: percent}


def _over_cards(gpu: Amounts) -> tuple[int, Amounts]:
    """Bytes beside the core of several cards mean so many cards; upstream asks them all of one, which has none."""
    ratio, core = gpu.get(GPU_MEMORY_RATIO, 0), gpu.get(GPU_CORE, 0)
    cards = 1
    if gpu.get(GPU_SHARED, 0) > 0:
        cards = gpu[GPU_SHARED]
    elif ratio > 100 and ratio % 100 == 0:
        cards = ratio // 100
    elif core > 100 and GPU_MEMORY in gpu:
        cards = core // 100
    per_card = {name: gpu[name] // cards for name in _DIVIDED if name in gpu}
    memory = GPU_MEMORY_RATIO if GPU_MEMORY_RATIO in gpu else GPU_MEMORY
    return cards, per_card | ({memory: -(-gpu[memory] // cards)} if memory in gpu else {})


def _over_instances(amount: int, hint: Hint) -> tuple[int, int, bool]:
    """(devices, what each gives, one on every device?) of RDMA or FPGA."""
    if amount > 100 and amount % 100 == 0:
        return amount // 100, 100, False
    if hint.strategy == FOR_ALL:
        return 0, amount, True
    if hint.strategy == AS_COUNT:
        return amount, 100 if hint.is_exclusive else 1, False
    return 1, amount, False

"""The one decision: which devices of a node a request gets. Pure.

Reserve asks `allocate`; Filter asks only whether it would succeed, which is `shortage`, the first thing allocate asks.
"""

from collections.abc import Iterator
from typing import Final

from koordpy_api.koordinator import GPU_MEMORY, GPU_MEMORY_RATIO, AllocatedDevice
from koordpy_api.selectors import selects
from koordpy_deviceshare.model import (
    Allocation,
    Amounts,
    Card,
    NodeDevices,
    Shortage,
    TypeDevices,
    TypeShortage,
    complete,
    other_form,
)
from koordpy_deviceshare.request import DeviceRequest, TypeRequest
from koordpy_deviceshare.scoring import USUAL, Preferences, count_on

_MEMORY: Final = frozenset({GPU_MEMORY, GPU_MEMORY_RATIO})


def allocate(request: DeviceRequest, devices: NodeDevices, prefer: Preferences = USUAL) -> Allocation | Shortage:
    """Choose, among the devices that can give what is asked, those that `prefer` puts first.

    Equal arguments give equal answers, whatever the order in which the devices were listed.
    """
    if (short := shortage(request, devices)) is not None:
        return short
    return Allocation({each.type: _choose(each, devices.type(each.type), prefer) for each in request.types})


def shortage(request: DeviceRequest, devices: NodeDevices) -> Shortage | None:
    """Why the node cannot give what is asked; None if it can. Looks at no more devices than it takes to know."""
    short: list[TypeShortage] | None = None
    for each in request.types:
        if (found := _shortage(each, devices.type(each.type))) is not None:
            short = [*short, found] if short else [found]
    return None if short is None else Shortage(tuple(short))


def fits(per_device: Amounts, card: Card) -> bool:
    """Has the device left what is asked, memory in percent and in bytes of its own?

    A dimension that the device does not report cannot be given. Upstream lets it pass unseen.
    """
    free = card.free
    for name, amount in per_device.items():
        if amount > free.get(name, 0):
            return False
    if _MEMORY.isdisjoint(per_device):
        return True
    if (other := other_form(per_device, card.total)) is None:
        return False
    name, amount = other
    return amount <= free.get(name, 0)


def _shortage(request: TypeRequest, devices: TypeDevices) -> TypeShortage | None:
    wanted = missing = count_on(request, devices)
    candidates = devices.empty if request.is_whole else devices.open
    if 0 < missing <= len(candidates):  # most refusals of a full node need no more than this
        selector, per_device = request.selector, request.per_device
        for card in candidates:
            if fits(per_device, card) and (selector is None or selects(selector, card.labels)):
                missing -= 1
                if not missing:
                    return None
    # Nothing to take part in, or nothing of the kind: that no Pod leaves behind.
    is_lasting = not devices.is_known or not wanted
    return TypeShortage(request.type, wanted, request.per_device, devices.cards, is_lasting)


def _choose(request: TypeRequest, devices: TypeDevices, prefer: Preferences) -> tuple[AllocatedDevice, ...]:
    order, asked = prefer.order(request), request.per_device
    fitting = sorted(_fitting(request, devices), key=lambda card: order(asked, card))
    chosen = fitting[: count_on(request, devices)]
    return tuple(AllocatedDevice(card.minor, complete(asked, card.total), card.id) for card in chosen)


def _fitting(request: TypeRequest, devices: TypeDevices) -> Iterator[Card]:
    selector = request.selector
    for card in devices.empty if request.is_whole else devices.open:
        if fits(request.per_device, card) and (selector is None or selects(selector, card.labels)):
            yield card

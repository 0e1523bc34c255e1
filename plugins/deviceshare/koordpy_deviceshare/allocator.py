"""The one decision: which devices of a node a request gets. Pure.

Reserve asks `allocate`; Filter asks only whether it would succeed, which is `shortage`. Both look at the same devices.
"""

from collections.abc import Iterable, Iterator
from itertools import islice

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
from koordpy_deviceshare.scoring import USUAL, Preferences, count_on, lowest_minor


def allocate(request: DeviceRequest, devices: NodeDevices, prefer: Preferences = USUAL) -> Allocation | Shortage:
    """Choose, among the devices that can give what is asked, those that `prefer` puts first.

    Equal arguments give equal answers, whatever the order in which the devices were listed.
    """
    chosen: dict[str, tuple[AllocatedDevice, ...]] = {}
    for each in request.types:
        if (found := _choose(each, devices.type(each.type), prefer)) is None:
            short = shortage(request, devices)
            assert short is not None
            return short
        chosen[each.type] = found
    return Allocation(chosen)


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
    if GPU_MEMORY not in per_device and GPU_MEMORY_RATIO not in per_device:
        return True
    if (other := other_form(per_device, card.total)) is None:
        return False
    name, amount = other
    return amount <= free.get(name, 0)


def most_of(card: Card, name: str, device_type: str) -> int:
    """The most of one resource that this device can give: what `fits`, told by one number. -1: not even nothing.

    That of memory is in percent what its bytes allow too, and in bytes what its percent do: the largest amount of which
    `other_form`, rounded down, is still free. For requests that name memory in one form, as all do.
    """
    if not card.has_room(device_type):
        return -1
    free = card.free.get(name, 0)
    if name not in (GPU_MEMORY, GPU_MEMORY_RATIO):
        return free
    if (memory := card.total.get(GPU_MEMORY, 0)) <= 0:
        return -1
    if name == GPU_MEMORY:
        return min(free, ((card.free.get(GPU_MEMORY_RATIO, 0) + 1) * memory - 1) // 100)
    return min(free, ((card.free.get(GPU_MEMORY, 0) + 1) * 100 - 1) // memory)


def _shortage(request: TypeRequest, devices: TypeDevices) -> TypeShortage | None:
    wanted = count_on(request, devices)
    if wanted and next(islice(_fitting(request, devices.cards), wanted - 1, None), None) is not None:
        return None
    # Nothing to take part in, or nothing of the kind: that no Pod leaves behind.
    is_lasting = not devices.is_known or not wanted
    return TypeShortage(request.type, wanted, request.per_device, devices.cards, is_lasting)


def _choose(request: TypeRequest, devices: TypeDevices, prefer: Preferences) -> tuple[AllocatedDevice, ...] | None:
    """None if there are too few."""
    order, asked, count = prefer.order(request), request.per_device, count_on(request, devices)
    cards: Iterable[Card] = devices.cards
    if count == 1 and request.selector is None:
        cards = _unlike(cards)
    fitting: Iterable[Card] = _fitting(request, cards)
    if order is not lowest_minor:  # that is how they come
        fitting = list(fitting)
        if len(fitting) > 1:
            fitting.sort(key=lambda card: order(asked, card))
    chosen = tuple(
        [AllocatedDevice(card.minor, complete(asked, card.total), card.id) for card in islice(fitting, count)]
    )
    return chosen if 0 < count == len(chosen) else None


def _unlike(cards: Iterable[Card]) -> Iterator[Card]:
    """Without empty devices that are like an empty one before them: of equals the lowest minor is preferred."""
    first: Card | None = None
    for card in cards:
        if card.held_by:
            yield card
        elif first is None or card.total != first.total or card.used != first.used:
            first = card
            yield card


def _fitting(request: TypeRequest, cards: Iterable[Card]) -> Iterator[Card]:
    per_device, is_whole, selector, kind = request.per_device, request.is_whole, request.selector, request.type
    for card in cards:
        if is_whole and card.held_by:
            continue
        if card.has_room(kind) and fits(per_device, card) and (selector is None or selects(selector, card.labels)):
            yield card

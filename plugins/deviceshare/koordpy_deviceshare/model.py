"""What is said of devices: cards, what pods hold of them, and how an attempt to take some ended. Frozen values.

Amounts: percent of one card for gpu-core and gpu-memory-ratio, bytes for gpu-memory. Always exact integers.
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from enum import Enum
from operator import attrgetter
from typing import Final

import msgspec

from koordpy_api.koordinator import GPU_MEMORY, GPU_MEMORY_RATIO, AllocatedDevice

GPU_TYPE: Final = "gpu"
"""The device type of all accelerators, whatever their vendor."""

Amounts = Mapping[str, int]
"""Resource name → amount of one device."""


class Health(Enum):
    """What the Device object says of a device. Only a healthy one has a total and is given to anybody."""

    HEALTHY = "healthy"
    UNHEALTHY = "unhealthy"
    UNREADABLE = "unreadable"
    """Listed, but one of its resources is no quantity."""
    UNLISTED = "unlisted"
    """Held by a Pod, but the Device does not list it (yet, or any more)."""


class Card(msgspec.Struct, frozen=True):
    """One device of a node and what is held of it.

    total: empty unless healthy. labels: what its Device says of it, for selectors.
    used: sums over pods, each completed to bytes and percent; may exceed the total.
    held_by: the pods (namespace/name) that hold something of it, be it nothing that can be counted.
    free: what is left, never below zero. Nobody gives it: it is worked out once, because Filter reads it once a Pod
    and node.
    """

    minor: int
    id: str = ""
    health: Health = Health.HEALTHY
    total: Amounts = {}
    used: Amounts = {}
    held_by: tuple[str, ...] = ()
    labels: Mapping[str, str] = {}
    free: Amounts = {}

    def __post_init__(self) -> None:
        left = self.total
        if used := self.used:
            left = dict(left)
            for name, amount in used.items():
                left[name] = max(left.get(name, 0) - amount, 0)
        msgspec.structs.force_setattr(self, "free", left)

    @property
    def holders(self) -> int:
        return len(self.held_by)

    @property
    def is_listed(self) -> bool:
        """Does, or did, the Device itself list it?"""
        return self.health is not Health.UNLISTED

    def has_room(self, device_type: str) -> bool:
        """Can it give anybody anything? Whoever asks for a GPU asks for memory, so some must be left in both forms."""
        if device_type == GPU_TYPE:
            return self.free.get(GPU_MEMORY_RATIO, 0) > 0 and self.free.get(GPU_MEMORY, 0) > 0
        return any(self.free.values())


class TypeDevices(msgspec.Struct, frozen=True):
    """A node's devices of one type, minors ascending. total, free: sums over all, worked out once a change, because
    Score asks for them once a Pod and node."""

    cards: tuple[Card, ...] = ()
    total: Amounts = {}
    free: Amounts = {}

    @classmethod
    def of(cls, cards: Iterable[Card]) -> "TypeDevices":
        """From devices in any order."""
        ordered = tuple(sorted(cards, key=_MINOR))
        return cls(ordered, _sum(card.total for card in ordered), _sum(card.free for card in ordered))

    def with_card(self, new: Card) -> "TypeDevices":
        """The same devices, of one of which others hold something now."""
        cards, place = self.cards, new.minor
        if place >= len(cards) or cards[place].minor != place:  # most nodes count theirs from 0
            place = bisect_left(cards, new.minor, key=_MINOR)
        old, free = cards[place], dict(self.free)
        for name, amount in old.free.items():
            free[name] -= amount
        for name, amount in new.free.items():
            free[name] = free.get(name, 0) + amount
        return TypeDevices((*cards[:place], new, *cards[place + 1 :]), self.total, free)

    @property
    def is_known(self) -> bool:
        """Does a Device list such a device, or has one done so? A Pod that leaves does not bring one."""
        return any(card.is_listed for card in self.cards)


NONE_OF_TYPE: Final = TypeDevices()

_MINOR: Final = attrgetter("minor")


class NodeDevices(msgspec.Struct, frozen=True):
    """The devices of one node at one moment, by device type."""

    by_type: Mapping[str, TypeDevices]

    @classmethod
    def of(cls, by_type: Mapping[str, Iterable[Card]]) -> "NodeDevices":
        """From devices in any order."""
        return cls({device_type: TypeDevices.of(cards) for device_type, cards in by_type.items()})

    def type(self, device_type: str) -> TypeDevices:
        return self.by_type.get(device_type, NONE_OF_TYPE)

    @property
    def gpus(self) -> tuple[Card, ...]:
        return self.type(GPU_TYPE).cards


NO_DEVICES: Final = NodeDevices({})


class Allocation(msgspec.Struct, frozen=True):
    """What a Pod gets: device type → its devices as they were chosen, amounts completed on each card's own total."""

    devices: Mapping[str, tuple[AllocatedDevice, ...]]


class TypeShortage(msgspec.Struct, frozen=True):
    """Too few devices of one type can give what was asked.

    count, per_device: on how many devices, and what each had to give.
    cards: all that the node has; each says itself what was free. is_lasting: could no Pod that leaves help?
    """

    type: str
    count: int
    per_device: Amounts
    cards: tuple[Card, ...]
    is_lasting: bool

    def asked_of(self, card: Card) -> Amounts:
        """What this device had to give, in percent and bytes as far as its total can tell."""
        return complete(self.per_device, card.total)


class Shortage(msgspec.Struct, frozen=True):
    """A node cannot give what was asked: the types of which it has too little, in the order of their names."""

    types: tuple[TypeShortage, ...]

    @property
    def is_lasting(self) -> bool:
        return any(each.is_lasting for each in self.types)


def other_form(asked: Amounts, total: Amounts) -> tuple[str, int] | None:
    """A share of this card's memory in the form in which it was not asked: percent as bytes, bytes as percent.

    Rounded down. None if no memory was asked, or the card reports none, so that neither form follows from the other.
    """
    if (memory := total.get(GPU_MEMORY, 0)) <= 0:
        return None
    if GPU_MEMORY in asked:
        return GPU_MEMORY_RATIO, asked[GPU_MEMORY] * 100 // memory
    if GPU_MEMORY_RATIO in asked:
        return GPU_MEMORY, asked[GPU_MEMORY_RATIO] * memory // 100
    return None


def complete(asked: Amounts, total: Amounts) -> dict[str, int]:
    """What is asked of a card, with its share of memory in both forms. As it is if it has both, or no total tells.

    Source: deviceshare fillGPUTotalMem. That goes through a binary float: 29 of 100 bytes are 29 % here, 28 % there.
    """
    if (other := other_form(asked, total)) is None:
        return dict(asked)
    name, amount = other
    return {name: amount, **asked}


def _sum(each: Iterable[Amounts]) -> Amounts:
    total: dict[str, int] = {}
    for amounts in each:
        for name, amount in amounts.items():
            total[name] = total.get(name, 0) + amount
    return total

"""What is said of devices: cards, what pods hold of them, and how an attempt to take some ended. Frozen values.

Amounts: percent of one card for gpu-core and gpu-memory-ratio, bytes for gpu-memory. Always exact integers.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

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


@dataclass(frozen=True, slots=True)
class Card:
    """One device of a node and what is held of it.

    total: empty unless healthy. labels: what its Device says of it, for selectors.
    used: sums over pods, each completed to bytes and percent; may exceed the total.
    held_by: the pods (namespace/name) that hold something of it, be it nothing that can be counted.
    """

    minor: int
    id: str = ""
    health: Health = Health.HEALTHY
    total: Amounts = field(default_factory=dict)
    used: Amounts = field(default_factory=dict)
    held_by: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    free: Amounts = field(init=False, repr=False, compare=False)
    """What is left, never below zero. Worked out once, because Filter reads it once a Pod and node."""

    def __post_init__(self) -> None:
        names = sorted(self.total.keys() | self.used.keys())
        left = {name: max(self.total.get(name, 0) - self.used.get(name, 0), 0) for name in names}
        object.__setattr__(self, "free", left)

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


@dataclass(frozen=True, slots=True)
class TypeDevices:
    """A node's devices of one type, minors ascending.

    empty: those that nobody holds anything of. open: those that can give somebody something. total, free: sums over
    all. All four are worked out once a change, because Filter and Score ask for them once a Pod and node.
    """

    cards: tuple[Card, ...] = ()
    empty: tuple[Card, ...] = ()
    open: tuple[Card, ...] = ()
    total: Amounts = field(default_factory=dict)
    free: Amounts = field(default_factory=dict)

    @classmethod
    def of(cls, device_type: str, cards: Iterable[Card]) -> "TypeDevices":
        """From devices in any order."""
        ordered = tuple(sorted(cards, key=lambda card: card.minor))
        with_room = tuple(card for card in ordered if card.has_room(device_type))
        empty = tuple(card for card in with_room if not card.held_by)
        return cls(ordered, empty, with_room, _sum(card.total for card in ordered), _sum(card.free for card in ordered))

    @property
    def is_known(self) -> bool:
        """Does a Device list such a device, or has one done so? A Pod that leaves does not bring one."""
        return any(card.is_listed for card in self.cards)


NONE_OF_TYPE: Final = TypeDevices()


@dataclass(frozen=True, slots=True)
class NodeDevices:
    """The devices of one node at one moment, by device type."""

    by_type: Mapping[str, TypeDevices]

    @classmethod
    def of(cls, by_type: Mapping[str, Iterable[Card]]) -> "NodeDevices":
        """From devices in any order."""
        return cls({device_type: TypeDevices.of(device_type, cards) for device_type, cards in by_type.items()})

    def type(self, device_type: str) -> TypeDevices:
        return self.by_type.get(device_type, NONE_OF_TYPE)

    @property
    def gpus(self) -> tuple[Card, ...]:
        return self.type(GPU_TYPE).cards


NO_DEVICES: Final = NodeDevices({})


@dataclass(frozen=True, slots=True)
class Allocation:
    """What a Pod gets: device type → its devices as they were chosen, amounts completed on each card's own total."""

    devices: Mapping[str, tuple[AllocatedDevice, ...]]


@dataclass(frozen=True, slots=True)
class TypeShortage:
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


@dataclass(frozen=True, slots=True)
class Shortage:
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

"""What is said of devices: cards, what pods hold of them, and how an attempt to take some ended. Frozen values.

Amounts: percent of one card for gpu-core and gpu-memory-ratio, bytes for gpu-memory. Always exact integers.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from koordpy_api.koordinator import GPU_CORE, GPU_MEMORY, GPU_MEMORY_RATIO, AllocatedDevice

GPU_TYPE: Final = "gpu"
"""The device type of all accelerators, whatever their vendor."""

SHARED_DIMENSIONS: Final = (GPU_CORE, GPU_MEMORY_RATIO, GPU_MEMORY)
"""What a share takes from its card. Each is compared by itself; none may be over-committed."""

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

    total: empty unless healthy.
    used: sums over pods, each completed to bytes and percent; may exceed the total.
    holders: how many pods hold something of it, be it nothing that can be counted.
    """

    minor: int
    id: str = ""
    health: Health = Health.HEALTHY
    total: Amounts = field(default_factory=dict)
    used: Amounts = field(default_factory=dict)
    holders: int = 0
    free: Amounts = field(init=False, repr=False, compare=False)
    """What is left, never below zero. Worked out once, because Filter reads it once a Pod and node."""

    def __post_init__(self) -> None:
        names = sorted(self.total.keys() | self.used.keys())
        left = {name: max(self.total.get(name, 0) - self.used.get(name, 0), 0) for name in names}
        object.__setattr__(self, "free", left)

    @property
    def has_room(self) -> bool:
        """Is something left in every dimension? A dimension that the card does not report has nothing left."""
        return all(self.free.get(name, 0) for name in SHARED_DIMENSIONS)


@dataclass(frozen=True, slots=True)
class NodeDevices:
    """The devices of one node at one moment.

    by_type: device type → its devices, minors ascending.
    empty: cards that nobody holds anything of. open: cards with something left in every dimension. Both are picked out
    once a change, because Filter asks for them once a Pod and node.
    """

    by_type: Mapping[str, tuple[Card, ...]]
    empty: tuple[Card, ...]
    open: tuple[Card, ...]

    @classmethod
    def of(cls, by_type: Mapping[str, tuple[Card, ...]]) -> "NodeDevices":
        """From devices in any order."""
        ordered = {kind: tuple(sorted(cards, key=lambda card: card.minor)) for kind, cards in by_type.items()}
        with_room = tuple(card for card in ordered.get(GPU_TYPE, ()) if card.has_room)
        return cls(ordered, tuple(card for card in with_room if not card.holders), with_room)

    @property
    def gpus(self) -> tuple[Card, ...]:
        return self.by_type.get(GPU_TYPE, ())


NO_DEVICES: Final = NodeDevices.of({})


@dataclass(frozen=True, slots=True)
class Allocation:
    """What a Pod gets: device type → its devices, minors ascending, amounts completed on each card's own total."""

    devices: Mapping[str, tuple[AllocatedDevice, ...]]


@dataclass(frozen=True, slots=True)
class Shortage:
    """Too few cards can give what was asked.

    count, per_card: on how many cards, and what each had to give.
    cards: all that the node has; each says itself what was free.
    """

    count: int
    per_card: Amounts
    cards: tuple[Card, ...]

    @property
    def is_lasting(self) -> bool:
        """Does the node have no card at all, so that no Pod that leaves it could help?"""
        return all(card.health is Health.UNLISTED for card in self.cards)

    def asked_of(self, card: Card) -> Amounts:
        """What this card had to give, in percent and bytes as far as its total can tell."""
        return complete(self.per_card, card.total)


def other_form(asked: Amounts, total: Amounts) -> tuple[str, int] | None:
    """A share of this card's memory in the form in which it was not asked: percent as bytes, bytes as percent.

    Rounded down. None if the card reports no memory, so that neither form follows from the other.
    """
    if (memory := total.get(GPU_MEMORY, 0)) <= 0:
        return None
    if GPU_MEMORY in asked:
        return GPU_MEMORY_RATIO, asked[GPU_MEMORY] * 100 // memory
    return GPU_MEMORY, asked.get(GPU_MEMORY_RATIO, 0) * memory // 100


def complete(asked: Amounts, total: Amounts) -> dict[str, int]:
    """What is asked of a card, with its share of memory in both forms. As it is if it has both, or no total tells.

    Source: deviceshare fillGPUTotalMem. That goes through a binary float: 29 of 100 bytes are 29 % here, 28 % there.
    """
    if (other := other_form(asked, total)) is None:
        return dict(asked)
    name, amount = other
    return {name: amount, **asked}

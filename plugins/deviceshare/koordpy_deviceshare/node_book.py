"""The book of one node: what its Device lists, which Pod holds what of it, and which pods hold nobody knows what.

Told devices are known by minor and id. A card with an id is that card wherever the Device lists it. One that this
node's Device listed once and lists no more is gone, and what has its minor now is another card, with all its room.
Without an id, or with one that this node never had, it is whatever has its minor: too much held is better than given
twice.
"""

from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Final

from koordpy_api.errors import Problem
from koordpy_api.koordinator import GPU_MEMORY, GPU_MEMORY_RATIO, Allocations
from koordpy_api.resources import Amounts, add, subtract
from koordpy_deviceshare.listing import NO_LISTING, Listed, Listing
from koordpy_deviceshare.model import GPU_TYPE, Card, Health, NodeDevices

SOMEBODY: Final = "a Pod that does not say which card it holds"


@dataclass(frozen=True, slots=True)
class Holding:
    """What pods together hold of one device.

    holders: the pods (namespace/name) by UID.
    bare_percent, bare_bytes: the part of `amounts` that was written in one form of memory only, as old schedulers and
    people do. It counts in the other form too, on whatever total the card has.
    """

    holders: Mapping[str, str] = field(default_factory=dict)
    amounts: Amounts = field(default_factory=dict)
    bare_percent: int = 0
    bare_bytes: int = 0

    def plus(self, uid: str, pod: str, amounts: Mapping[str, int]) -> "Holding":
        counted = {name: amount for name, amount in amounts.items() if amount}
        return self._changed(1, {**self.holders, uid: pod}, add(self.amounts, counted), amounts)

    def minus(self, uid: str, amounts: Mapping[str, int]) -> "Holding":
        left = {other: pod for other, pod in self.holders.items() if other != uid}
        return self._changed(-1, left, subtract(self.amounts, amounts), amounts)

    def _changed(self, sign: int, holders: Mapping[str, str], total: Amounts, amounts: Mapping[str, int]) -> "Holding":
        percent = 0 if GPU_MEMORY in amounts else amounts.get(GPU_MEMORY_RATIO, 0)
        size = 0 if GPU_MEMORY_RATIO in amounts else amounts.get(GPU_MEMORY, 0)
        return Holding(holders, total, self.bare_percent + sign * percent, self.bare_bytes + sign * size)

    def beside(self, other: "Holding") -> "Holding":
        """Both together: two told devices turn out to be one."""
        return Holding(
            {**self.holders, **other.holders},
            add(self.amounts, other.amounts),
            self.bare_percent + other.bare_percent,
            self.bare_bytes + other.bare_bytes,
        )

    def used_of(self, card: Card) -> Amounts:
        """The sums, completed to percent and bytes. Rounding a sum down never says less than its parts rounded down."""
        if not (memory := card.total.get(GPU_MEMORY, 0)):
            return self.amounts
        implied = {GPU_MEMORY: self.bare_percent * memory // 100, GPU_MEMORY_RATIO: self.bare_bytes * 100 // memory}
        return add(self.amounts, {name: amount for name, amount in implied.items() if amount})


Told = tuple[int, str]
"""A device as an annotation tells it: minor, id."""

Sums = dict[str, dict[Told, Holding]]
"""Device type → told device → what is held of it. Without devices that nobody holds."""


@dataclass(frozen=True, slots=True)
class Record:
    """What one Pod (namespace/name) holds. Assumed until the API server has shown the Pod bound."""

    pod: str
    devices: Allocations
    assumed: bool


class NodeBook:
    """nameless: Pod UID → on how many cards it runs, without saying on which. unreadable: Pod UID → namespace/name."""

    def __init__(self) -> None:
        self.listing: Listing = NO_LISTING
        self.has_device = False
        self.node_exists = True  # until somebody says otherwise: a Device may come first
        self.records: dict[str, Record] = {}
        self.nameless: dict[str, int] = {}
        self.unreadable: dict[str, str] = {}
        self.pod_problems: dict[str, Problem] = {}
        self.sums: Sums = {}
        self._known: Listed = {}
        self._minors: dict[str, dict[str, int]] = {}
        self._gone: dict[str, set[str]] = {}
        self._devices: NodeDevices | None = None

    @property
    def devices(self) -> NodeDevices:
        """The node as the allocator sees it; made anew after a change, when first asked for."""
        if self._devices is None:
            self._devices = NodeDevices.of({kind: self._cards(kind) for kind in sorted(self._known)})
        return self._devices

    @property
    def is_blank(self) -> bool:
        return not (self.has_device or self.node_exists or self.records or self.nameless or self.unreadable)

    # -- what is listed

    def list_devices(self, listing: Listing, *, has_device: bool) -> None:
        """Replace what is listed. A type that was there stays known, with no device; so does a device that is held."""
        self._note_gone(listing)
        self.listing, self.has_device = listing, has_device
        self._known = {kind: {} for kind in self._known} | {kind: dict(by) for kind, by in listing.listed.items()}
        self._minors = {kind: _minors_by_id(by.values()) for kind, by in listing.listed.items()}
        for kind, held in self.sums.items():
            self._know(kind, held)
        self._devices = None

    def unlist_devices(self) -> None:
        """The Device is gone: what it listed can be given to nobody until it is back."""
        gone = {
            kind: {minor: replace(card, health=Health.UNHEALTHY, total={}) for minor, card in cards.items()}
            for kind, cards in self.listing.listed.items()
        }
        self.list_devices(replace(self.listing, listed=gone, problems=()), has_device=False)

    # -- who holds what

    def book(self, uid: str, record: Record) -> None:
        """Hold this for the Pod, instead of whatever it held here."""
        self.release(uid)
        self.records[uid] = record
        for kind, devices in record.devices.items():
            by_device = self.sums.setdefault(kind, {})
            for device in devices:
                told = device.minor, device.id
                by_device[told] = by_device.get(told, Holding()).plus(uid, record.pod, device.resources)
            self._know(kind, by_device)
        self._drop_unheld(record)

    def release(self, uid: str) -> None:
        """Undo book. Nothing happens if the Pod holds nothing here."""
        if (record := self.records.pop(uid, None)) is None:
            return
        for kind, devices in record.devices.items():
            by_device = self.sums.get(kind, {})
            for device in devices:
                told = device.minor, device.id
                by_device[told] = by_device[told].minus(uid, device.resources)
        self._drop_unheld(record)

    def count_nameless(self, uid: str, cards: int) -> None:
        """The Pod runs on so many cards of this node and does not say which; 0 takes that back."""
        if self.nameless.get(uid, 0) != cards:
            self.nameless |= {uid: cards}
            if not cards:
                del self.nameless[uid]
            self._devices = None

    def without(self, leaving: frozenset[str]) -> NodeDevices:
        """The node as it would be without these pods."""
        trial = copy(self)
        trial.records = self.records.copy()
        trial.sums = {kind: held.copy() for kind, held in self.sums.items()}
        trial.nameless = self.nameless.copy()
        trial._devices = None
        for uid in leaving:
            trial.release(uid)
            trial.count_nameless(uid, 0)
        return trial.devices

    def recount(self) -> Sums:
        """The sums, made anew from the records."""
        fresh = NodeBook()
        for uid, record in self.records.items():
            fresh.book(uid, record)
        return fresh.sums

    def minor_of(self, kind: str, minor: int, uuid: str) -> int | None:
        """Where a told device is now; None if another one has its minor, so that it is not in the node any more."""
        if uuid:
            if (moved := self._minors.get(kind, {}).get(uuid)) is not None:
                return moved
            at = self.listing.listed.get(kind, {}).get(minor)
            if at is not None and at.id and uuid in self._gone.get(kind, ()):
                return None
        return minor

    # -- inside

    def _know(self, kind: str, told: Iterable[Told]) -> None:
        """A device that somebody holds is known, listed or not, until a Device says more."""
        known = self._known.setdefault(kind, {})
        for minor, uuid in told:
            if self.minor_of(kind, minor, uuid) == minor:
                known.setdefault(minor, Card(minor, health=Health.UNLISTED))

    def _note_gone(self, new: Listing) -> None:
        """Which ids were listed before and are not now; only those that somebody still tells matter."""
        for kind, held in self.sums.items():
            before = {card.id for card in self.listing.listed.get(kind, {}).values()} | self._gone.get(kind, set())
            now = {card.id for card in new.listed.get(kind, {}).values()}
            self._gone[kind] = {uuid for _, uuid in held if uuid} & (before - now)

    def _drop_unheld(self, record: Record) -> None:
        for kind in record.devices:
            held = {told: holding for told, holding in self.sums.get(kind, {}).items() if holding.holders}
            self.sums.pop(kind, None)
            if held:
                self.sums[kind] = held
        self._devices = None

    def _cards(self, kind: str) -> tuple[Card, ...]:
        by_minor: dict[int, Holding] = {}
        for (minor, uuid), holding in self.sums.get(kind, {}).items():
            if (at := self.minor_of(kind, minor, uuid)) is not None:
                by_minor[at] = by_minor[at].beside(holding) if at in by_minor else holding
        cards = tuple(_held(card, by_minor.get(minor)) for minor, card in self._known[kind].items())
        if kind == GPU_TYPE and self.nameless:
            return tuple(_without_nameless(cards, sum(self.nameless.values())))
        return cards


def _held(card: Card, holding: Holding | None) -> Card:
    if holding is None:
        return card
    names = tuple(sorted(holding.holders.values()))
    return replace(card, used=holding.used_of(card), held_by=names)


def _without_nameless(cards: Iterable[Card], count: int) -> Iterator[Card]:
    """Somebody runs on `count` cards, nobody knows which: so many whole ones are not there to give.

    The last of the empty ones, so that it is the same ones as long as there is a choice; a card that is partly held
    is none of them, since whole cards are what such pods get.
    """
    ordered = sorted(cards, key=lambda card: card.minor)
    empty = [card.minor for card in ordered if card.health is Health.HEALTHY and not card.held_by]
    taken = frozenset(empty[max(0, len(empty) - count) :])
    for card in ordered:
        yield replace(card, used=card.total, held_by=(SOMEBODY,)) if card.minor in taken else card


def _minors_by_id(cards: Iterable[Card]) -> dict[str, int]:
    """An id that two devices claim tells nothing."""
    found: dict[str, int] = {}
    twice: set[str] = set()
    for card in cards:
        if card.id in found:
            twice.add(card.id)
        if card.id:
            found[card.id] = card.minor
    return {uuid: minor for uuid, minor in found.items() if uuid not in twice}

"""The book of one node: what its Device lists, which Pod holds what of it, and which pods hold nobody knows what.

Told devices are known by minor and id. A card with an id is that card wherever the Device lists it. One that this
node's Device listed once and lists no more is gone, and what has its minor now is another card, with all its room.
Without an id, or with one that this node never had, it is whatever has its minor: too much held is better than given
twice.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import reduce
from typing import Final

import msgspec

from koordpy_api.errors import Problem
from koordpy_api.koordinator import AllocatedDevice
from koordpy_deviceshare.holdings import NOBODY, Holding, Record, Sums, Told
from koordpy_deviceshare.listing import NO_LISTING, Listed, Listing
from koordpy_deviceshare.model import GPU_TYPE, Card, Health, NodeDevices, TypeDevices

SOMEBODY: Final = "a Pod that does not say which card it holds"


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
        self._devices: NodeDevices | None = None  # None: all of it is to be made anew
        self._touched: set[tuple[str, int]] = set()  # type and minor of devices that were booked since

    @property
    def devices(self) -> NodeDevices:
        """The node as the allocator sees it; after a change it is made when first asked for.

        A device that nobody took or gave back is the same object as before.
        """
        if self._devices is None or (self._touched and self.nameless):
            known = sorted(self._known.items())
            self._devices = NodeDevices({kind: TypeDevices.of(self._cards(kind, by)) for kind, by in known})
        elif self._touched:
            by_type = dict(self._devices.by_type)
            for kind, minor in self._touched:
                by_type[kind] = by_type[kind].with_card(self._card(kind, self._known[kind][minor]))
            self._devices = NodeDevices(by_type)
        else:
            return self._devices
        self._touched = set()
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
            kind: {
                minor: msgspec.structs.replace(card, health=Health.UNHEALTHY, total={}) for minor, card in cards.items()
            }
            for kind, cards in self.listing.listed.items()
        }
        self.list_devices(replace(self.listing, listed=gone, problems=()), has_device=False)

    # -- who holds what

    def book(self, uid: str, record: Record) -> None:
        """Hold this for the Pod, instead of whatever it held here."""
        self.release(uid)
        self.records[uid] = record
        for kind, devices in record.devices.items():
            by_device = self.sums.setdefault(kind, {}) if devices else {}
            for device in devices:
                told = device.minor, device.id
                by_device[told] = by_device.get(told, NOBODY).plus(uid, record.pod, device.resources)
            self._touch(kind, devices)

    def release(self, uid: str) -> None:
        """Undo book. Nothing happens if the Pod holds nothing here."""
        if (record := self.records.pop(uid, None)) is None:
            return
        for kind, devices in record.devices.items():
            by_device = self.sums.get(kind, {})
            for device in devices:
                told = device.minor, device.id
                if (held := by_device.pop(told, None)) is not None:  # None if the Pod tells it twice
                    left = held.minus(uid, device.resources)
                    if left.holders:
                        by_device[told] = left
            if not by_device:
                self.sums.pop(kind, None)
            self._touch(kind, devices)

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
        trial._devices, trial._touched = self.devices, set()
        trial.records = self.records.copy()
        trial.sums = {kind: held.copy() for kind, held in self.sums.items()}
        trial.nameless = self.nameless.copy()
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

    def _touch(self, kind: str, devices: Iterable[AllocatedDevice]) -> None:
        """What is held of these told devices is another amount now."""
        if (known := self._known.get(kind)) is None:
            known, self._devices = {}, None
        for device in devices:
            at = self.minor_of(kind, device.minor, device.id)
            if at in known:
                self._touched.add((kind, at))
            elif at is not None:
                self._devices = None
        if self._devices is None:
            self._know(kind, ((device.minor, device.id) for device in devices))

    def _cards(self, kind: str, known: Mapping[int, Card]) -> Sequence[Card]:
        """By their minors."""
        cards = [self._card(kind, known[minor]) for minor in sorted(known)]
        if kind == GPU_TYPE and self.nameless:
            return list(_without_nameless(cards, sum(self.nameless.values())))
        return cards

    def _card(self, kind: str, listed: Card) -> Card:
        """A device with all that is held of it, in whichever ways it is told."""
        told_as = [
            holding
            for (minor, uuid), holding in self.sums.get(kind, {}).items()
            if (minor == listed.minor or uuid == listed.id) and self.minor_of(kind, minor, uuid) == listed.minor
        ]
        if not told_as:
            return listed
        held = told_as[0] if len(told_as) == 1 else reduce(Holding.beside, told_as)
        used, names = held.used_of(listed), tuple(sorted(held.holders.values()))
        return Card(listed.minor, listed.id, listed.health, listed.total, used, names, listed.labels)


def _without_nameless(cards: Sequence[Card], count: int) -> Iterator[Card]:
    """Somebody runs on `count` cards, nobody knows which: so many whole ones are not there to give.

    The last of the empty ones, so that it is the same ones as long as there is a choice; a card that is partly held
    is none of them, since whole cards are what such pods get.
    """
    empty = [card.minor for card in cards if card.health is Health.HEALTHY and not card.held_by]
    taken = frozenset(empty[max(0, len(empty) - count) :])
    for card in cards:
        yield msgspec.structs.replace(card, used=card.total, held_by=(SOMEBODY,)) if card.minor in taken else card


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

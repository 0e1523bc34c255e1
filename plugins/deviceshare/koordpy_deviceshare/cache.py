"""The books: which devices each node has, and which Pod holds what of them.

Kept true by Device objects, by pods with an allocation annotation, and by Reserve. Records are by Pod UID under the
node on which the Pod counts. Running sums answer the scheduler; `recount` adds the records up again.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from koordpy_api.errors import AnnotationError, Problem, QuantityError
from koordpy_api.koordinator import DEVICE_ALLOCATED, GPU_MEMORY, GPU_MEMORY_RATIO, Allocations, current_names
from koordpy_api.objects import Device, DeviceInfo, Pod
from koordpy_api.quantity import value_of
from koordpy_api.resources import Amounts, add, subtract
from koordpy_deviceshare.dialects import read_allocations
from koordpy_deviceshare.model import NO_DEVICES, Card, Health, NodeDevices

Report = Callable[[str, str, Problem], None]
"""Takes kind, name, problem. Source: Handle.report."""

Listed = dict[str, dict[int, Card]]
"""Device type → minor → the device as its Device object lists it. What pods hold is not in it."""


@dataclass(frozen=True, slots=True)
class Holding:
    """What all pods together hold of one device.

    bare_percent, bare_bytes: the part of `amounts` that was written in one form of memory only, as old schedulers and
    people do. It counts in the other form too, on whatever total the card has.
    """

    holders: int = 0
    amounts: Amounts = field(default_factory=dict)
    bare_percent: int = 0
    bare_bytes: int = 0

    def plus(self, amounts: Mapping[str, int]) -> "Holding":
        counted = {name: amount for name, amount in amounts.items() if amount}
        return self._changed(1, add(self.amounts, counted), amounts)

    def minus(self, amounts: Mapping[str, int]) -> "Holding":
        return self._changed(-1, subtract(self.amounts, amounts), amounts)

    def _changed(self, sign: int, total: Amounts, amounts: Mapping[str, int]) -> "Holding":
        percent = 0 if GPU_MEMORY in amounts else amounts.get(GPU_MEMORY_RATIO, 0)
        size = 0 if GPU_MEMORY_RATIO in amounts else amounts.get(GPU_MEMORY, 0)
        return Holding(self.holders + sign, total, self.bare_percent + sign * percent, self.bare_bytes + sign * size)

    def used_of(self, card: Card) -> Amounts:
        """The sums, completed to percent and bytes. Rounding a sum down never says less than its parts rounded down."""
        if not (memory := card.total.get(GPU_MEMORY, 0)):
            return self.amounts
        implied = {GPU_MEMORY: self.bare_percent * memory // 100, GPU_MEMORY_RATIO: self.bare_bytes * 100 // memory}
        return add(self.amounts, {name: amount for name, amount in implied.items() if amount})


Sums = dict[str, dict[int, Holding]]
"""Device type → minor → what is held of it. Without devices that nobody holds."""


@dataclass(frozen=True, slots=True)
class Record:
    """What one Pod holds. Assumed until the API server has shown the Pod bound."""

    devices: Allocations
    assumed: bool


class NodeBook:
    """One node: what its Device lists, who holds what, and what could not be read."""

    def __init__(self) -> None:
        self.listed: Listed = {}
        self.has_device = False
        self.node_exists = True
        self.records: dict[str, Record] = {}
        self.unreadable: dict[str, str] = {}
        self.device_problems: frozenset[Problem] = frozenset()
        self.pod_problems: dict[str, Problem] = {}
        self.sums: Sums = {}
        self._devices: NodeDevices | None = None

    @property
    def devices(self) -> NodeDevices:
        """The node as the allocator sees it; made anew after a change, when first asked for."""
        if self._devices is None:
            self._devices = NodeDevices.of({kind: self._cards(kind) for kind in sorted(self.listed)})
        return self._devices

    @property
    def is_blank(self) -> bool:
        return not (self.has_device or self.node_exists or self.records or self.unreadable)

    def list_devices(self, listed: Listed, *, has_device: bool) -> None:
        """Replace what is listed. A type that was there stays known, with no device; so does a device that is held."""
        self.listed = {kind: {} for kind in self.listed} | listed
        self.has_device = has_device
        for kind, held in self.sums.items():
            self._know(kind, held)
        self._devices = None

    def book(self, uid: str, record: Record) -> None:
        """Hold this for the Pod, instead of whatever it held here."""
        self.release(uid)
        self.records[uid] = record
        for kind, devices in record.devices.items():
            by_minor = self.sums.setdefault(kind, {})
            self._know(kind, (device.minor for device in devices))
            for device in devices:
                by_minor[device.minor] = by_minor.get(device.minor, Holding()).plus(device.resources)
        self._drop_unheld(record)

    def release(self, uid: str) -> None:
        """Undo book. Nothing happens if the Pod holds nothing here."""
        if (record := self.records.pop(uid, None)) is None:
            return
        for kind, devices in record.devices.items():
            for device in devices:
                self.sums[kind][device.minor] = self.sums[kind][device.minor].minus(device.resources)
        self._drop_unheld(record)

    def recount(self) -> Sums:
        """The sums, made anew from the records."""
        fresh = NodeBook()
        for uid, record in self.records.items():
            fresh.book(uid, record)
        return fresh.sums

    def _know(self, kind: str, minors: Iterable[int]) -> None:
        """A device that somebody holds is known, listed or not, until a Device says more."""
        listed = self.listed.setdefault(kind, {})
        for minor in minors:
            listed.setdefault(minor, Card(minor, health=Health.UNLISTED))

    def _drop_unheld(self, record: Record) -> None:
        for kind in record.devices:
            held = {minor: holding for minor, holding in self.sums.get(kind, {}).items() if holding.holders}
            self.sums.pop(kind, None)
            if held:
                self.sums[kind] = held
        self._devices = None

    def _cards(self, kind: str) -> tuple[Card, ...]:
        held = self.sums.get(kind, {})
        return tuple(
            replace(card, used=held[minor].used_of(card), holders=held[minor].holders) if minor in held else card
            for minor, card in self.listed[kind].items()
        )


class DeviceCache:
    """The books of all nodes. Told of Device objects as an ObjectHandler, of pods by the scheduler's face."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._books: dict[str, NodeBook] = {}

    # Device objects

    def added(self, obj: Device) -> None:
        node, book = obj.metadata.name, self._book(obj.metadata.name)
        listed, problems = read_device(obj)
        for problem in problems:
            if problem not in book.device_problems:
                self._report("Device", node, problem)
        book.device_problems = frozenset(problems)
        book.list_devices(listed, has_device=True)

    def updated(self, old: Device, new: Device) -> None:
        self.added(new)

    def deleted(self, obj: Device) -> None:
        """What it listed cannot be given until it is back; who holds what is not forgotten."""
        node = obj.metadata.name
        if (book := self._books.get(node)) is None:
            return
        listed = {
            kind: {
                minor: replace(card, health=Health.UNHEALTHY, total={})
                for minor, card in cards.items()
                if card.health is not Health.UNLISTED
            }
            for kind, cards in book.listed.items()
        }
        book.device_problems = frozenset()
        book.list_devices(listed, has_device=False)
        self._close_if_blank(node)

    # Pods

    def pod_seen(self, node: str, pod: Pod) -> None:
        """Take a bound Pod's own word for what it holds.

        Without a readable word a running container may still use what it was given, so its record stays. A record that
        we only assumed goes: whoever bound this Pod without an annotation did not give it what we meant to.
        """
        try:
            devices = read_allocations(pod.metadata.annotations)
        except AnnotationError as error:
            self._take_unreadable(self._book(node), pod, error.problem)
            return
        record = self._books[node].records.get(pod.uid) if node in self._books else None
        if record is not None and not record.assumed and devices is not None and not _tells_amounts(devices):
            self._take_unreadable(self._book(node), pod, _emptied())
        elif devices is not None:
            book = self._book(node)
            book.unreadable.pop(pod.uid, None)
            book.pod_problems.pop(pod.uid, None)
            book.book(pod.uid, Record(devices, assumed=False))
        elif self.is_assumed(node, pod.uid):
            self._books[node].release(pod.uid)

    def _take_unreadable(self, book: NodeBook, pod: Pod, problem: Problem) -> None:
        if book.pod_problems.get(pod.uid) != problem:
            self._report("Pod", pod.key, problem)
        book.pod_problems[pod.uid] = problem
        if (record := book.records.get(pod.uid)) is None:
            book.unreadable[pod.uid] = pod.key
        else:
            book.records[pod.uid] = replace(record, assumed=False)

    def is_assumed(self, node: str, uid: str) -> bool:
        book = self._books.get(node)
        return book is not None and uid in book.records and book.records[uid].assumed

    def assume(self, node: str, uid: str, devices: Allocations) -> None:
        """Hold this for a Pod that is about to be bound."""
        self._book(node).book(uid, Record(devices, assumed=True))

    def forget(self, node: str, uid: str) -> None:
        """Undo assume. What a bound Pod itself says stays; nothing happens if there is nothing to undo."""
        if self.is_assumed(node, uid):
            self._books[node].release(uid)
            self._close_if_blank(node)

    def pod_gone(self, node: str, uid: str) -> None:
        """The Pod counts here no longer. Nothing happens if it was not known."""
        if (book := self._books.get(node)) is not None:
            book.release(uid)
            book.unreadable.pop(uid, None)
            book.pod_problems.pop(uid, None)
            self._close_if_blank(node)

    # Nodes

    def node_seen(self, node: str, *, exists: bool) -> None:
        """The book of a node that is gone is closed once its Device and its pods are gone too."""
        if (book := self._books.get(node)) is not None:
            book.node_exists = exists
            self._close_if_blank(node)

    # Questions

    def devices_of(self, node: str) -> NodeDevices:
        book = self._books.get(node)
        return NO_DEVICES if book is None else book.devices

    def unreadable_on(self, node: str) -> tuple[str, ...]:
        """Pods (namespace/name) on this node that hold nobody knows what."""
        book = self._books.get(node)
        return () if book is None or not book.unreadable else tuple(book.unreadable.values())

    def sums(self) -> dict[str, Sums]:
        """What is believed to be held, by node."""
        return {node: book.sums for node, book in self._books.items()}

    def recount(self) -> dict[str, Sums]:
        """The same, made anew from the records of the pods."""
        return {node: book.recount() for node, book in self._books.items()}

    def _book(self, node: str) -> NodeBook:
        return self._books.setdefault(node, NodeBook())

    def _close_if_blank(self, node: str) -> None:
        if self._books[node].is_blank:
            del self._books[node]


def _tells_amounts(devices: Allocations) -> bool:
    return any(amount for held in devices.values() for device in held for amount in device.resources.values())


def _emptied() -> Problem:
    """A Pod that runs does not give its card back by saying nothing of it."""
    right = "the Pod still runs, so it keeps what it held before"
    return Problem(f"metadata.annotations[{DEVICE_ALLOCATED}]", "without any amount", right)


def read_device(device: Device) -> tuple[Listed, list[Problem]]:
    """The devices that a Device object lists, and what is wrong with it.

    An entry that does not say which device it means is left out; so are all that claim one minor, since any could be
    it. An entry with an amount that is no quantity stays known and can be given to nobody.
    """
    problems: list[Problem] = []
    claims: dict[tuple[str, int], list[int]] = {}
    for i, info in enumerate(device.spec.devices):
        if info.minor is None or info.minor < 0:
            shown = "" if info.minor is None else str(info.minor)
            problems.append(Problem(f"spec.devices[{i}].minor", shown, "a device needs a minor, 0 or more"))
        else:
            claims.setdefault((info.type, info.minor), []).append(i)
    listed: Listed = {}
    for (kind, minor), places in claims.items():
        if len(places) > 1:
            problems += [_claimed_twice(kind, minor, i) for i in places]
            continue
        card, wrong = _read_card(f"spec.devices[{places[0]}]", minor, device.spec.devices[places[0]])
        listed.setdefault(kind, {})[minor] = card
        problems += wrong
    return listed, problems


def _claimed_twice(kind: str, minor: int, place: int) -> Problem:
    right = f"a minor that no other device of type {kind!r} has; none of them is used until then"
    return Problem(f"spec.devices[{place}].minor", str(minor), right)


def _read_card(path: str, minor: int, info: DeviceInfo) -> tuple[Card, list[Problem]]:
    total: Amounts = {}
    problems: list[Problem] = []
    for name, raw in current_names(info.resources).items():
        try:
            total[name] = value_of(raw)
        except QuantityError as error:
            problems.append(Problem(f"{path}.resources[{name}]", str(raw), str(error)))
            continue
        if total[name] < 0:
            problems.append(Problem(f"{path}.resources[{name}]", str(raw), "an amount is not negative"))
    if problems:
        return Card(minor, info.id, Health.UNREADABLE), problems
    if not info.health:
        return Card(minor, info.id, Health.UNHEALTHY), problems
    return Card(minor, info.id, Health.HEALTHY, total), problems

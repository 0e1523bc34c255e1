"""The books: which devices each node has, and which Pod holds what of them.

Kept true by Device objects, by pods with an allocation annotation, and by Reserve. Records are by Pod UID under the
node on which the Pod counts. Running sums answer the scheduler; `recount` adds the records up again.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from koordpy_api.errors import AnnotationError, Problem
from koordpy_api.koordinator import DEVICE_ALLOCATED, Allocations
from koordpy_api.objects import Device, Pod
from koordpy_deviceshare.dialects import Wish, read_allocations, read_wish, tells_the_same
from koordpy_deviceshare.holdings import Record, Sums
from koordpy_deviceshare.listing import NO_LISTING, Listing, read_device
from koordpy_deviceshare.model import NO_DEVICES, NodeDevices
from koordpy_deviceshare.node_book import NodeBook
from koordpy_deviceshare.request import DeviceRequest, TypeRequest

Report = Callable[[str, str, Problem], None]
"""Takes kind, name, problem. Source: Handle.report."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A node with a Device, for those who only look. model: of its cards."""

    node: str
    model: str
    devices: NodeDevices


class DeviceCache:
    """The books of all nodes. Told of Device objects as an ObjectHandler, of pods by the scheduler's face.

    cards_version: another number after every change of what the cluster's Devices list.
    """

    def __init__(self, report: Report) -> None:
        self._report = report
        self._books: dict[str, NodeBook] = {}
        self._nodes: set[str] = set()
        self._had_device: set[str] = set()
        self.cards_version = 0
        self._touched: set[str] = set()

    def take_touched(self) -> set[str]:
        """The nodes whose books may have changed since somebody asked, which is the one who keeps columns of them."""
        if not self._touched:
            return self._touched
        touched, self._touched = self._touched, set()
        return touched

    # Device objects

    def added(self, obj: Device) -> None:
        node, book = obj.metadata.name, self._book(obj.metadata.name)
        listing, before = read_device(obj), book.listing
        for problem in listing.problems:
            if problem not in before.problems:
                self._report("Device", node, problem)
        self._had_device.add(node)
        if listing.listed != before.listed or not book.has_device:
            self.cards_version += 1
        book.list_devices(listing, has_device=True)

    def updated(self, old: Device, new: Device) -> None:
        self.added(new)

    def deleted(self, obj: Device) -> None:
        """What it listed cannot be given until it is back; who holds what is not forgotten."""
        if (book := self._books.get(obj.metadata.name)) is not None:
            self.cards_version += 1
            book.unlist_devices()
            self._touched.add(obj.metadata.name)
            self._close_if_blank(obj.metadata.name)

    # Pods

    def pod_seen(self, node: str, pod: Pod) -> None:
        """Take a bound Pod's own word for what it holds.

        Without a readable word a running container may still use what it was given, so its record stays. A record that
        we only assumed goes: whoever bound this Pod without an annotation did not give it what we meant to. Cards of a
        vendor, though, the vendor's device plugin gives to whoever asks, and does not say which. An unreadable word
        that is taken away opens the node if the Pod asks for no device; one that asks may use what it told of.
        """
        if self._confirm(node, pod):
            return
        try:
            devices = read_allocations(pod.metadata.annotations)
        except AnnotationError as error:
            self._take_unreadable(self._book(node), pod, error.problem)
            return
        book = self._books.get(node)
        record = None if book is None else book.records.get(pod.uid)
        tells = devices is not None and _tells_amounts(devices)
        if record is not None and not record.assumed:
            if devices is not None and not tells:
                self._take_unreadable(self._book(node), pod, _emptied())
            elif devices is not None:
                self._take_word(node, pod, devices)
        elif tells and devices is not None:
            self._take_word(node, pod, devices)
        elif book is None or pod.uid not in book.unreadable or read_wish(pod) is None:
            self._take_nameless(node, pod, devices)

    def _confirm(self, node: str, pod: Pod) -> bool:
        """Does the Pod say word for word what was to be written on it? Then nothing has to be read or booked again."""
        if (book := self._books.get(node)) is None or (record := book.records.get(pod.uid)) is None:
            return False
        if not record.written or not tells_the_same(record.written, pod.metadata.annotations):
            return False
        if pod.uid in book.unreadable or pod.uid in book.pod_problems or pod.uid in book.nameless:
            return False
        book.records[pod.uid] = Record(record.pod, record.devices, assumed=False)
        return True

    def _take_word(self, node: str, pod: Pod, devices: Allocations) -> None:
        book = self._book(node)
        book.unreadable.pop(pod.uid, None)
        book.pod_problems.pop(pod.uid, None)
        book.count_nameless(pod.uid, 0)
        book.book(pod.uid, Record(pod.key, devices, assumed=False))

    def _take_nameless(self, node: str, pod: Pod, devices: Allocations | None) -> None:
        named = devices is not None and any(devices.values())
        cards = 0 if named else cards_of_a_plugin(pod)
        if devices is not None and named:  # without amounts there is nothing to subtract, but somebody is there
            self._take_word(node, pod, devices)
        elif cards or node in self._books:
            book = self._book(node)
            book.unreadable.pop(pod.uid, None)
            book.pod_problems.pop(pod.uid, None)
            book.release(pod.uid)
            book.count_nameless(pod.uid, cards)
            self._close_if_blank(node)

    def _take_unreadable(self, book: NodeBook, pod: Pod, problem: Problem) -> None:
        if book.pod_problems.get(pod.uid) != problem:
            self._report("Pod", pod.key, problem)
        book.pod_problems[pod.uid] = problem
        book.count_nameless(pod.uid, 0)
        if (record := book.records.get(pod.uid)) is None:
            book.unreadable[pod.uid] = pod.key
        else:
            book.records[pod.uid] = Record(record.pod, record.devices, assumed=False, written=record.written)

    def is_assumed(self, node: str, uid: str) -> bool:
        book = self._books.get(node)
        return book is not None and uid in book.records and book.records[uid].assumed

    def assume(self, node: str, pod: Pod, devices: Allocations) -> None:
        """Hold this for a Pod that is about to be bound."""
        self._book(node).book(pod.uid, Record(pod.key, devices, assumed=True))

    def forget(self, node: str, uid: str) -> None:
        """Undo assume. What a bound Pod itself says stays; nothing happens if there is nothing to undo."""
        if self.is_assumed(node, uid):
            self._book(node).release(uid)
            self._close_if_blank(node)

    def writes(self, node: str, uid: str, annotations: Mapping[str, str]) -> None:
        """What a Binding is about to write on a Pod for which something is assumed."""
        if (book := self._books.get(node)) is not None and (record := book.records.get(uid)) and record.assumed:
            book.records[uid] = Record(record.pod, record.devices, assumed=True, written=annotations)

    def pod_gone(self, node: str, uid: str) -> None:
        """The Pod counts here no longer. Nothing happens if it was not known."""
        if (book := self._books.get(node)) is not None:
            self._touched.add(node)
            book.release(uid)
            book.count_nameless(uid, 0)
            book.unreadable.pop(uid, None)
            book.pod_problems.pop(uid, None)
            self._close_if_blank(node)

    # Nodes

    def node_seen(self, node: str, *, exists: bool) -> None:
        """The book of a node that is gone is closed once its Device and its pods are gone too."""
        if exists:
            self._nodes.add(node)
        else:
            self._nodes.discard(node)
        if (book := self._books.get(node)) is not None:
            book.node_exists = exists
            self._close_if_blank(node)

    # Questions

    def devices_of(self, node: str, leaving: frozenset[str] = frozenset()) -> NodeDevices:
        """leaving: UIDs of pods that are thought away."""
        if (book := self._books.get(node)) is None:
            return NO_DEVICES
        return book.without(leaving) if leaving else book.devices

    def has_device(self, node: str) -> bool:
        """Has somebody said, in this run, which devices the node has?"""
        return node in self._had_device

    def listing_of(self, node: str) -> Listing:
        """What the node's Device says, or said last."""
        return NO_LISTING if (book := self._books.get(node)) is None else book.listing

    def unreadable_on(self, node: str, leaving: frozenset[str] = frozenset()) -> tuple[str, ...]:
        """Pods (namespace/name) on this node that hold nobody knows what."""
        book = self._books.get(node)
        if book is None or not book.unreadable:
            return ()
        return tuple(pod for uid, pod in book.unreadable.items() if uid not in leaving)

    def is_plain(self, node: str) -> bool:
        """Has this node never had a Device in this run, and carries no Pod on it our annotation?"""
        book = self._books.get(node)
        return node not in self._had_device and (book is None or not (book.records or book.unreadable))

    def shown(self) -> list[Shown]:
        """All nodes that exist and have a Device, as they are now. Nobody changes what is handed out."""
        return [
            Shown(node, book.listing.model, book.devices)
            for node, book in self._books.items()
            if book.has_device and node in self._nodes
        ]

    def knows(self, node: str, uid: str) -> bool:
        """Does the Pod hold something of this node, be it that nobody knows what?"""
        book = self._books.get(node)
        return book is not None and (uid in book.records or uid in book.nameless or uid in book.unreadable)

    def sums(self) -> dict[str, Sums]:
        """What is believed to be held, by node."""
        return {node: book.sums for node, book in self._books.items()}

    @property
    def books(self) -> Mapping[str, NodeBook]:
        """By node; for reading."""
        return self._books

    def recount(self) -> dict[str, Sums]:
        """The same, made anew from the records of the pods."""
        return {node: book.recount() for node, book in self._books.items()}

    def _book(self, node: str) -> NodeBook:
        """For writing."""
        self._touched.add(node)
        if (book := self._books.get(node)) is None:
            book = self._books[node] = NodeBook()
        return book

    def _close_if_blank(self, node: str) -> None:
        if self._books[node].is_blank:
            del self._books[node]
            self._touched.add(node)


def _tells_amounts(devices: Allocations) -> bool:
    return any(amount for held in devices.values() for device in held for amount in device.resources.values())


def cards_of_a_plugin(pod: Pod) -> int:
    """How many cards does a vendor's device plugin give this Pod, whoever bound it?"""
    match read_wish(pod):
        case Wish(request=DeviceRequest(vendor_cards=str() as name, gpus=TypeRequest(count=count))) if name:
            return count
        case _:
            return 0


def _emptied() -> Problem:
    """A Pod that runs does not give its card back by saying nothing of it."""
    right = "the Pod still runs, so it keeps what it held before"
    return Problem(f"metadata.annotations[{DEVICE_ALLOCATED}]", "without any amount", right)

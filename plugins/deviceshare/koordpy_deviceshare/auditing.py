"""What cannot be right in the books of all nodes, whoever wrote it; and where the books differ from the objects."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from koordpy_api.errors import AnnotationError, Finding, Problem
from koordpy_api.koordinator import DEVICE_ALLOCATED, Allocations
from koordpy_api.objects import Device, KubeObject, Pod
from koordpy_deviceshare.cache import DeviceCache
from koordpy_deviceshare.dialects import read_allocations
from koordpy_deviceshare.listing import read_device
from koordpy_deviceshare.model import GPU_TYPE, Card, Health
from koordpy_deviceshare.node_book import SOMEBODY, NodeBook

ANNOTATION: Final = f"metadata.annotations[{DEVICE_ALLOCATED}]"


def audit(cache: DeviceCache) -> Iterator[Finding]:
    """Devices and annotations that cannot be read, minors that no Device lists, cards that are given away twice."""
    for node, book in sorted(cache.books.items()):
        yield from (Finding("Device", node, problem) for problem in book.listing.problems)
        for uid, problem in book.pod_problems.items():
            record = book.records.get(uid)
            yield Finding("Pod", record.pod if record else book.unreadable.get(uid, uid), problem)
        yield from _told_wrongly(node, book)
        for kind, devices in book.devices.by_type.items():
            for card in devices.cards:
                yield from _given_twice(node, kind, card)
        yield from _too_many_nameless(node, book)


def _told_wrongly(node: str, book: NodeBook) -> Iterator[Finding]:
    """A Pod holds what is not there: by a wrong hand, by another scheduler, or since the card went."""
    listed = {kind: set(cards) for kind, cards in book.listing.listed.items()}
    for record in book.records.values():
        for kind, devices in record.devices.items():
            for device in devices:
                if (now := book.minor_of(kind, device.minor, device.id)) is None:
                    told = f"{kind} {device.minor} {device.id}"
                    right = f"the Device of {node} has another card there now; the Pod runs without its card"
                    yield Finding("Pod", record.pod, Problem(ANNOTATION, told, right))
                elif now not in listed.get(kind, ()):
                    why = f"the Device of {node} lists no such minor" if book.has_device else f"{node} has no Device"
                    yield Finding("Pod", record.pod, Problem(ANNOTATION, f"{kind} {device.minor}", why))


def _given_twice(node: str, kind: str, card: Card) -> Iterator[Finding]:
    if card.health is not Health.HEALTHY or card.held_by == (SOMEBODY,):
        return
    for name, used in sorted(card.used.items()):
        if used > (has := card.total.get(name, 0)):
            right = f"no more than {has}; held by {', '.join(card.held_by)}"
            yield Finding("Device", node, Problem(f"{kind} {card.minor} {name}", str(used), right))


def _too_many_nameless(node: str, book: NodeBook) -> Iterator[Finding]:
    wanted = sum(book.nameless.values())
    room = sum(card.held_by == (SOMEBODY,) for card in book.devices.type(GPU_TYPE).cards)
    if wanted > room and book.has_device:
        right = f"no more than {room}, which nobody else holds; they do not say which cards they have"
        yield Finding("Device", node, Problem("cards of pods without our annotation", str(wanted), right))


def recount(cache: DeviceCache, objects: Sequence[KubeObject], assumed: frozenset[str]) -> Iterator[str]:
    """Running sums against records, records against annotations, listings against Devices."""
    sums, again = cache.sums(), cache.recount()
    yield from (f"node {node}: the sums are not those of its records" for node in sums if sums[node] != again[node])
    pods = {obj.uid: obj for obj in objects if isinstance(obj, Pod)}
    devices = {obj.metadata.name: obj for obj in objects if isinstance(obj, Device)}
    for node, book in cache.books.items():
        yield from _of_node(node, book, pods, assumed)
        if book.has_device != (node in devices):
            yield f"node {node}: its Device is {'gone' if book.has_device else 'not known'}"
        elif book.has_device and book.listing != read_device(devices[node]):
            yield f"node {node}: what its Device lists is not what is believed"
    yield from (f"node {node}: its Device is not known" for node in devices if node not in cache.books)
    for pod in pods.values():
        told = _told(pod)
        if told and pod.uid not in _records(cache, pod.spec.node_name):
            yield f"pod {pod.key}: what it holds on {pod.spec.node_name} is not booked"


def _of_node(node: str, book: NodeBook, pods: Mapping[str, Pod], assumed: frozenset[str]) -> Iterator[str]:
    for uid in book.nameless.keys() | book.unreadable.keys() | book.pod_problems.keys():
        if uid not in pods or pods[uid].spec.node_name != node:
            yield f"node {node}: pod {uid}, which is not there, is remembered"
    for uid, record in book.records.items():
        pod = pods.get(uid)
        if record.assumed:
            if pod is not None:
                yield f"pod {record.pod}: it is bound, and its booking on {node} is still an assumption"
            elif uid not in assumed:
                yield f"pod {record.pod}: nothing is held for it any more, but its booking on {node}"
        elif pod is None or pod.spec.node_name != node:
            yield f"pod {record.pod}: it is not on {node}, and still booked there"
        elif (told := _told(pod)) and told != record.devices:
            yield f"pod {record.pod}: its booking on {node} is not what its annotation says"


def _told(pod: Pod) -> Allocations | None:
    """What its annotation gives it, if that can be counted; else it keeps what it had."""
    try:
        devices = read_allocations(pod.metadata.annotations)
    except AnnotationError:
        return None
    counted = any(amount for held in (devices or {}).values() for each in held for amount in each.resources.values())
    return devices if counted else None


def _records(cache: DeviceCache, node: str) -> Mapping[str, object]:
    return cache.books[node].records if node in cache.books else {}

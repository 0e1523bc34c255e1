"""The dialects in which pods ask for devices and remember what they got, one module each.

Lives here: what a dialect is, and the questions that are put to all of them.
May touch: the Pod it is handed. Never: nodes, books, cards.
"""

from collections.abc import Hashable, Iterator, Mapping
from typing import Final, Protocol

import msgspec

from koordpy_api.errors import AnnotationError, Problem
from koordpy_api.koordinator import GPU_ISOLATION_PROVIDER, AllocatedDevice, Allocations
from koordpy_api.objects import Container, Pod
from koordpy_api.status import Status
from koordpy_deviceshare.dialects import koordinator
from koordpy_deviceshare.hints import HINTS
from koordpy_deviceshare.model import Allocation
from koordpy_deviceshare.request import DeviceRequest


class Dialect(Protocol):
    """What a module of this package offers."""

    @property
    def NAMES(self) -> frozenset[str]:  # noqa: N802 - a constant of the module
        """The resource names it claims."""
        ...

    @property
    def ANNOTATIONS(self) -> tuple[str, ...]:  # noqa: N802 - a constant of the module
        """The annotations that `to_annotations` writes and `from_annotations` reads."""
        ...

    @property
    def HOLDS_NOTHING(self) -> Mapping[str, str]:  # noqa: N802 - a constant of the module
        """All annotations that are written with a Pod that gets devices, as they read on one that gets none."""
        ...

    def read(self, pod: Pod) -> DeviceRequest | Status | None:
        """What the Pod asks in this dialect; None if it speaks another, a refusal if it cannot be granted anywhere."""
        ...

    def to_annotations(self, allocation: Allocation) -> Mapping[str, str]: ...

    def from_annotations(self, annotations: Mapping[str, str]) -> Allocations | None:
        """What the Pod holds; None if it does not say. Raises: AnnotationError if that cannot be read."""
        ...


_MOST_WISHES: Final = 4096
_JSON: Final = msgspec.json.Encoder()

DIALECTS: Final[tuple[Dialect, ...]] = (koordinator,)
RESOURCES: Final = frozenset[str]().union(*(dialect.NAMES for dialect in DIALECTS))
"""Every resource name that some dialect claims."""


class Wish(msgspec.Struct, frozen=True):
    """A request and the dialect it was made in, in which the answer is written too."""

    dialect: Dialect
    request: DeviceRequest


def read_wish(pod: Pod) -> Wish | Status | None:
    """What the Pod asks, in the first dialect that it speaks; None if it asks for no device."""
    for dialect in DIALECTS:
        if (read := dialect.read(pod)) is not None:
            return read if isinstance(read, Status) else Wish(dialect, read)
    return None


class Wishes:
    """read_wish, which reads a request once that many pods make, as a Deployment's do."""

    def __init__(self) -> None:
        self._known: dict[Hashable, Wish | Status | None] = {}

    def of(self, pod: Pod) -> Wish | Status | None:
        if (likeness := _likeness(pod)) is None:
            return read_wish(pod)
        if likeness not in self._known:
            if len(self._known) >= _MOST_WISHES:
                self._known.clear()
            self._known[likeness] = read_wish(pod)
        return self._known[likeness]


def _likeness(pod: Pod) -> Hashable | None:
    """All that a wish is read from. None for what few pods have: init containers, overhead, hints."""
    spec, encode = pod.spec, _JSON.encode
    if spec.init_containers or spec.overhead or not HINTS.isdisjoint(pod.metadata.annotations):
        return None
    asked = [(each.name, encode(each.resources)) for each in spec.containers]
    return pod.metadata.labels.get(GPU_ISOLATION_PROVIDER), encode(spec.resources), *asked


def check_pod(pod: Pod) -> list[Problem]:
    """What is wrong with a Pod as a person wrote it, in the words in which PreFilter refuses it."""
    problems: list[Problem] = []
    if isinstance(refusal := read_wish(pod), Status):
        problems.append(Problem(_place_of_request(pod), "", refusal.message))
    if pod.spec.node_name:  # what an unbound Pod says it holds, nobody trusts
        try:
            read_allocations(pod.metadata.annotations)
        except AnnotationError as error:
            problems.append(error.problem)
    return problems


def _place_of_request(pod: Pod) -> str:
    """Where the device resources stand, if that is one place; sums over containers are nobody's in particular."""
    places = [
        place
        for place, container in _places(pod)
        if not RESOURCES.isdisjoint(container.resources.requests.keys() | container.resources.limits.keys())
    ]
    return places[0] if len(places) == 1 else "spec.containers"


def _places(pod: Pod) -> Iterator[tuple[str, Container]]:
    for key, containers in (("initContainers", pod.spec.init_containers), ("containers", pod.spec.containers)):
        for index, container in enumerate(containers):
            yield f"spec.{key}[{index}].resources", container


def read_allocations(annotations: Mapping[str, str]) -> Allocations | None:
    """What the Pod holds by all its annotations; None if none says. Raises: AnnotationError if one cannot be read."""
    held = [allocations for dialect in DIALECTS if (allocations := dialect.from_annotations(annotations)) is not None]
    if not held:
        return None
    merged: dict[str, tuple[AllocatedDevice, ...]] = {}
    for allocations in held:
        for device_type, devices in allocations.items():
            merged[device_type] = (*merged.get(device_type, ()), *devices)
    return merged


def disown(annotations: Mapping[str, str]) -> dict[str, str]:
    """What to write over annotations that tell of devices which the Pod does not hold: copied, or of an earlier try."""
    return {
        key: nothing
        for dialect in DIALECTS
        for key, nothing in dialect.HOLDS_NOTHING.items()
        if annotations.get(key, nothing) != nothing
    }


def says_something(annotations: Mapping[str, str]) -> bool:
    """Is there a word about devices that is read, and that is not plainly none?"""
    return any(
        annotations.get(key, nothing := dialect.HOLDS_NOTHING[key]) != nothing
        for dialect in DIALECTS
        for key in dialect.ANNOTATIONS
    )


def tells_the_same(old: Mapping[str, str], new: Mapping[str, str]) -> bool:
    """Do both sets of annotations carry the same text about devices?"""
    return all(old.get(key) == new.get(key) for dialect in DIALECTS for key in dialect.ANNOTATIONS)

"""What the API server says of pods and Events while somebody works, the same for everybody."""

import asyncio
import time
from bisect import bisect_left
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeVar

import aiohttp
import msgspec

from tests.perf.plan import EVENTS, PODS
from tests.perf.procfs import Meter, Reading

POLL_S: Final = 0.05
QUIET_S: Final = 10.0
"""No further Event for so long: no more will come."""
SURE_S: Final = 1.0
"""All Events that had to come are there, and no further one for so long."""
PAGE: Final = 5000
T = TypeVar("T")


class WrongResult(Exception):
    """A run that may not be counted."""


class _Meta(msgspec.Struct, rename={"resource_version": "resourceVersion", "remaining": "remainingItemCount"}):
    resource_version: str = ""
    remaining: int = 0
    token: str = msgspec.field(name="continue", default="")


class _Named(msgspec.Struct, rename="camel"):
    name: str
    resource_version: str


class _Spec(msgspec.Struct, rename="camel"):
    node_name: str = ""


class _Pod(msgspec.Struct):
    metadata: _Named
    spec: _Spec = msgspec.field(default_factory=_Spec)


class _Change(msgspec.Struct):
    type: str
    object: _Pod


class _Head(msgspec.Struct):
    metadata: _Meta
    items: list[msgspec.Raw]


class _Regarding(msgspec.Struct):
    name: str = ""


class _Event(msgspec.Struct):
    metadata: _Named
    reason: str = ""
    regarding: _Regarding = msgspec.field(default_factory=_Regarding)


class _Events(msgspec.Struct):
    metadata: _Meta
    items: list[_Event]


_CHANGE: Final = msgspec.json.Decoder(_Change)


@dataclass(slots=True)
class PodWatch:
    """A watch on all pods of the bench.

    meter: given once the contestant is started; it is read at the first change of a pod that was there before.
    came, bound: pod → when that was seen. revisions, moments: which version of the cluster was seen when, ascending.
    """

    session: aiohttp.ClientSession
    meter: Meter | None = None
    first: Reading | None = None
    came: dict[str, float] = field(default_factory=dict)
    bound: dict[str, float] = field(default_factory=dict)
    revisions: list[int] = field(default_factory=list)
    moments: list[float] = field(default_factory=list)
    opened: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def last_bind_at(self) -> float:
        return max(self.bound.values())

    async def run(self) -> None:
        """Until it is cancelled. *Raises* WrongResult."""
        version = (await _read(self.session, PODS, {"limit": "1"}, _Head)).metadata.resource_version
        while True:
            # The API server ends a watch that does not keep up for some milliseconds: go on from where it was.
            async for change in self._changes(version):
                version = change.object.metadata.resource_version
                self._see(change, int(version))
            await asyncio.sleep(POLL_S)

    def _see(self, change: _Change, revision: int) -> None:
        at, name = time.monotonic(), change.object.metadata.name
        self.revisions.append(revision)
        self.moments.append(at)
        if change.type == "ADDED":
            self.came[name] = at
            return
        if self.first is None and self.meter is not None:
            self.first = self.meter.read()
        if change.object.spec.node_name:
            self.bound.setdefault(name, at)

    async def _changes(self, version: str) -> AsyncIterator[_Change]:
        query = {"watch": "1", "resourceVersion": version, "timeoutSeconds": "7200"}
        forever = aiohttp.ClientTimeout(total=None)
        async with self.session.get(PODS, params=query, timeout=forever, raise_for_status=True) as answer:
            self.opened.set()
            async for line in _lines(answer.content):
                change = _CHANGE.decode(line)
                if change.type not in ("ADDED", "MODIFIED"):
                    raise WrongResult(f"the watch on pods says {line[:300]!r}")
                yield change

    def seen_at(self, revision: int) -> float:
        """When the first version was seen that is not older. *Raises* IndexError if none was."""
        return self.moments[bisect_left(self.revisions, revision)]


async def stored_events(session: aiohttp.ClientSession) -> tuple[int, int]:
    """How many Events the API server holds of the bench's pods, and as of which version of the cluster."""
    head = await _read(session, EVENTS, {"limit": "1"}, _Head)
    return len(head.items) + head.metadata.remaining, int(head.metadata.resource_version)


async def last_event(session: aiohttp.ClientSession, watch: PodWatch, meter: Meter, count: int) -> tuple[int, Reading]:
    """Wait for count Events, and any further ones that come at once; or until no more come.

    The watch also learns which version it is by now, as no pod may change any more. *Returns* how many there are, and
    the counters when the last was seen.
    """
    stored, reading = 0, meter.read()
    while time.monotonic() - reading.at < (SURE_S if stored >= count else QUIET_S):
        (now, revision), at = await stored_events(session), time.monotonic()
        if not watch.revisions or revision > watch.revisions[-1]:
            watch.revisions.append(revision)
            watch.moments.append(at)
        if now > stored:
            stored, reading = now, meter.read()
        await asyncio.sleep(POLL_S)
    return stored, reading


async def event_revisions(session: aiohttp.ClientSession, reason: str) -> Mapping[str, int]:
    """Pod → the version of the cluster in which an Event of this reason was stored, the first one of it."""
    found: dict[str, int] = {}
    token = ""
    while True:
        query = {"limit": str(PAGE)} | ({"continue": token} if token else {})
        page = await _read(session, EVENTS, query, _Events)
        for event in page.items:
            if event.reason == reason:
                revision = int(event.metadata.resource_version)
                found[event.regarding.name] = min(revision, found.get(event.regarding.name, revision))
        token = page.metadata.token
        if not token:
            return found


async def _read(session: aiohttp.ClientSession, path: str, query: Mapping[str, str], shape: type[T]) -> T:
    async with session.get(path, params=query, raise_for_status=True) as answer:
        return msgspec.json.decode(await answer.read(), type=shape)


async def _lines(content: aiohttp.StreamReader) -> AsyncIterator[bytes]:
    rest = b""
    async for chunk in content.iter_any():
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield line

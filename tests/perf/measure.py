"""How a run is seen from outside, by the same code for both schedulers: a watch on pods, and /proc."""

import asyncio
import contextlib
import os
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

import aiohttp
import msgspec

from koordpy_api.resources import PODS, parse_amounts
from tests.perf.workload import NAMESPACE

POLL_S: Final = 0.05
QUIET_S: Final = 10.0
"""No further Event for so long: no more will come."""
TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")
PROC: Final = Path("/proc")
T = TypeVar("T")
PODS_PATH: Final = f"/api/v1/namespaces/{NAMESPACE}/pods"


class WrongResult(Exception):
    """A run that may not be counted."""


# -- /proc -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Reading:
    """The counters at one moment: at on time.monotonic's scale, the rest in CPU seconds since their start.

    others: all CPU seconds that this machine gave to anybody else, or its host took away.
    capacity: all that there were, idle ones included.
    """

    at: float
    scheduler: float
    api_server: float
    etcd: float
    bench: float
    others: float
    capacity: float


@dataclass(frozen=True, slots=True)
class Meter:
    """Knows whose counters to read. scheduler: 0 before it is started."""

    servers: Mapping[str, int]
    scheduler: int = 0

    def read(self) -> Reading:
        at = time.monotonic()
        busy, capacity = _machine_s()
        scheduler = cpu_s(self.scheduler) if self.scheduler else 0.0
        api_server, etcd = (cpu_s(self.servers[name]) for name in ("kube-apiserver", "etcd"))
        bench = time.process_time()
        others = busy - scheduler - api_server - etcd - bench
        return Reading(at, scheduler, api_server, etcd, bench, others, capacity)


def cpu_s(pid: int) -> float:
    """User and system time of a process, of its children, and of those of them that have ended."""
    ticks = 0
    for each in _tree(pid):
        fields = (PROC / str(each) / "stat").read_text().rpartition(")")[2].split()
        ticks += sum(int(fields[index]) for index in (11, 12, 13, 14))
    return ticks / TICKS_PER_S


def peak_memory_bytes(pid: int) -> int:
    """The most that a process, and each of its children, ever had in memory."""
    peak = 0
    for each in _tree(pid):
        lines = (PROC / str(each) / "status").read_text().splitlines()
        peak += next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))
    return peak


def _tree(pid: int) -> list[int]:
    children: list[int] = []
    for thread in (PROC / str(pid) / "task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # a thread may end at any time
            children += map(int, (thread / "children").read_text().split())
    return [pid, *(each for child in children for each in _tree(child))]


def _machine_s() -> tuple[float, float]:
    """CPU seconds that this machine's cores were busy, or taken by its host; and all there were."""
    with (PROC / "stat").open() as stat:
        user, nice, system, idle, waiting, *interrupts_and_steal = map(int, stat.readline().split()[1:9])
    busy = user + nice + system + sum(interrupts_and_steal)
    return busy / TICKS_PER_S, (busy + idle + waiting) / TICKS_PER_S


# -- the API server ----------------------------------------------------------------------------------------------------


class _Meta(msgspec.Struct, rename="camel"):
    name: str = ""
    resource_version: str = ""
    remaining_item_count: int = 0


class _Container(msgspec.Struct):
    resources: dict[str, dict[str, str]] = {}


class _Spec(msgspec.Struct, rename="camel"):
    node_name: str = ""
    containers: list[_Container] = []


class _Status(msgspec.Struct):
    allocatable: dict[str, str] = {}


class _Object(msgspec.Struct):
    metadata: _Meta
    spec: _Spec = msgspec.field(default_factory=_Spec)
    status: _Status = msgspec.field(default_factory=_Status)


class _List(msgspec.Struct):
    metadata: _Meta
    items: list[_Object]


class _Head(msgspec.Struct):
    metadata: _Meta
    items: list[msgspec.Raw]


class _Named(msgspec.Struct):
    """Of a pod in the watch only its metadata: that it comes at all says that it is bound."""

    metadata: _Meta


class _Change(msgspec.Struct):
    type: str
    object: _Named


@dataclass(frozen=True, slots=True)
class Binds:
    """The counters when the first bind was seen, and when the last."""

    first: Reading
    last: Reading


class BindWatch:
    """A watch on bound pods. `progress` counts those seen so far."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self.opened = asyncio.Event()
        self.progress = 0
        self._session = session

    async def run(self, meter: "asyncio.Future[Meter]", count: int) -> Binds:
        """Until count pods were seen bound; meter is known once the scheduler is started. *Raises* WrongResult."""
        head = await _head(self._session, PODS_PATH)
        version = head.metadata.resource_version
        seen: set[str] = set()
        first: Reading | None = None
        while True:
            # The API server ends a watch that does not keep up for some milliseconds: go on from where it was.
            async for change in self._changes(version):
                first = first or (await meter).read()
                version = change.metadata.resource_version
                seen.add(change.metadata.name)
                self.progress = len(seen)
                if self.progress == count:
                    return Binds(first, (await meter).read())
            await asyncio.sleep(POLL_S)

    async def _changes(self, version: str) -> AsyncIterator[_Named]:
        query = {"fieldSelector": "spec.nodeName!=", "watch": "1", "resourceVersion": version, "timeoutSeconds": "7200"}
        forever = aiohttp.ClientTimeout(total=None)
        async with self._session.get(PODS_PATH, params=query, timeout=forever, raise_for_status=True) as answer:
            self.opened.set()
            async for line in _lines(answer.content):
                change = msgspec.json.decode(line, type=_Change)
                if change.type not in ("ADDED", "MODIFIED"):
                    raise WrongResult(f"the watch on pods says {line[:300]!r}")
                yield change.object


async def stored_events(session: aiohttp.ClientSession) -> int:
    """How many Events the API server holds of the bench's pods."""
    head = await _head(session, f"/apis/events.k8s.io/v1/namespaces/{NAMESPACE}/events")
    return len(head.items) + head.metadata.remaining_item_count


async def last_event(session: aiohttp.ClientSession, meter: Meter, count: int) -> tuple[int, Reading]:
    """Wait for count Events, or until no more come: how many there are, and the counters when the last was seen."""
    stored, reading = await stored_events(session), meter.read()
    while stored < count and time.monotonic() - reading.at < QUIET_S:
        await asyncio.sleep(POLL_S)
        if (now := await stored_events(session)) > stored:
            stored, reading = now, meter.read()
    return stored, reading


async def verify(session: aiohttp.ClientSession, count: int) -> None:
    """*Raises* WrongResult unless all pods are bound, to nodes that exist and have room for all that they got."""
    pods = await _read(session, PODS_PATH, {}, _List)
    nodes = await _read(session, "/api/v1/nodes", {}, _List)
    room = {node.metadata.name: parse_amounts(node.status.allocatable) for node in nodes.items}
    used: dict[str, dict[str, int]] = {name: defaultdict(int) for name in room}
    for pod in pods.items:
        if pod.spec.node_name not in room:
            raise WrongResult(f"pod {pod.metadata.name} is bound to {pod.spec.node_name or 'no node'}")
        book = used[pod.spec.node_name]
        book[PODS] += 1
        for container in pod.spec.containers:
            for resource, amount in parse_amounts(container.resources["requests"]).items():
                book[resource] += amount
    for name, book in used.items():
        if over := [resource for resource, amount in book.items() if amount > room[name].get(resource, 0)]:
            raise WrongResult(f"node {name} is over its {', '.join(over)}")
    if len(pods.items) != count:
        raise WrongResult(f"there are {len(pods.items)} pods, there were {count}")


async def _head(session: aiohttp.ClientSession, path: str) -> _Head:
    return await _read(session, path, {"limit": "1"}, _Head)


async def _read(session: aiohttp.ClientSession, path: str, query: Mapping[str, str], shape: type[T]) -> T:
    async with session.get(path, params=query, raise_for_status=True) as answer:
        return msgspec.json.decode(await answer.read(), type=shape)


async def _lines(content: aiohttp.StreamReader) -> AsyncIterator[bytes]:
    rest = b""
    async for chunk in content.iter_any():
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield line

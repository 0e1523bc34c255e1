"""Faults: what goes wrong between a client and the embedded cluster, on purpose.

Every request, in process and over HTTP, goes through one gate:

    stored = await faults.perform("get", "pods", "p", lambda: store.get(Pod.KIND, "default", "p"))
    stored = await faults.perform("create", "events", subject(body), lambda: store.create(EVENT, "default", body))
    watch = await faults.open_watch("pods", lambda: store.watch(Pod.KIND, version, selection))

and raises Unreachable where the connection breaks: over HTTP, abort it without an answer. A request is written as
koordpy.scenario.recording.Request prints it ("bind pods p", "patch pods/status p", "watch pods", "create events p": an
Event goes by the object it speaks of); a Fault is for all that begin with its words, and the first that fits is used.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

from koordpy.cluster.embedded.refusals import refused
from koordpy.cluster.embedded.watchlog import Watch
from koordpy.errors import Unreachable

T = TypeVar("T")
Answer = Literal["", "dropped", "lost", "half-closed"] | int


@dataclass(frozen=True, slots=True)
class Fault:
    """What some requests meet. times: how many; None: all that come.

    answer: "" carries the request out; an HTTP code refuses it; "dropped" does not carry it out and breaks the
    connection; "lost" carries it out and breaks the connection before the answer. Each comes `delay_s` late.

    Of watches: "" with a delay makes all that are open, and the next `times`, tell of each change so much later;
    "dropped" breaks the open ones, "half-closed" makes them say nothing more and never end; if none is open, both are
    for the next `times`.
    """

    request: str
    answer: Answer = ""
    delay_s: float = 0.0
    times: int | None = 1
    retry_after_s: float | None = None

    def speaks_of(self, verb: str, resource: str, name: str = "") -> bool:
        words = self.request.split()
        return words == [verb, resource, name][: len(words)]


class Faults:
    """See the module."""

    def __init__(self) -> None:
        self._waiting: list[Fault] = []
        self._open: dict[Watch, str] = {}

    def add(self, fault: Fault) -> None:
        hit = [watch for watch, resource in self._watches() if fault.request and fault.speaks_of("watch", resource)]
        if fault.answer in ("", "dropped", "half-closed"):
            for watch in hit:
                _strike(watch, fault)
        if not (hit and fault.answer in ("dropped", "half-closed")):
            self._waiting.append(fault)

    def clear(self) -> None:
        """Nothing goes wrong any more, and no watch is late; those that were silenced stay so."""
        self._waiting.clear()
        for watch, _ in self._watches():
            watch.lag_s = 0.0

    async def perform(self, verb: str, resource: str, name: str, act: Callable[[], T]) -> T:
        """Raises: what `act` raises; Unreachable; the ApiError of a fault."""
        fault = self._next(verb, resource, name)
        await asyncio.sleep(fault.delay_s if fault else 0)
        if fault is None or fault.answer == "":
            return act()
        if isinstance(fault.answer, int):
            raise refused(fault.answer, "a fault says so", retry_after_s=fault.retry_after_s)
        if fault.answer == "lost":
            act()
        raise Unreachable(f"{verb} {resource}: the connection broke before the answer")

    async def open_watch(self, resource: str, open_: Callable[[], Watch]) -> Watch:
        """Raises: as `perform`."""
        fault = self._next("watch", resource, "")
        await asyncio.sleep(0)
        if fault is not None and isinstance(fault.answer, int):
            raise refused(fault.answer, "a fault says so", retry_after_s=fault.retry_after_s)
        watch = open_()
        self._open = dict(self._watches()) | {watch: resource}
        if fault is not None:
            _strike(watch, fault)
        return watch

    def _watches(self) -> list[tuple[Watch, str]]:
        return [(watch, resource) for watch, resource in self._open.items() if watch.is_open]

    def _next(self, verb: str, resource: str, name: str) -> Fault | None:
        for index, fault in enumerate(self._waiting):
            if fault.speaks_of(verb, resource, name) and (verb == "watch" or fault.answer != "half-closed"):
                if fault.times is not None:
                    left = replace(fault, times=fault.times - 1)
                    self._waiting[index : index + 1] = [left] if fault.times > 1 else []
                return fault
        return None


def subject(body: Mapping[str, Any]) -> str:
    """The name that a create goes by: of an Event, that of the object it speaks of."""
    head = body.get("regarding") or body.get("involvedObject") or body.get("metadata")
    return str(head.get("name", "")) if isinstance(head, Mapping) else ""


def _strike(watch: Watch, fault: Fault) -> None:
    if fault.answer == "half-closed":
        watch.leave("silent")
    elif fault.answer:
        watch.leave("broken")
    else:
        watch.lag_s = fault.delay_s

"""What happened to the objects of one kind, in order: for watches that begin in the past, and lists of the past."""

import asyncio
from bisect import bisect_right
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import msgspec

from koordpy.clock import Clock
from koordpy.cluster.embedded.selectors import Wanted
from koordpy.cluster.protocol import EventType
from koordpy.errors import Expired, Unreachable

Document = dict[str, Any]

BOOKMARK_S: Final = 60.0
LAST_BOOKMARK_S: Final = 2.0  # how long before its end a watch says once more how far it has come
_EARLY_S: Final = 1e-6  # so much before its time a timer may ring; set for that moment again, it would ring again


class Stored:
    """One version of one object. Nobody changes `document` once it is here. raw: its JSON, encoded when first asked.

    twin: the same Event in its other version, once somebody asked for it.
    """

    __slots__ = ("_raw", "document", "twin", "version")

    def __init__(self, document: Document, version: int) -> None:
        self.document = document
        self.version = version
        self.twin: Stored | None = None
        self._raw: msgspec.Raw | None = None

    @property
    def raw(self) -> msgspec.Raw:
        if self._raw is None:
            self._raw = msgspec.Raw(msgspec.json.encode(self.document))
        return self._raw

    def at_version(self, version: int) -> "Stored":
        """The same object as of its removal, from the store or from a selection."""
        meta = {**self.document["metadata"], "resourceVersion": str(version)}
        return Stored({**self.document, "metadata": meta}, version)


@dataclass(frozen=True, slots=True)
class Change:
    """A line of a watch. A BOOKMARK's object carries only a resourceVersion."""

    type: EventType
    object: Stored


@dataclass(frozen=True, slots=True)
class Entry:
    """One write, at `time_s`. new: what it left, or what it removed, as of then."""

    version: int
    key: str
    old: Stored | None
    new: Stored
    is_removal: bool
    time_s: float


class WatchLog:
    """The last writes of one kind, at least `history` of them. oldest: what is no newer is forgotten.

    watches: those to be woken by a write.
    """

    def __init__(self, oldest: int, history: int) -> None:
        self.oldest = oldest
        self.watches: dict[Watch, None] = {}
        self._history = history
        self._entries: list[Entry] = []
        self._forgotten = 0  # how many entries there were before the first of these

    def append(self, entry: Entry) -> None:
        self._entries.append(entry)
        if len(self._entries) > 2 * self._history:
            self.forget(self._history)
        for watch in self.watches:
            watch.wake()

    def forget(self, kept: int = 0) -> None:
        """Keep only the last writes."""
        count = max(len(self._entries) - kept, 0)
        if count:
            self.oldest = self._entries[count - 1].version
            self._forgotten += count
            del self._entries[:count]

    def after(self, version: int) -> int:
        """The position of the first write after `version`. Raises: Expired."""
        if version < self.oldest:
            raise Expired(410, "Expired", f"too old resource version: {version} ({self.oldest})")
        return self._forgotten + bisect_right(self._entries, version, key=lambda entry: entry.version)

    def at(self, position: int) -> Entry | None:
        """Raises: IndexError if it is forgotten."""
        index = position - self._forgotten
        if index < 0:
            raise IndexError(position)
        return self._entries[index] if index < len(self._entries) else None

    def undone(self, version: int) -> Mapping[str, Stored | None]:
        """For each object written after `version`, what it was then. Raises: Expired."""
        first = self.after(version) - self._forgotten
        return {entry.key: entry.old for entry in reversed(self._entries[first:])}


@dataclass(frozen=True, slots=True)
class View:
    """What a watch looks at. see: a write, as its client is told of it. mark: a bookmark, if it wants them.

    now: the version of the last write. clock: times the writes.
    """

    see: Callable[[Entry], Change | None]
    mark: Callable[[], Change] | None
    now: Callable[[], int]
    clock: Clock


class Watch:
    """An async iterator of Changes. It ends after its time; `close` ends it at once, whoever waits for it.

    lag_s: how much later than they happen it tells of changes.
    Raises: Unreachable when a fault broke it.
    """

    def __init__(self, log: WatchLog, view: View, after: int, first: Sequence[Change], timeout_s: float) -> None:
        self.lag_s = 0.0
        self._log = log
        self._view = view
        self._after = after
        self._position = log.after(min(after, view.now()))
        self._ready = list(reversed(first))
        self._is_mark_due = False
        self._state: Literal["open", "ended", "broken", "silent"] = "open"
        self._loop = asyncio.get_running_loop()
        self._ends_at = self._loop.time() + timeout_s
        self._alarm = self._next_alarm()
        self._waiter: asyncio.Future[None] | None = None
        log.watches[self] = None

    @property
    def is_open(self) -> bool:
        return self._state == "open"

    def __aiter__(self) -> AsyncIterator[Change]:
        return self

    async def __anext__(self) -> Change:
        while True:
            change = self._next() if self._state == "open" else None
            if change is not None:
                return change
            if self._state == "broken":
                raise Unreachable("the watch was broken off")
            if self._state == "ended":
                raise StopAsyncIteration
            self._waiter = self._loop.create_future()
            await self._waiter

    def wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def close(self) -> None:
        self.leave("ended")

    def leave(self, state: Literal["ended", "broken", "silent"]) -> None:
        """broken: as if the connection broke. silent: as if the other end was gone and nobody told us."""
        if self._state != "broken":
            self._state = state
        self._log.watches.pop(self, None)
        self._alarm.cancel()
        self.wake()

    def _next(self) -> Change | None:
        if self._ready:
            return self._ready.pop()
        try:
            while (entry := self._log.at(self._position)) is not None:
                missing_s = entry.time_s + self.lag_s - self._view.clock.monotonic() if self.lag_s else 0.0
                if missing_s > _EARLY_S:
                    self._loop.call_later(missing_s, self.wake)
                    return None
                self._position += 1
                change = self._view.see(entry) if entry.version > self._after else None
                if change is not None:
                    return change
        except IndexError:
            self.close()  # as an API server does with a client that is too slow
            return None
        if not self._is_mark_due or self._view.mark is None or self._view.now() < self._after:
            return None
        self._is_mark_due = False
        return self._view.mark()

    def _next_alarm(self) -> asyncio.TimerHandle:
        now, last = self._loop.time(), self._ends_at - LAST_BOOKMARK_S
        if now >= last - _EARLY_S:
            return self._loop.call_at(self._ends_at, self.close)
        return self._loop.call_at(min(now + BOOKMARK_S, last), self._ring)

    def _ring(self) -> None:
        self._is_mark_due = True
        self._alarm = self._next_alarm()
        self.wake()


def seen(entry: Entry, wanted: Wanted | None, show: Callable[[Stored], Stored]) -> Change | None:
    """A write, to who selected these objects: entering the selection is an ADDED, leaving it a DELETED."""
    new, old = show(entry.new), show(entry.old) if entry.old else None
    was = old is not None and (wanted is None or wanted(old.document))
    if not entry.is_removal and (wanted is None or wanted(new.document)):
        return Change("MODIFIED" if was else "ADDED", new)
    if old is None or not was:
        return None
    return Change("DELETED", new if entry.is_removal else old.at_version(entry.version))


def bookmark(head: Mapping[str, str], version: int, annotations: Mapping[str, str] | None = None) -> Change:
    meta: Document = {"resourceVersion": str(version)} | ({"annotations": annotations} if annotations else {})
    return Change("BOOKMARK", Stored({**head, "metadata": meta}, version))

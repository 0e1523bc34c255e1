"""Reflector: keep a sink true to one collection of the API server. List it once, then watch it for ever.

Source: k8s.io/client-go/tools/cache/reflector.go (Reflector.ListAndWatch, handleAnyWatch; the back-off is in
NewReflectorWithOptions).
"""

import asyncio
import gc
import logging
import random
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Final, Generic, Literal, Protocol, TypeVar

import msgspec

from koordpy.cluster.decoding import ObjectDecoder, UndecodableObject
from koordpy.cluster.protocol import EVERYTHING, Cluster, Selection, WatchEvent, api_error
from koordpy.errors import ApiError, ClusterError, Expired, Unreachable
from koordpy_api.objects import KubeObject

K = TypeVar("K", bound=KubeObject)
K_contra = TypeVar("K_contra", bound=KubeObject, contravariant=True)

PAGE_SIZE: Final = 500
FIRST_PAUSE_S: Final = 0.8
LONGEST_PAUSE_S: Final = 30.0
# A watch that was shorter than this and told us nothing new has not worked, even if it ended without an error.
SHORTEST_WATCH_S: Final = 1.0
SUSPICIOUS_SILENCE_S: Final = 120.0
# The server ends a watch by itself after timeoutSeconds. This much later the connection is dead, whatever it says.
GRACE_S: Final = 30.0
# After so many events in one go the scheduler gets a turn; events that are there already would not let it.
EVENTS_PER_TURN: Final = 100

ChangeType = Literal["ADDED", "MODIFIED", "DELETED"]
logger = logging.getLogger("koordpy.cluster")


class Sink(Protocol[K_contra]):
    """Told what is in the collection. What cannot be decoded is told too: it exists."""

    async def replace(self, items: Sequence[K_contra | UndecodableObject]) -> None:
        """This is everything that exists now. Nothing is told meanwhile; if it is cancelled, it is told again."""
        ...

    def apply(self, change: ChangeType, item: K_contra | UndecodableObject) -> None:
        """This happened next. `change` is the server's view: it may be an ADDED of something known."""
        ...


class Backoff:
    """Pauses that double from 0.8 s to 30 s; each is stretched by up to its own length, so that clients spread out."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self.failures = 0

    def reset(self) -> None:
        self.failures = 0

    def next_s(self, at_least_s: float | None = None) -> float:
        """How long to wait after one more failure. `at_least_s` is a server's Retry-After."""
        pause = min(FIRST_PAUSE_S * 2.0 ** min(self.failures, 10), LONGEST_PAUSE_S) * (1.0 + self._rng.random())
        self.failures += 1
        # The jitter stays on top of Retry-After too: the server says the same to everyone.
        return max(pause, (at_least_s or 0.0) * (1.0 + 0.1 * self._rng.random()))


class Reflector(Generic[K]):
    """Runs until it is cancelled. Only a bug, here or in the sink, makes `run` raise."""

    def __init__(
        self,
        cluster: Cluster,
        decoder: ObjectDecoder[K],
        sink: Sink[K],
        rng: random.Random,
        selection: Selection = EVERYTHING,
    ) -> None:
        self._cluster = cluster
        self._decoder = decoder
        self._kind = decoder.kind
        self._sink = sink
        self._rng = rng
        self._selection = selection
        self._backoff = Backoff(rng)
        # Everything up to here was told to the sink. Empty: list first.
        self._version = ""
        self._heard_at: float | None = None
        # How often a list was demanded by `confirm`, and which of these the last list was begun after.
        self._demanded = 0
        self._met = 0
        self._listed = asyncio.Event()
        self._wait: asyncio.Timeout | None = None

    @property
    def resource_version(self) -> str:
        """How far the sink is; empty before the first list and between an expiry and the list after it."""
        return self._version

    @property
    def silent_s(self) -> float:
        """How long ago the server last said something, be it a bookmark, of which there is one every minute."""
        now = asyncio.get_running_loop().time()
        return 0.0 if self._heard_at is None else now - self._heard_at

    async def run(self) -> None:
        self._heard_at = asyncio.get_running_loop().time()
        while True:
            try:
                await (self._watch() if self._version and self._met == self._demanded else self._list())
            except ClusterError as error:
                await self._recover(error)

    async def confirm(self) -> None:
        """Returns once the sink was told all that had been written when this was called; `run` must be running.

        A watch may lag, or have died without a word: only a list says what is. So it lists again.
        """
        self._demanded += 1
        demand = self._demanded
        if self._wait is not None:
            self._wait.reschedule(asyncio.get_running_loop().time())
        while self._met < demand:
            self._listed.clear()
            await self._listed.wait()

    async def _recover(self, error: ClusterError) -> None:
        expired = _must_list_again(error)
        if expired:
            self._version = ""
        at_once = expired and self._backoff.failures == 0
        pause_s = self._backoff.next_s(error.retry_after_s if isinstance(error, ApiError) else None)
        if at_once:
            # Normal after a long silence. Twice in a row it is not, and then the lists must not become a loop.
            logger.info("%s: %s; listing again", self._kind.plural, error)
            return
        logger.warning("%s: %s; next try in %.1f s", self._kind.plural, error, pause_s)
        async with self._interruptible(pause_s):
            await asyncio.sleep(pause_s)

    async def _list(self) -> None:
        # Not resourceVersion=0, which is answered from a watch cache that may be old: after a restart we would not
        # see what our predecessor bound, and give the same devices away once more. A list without a version is as
        # new as the last write. A continue token that has become too old ends up in _recover, and starts again.
        items: list[K | UndecodableObject] = []
        token, demand = "", self._demanded
        while True:
            page = await self._cluster.list(self._kind, self._selection, limit=PAGE_SIZE, continue_token=token)
            with _collector_off():
                items.extend(self._read(raw) for raw in page.items)
            token = page.continue_token
            if not token:
                break
        if not page.resource_version:
            raise Unreachable(f"the list of {self._kind.plural} has no resourceVersion")
        self._heard_at = asyncio.get_running_loop().time()
        await self._sink.replace(items)
        self._version, self._met = page.resource_version, demand
        self._listed.set()

    async def _watch(self) -> None:
        loop = asyncio.get_running_loop()
        started, version = loop.time(), self._version
        timeout_s = self._rng.randint(240, 300)  # not all watches of all clients at the same moment
        try:
            # The limit is one for the whole watch: a stream that says nothing any more is noticed no later, and no
            # event has to move a timer.
            told = -1
            async with self._interruptible(timeout_s + GRACE_S):
                told = await self._follow(timeout_s)
            if self._met != self._demanded:
                return
            if told < 0:
                raise Unreachable(f"the watch did not end by itself after {timeout_s} s")
        finally:
            if self._version != version:
                self._backoff.reset()
        lasted_s = loop.time() - started
        if self._version == version and lasted_s < SHORTEST_WATCH_S:
            raise Unreachable("the watch ended at once, without a word")
        self._backoff.reset()
        if not told and lasted_s >= SUSPICIOUS_SILENCE_S:
            # Bookmarks come every minute. A server that sends none, and no event, may be waiting for its versions to
            # reach ours: that is all it does once its etcd was restored from a backup.
            self._version = ""

    @asynccontextmanager
    async def _interruptible(self, patience_s: float) -> AsyncIterator[None]:
        """Ends, without an error, what takes longer, or what `confirm` does not want to wait for."""
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(patience_s) as self._wait:
                    yield
        finally:
            self._wait = None

    async def _follow(self, timeout_s: int) -> int:
        """Take events until the watch ends. Returns: how many they were, bookmarks included."""
        told = 0
        async with self._cluster.watch(self._kind, self._version, self._selection, timeout_s=timeout_s) as events:
            async for event in events:
                self._heard_at = asyncio.get_running_loop().time()
                self._take(event)
                told += 1
                if told % EVENTS_PER_TURN == 0:
                    await asyncio.sleep(0)
        return told

    def _take(self, event: WatchEvent) -> None:
        if event.type == "ERROR":
            raise api_error(event.object)
        if event.type == "BOOKMARK":
            version = _version_of(event.object)
        else:
            item = self._read(event.object)
            self._sink.apply(event.type, item)
            version = item.resource_version if isinstance(item, UndecodableObject) else item.metadata.resource_version
        # After the sink, so that a version is only ever left behind together with what it brought.
        self._version = version or self._version

    def _read(self, raw: msgspec.Raw) -> K | UndecodableObject:
        try:
            return self._decoder.decode(raw)
        except UndecodableObject as undecodable:
            return undecodable


def _must_list_again(error: ClusterError) -> bool:
    # The second, which only some kinds are answered with: etcd is behind us, because it was restored from a backup.
    # Source: apimachinery/pkg/api/errors (HasStatusCause, CauseTypeResourceVersionTooLarge).
    return isinstance(error, Expired) or (isinstance(error, ApiError) and "oo large resource version" in error.message)


class _Meta(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str = ""


class _Bookmark(msgspec.Struct, frozen=True, rename="camel"):
    metadata: _Meta


_BOOKMARK: Final = msgspec.json.Decoder(_Bookmark)


def _version_of(raw: msgspec.Raw) -> str:
    """Of a bookmark only this is read: its other fields are null where objects of its kind must have something."""
    try:
        return _BOOKMARK.decode(raw).metadata.resource_version
    except msgspec.DecodeError:
        return ""


@contextmanager
def _collector_off() -> Iterator[None]:
    """Decoding a page makes much and no garbage; the collector would go through it again and again."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()

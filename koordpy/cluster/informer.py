"""Informer: all objects of one kind in memory, and whoever wants to hear of their changes.

This is where a Pod's walk through koordpy begins. Handlers are called one after the other, in the order in which they
were added, for one change after the other, in the order of the API server. They never run inside a scheduling cycle.
"""

import asyncio
import logging
import random
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Generic, TypeVar

from koordpy.cluster.decoding import ObjectDecoder, Report, UndecodableObject
from koordpy.cluster.protocol import EVERYTHING, Cluster, Selection
from koordpy.cluster.reflector import EVENTS_PER_TURN, ChangeType, Reflector
from koordpy.cluster.slimming import Slimming
from koordpy.errors import PLUGIN_FAULTS
from koordpy_api import ObjectHandler
from koordpy_api.objects import KubeObject

K = TypeVar("K", bound=KubeObject)

logger = logging.getLogger("koordpy.cluster")


class Informer(Generic[K]):
    """A local copy of one collection. `synced` is set once the first list has been handed to every handler.

    An object that can no longer be decoded stays as it was last understood, until the server says that it is gone.
    slim: how its objects are made small; handlers see each new version in full, and of the one before what is kept.
    """

    def __init__(
        self,
        cluster: Cluster,
        kind: type[K],
        report: Report,
        rng: random.Random,
        selection: Selection = EVERYTHING,
        slim: Slimming[K] | None = None,
    ) -> None:
        self.synced = asyncio.Event()
        self.handler_failures = 0
        self._kind = kind.KIND
        self._objects: dict[str, K] = {}
        self._handlers: list[ObjectHandler[K]] = []
        self._logged: set[tuple[str, int, type[BaseException]]] = set()
        self._slim = slim
        decoder = ObjectDecoder(kind, report, slim.share if slim else None)
        self._reflector = Reflector(cluster, decoder, self, rng, selection)
        self._started = False

    def add_handler(self, handler: ObjectHandler[K]) -> None:
        """Only before `run`: a later one would have missed the objects that exist."""
        if self._started:
            raise RuntimeError(f"the informer of {self._kind.plural} runs already")
        self._handlers.append(handler)

    async def run(self) -> None:
        """Never returns; cancel it."""
        self._started = True
        await self._reflector.run()

    async def confirm(self) -> None:
        """Returns once handlers were told all that had been written when this was called, whatever the watch says."""
        await self._reflector.confirm()

    @property
    def silent_s(self) -> float:
        """How long ago the API server last said something of this kind."""
        return self._reflector.silent_s

    @property
    def objects(self) -> Mapping[str, K]:
        """Key to object; a live view, for reading."""
        return MappingProxyType(self._objects)

    def get(self, key: str) -> K | None:
        return self._objects.get(key)

    async def replace(self, items: Sequence[K | UndecodableObject]) -> None:
        """The reflector's, as `apply` is: this is everything that exists now.

        Others get their turn every so often: 50,000 Pods take seconds until every handler has heard of them.
        """
        # First what is gone, so that no handler sees two objects hold what only one can.
        listed = {item.key: _uid(item) for item in items}
        gone = [key for key, known in self._objects.items() if _is_another(known, listed.get(key))]
        for number, key in enumerate(gone, 1):
            self._remove(key)
            if number % EVENTS_PER_TURN == 0:
                await asyncio.sleep(0)
        for number, item in enumerate(items, 1):
            self._put(item)
            if number % EVENTS_PER_TURN == 0:
                await asyncio.sleep(0)
        self.synced.set()

    def apply(self, change: ChangeType, item: K | UndecodableObject) -> None:
        if change == "DELETED":
            self._remove(item.key)
        elif not self._is_outdated(item):
            self._put(item)

    def _is_outdated(self, item: K | UndecodableObject) -> bool:
        """Do we know a newer version? A list is believed whatever it says: etcd may have been restored."""
        old = self._objects.get(item.key)
        if old is None or isinstance(item, UndecodableObject) or old.metadata.uid != item.metadata.uid:
            return False
        before, now = old.metadata.resource_version, item.metadata.resource_version
        return before.isdecimal() and now.isdecimal() and int(now) < int(before)

    def _put(self, item: K | UndecodableObject) -> None:
        old = self._objects.get(item.key)
        if old is not None and _is_another(old, _uid(item)):
            # Deleted and created again, and we have seen only the second.
            self._remove(item.key)
            old = None
        if isinstance(item, UndecodableObject):
            return
        self._objects[item.key] = item if self._slim is None else self._slim.keep(item)
        if old is None:
            self._tell(lambda handler: handler.added(item))
        elif not _same_version(old, item):
            self._tell(lambda handler: handler.updated(old, item))

    def _remove(self, key: str) -> None:
        # The last version that handlers know, not that of the event: they undo exactly what they did.
        old = self._objects.pop(key, None)
        if old is not None:
            self._tell(lambda handler: handler.deleted(old))

    def _tell(self, call: Callable[[ObjectHandler[K]], None]) -> None:
        for handler in self._handlers:
            try:
                call(handler)
            except PLUGIN_FAULTS as error:  # it is a plugin's, and the watch must go on
                self._note(handler, error)

    def _note(self, handler: ObjectHandler[K], error: BaseException) -> None:
        """Count it; log it once for each place, since the next thousand objects may fail there too."""
        self.handler_failures += 1
        frame = error.__traceback__
        while frame is not None and frame.tb_next is not None:
            frame = frame.tb_next
        place = (frame.tb_frame.f_code.co_filename, frame.tb_lineno, type(error)) if frame else ("", 0, type(error))
        if place in self._logged:
            return
        self._logged.add(place)
        logger.error("%s: the handler %r failed; the watch goes on", self._kind.plural, handler, exc_info=error)


def _uid(item: KubeObject | UndecodableObject) -> str:
    """ "" if it cannot be read."""
    return item.uid if isinstance(item, UndecodableObject) else item.metadata.uid


def _is_another(known: KubeObject, uid: str | None) -> bool:
    """Is the object that we know gone, now that its key belongs to this one, or, if that is None, to nobody?"""
    return uid is None or (uid != "" and known.metadata.uid != uid)


def _same_version(old: KubeObject, new: KubeObject) -> bool:
    return bool(new.metadata.resource_version) and old.metadata.resource_version == new.metadata.resource_version

"""EmbeddedCluster: the Cluster protocol over a Store in the same process."""

import random
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from functools import partial

import msgspec

from koordpy.clock import Clock
from koordpy.cluster.embedded.faults import Faults, subject
from koordpy.cluster.embedded.store import Store, Stored
from koordpy.cluster.protocol import EVERYTHING, BindRequest, ListPage, Selection, WatchEvent
from koordpy_api.objects import Kind, Pod

Body = Mapping[str, object]


class EmbeddedCluster:
    """koordpy.cluster.protocol.Cluster. store: its objects, for who shares the process; faults: what goes wrong."""

    def __init__(self, clock: Clock, rng: random.Random) -> None:
        self.clock = clock
        self.store = Store(clock, rng)
        self.faults = Faults()

    async def list(
        self,
        kind: Kind,
        selection: Selection = EVERYTHING,
        *,
        limit: int = 500,
        continue_token: str = "",
        resource_version: str = "",
    ) -> ListPage:
        act = partial(self.store.list, kind, selection, limit, continue_token, resource_version)
        page = await self.faults.perform("list", kind.plural, "", act)
        return ListPage([each.raw for each in page.items], page.version, page.continue_token)

    @asynccontextmanager
    async def watch(
        self, kind: Kind, resource_version: str, selection: Selection = EVERYTHING, *, timeout_s: int = 300
    ) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        open_ = partial(self.store.watch, kind, resource_version, selection, timeout_s=timeout_s)
        watch = await self.faults.open_watch(kind.plural, open_)
        try:
            async with aclosing(WatchEvent(each.type, each.object.raw) async for each in watch) as events:
                yield events
        finally:
            watch.close()

    async def get(self, kind: Kind, namespace: str, name: str) -> msgspec.Raw:
        return await self._ask("get", kind, name, lambda: self.store.get(kind, namespace, name))

    async def bind(self, request: BindRequest) -> None:
        await self.faults.perform("bind", Pod.KIND.plural, request.name, lambda: self.store.bind(request))

    async def patch(
        self, kind: Kind, namespace: str, name: str, body: Body, *, subresource: str = "", strategic: bool = False
    ) -> msgspec.Raw:
        act = partial(self.store.patch, kind, namespace, name, body, strategic=strategic, subresource=subresource)
        return await self._ask("patch", kind, name, act, subresource)

    async def create(self, kind: Kind, namespace: str, body: Body) -> msgspec.Raw:
        return await self._ask("create", kind, subject(body), lambda: self.store.create(kind, namespace, body))

    async def update(self, kind: Kind, namespace: str, name: str, body: Body, *, subresource: str = "") -> msgspec.Raw:
        act = partial(self.store.update, kind, namespace, name, body, subresource)
        return await self._ask("update", kind, name, act, subresource)

    async def delete(self, kind: Kind, namespace: str, name: str, *, grace_s: int | None = None, uid: str = "") -> None:
        act = partial(self.store.delete, kind, namespace, name, grace_s=grace_s, uid=uid)
        await self._ask("delete", kind, name, act)

    async def close(self) -> None:
        """Nothing to do: others may still use it, and a watch ends where it is left."""

    async def _ask(
        self, verb: str, kind: Kind, name: str, act: Callable[[], Stored], subresource: str = ""
    ) -> msgspec.Raw:
        resource = f"{kind.plural}/{subresource}" if subresource else kind.plural
        return (await self.faults.perform(verb, resource, name, act)).raw

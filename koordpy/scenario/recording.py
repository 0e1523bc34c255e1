"""A Cluster that notes every request on its way to the real one."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

import msgspec

from koordpy.cluster.protocol import EVERYTHING, BindRequest, Cluster, ListPage, Selection, WatchEvent
from koordpy_api.objects import Kind, Pod


@dataclass(frozen=True, slots=True)
class Request:
    """One request. An Event counts as one on the object that it speaks of."""

    verb: str
    resource: str
    name: str = ""

    def __str__(self) -> str:
        return f"{self.verb} {self.resource} {self.name}".rstrip()


class RecordingCluster:
    """koordpy.cluster.protocol.Cluster. sent: what it was asked, in order."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.sent: list[Request] = []

    async def list(
        self,
        kind: Kind,
        selection: Selection = EVERYTHING,
        *,
        limit: int = 500,
        continue_token: str = "",
        resource_version: str = "",
    ) -> ListPage:
        self._note("list", kind.plural)
        return await self._cluster.list(
            kind,
            selection,
            limit=limit,
            continue_token=continue_token,
            resource_version=resource_version,
        )

    def watch(
        self, kind: Kind, resource_version: str, selection: Selection = EVERYTHING, *, timeout_s: int = 300
    ) -> AbstractAsyncContextManager[AsyncIterator[WatchEvent]]:
        self._note("watch", kind.plural)
        return self._cluster.watch(kind, resource_version, selection, timeout_s=timeout_s)

    async def get(self, kind: Kind, namespace: str, name: str) -> msgspec.Raw:
        self._note("get", kind.plural, name)
        return await self._cluster.get(kind, namespace, name)

    async def bind(self, request: BindRequest) -> None:
        self._note("bind", Pod.KIND.plural, request.name)
        await self._cluster.bind(request)

    async def patch(
        self,
        kind: Kind,
        namespace: str,
        name: str,
        body: Mapping[str, object],
        *,
        subresource: str = "",
        strategic: bool = False,
    ) -> msgspec.Raw:
        self._note("patch", f"{kind.plural}/{subresource}" if subresource else kind.plural, name)
        return await self._cluster.patch(kind, namespace, name, body, subresource=subresource, strategic=strategic)

    async def create(self, kind: Kind, namespace: str, body: Mapping[str, object]) -> msgspec.Raw:
        head = body.get("regarding") or body.get("metadata")
        self._note("create", kind.plural, str(head.get("name", "")) if isinstance(head, Mapping) else "")
        return await self._cluster.create(kind, namespace, body)

    async def update(
        self, kind: Kind, namespace: str, name: str, body: Mapping[str, object], *, subresource: str = ""
    ) -> msgspec.Raw:
        self._note("update", f"{kind.plural}/{subresource}" if subresource else kind.plural, name)
        return await self._cluster.update(kind, namespace, name, body, subresource=subresource)

    async def delete(self, kind: Kind, namespace: str, name: str, *, grace_s: int | None = None, uid: str = "") -> None:
        self._note("delete", kind.plural, name)
        await self._cluster.delete(kind, namespace, name, grace_s=grace_s, uid=uid)

    async def close(self) -> None:
        """The owner of the cluster closes it."""

    def _note(self, verb: str, resource: str, name: str = "") -> None:
        self.sent.append(Request(verb, resource, name))

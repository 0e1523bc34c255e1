"""KubeCluster: the Cluster protocol as HTTP requests."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from typing import Any, Final, TypeVar
from urllib.parse import quote

import msgspec

from koordpy.cluster.kube.transport import Transport
from koordpy.cluster.protocol import EVERYTHING, BindRequest, ListPage, Selection, WatchEvent
from koordpy.errors import Unreachable
from koordpy_api.objects import Kind, Pod

# Beside letters, digits and "_.-~": what may stand in a path's segment, and does in names of Kubernetes.
_SAFE: Final = ":@"
_NOT_NAMES: Final = (".", "..")
_MERGE: Final = "application/merge-patch+json"
_STRATEGIC: Final = "application/strategic-merge-patch+json"
T = TypeVar("T")


class _ListMeta(msgspec.Struct, frozen=True, rename={"resource_version": "resourceVersion", "token": "continue"}):
    resource_version: str = ""
    token: str = ""


class _ListBody(msgspec.Struct, frozen=True):
    metadata: _ListMeta
    # Go writes an empty list that nobody made as null.
    items: list[msgspec.Raw] | None = None


class _Object(msgspec.Struct, frozen=True):
    """Of whatever is stored, that it is an object at all."""

    metadata: dict[str, msgspec.Raw]


_OBJECT: Final = msgspec.json.Decoder(_Object)
_LIST: Final = msgspec.json.Decoder(_ListBody)
_EVENT: Final = msgspec.json.Decoder(WatchEvent)


class KubeCluster:
    """A Kubernetes API server, over a Transport."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def list(
        self,
        kind: Kind,
        selection: Selection = EVERYTHING,
        *,
        limit: int = 500,
        continue_token: str = "",
        resource_version: str = "",
    ) -> ListPage:
        query = _query(
            limit=str(limit),
            labelSelector=selection.labels,
            fieldSelector=selection.fields,
            resourceVersion=resource_version,
            **{"continue": continue_token},
        )
        path = _path(kind, selection.namespace)
        body = _decoded(_LIST, await self._transport.request("GET", path, query), path)
        return ListPage(body.items or [], body.metadata.resource_version, body.metadata.token)

    def watch(
        self, kind: Kind, resource_version: str, selection: Selection = EVERYTHING, *, timeout_s: int = 300
    ) -> AbstractAsyncContextManager[AsyncIterator[WatchEvent]]:
        query = _query(
            watch="true",
            allowWatchBookmarks="true",
            resourceVersion=resource_version,
            timeoutSeconds=str(timeout_s),
            labelSelector=selection.labels,
            fieldSelector=selection.fields,
        )
        return self._watch(_path(kind, selection.namespace), query)

    @asynccontextmanager
    async def _watch(self, path: str, query: Mapping[str, str]) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        async with self._transport.stream(path, query) as lines, aclosing(_events(lines, path)) as events:
            yield events

    async def get(self, kind: Kind, namespace: str, name: str) -> msgspec.Raw:
        return await self._object("GET", _path(kind, namespace, name))

    async def bind(self, request: BindRequest) -> None:
        metadata: dict[str, Any] = {"namespace": request.namespace, "name": request.name}
        if request.uid:
            metadata["uid"] = request.uid
        if request.annotations:
            metadata["annotations"] = request.annotations
        body = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": metadata,
            "target": {"apiVersion": "v1", "kind": "Node", "name": request.node_name},
        }
        path = _path(Pod.KIND, request.namespace, request.name, "binding")
        within_s = request.within_s
        # The API server, too, gives up on what is not done by then, wherever in it that waits.
        query = {} if within_s is None else {"timeout": f"{max(int(within_s * 1000), 1)}ms"}
        await self._transport.request("POST", path, query, body=_encode(body), within_s=within_s)

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
        path = _path(kind, namespace, name, subresource)
        content_type = _STRATEGIC if strategic else _MERGE
        return await self._object("PATCH", path, body=_encode(body), content_type=content_type)

    async def create(self, kind: Kind, namespace: str, body: Mapping[str, object]) -> msgspec.Raw:
        return await self._object("POST", _path(kind, namespace), body=_encode(body))

    async def update(
        self, kind: Kind, namespace: str, name: str, body: Mapping[str, object], *, subresource: str = ""
    ) -> msgspec.Raw:
        path = _path(kind, namespace, name, subresource)
        return await self._object("PUT", path, body=_encode(body))

    async def delete(self, kind: Kind, namespace: str, name: str, *, grace_s: int | None = None, uid: str = "") -> None:
        options: dict[str, Any] = {"apiVersion": "v1", "kind": "DeleteOptions"}
        if grace_s is not None:
            options["gracePeriodSeconds"] = grace_s
        if uid:
            options["preconditions"] = {"uid": uid}
        await self._transport.request("DELETE", _path(kind, namespace, name), body=_encode(options))

    async def close(self) -> None:
        await self._transport.close()

    async def _object(self, method: str, path: str, **more: Any) -> msgspec.Raw:
        """One object, as it is stored now."""
        body = await self._transport.request(method, path, **more)
        _decoded(_OBJECT, body, path, method)
        return msgspec.Raw(body)


async def _events(lines: AsyncIterator[bytes], path: str) -> AsyncGenerator[WatchEvent, None]:
    async for line in lines:
        yield _decoded(_EVENT, line, path)


def _path(kind: Kind, namespace: str, name: str = "", subresource: str = "") -> str:
    path = kind.path(_segment(namespace), _segment(name))
    return f"{path}/{subresource}" if subresource else path


def _segment(name: str) -> str:
    """Whatever stands in it, the request goes to no other resource. Raises: Unreachable for what no URL can hold."""
    if name in _NOT_NAMES:
        raise Unreachable(f"{name!r} cannot be the name of anything")
    return quote(name, safe=_SAFE)


def _query(**parameters: str) -> dict[str, str]:
    return {name: value for name, value in parameters.items() if value}


def _encode(body: Mapping[str, object]) -> bytes:
    return msgspec.json.encode(body)


def _decoded(decoder: msgspec.json.Decoder[T], body: bytes, path: str, method: str = "GET") -> T:
    """Not one object that is wrong, which is the reader's affair, but the envelope: no API server sent this."""
    try:
        return decoder.decode(body)
    except msgspec.DecodeError as error:
        raise Unreachable(f"{method} {path}: the answer is not an API server's: {error}") from error

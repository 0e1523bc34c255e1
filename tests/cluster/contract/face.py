"""The faces: an API server as a behaviour sees it, with a namespace of its own, and the bytes on the wire."""

import asyncio
import io
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import aiohttp
import msgspec
import pytest

from koordpy.cluster.kinds import EVENT, LEASE, NAMESPACE
from koordpy.cluster.protocol import EVERYTHING, BindRequest, Cluster, Selection
from koordpy.errors import ApiError
from koordpy_api.objects import Device, Kind, Node, Pod

Document = dict[str, Any]
Seen = tuple[str, str]
T = TypeVar("T")

POD: Final = Pod.KIND
NODE: Final = Node.KIND
DEVICE: Final = Device.KIND
CORE_EVENT: Final = Kind("", "v1", "Event", "events", namespaced=True)
TABLE: Final = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
"""What kubectl accepts when it prints a table."""

__all__ = [
    "CORE_EVENT",
    "DEVICE",
    "EVENT",
    "LEASE",
    "NAMESPACE",
    "NODE",
    "POD",
    "TABLE",
    "Answer",
    "Document",
    "Face",
    "Wire",
    "read",
    "refusal",
    "refused_as",
]

PATIENCE_S: Final = 30.0


def read(raw: msgspec.Raw | bytes) -> Document:
    document: Document = msgspec.json.decode(raw)
    return document


async def refusal(asked: Awaitable[object]) -> ApiError:
    """The error that `asked` is answered with."""
    with pytest.raises(ApiError) as caught:
        await asked
    return caught.value


def refused_as(error: ApiError) -> tuple[int, str]:
    return error.status, error.reason


@dataclass(frozen=True, kw_only=True)
class Face:
    """A cluster and a namespace for one behaviour; `runner` has the loop on which the cluster lives."""

    runner: asyncio.Runner
    cluster: Cluster
    namespace: str

    def run(self, behaviour: Coroutine[Any, Any, None]) -> None:
        async def patiently() -> None:
            async with asyncio.timeout(PATIENCE_S):
                await behaviour

        self.runner.run(patiently())

    def own(self, name: str) -> str:
        """The name of a cluster-scoped object that nobody else has."""
        return f"{self.namespace}-{name}"

    def of(self, kind: Kind) -> str:
        return self.namespace if kind.namespaced else ""

    def pod(self, name: str = "a", **spec: Any) -> Document:
        """A manifest; what is given is added to its spec."""
        containers = [{"name": "main", "image": "registry.example.test/none"}]
        meta = {"namespace": self.namespace, "name": name}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": containers, **spec}}

    def labelled(self, name: str, **labels: str) -> Document:
        manifest = self.pod(name)
        manifest["metadata"]["labels"] = labels
        return manifest

    def node(self, name: str = "n", **spec: Any) -> Document:
        amounts = {"cpu": "8", "memory": "32Gi", "pods": "110"}
        status = {"allocatable": amounts, "capacity": amounts, "conditions": [{"type": "Ready", "status": "True"}]}
        meta = {"name": self.own(name), "labels": {"test": self.namespace}}
        return {"apiVersion": "v1", "kind": "Node", "metadata": meta, "spec": spec, "status": status}

    def device(self, name: str = "n") -> Document:
        card = {"type": "gpu", "minor": 0, "health": True, "resources": {"koordinator.sh/gpu-memory": "16Gi"}}
        meta = {"name": self.own(name), "labels": {"test": self.namespace}}
        return {
            "apiVersion": DEVICE.api_version,
            "kind": "Device",
            "metadata": meta,
            "spec": {"devices": [card]},
        }

    def lease(self, name: str = "l", **spec: Any) -> Document:
        meta = {"namespace": self.namespace, "name": name}
        body = {"holderIdentity": "me", "leaseDurationSeconds": 15, "acquireTime": "2026-01-02T03:04:05.678901Z"}
        return {"apiVersion": LEASE.api_version, "kind": "Lease", "metadata": meta, "spec": {**body, **spec}}

    def event(self, name: str = "e", **more: Any) -> Document:
        regarding = {"kind": "Pod", "apiVersion": "v1", "namespace": self.namespace, "name": "a", "uid": "u-1"}
        return {
            "apiVersion": EVENT.api_version,
            "kind": "Event",
            "metadata": {"namespace": self.namespace, "name": name},
            "eventTime": "2026-01-02T03:04:05.678901Z",
            "reportingController": "koordpy-scheduler",
            "reportingInstance": "koordpy-scheduler-host",
            "action": "Binding",
            "reason": "Scheduled",
            "regarding": regarding,
            "note": "to n",
            "type": "Normal",
            **more,
        }

    def core_event(self, name: str = "e", **more: Any) -> Document:
        involved = {"kind": "Pod", "apiVersion": "v1", "namespace": self.namespace, "name": "a", "uid": "u-1"}
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"namespace": self.namespace, "name": name},
            "involvedObject": involved,
            "reason": "Scheduled",
            "message": "to n",
            "type": "Normal",
            "source": {"component": "default-scheduler"},
            "firstTimestamp": "2026-01-02T03:04:05Z",
            "lastTimestamp": "2026-01-02T03:05:05Z",
            "count": 3,
            **more,
        }

    async def create(self, kind: Kind, body: Mapping[str, object]) -> Document:
        return read(await self.cluster.create(kind, self.of(kind), body))

    async def create_pod(self, name: str = "a", **spec: Any) -> Document:
        return await self.create(POD, self.pod(name, **spec))

    async def get(self, kind: Kind, name: str) -> Document:
        return read(await self.cluster.get(kind, self.of(kind), name))

    async def update(self, kind: Kind, body: Document, subresource: str = "") -> Document:
        name = body["metadata"]["name"]
        return read(await self.cluster.update(kind, self.of(kind), name, body, subresource=subresource))

    async def merge(self, kind: Kind, name: str, body: Mapping[str, object], subresource: str = "") -> Document:
        return read(await self.cluster.patch(kind, self.of(kind), name, body, subresource=subresource))

    async def strategic(self, kind: Kind, name: str, body: Mapping[str, object], subresource: str = "") -> Document:
        return read(await self.cluster.patch(kind, self.of(kind), name, body, subresource=subresource, strategic=True))

    async def delete(self, kind: Kind, name: str, **options: Any) -> None:
        if kind == POD:
            await self.settle()
        await self.cluster.delete(kind, self.of(kind), name, **options)

    async def bind(self, pod: Document, node: str = "n", annotations: Mapping[str, str] | None = None) -> None:
        meta = pod["metadata"]
        await self.cluster.bind(BindRequest(self.namespace, meta["name"], meta["uid"], node, annotations or {}))
        await self.settle()

    async def settle(self, kind: Kind = POD) -> None:
        """Wait until a real server's watch cache knows what was written of this kind.

        It begins a watch without a version, answers a list at version 0 and judges a Pod's deletion by that cache: with
        one that does not know a node or an earlier deletion yet, about one in a thousand is not graceful.
        """
        # Only without a limit does a list of at least some version wait for the cache.
        await self.cluster.list(kind, self.select(), limit=0, resource_version=await self.version(kind))

    def select(self, labels: str = "", fields: str = "") -> Selection:
        """Of this behaviour's namespace."""
        return Selection(self.namespace, labels, fields)

    async def listed(self, kind: Kind, selection: Selection = EVERYTHING, **more: Any) -> list[Document]:
        page = await self.cluster.list(kind, selection, **more)
        return [read(each) for each in page.items]

    async def names(self, kind: Kind, selection: Selection) -> list[str]:
        return [each["metadata"]["name"] for each in await self.listed(kind, selection)]

    async def version(self, kind: Kind = POD) -> str:
        """The newest resourceVersion, from which to watch."""
        return (await self.cluster.list(kind, self.select(), limit=1)).resource_version

    @asynccontextmanager
    async def watching(
        self, kind: Kind, version: str, selection: Selection | None = None, timeout_s: int = 4
    ) -> AsyncIterator["Watching"]:
        """A watch of this behaviour's namespace, unless told otherwise."""
        chosen = self.select() if selection is None else selection
        async with self.cluster.watch(kind, version, chosen, timeout_s=timeout_s) as events:
            yield Watching((event.type, read(event.object)) async for event in events)


@dataclass
class Watching:
    """An open watch.

    Bookmarks are left out where a behaviour does not ask for them, and so is a MODIFIED that says that a pod has no
    grace left: a real server stores that a moment before it tells of the end.
    """

    events: AsyncIterator[tuple[str, Document]]

    async def take(self, count: int) -> list[tuple[str, Document]]:
        """The next `count` events, or as many as come before the watch ends."""
        taken: list[tuple[str, Document]] = []
        while len(taken) < count:
            event = await anext(self.events, None)
            if event is None:
                break
            dying = event[0] == "MODIFIED" and event[1]["metadata"].get("deletionGracePeriodSeconds") == 0
            if event[0] != "BOOKMARK" and not dying:
                taken.append(event)
        return taken

    async def names(self, count: int) -> list[Seen]:
        return [(kind, each["metadata"]["name"]) for kind, each in await self.take(count)]

    async def rest(self) -> list[tuple[str, Document]]:
        """Everything until the end, bookmarks included."""
        return [event async for event in self.events]


@dataclass(frozen=True)
class Answer:
    """What came over the wire."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> tuple[int, str]:
        """Code and reason of a Status object, which agrees with HTTP's own code."""
        said = self.json
        assert (said["kind"], said["apiVersion"], said["status"]) == ("Status", "v1", "Failure"), said
        assert said["code"] == self.status
        return self.status, said.get("reason", "")


@dataclass(frozen=True, kw_only=True)
class Wire(Face):
    """A face with an address."""

    session: aiohttp.ClientSession
    url: str
    authorization: Mapping[str, str] = field(default_factory=dict)

    async def ask(self, method: str, path: str, body: Any = None, /, **headers: str) -> Answer:
        """One request; `path` may have a query. A body that is not bytes goes as JSON. `_` in headers means `-`."""
        sent = {**self.authorization, **{name.replace("_", "-"): value for name, value in headers.items()}}
        data = None
        if body is not None:
            data = io.BytesIO(body if isinstance(body, bytes) else json.dumps(body).encode())
            sent.setdefault("Content-Type", "application/json")
        async with self.session.request(method, self.url + path, headers=sent, data=data) as response:
            return Answer(response.status, response.headers, await response.read())

    async def table(self, path: str) -> Document:
        answer = await self.ask("GET", path, Accept=TABLE)
        assert answer.status == 200, answer
        table: Document = answer.json
        assert (table["kind"], table["apiVersion"]) == ("Table", "meta.k8s.io/v1")
        return table

    @asynccontextmanager
    async def lines(self, path: str, **headers: str) -> AsyncIterator[AsyncIterator[bytes]]:
        """The lines of a watch, as they came."""
        sent = {**self.authorization, **headers}
        async with self.session.get(self.url + path, headers=sent) as response:
            assert response.status == 200, await response.read()
            yield aiter(response.content)


@dataclass
class Plain:
    """How KubeCluster reaches a server on this machine that asks for no credentials."""

    host: str
    server_name: str | None = None
    proxy: str | None = None
    ssl_context: ssl.SSLContext = field(default_factory=ssl.create_default_context)

    async def headers(self) -> dict[str, str]:
        return {}

    async def renew(self, refused: str) -> bool:
        return False

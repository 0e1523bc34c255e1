"""An embedded cluster: with a diary of what the scheduler asks of it, and with all that others do while it works."""

import asyncio
import copy
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from random import Random
from typing import Any, Final

import msgspec

from koordpy.clock import Clock
from koordpy.cluster.embedded.cluster import EmbeddedCluster
from koordpy.cluster.embedded.faults import Fault
from koordpy.cluster.embedded.patch import merge
from koordpy.cluster.kinds import EVENT
from koordpy.cluster.protocol import EVERYTHING, BindRequest, ListPage, Selection, WatchEvent
from koordpy.errors import ApiError, Conflict, NotFound
from koordpy_api.objects import Device, Kind, Node, Pod

Document = dict[str, Any]
KINDS: Final = {"Pod": Pod.KIND, "Node": Node.KIND, "Device": Device.KIND}
NAMESPACE: Final = "default"


@dataclass(frozen=True)
class Patch:
    time: float
    name: str
    body: Mapping[str, Any]
    subresource: str
    strategic: bool


class AskedCluster(EmbeddedCluster):
    """What the scheduler is handed. Beside the embedded cluster's own faults it knows these:

    bind_takes_s: how long a bind is on the wire before it arrives.
    before_bind: Pod → what happens while its next bind is on the wire.
    broken_answers: Pod → how its next binds are answered although they were carried out.
    doctored: Pod → what becomes of it on its way to the scheduler. going: Pods that are bound no more.
    """

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock, Random(0))
        self.bind_takes_s = 0.0
        self.before_bind: dict[str, Callable[[], None]] = {}
        self.broken_answers: defaultdict[str, deque[ApiError]] = defaultdict(deque)
        self.doctored: dict[str, Callable[[Document], object]] = {}
        self.going: set[str] = set()
        self.binds: list[tuple[float, BindRequest]] = []
        self.on_the_wire = 0
        self.most_on_the_wire = 0
        self.patches: list[Patch] = []

    async def list(
        self,
        kind: Kind,
        selection: Selection = EVERYTHING,
        *,
        limit: int = 500,
        continue_token: str = "",
        resource_version: str = "",
    ) -> ListPage:
        pages = {"limit": limit, "continue_token": continue_token, "resource_version": resource_version}
        page = await super().list(kind, selection, **pages)  # type: ignore[arg-type]
        return ListPage([self._doctor(kind, each) for each in page.items], page.resource_version, page.continue_token)

    @asynccontextmanager
    async def watch(
        self, kind: Kind, resource_version: str, selection: Selection = EVERYTHING, *, timeout_s: int = 300
    ) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        async with super().watch(kind, resource_version, selection, timeout_s=timeout_s) as events:
            yield (WatchEvent(event.type, self._doctor(kind, event.object)) async for event in events)

    def _doctor(self, kind: Kind, raw: msgspec.Raw) -> msgspec.Raw:
        if kind != Pod.KIND or not self.doctored:
            return raw
        document: Document = msgspec.json.decode(raw)
        if change := self.doctored.get(document["metadata"].get("name", "")):
            change(document)
        return msgspec.Raw(msgspec.json.encode(document))

    async def bind(self, request: BindRequest) -> None:
        self.binds.append((_now(), request))
        self.on_the_wire += 1
        self.most_on_the_wire = max(self.most_on_the_wire, self.on_the_wire)
        try:
            self.before_bind.pop(request.name, lambda: None)()
            await asyncio.sleep(self.bind_takes_s)
            if request.name in self.going:
                raise Conflict(409, "Conflict", f"pod {request.name} is being deleted, cannot be assigned to a host")
            await super().bind(request)
            if answers := self.broken_answers[request.name]:
                raise answers.popleft()
        finally:
            self.on_the_wire -= 1

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
        if kind == Pod.KIND:
            self.patches.append(Patch(_now(), name, copy.deepcopy(body), subresource, strategic))
        return await super().patch(kind, namespace, name, body, subresource=subresource, strategic=strategic)


class ActedCluster:
    """asked: what the scheduler is handed; everything else is what others do and see, without faults."""

    def __init__(self, clock: Clock, *manifests: Mapping[str, Any]) -> None:
        self.asked = AskedCluster(clock)
        self._store = self.asked.store
        for manifest in manifests:
            self.add(manifest)

    # -- what others do ----------------------------------------------------------------------------------------------

    def add(self, manifest: Mapping[str, Any]) -> None:
        """Create it, or make what is there like it."""
        kind, name = KINDS[manifest["kind"]], manifest["metadata"]["name"]
        try:
            self._store.create(kind, _place(kind), manifest)
        except Conflict:
            self.change(manifest["kind"], name, lambda document: document.update(merge(document, manifest)))

    def change(self, kind: str, name: str, change: Callable[[Document], object]) -> None:
        """A status is only written by its own request."""
        place = KINDS[kind], _place(KINDS[kind]), name
        before = self._store.get(*place).document
        after = copy.deepcopy(before)
        change(after)
        if {**after, "status": None} != {**before, "status": None}:
            self._store.update(*place, after)
        if after.get("status") != before.get("status"):
            self._store.patch(*place, {"status": after["status"]}, subresource="status")

    def delete(self, kind: str, name: str, grace_s: int = 0) -> None:
        self._store.delete(KINDS[kind], _place(KINDS[kind]), name, grace_s=grace_s)

    def bound_by(self, name: str, node: str) -> None:
        """Bind a Pod, as whoever asks."""
        self._store.bind(BindRequest(NAMESPACE, name, self.pod(name)["metadata"]["uid"], node))

    def add_as(self, manifest: Mapping[str, Any], change: Callable[[Document], object]) -> None:
        """The scheduler sees it changed; for what this API server refuses, and an older one may have let in."""
        self.asked.doctored[manifest["metadata"]["name"]] = change
        self.add(manifest)

    def hold(self, name: str) -> None:
        """Ask a Pod on no node to go, and keep it, as a finalizer would; the embedded cluster knows no finalizers."""
        going = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
        self.asked.going.add(name)
        self.asked.doctored[name] = lambda pod: pod["metadata"].update(going)
        self.change("Pod", name, lambda pod: pod["metadata"].setdefault("labels", {}).update(going="yes"))

    def slow_watches(self, echo_takes_s: float) -> None:
        self.fault(Fault("watch", delay_s=echo_takes_s, times=None))

    def fault(self, *faults: Fault) -> None:
        for each in faults:
            self.asked.faults.add(each)

    # -- what they see -----------------------------------------------------------------------------------------------

    def pod(self, name: str) -> Document:
        return self._store.get(Pod.KIND, NAMESPACE, name).document

    def has_pod(self, name: str) -> bool:
        try:
            return bool(self.pod(name))
        except NotFound:
            return False

    def pods(self) -> list[Document]:
        return [each.document for each in self._store.list(Pod.KIND).items]

    def node_of(self, name: str) -> str:
        return str(self.pod(name)["spec"].get("nodeName", ""))

    def condition(self, name: str) -> Document:
        conditions = self.pod(name).get("status", {}).get("conditions", [])
        return next((each for each in conditions if each["type"] == "PodScheduled"), {})

    def nominated(self, name: str) -> str:
        return str(self.pod(name).get("status", {}).get("nominatedNodeName", ""))

    @property
    def events(self) -> list[Document]:
        return [each.document for each in self._store.list(EVENT).items]

    def notes(self, reason: str) -> list[tuple[str, str]]:
        """(Pod, note) of all Events of one reason."""
        return [(each["regarding"]["name"], each["note"]) for each in self.events if each["reason"] == reason]


def _place(kind: Kind) -> str:
    return NAMESPACE if kind.namespaced else ""


def _now() -> float:
    return asyncio.get_running_loop().time()

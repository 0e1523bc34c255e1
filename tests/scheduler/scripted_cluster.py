"""A small API server in memory: it binds, deletes and patches by Kubernetes' rules, unless a test says otherwise.

It knows the few rules that the scheduler's walk depends on, and stands in until the embedded cluster exists.
"""

import asyncio
import copy
import json
from collections import defaultdict, deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from koordpy.cluster.protocol import BindRequest, EventType, ListPage, WatchEvent
from koordpy.cluster.recorder import EVENT
from koordpy.errors import Conflict, NotFound, Unreachable
from koordpy_api.objects import Device, Kind, Node, Pod

Document = dict[str, Any]
PLURALS: Final = {"Pod": Pod.KIND.plural, "Node": Node.KIND.plural, "Device": Device.KIND.plural}


@dataclass(frozen=True)
class Lost:
    """The request is carried out, and its answer is this error."""

    error: Exception = field(default_factory=lambda: Unreachable("the answer was lost"))


BindAnswer = Exception | Lost | Callable[[], None] | None
"""Of one bind: an error instead of it, an error after it, something to do before it, or nothing special."""


@dataclass(frozen=True)
class Patch:
    time: float
    name: str
    body: Mapping[str, Any]
    subresource: str
    strategic: bool


class SmallCluster:
    """koordpy.cluster.protocol.Cluster, with a diary.

    bind_answers: Pod → what its next binds are answered with. bind_takes_s, patch_takes_s: how long one is on the wire.
    echo_takes_s: how late watches are.
    patch_errors: of the next patches.
    """

    def __init__(self, *manifests: Mapping[str, Any]) -> None:
        self.bind_answers: defaultdict[str, deque[BindAnswer]] = defaultdict(deque)
        self.bind_takes_s = 0.0
        self.echo_takes_s = 0.0
        self.patch_takes_s = 0.0
        self.patch_errors: deque[Exception] = deque()
        self.binds: list[tuple[float, BindRequest]] = []
        self.on_the_wire = 0
        self.most_on_the_wire = 0
        self.patches: list[Patch] = []
        self.events: list[Document] = []
        self._objects: dict[tuple[str, str], Document] = {}
        self._log: list[tuple[str, EventType, str, Document]] = []
        self._news = asyncio.Event()
        self._version = 0
        for manifest in manifests:
            self.add(manifest)

    # -- what a test does ------------------------------------------------------------------------------------------

    def add(self, manifest: Mapping[str, Any]) -> None:
        document = json.loads(json.dumps(manifest))
        meta = document["metadata"]
        meta.setdefault("uid", f"uid-{meta['name']}-{self._version}")
        self._put("ADDED", document)

    def change(self, kind: str, name: str, change: Callable[[Document], None]) -> None:
        document = copy.deepcopy(self._objects[PLURALS[kind], name])
        change(document)
        self._put("MODIFIED", document)

    def delete(self, kind: str, name: str) -> None:
        document = self._objects.pop((PLURALS[kind], name))
        self._tell("DELETED", PLURALS[kind], document)

    def pod(self, name: str) -> Document:
        return self._objects[Pod.KIND.plural, name]

    def has_pod(self, name: str) -> bool:
        return (Pod.KIND.plural, name) in self._objects

    def pods(self) -> list[Document]:
        return [document for (plural, _), document in self._objects.items() if plural == Pod.KIND.plural]

    def node_of(self, name: str) -> str:
        return str(self.pod(name)["spec"].get("nodeName", ""))

    def condition(self, name: str) -> Document:
        conditions = self.pod(name).get("status", {}).get("conditions", [])
        return next((each for each in conditions if each["type"] == "PodScheduled"), {})

    def nominated(self, name: str) -> str:
        return str(self.pod(name).get("status", {}).get("nominatedNodeName", ""))

    def notes(self, reason: str) -> list[tuple[str, str]]:
        """(Pod, note) of all Events of one reason."""
        return [(each["regarding"]["name"], each["note"]) for each in self.events if each["reason"] == reason]

    def bound_by(self, name: str, node: str, annotations: Mapping[str, str] | None = None) -> None:
        """Bind a Pod, as whoever asks."""

        def bind(document: Document) -> None:
            document["spec"]["nodeName"] = node
            document["metadata"].setdefault("annotations", {}).update(annotations or {})
            document.setdefault("status", {})["conditions"] = [{"type": "PodScheduled", "status": "True"}]
            document["status"].pop("nominatedNodeName", None)

        self.change("Pod", name, bind)

    # -- the protocol ----------------------------------------------------------------------------------------------

    async def list(
        self,
        kind: Kind,
        *,
        field_selector: str = "",
        limit: int = 500,
        continue_token: str = "",
        resource_version: str = "",
    ) -> ListPage:
        found = [document for (plural, _), document in self._objects.items() if plural == kind.plural]
        return ListPage([_raw(each) for each in found if not _finished(each)], str(self._version), "")

    @asynccontextmanager
    async def watch(
        self, kind: Kind, resource_version: str, *, field_selector: str = "", timeout_s: int = 300
    ) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        async with aclosing(self._follow(kind.plural, int(resource_version), timeout_s)) as events:
            yield events

    async def get(self, kind: Kind, namespace: str, name: str) -> msgspec.Raw:
        return _raw(self._find(kind.plural, name))

    async def bind(self, request: BindRequest) -> None:
        self.binds.append((_now(), request))
        self.on_the_wire += 1
        self.most_on_the_wire = max(self.most_on_the_wire, self.on_the_wire)
        try:
            answers = self.bind_answers[request.name]
            answer = answers.popleft() if answers else None
            if callable(answer):
                answer()
            await asyncio.sleep(self.bind_takes_s)
            if isinstance(answer, Exception):
                raise answer
            self._carry_out(request)
            if isinstance(answer, Lost):
                raise answer.error
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
    ) -> None:
        self.patches.append(Patch(_now(), name, json.loads(json.dumps(body)), subresource, strategic))
        await asyncio.sleep(self.patch_takes_s)
        if self.patch_errors:
            raise self.patch_errors.popleft()
        document = copy.deepcopy(self._find(kind.plural, name))
        wanted: Any = body
        if wanted["metadata"]["uid"] != document["metadata"]["uid"]:
            raise Conflict(409, "Conflict", "the UID in the precondition does not match")
        now = document.setdefault("status", {})
        by_type = {each["type"]: each for each in now.get("conditions", [])}
        for each in wanted["status"].get("conditions", []):
            by_type[each["type"]] = by_type.get(each["type"], {}) | each
        now["conditions"] = list(by_type.values())
        if "nominatedNodeName" in wanted["status"]:
            now["nominatedNodeName"] = wanted["status"]["nominatedNodeName"] or ""
        self._put("MODIFIED", document)

    async def create(self, kind: Kind, namespace: str, body: Mapping[str, object]) -> None:
        assert kind == EVENT
        self.events.append(dict(body))

    async def close(self) -> None:
        pass

    # -- inside ------------------------------------------------------------------------------------------------------

    def _carry_out(self, request: BindRequest) -> None:
        document = self._find(Pod.KIND.plural, request.name)
        meta, spec = document["metadata"], document["spec"]
        if meta["uid"] != request.uid:
            raise Conflict(409, "Conflict", f"the UID in the precondition ({request.uid}) does not match")
        if meta.get("deletionTimestamp"):
            raise Conflict(409, "Conflict", f"pod {request.name} is being deleted, cannot be assigned to a host")
        if spec.get("nodeName"):
            raise Conflict(409, "Conflict", f'pod {request.name} is already assigned to node "{spec["nodeName"]}"')
        self.bound_by(request.name, request.node_name, request.annotations)

    def _find(self, plural: str, name: str) -> Document:
        try:
            return self._objects[plural, name]
        except KeyError:
            raise NotFound(404, "NotFound", f'{plural} "{name}" not found') from None

    def _put(self, type_: EventType, document: Document) -> None:
        plural = PLURALS[document["kind"]]
        self._objects[plural, document["metadata"]["name"]] = document
        # A watch with a field selector tells of an object that leaves the selection as deleted.
        self._tell("DELETED" if _finished(document) else type_, plural, document)

    def _tell(self, type_: EventType, plural: str, document: Document) -> None:
        self._version += 1
        document["metadata"]["resourceVersion"] = str(self._version)
        self._log.append((plural, type_, json.dumps(document), document))
        self._news.set()

    async def _follow(self, plural: str, version: int, timeout_s: int) -> AsyncGenerator[WatchEvent, None]:
        ends_at = _now() + timeout_s
        while _now() < ends_at:
            # Entry N of the log made version N + 1, so the version is also the place of the first entry not yet told.
            while version < len(self._log):
                kind, type_, text, _ = self._log[version]
                version += 1
                if kind == plural:
                    await asyncio.sleep(self.echo_takes_s)
                    yield WatchEvent(type_, msgspec.Raw(text.encode()))
            self._news.clear()
            try:
                async with asyncio.timeout_at(ends_at):
                    await self._news.wait()
            except TimeoutError:
                return


def _finished(document: Document) -> bool:
    return document["kind"] == "Pod" and document.get("status", {}).get("phase") in ("Succeeded", "Failed")


def _raw(document: Document) -> msgspec.Raw:
    return msgspec.Raw(json.dumps(document).encode())


def _now() -> float:
    return asyncio.get_running_loop().time()

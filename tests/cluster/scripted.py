"""A Cluster that answers what a test wrote down, and notes what it was asked and when."""

import asyncio
import json
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import msgspec

from koordpy.cluster.protocol import EVERYTHING, BindRequest, EventType, ListPage, Selection, WatchEvent
from koordpy_api import Problem
from koordpy_api.objects import Kind, KubeObject

Step = WatchEvent | Exception | float
"""In a watch: an event, an error that breaks it, or so many seconds of silence. After the last step it ends."""


@dataclass(frozen=True)
class Call:
    """One request. `resource_version` is what a watch starts from, `token` what a list goes on from."""

    verb: str
    time: float
    resource_version: str = ""
    token: str = ""
    limit: int = 0
    field_selector: str = ""
    timeout_s: int = 0


class ScriptedCluster:
    """Answers lists and watches in the order written; after that, lists are empty and watches silent.

    creates: errors to raise, one each call; None lets it pass.
    """

    def __init__(
        self,
        lists: Sequence[ListPage | Exception] = (),
        watches: Sequence[Sequence[Step] | Exception] = (),
        creates: Sequence[Exception | None] = (),
    ) -> None:
        self._lists = deque(lists)
        self._watches = deque(watches)
        self._creates = deque(creates)
        self.calls: list[Call] = []
        self.created: list[tuple[float, Mapping[str, Any]]] = []
        self.create_takes_s = 0.0
        self.creating = 0
        self.most_creating = 0
        self.open_watches = 0

    async def list(
        self,
        kind: Kind,
        selection: Selection = EVERYTHING,
        *,
        limit: int = 500,
        continue_token: str = "",
        resource_version: str = "",
    ) -> ListPage:
        self.calls.append(Call("list", _now(), resource_version, continue_token, limit, selection.fields))
        answer = self._lists.popleft() if self._lists else page([], "1")
        if isinstance(answer, Exception):
            raise answer
        return answer

    @asynccontextmanager
    async def watch(
        self, kind: Kind, resource_version: str, selection: Selection = EVERYTHING, *, timeout_s: int = 300
    ) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        call = Call("watch", _now(), resource_version, field_selector=selection.fields, timeout_s=timeout_s)
        self.calls.append(call)
        steps = self._watches.popleft() if self._watches else [float(timeout_s)]
        if isinstance(steps, Exception):
            raise steps
        self.open_watches += 1
        try:
            async with aclosing(_play(steps)) as events:
                yield events
        finally:
            self.open_watches -= 1

    async def get(self, kind: Kind, namespace: str, name: str) -> msgspec.Raw:
        raise NotImplementedError

    async def bind(self, request: BindRequest) -> None:
        raise NotImplementedError

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
        raise NotImplementedError

    async def update(
        self, kind: Kind, namespace: str, name: str, body: Mapping[str, object], *, subresource: str = ""
    ) -> msgspec.Raw:
        raise NotImplementedError

    async def delete(self, kind: Kind, namespace: str, name: str, *, grace_s: int | None = None, uid: str = "") -> None:
        raise NotImplementedError

    async def create(self, kind: Kind, namespace: str, body: Mapping[str, object]) -> msgspec.Raw:
        self.creating += 1
        self.most_creating = max(self.most_creating, self.creating)
        try:
            await asyncio.sleep(self.create_takes_s)
        finally:
            self.creating -= 1
        self.calls.append(Call("create", _now()))
        error = self._creates.popleft() if self._creates else None
        if error is not None:
            raise error
        self.created.append((_now(), body))
        return msgspec.Raw(json.dumps(body).encode())

    async def close(self) -> None:
        pass

    def asked(self, verb: str) -> Sequence[Call]:
        return [call for call in self.calls if call.verb == verb]


class Diary:
    """An ObjectHandler that writes down what it is told, as "added default/a@5"."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def added(self, obj: KubeObject) -> None:
        self.lines.append(f"added {_label(obj)}")

    def updated(self, old: KubeObject, new: KubeObject) -> None:
        self.lines.append(f"updated {_label(old)} to {_label(new)}")

    def deleted(self, obj: KubeObject) -> None:
        self.lines.append(f"deleted {_label(obj)}")


class Reports:
    """Takes the complaints about objects."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str, Problem]] = []

    def __call__(self, kind: str, name: str, problem: Problem) -> None:
        self.lines.append((kind, name, problem))

    @property
    def places(self) -> list[tuple[str, str]]:
        return [(name, problem.path) for _, name, problem in self.lines]


def pod(name: str, version: str, uid: str = "", **parts: Any) -> dict[str, Any]:
    """The document of a Pod; `parts` replace its top-level keys."""
    meta = {"namespace": "default", "name": name, "uid": uid or f"uid-{name}", "resourceVersion": version}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, **parts}


def raw(document: object) -> msgspec.Raw:
    return msgspec.Raw(json.dumps(document).encode())


def page(documents: Sequence[object], version: str, token: str = "") -> ListPage:
    return ListPage([raw(each) for each in documents], version, token)


def event(type_: EventType, document: object) -> WatchEvent:
    return WatchEvent(type_, raw(document))


def bookmark(version: str) -> WatchEvent:
    """As the API server sends them: with nulls where a Pod must have something."""
    meta = {"resourceVersion": version, "creationTimestamp": None}
    return event("BOOKMARK", {"kind": "Pod", "metadata": meta, "spec": {"containers": None}, "status": {}})


def failure(code: int, reason: str, message: str = "") -> WatchEvent:
    return event("ERROR", {"kind": "Status", "code": code, "reason": reason, "message": message})


async def _play(steps: Sequence[Step]) -> AsyncGenerator[WatchEvent, None]:
    for step in steps:
        if isinstance(step, Exception):
            raise step
        if isinstance(step, WatchEvent):
            yield step
        else:
            await asyncio.sleep(step)


def _now() -> float:
    return asyncio.get_running_loop().time()


def _label(obj: KubeObject) -> str:
    return f"{obj.key}@{obj.metadata.resource_version}"

"""Routes: what path, method and headers mean to the store, and the sentence for what is not served.

In a refusal upstream's words come first, then what to use instead.
"""

import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeVar

import msgspec
from aiohttp import web

from koordpy.cluster.embedded import discovery
from koordpy.cluster.embedded.checks import INT64
from koordpy.cluster.embedded.cluster import EmbeddedCluster
from koordpy.cluster.embedded.faults import subject
from koordpy.cluster.embedded.kinds import CORE_EVENT, RESOURCES
from koordpy.cluster.embedded.refusals import refused
from koordpy.cluster.embedded.store import Document, Stored, Watch
from koordpy.cluster.embedded.tables import table
from koordpy.cluster.kinds import EVENT
from koordpy.cluster.protocol import BindRequest, Selection
from koordpy.errors import ApiError, Expired
from koordpy_api.objects import Kind

T = TypeVar("T")
JSON: Final = "application/json"
NONE: Final = "application/octet-stream"  # what no Content-Type counts as
MAX_BODY: Final = 3 * 2**20
_MERGE, _STRATEGIC = "application/merge-patch+json", "application/strategic-merge-patch+json"
_TABLE: Final = {"as=Table", "v=v1", "g=meta.k8s.io"}
_TRUE: Final = ("true", "True", "1")
_NOT_ALLOWED: Final = "the server does not allow this method on the requested resource"
_NOT_FOUND: Final = "the server could not find the requested resource"
_ABSENT: Final = {
    **dict.fromkeys(("log", "exec", "attach", "portforward", "proxy"), "no container runs behind its pods"),
    **dict.fromkeys(("ephemeralcontainers", "resize", "scale"), "delete the object and create another"),
    "eviction": "nothing guards its pods against eviction, so delete them",
    "finalize": "it has no finalizers, so delete the namespace",
}
_UNREAD: Final = {
    "application/vnd.kubernetes.protobuf": "; protobuf is not read here: kubectl create -f, apply and delete send JSON",
    "application/yaml": "; YAML is not read here: kubectl create -f, apply and delete send JSON",
    "application/apply-patch+yaml": "; there is no server-side apply here: use kubectl apply without --server-side",
    "application/json-patch+json": "; there are no JSON patches here: use kubectl patch --type=merge",
}
# The object that upstream's sentences speak of (`pods "p" not found`), and the start of a cause after the first one.
_SUBJECT: Final = re.compile(r'([A-Za-z][\w.-]*) "([^"]*)"')
_CAUSE: Final = re.compile(r", (?=[a-z][\w.\[\]/\"-]*: [A-Z])")


class _DeleteOptions(msgspec.Struct, rename="camel"):
    kind: str = "DeleteOptions"
    grace_period_seconds: INT64 | None = None
    preconditions: dict[str, str | None] | None = None
    propagation_policy: str | None = None
    dry_run: list[str] | None = None


@dataclass(frozen=True, slots=True)
class _Target:
    """What the path names. form: how it is to be shown, "" as plain JSON, else what a Table has beside each row."""

    kind: Kind
    selection: Selection
    name: str
    subresource: str
    form: str

    @property
    def place(self) -> tuple[Kind, str, str]:
        return self.kind, self.selection.namespace, self.name


class Routes:
    """The store by HTTP's verbs. Every request goes through the gate of faults.py."""

    def __init__(self, cluster: EmbeddedCluster) -> None:
        self._clock, self._store, self._faults = cluster.clock, cluster.store, cluster.faults

    async def answer(self, call: web.BaseRequest) -> web.Response | tuple[Watch, AsyncIterator[bytes]]:
        """Whole, or a watch with its lines; who takes it closes it. Raises: ApiError, Unreachable."""
        path = call.path.rstrip("/")
        if call.method != "GET" and path in discovery.READ_ONLY:
            raise refused(405, _NOT_ALLOWED)
        if (document := discovery.document(path, call.host)) is not None:
            return _json(document)
        if path in discovery.TEXTS:
            return web.Response(body=discovery.TEXTS[path][0], content_type=discovery.TEXTS[path][1])
        target = _target(call, path)
        if call.query.get("dryRun"):
            raise refused(501, "dryRun is not in the embedded cluster: use kubectl --dry-run=client")
        store, place, sub = self._store, target.place, target.subresource
        match call.method, bool(target.name), sub:
            case "GET", False, "":
                watches = call.query.get("watch") in _TRUE
                return await self._watch(call.query, target) if watches else await self._list(call.query, target)
            case "POST", True, "binding":
                return await self._bind(call, target)
            case "DELETE", True, "":
                return await self._delete(call, target)
            case "POST", False, "" if place[1] or not target.kind.namespaced:
                body = await _body(call, target.kind.name)
                return await self._one("create", target, partial(store.create, *place[:2], body), subject(body))
            case "GET", True, "" | "status":
                return await self._one("get", target, partial(store.get, *place))
            case "PUT", True, "" | "status":
                body = await _body(call, target.kind.name)
                return await self._one("update", target, partial(store.update, *place, body, sub))
            case "PATCH", True, "" | "status":
                body, strategic = await _body(call, "", _MERGE, _STRATEGIC), call.content_type == _STRATEGIC
                act = partial(store.patch, *place, body, strategic=strategic, subresource=sub)
                return await self._one("patch", target, act)
        hint = ": in the embedded cluster, objects are deleted one by one" if call.method == "DELETE" else ""
        raise refused(405, f"{_NOT_ALLOWED}{hint}")

    async def _one(self, verb: str, target: _Target, act: partial[Stored], name: str = "") -> web.Response:
        label = f"{target.kind.plural}/{target.subresource}".rstrip("/")
        stored = await self._faults.perform(verb, label, name or target.name, act)
        return self._shown(stored, target, 201 if verb == "create" else 200)

    def _shown(self, stored: Stored, target: _Target, status: int = 200) -> web.Response:
        if not target.form:
            return _json(stored.raw, status)
        version = {"resourceVersion": str(stored.version)}
        return _json(self._table([stored.document], target, version), status)

    def _table(self, objects: list[Document], target: _Target, metadata: Document) -> Document:
        return table(target.kind, objects, self._clock.now(), target.form) | {"metadata": metadata}

    async def _list(self, query: Mapping[str, str], target: _Target) -> web.Response:
        if query.get("resourceVersionMatch") == "Exact":
            raise refused(501, "the embedded cluster lists what is there now: use limit and continue for a fixed state")
        rest: dict[str, Any] = {"limit": _number(query, "limit") or 0, "continue_token": query.get("continue", "")}
        version, kind = query.get("resourceVersion", ""), target.kind
        act = partial(self._store.list, kind, target.selection, resource_version=version, **rest)
        page = await self._faults.perform("list", kind.plural, "", act)
        meta = {"resourceVersion": page.version, "continue": page.continue_token, "remainingItemCount": page.remaining}
        meta = {key: value for key, value in meta.items() if value}
        if target.form:
            return _json(self._table([each.document for each in page.items], target, meta))
        head = {"kind": f"{kind.name}List", "apiVersion": kind.api_version, "metadata": meta}
        return _json({**head, "items": [each.raw for each in page.items]})

    async def _watch(
        self, query: Mapping[str, str], target: _Target
    ) -> web.Response | tuple[Watch, AsyncIterator[bytes]]:
        version = "" if query.get("sendInitialEvents") in _TRUE else query.get("resourceVersion", "")
        rest: dict[str, Any] = {"bookmarks": query.get("allowWatchBookmarks") in _TRUE}
        rest |= {"timeout_s": seconds} if (seconds := _number(query, "timeoutSeconds")) else {}
        act = partial(self._store.watch, target.kind, version, target.selection, **rest)
        try:
            watch = await self._faults.open_watch(target.kind.plural, act)
        except Expired as error:  # upstream agrees first
            return web.Response(body=_error_line(error), content_type=JSON)
        return watch, self._lines(watch, target)

    async def _lines(self, watch: Watch, target: _Target) -> AsyncIterator[bytes]:
        columns: Document = {}
        try:
            async for change in watch:
                told: Document | msgspec.Raw = change.object.raw
                if target.form and change.type != "ERROR":
                    meta = {"resourceVersion": str(change.object.version)}
                    told = self._table([change.object.document], target, meta) | columns
                    columns = {"columnDefinitions": None}  # only the first line tells them
                yield msgspec.json.encode({"type": change.type, "object": told}) + b"\n"
        except ApiError as error:
            yield _error_line(error)

    async def _delete(self, call: web.BaseRequest, target: _Target) -> web.Response:
        told = _typed(await _body(call, "DeleteOptions") if call.body_exists else {}, _DeleteOptions)
        if told.kind != "DeleteOptions":
            raise refused(400, f'no kind "{told.kind}" says how to delete: send DeleteOptions')
        if told.dry_run or told.propagation_policy in ("Foreground", "Orphan"):
            raise refused(501, "the embedded cluster deletes one object, at once: leave --dry-run and --cascade away")
        grace_s = told.grace_period_seconds if call.body_exists else _number(call.query, "gracePeriodSeconds")
        must, kind = told.preconditions or {}, target.kind
        uid, version = must.get("uid") or "", must.get("resourceVersion") or ""
        act = partial(self._store.delete, *target.place, grace_s=grace_s, uid=uid, resource_version=version)
        left = await self._faults.perform("delete", kind.plural, target.name, act)
        if kind.plural in ("pods", "namespaces"):  # what may stay for a while is told whole
            return self._shown(left, target)
        group = {"group": kind.group} if kind.group else {}
        details = {"name": target.name, **group, "kind": kind.plural, "uid": left.document["metadata"]["uid"]}
        return _json({**_STATUS, "status": "Success", "details": details})

    async def _bind(self, call: web.BaseRequest, target: _Target) -> web.Response:
        body = await _body(call, "Binding")
        meta, goal = body.get("metadata") or {}, body.get("target") or {}
        if meta.get("name") != target.name:
            raise refused(400, "name in URL does not match name in Binding object")
        node = goal.get("name") or ""
        given = {"uid": meta.get("uid") or "", "node_name": node, "annotations": meta.get("annotations") or {}}
        request = _typed({"namespace": target.place[1], "name": target.name, **given}, BindRequest)
        await self._faults.perform("bind", target.kind.plural, target.name, partial(self._store.bind, request))
        return _json({**_STATUS, "status": "Success", "code": 201}, 201)


_STATUS: Final = {"kind": "Status", "apiVersion": "v1", "metadata": {}}


def status_of(error: ApiError) -> web.Response:
    """The Status of an error."""
    later = None if error.retry_after_s is None else {"Retry-After": str(int(error.retry_after_s))}
    return _json(_failure(error), error.status, later)


def _failure(error: ApiError) -> Document:
    """Its details, which kubectl prints, stand in upstream's sentence too."""
    details: Document = {}
    known = error.reason in ("NotFound", "AlreadyExists", "Conflict", "Invalid")
    find = _SUBJECT.match if error.reason == "Invalid" else _SUBJECT.search
    if known and (named := find(error.message)):
        kind, _, group = named[1].partition(".")
        details = {"name": named[2], "kind": kind} | ({"group": group} if group else {})
    if details and error.reason == "Invalid":
        wrong = error.message.partition(" is invalid: ")[2].removeprefix("[").removesuffix("]")
        causes = [each.partition(": ") for each in _CAUSE.split(wrong)]
        details["causes"] = [{"field": where, "message": what} for where, _, what in causes]
    if error.retry_after_s is not None:
        details["retryAfterSeconds"] = int(error.retry_after_s)
    reason = error.reason.replace("Unknown", "")
    told: Document = {**_STATUS, "status": "Failure", "message": error.message, "reason": reason, "details": details}
    return {key: value for key, value in told.items() if value or key == "metadata"} | {"code": error.status}


def _error_line(error: ApiError) -> bytes:
    return msgspec.json.encode({"type": "ERROR", "object": _failure(error)}) + b"\n"


def _json(told: object, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    return web.Response(body=msgspec.json.encode(told), status=status, headers=headers, content_type=JSON)


def _form(call: web.BaseRequest) -> str:
    """Of the accepted forms the first that is served."""
    for accepted in (",".join(call.headers.getall("Accept", [])) or JSON).split(","):
        media, *parts = (each.strip() for each in accepted.split(";"))
        if media in (JSON, "application/*", "*/*") and not any(each.startswith("as=") for each in parts):
            return ""
        if media == JSON and set(parts) >= _TABLE:
            return call.query.get("includeObject") or "Metadata"
    raise refused(406, f"406: Not Acceptable: the embedded cluster answers {JSON}, plain or as a Table of v1")


def _target(call: web.BaseRequest, path: str) -> _Target:
    parts, namespace = path.split("/"), ""
    depth = 4 if path.startswith("/apis/") else 3
    root, rest = "/".join(parts[:depth]), parts[depth:]
    if len(rest) > 2 and rest[0] == "namespaces" and rest[2] not in ("status", "finalize"):
        namespace, rest = rest[1], rest[2:]
    plural, name, subresource, *more = (*rest, "", "", "")
    resource = discovery.find(root, plural)
    if resource is None or any(more) or (bool(namespace) > resource.kind.namespaced):
        kept = ", ".join(each.qualified for each in RESOURCES)
        raise refused(404, f"{_NOT_FOUND}: the embedded cluster keeps only {kept}")
    if subresource in _ABSENT:
        raise refused(501, f"{plural}/{subresource} is not in the embedded cluster: {_ABSENT[subresource]}")
    missing = subresource and subresource not in discovery.subresources(resource)
    if missing or (name and not namespace and resource.kind.namespaced):
        raise refused(404, _NOT_FOUND)
    form = _form(call)
    selection = Selection(namespace, call.query.get("labelSelector", ""), call.query.get("fieldSelector", ""))
    kind = CORE_EVENT if form and resource.kind == EVENT else resource.kind  # one Table serves both forms
    return _Target(kind, selection, name, subresource, form)


def _number(query: Mapping[str, str], key: str) -> int | None:
    text = query.get(key, "")
    if text and not re.fullmatch(r"-?\d{1,19}", text):
        raise refused(400, f'strconv.ParseInt: parsing "{text}": invalid syntax')
    return int(text) if text else None


async def _body(call: web.BaseRequest, kind: str, *media: str) -> Document:
    """The object that was sent, or the patch. Raises: ApiError 413, 415 or 400."""
    if call.content_type not in (media or (JSON, NONE)):
        why = "the body of the request was in an unknown format - accepted media types include: "
        raise refused(415, f"{why}{', '.join(media or (JSON,))}{_UNREAD.get(call.content_type, '')}")
    body = bytearray()
    async for chunk in call.content.iter_any():
        body += chunk
        if len(body) > MAX_BODY:
            raise refused(413, f"Request entity too large: limit is {MAX_BODY}", "RequestEntityTooLarge")
    try:
        return msgspec.json.decode(body, type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError) as error:  # also of JSON that is no object
        what = f"the object provided is unrecognized (must be of type {kind})" if kind else "error decoding patch"
        raise refused(400, f"{what}: {error}") from None


def _typed(document: Document, of: type[T]) -> T:
    try:
        return msgspec.convert(document, of)
    except msgspec.ValidationError as error:
        raise refused(400, str(error)) from None

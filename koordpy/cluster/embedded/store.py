"""Store: objects, their versions, and who may change what into what. Every method is done before it returns."""

import base64
import random
from bisect import bisect_left, insort
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Literal

import msgspec

from koordpy.clock import Clock
from koordpy.cluster.embedded import checks, patch, rules
from koordpy.cluster.embedded.events import from_core, to_core
from koordpy.cluster.embedded.kinds import CORE_EVENT, RESOURCES, Resource
from koordpy.cluster.embedded.refusals import conflict, invalid, refused
from koordpy.cluster.embedded.selectors import wanted
from koordpy.cluster.embedded.watchlog import Change, Document, Entry, Stored, View, Watch, WatchLog, bookmark, seen
from koordpy.cluster.kinds import EVENT, LEASE, NAMESPACE
from koordpy.cluster.protocol import EVERYTHING, BindRequest, Selection
from koordpy.errors import Expired
from koordpy_api.objects import Kind, Pod

__all__ = ["Change", "Document", "Page", "Store", "Stored", "Watch"]

HISTORY: Final = 10_000
NAMESPACES: Final = ("default", "kube-node-lease", "kube-public", "kube-system")
# A cluster is never new: version 1 is too old to continue from, as it is on any that people meet.
FIRST_VERSION: Final = 100
Body = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Page:
    """A part of a list, as of `version`. remaining: how many follow, where a server says it (no selectors)."""

    items: list[Stored]
    version: str
    continue_token: str = ""
    remaining: int | None = None


@dataclass(slots=True)
class _Collection:
    """The objects of one kind by `namespace/name`, and these keys in order."""

    log: WatchLog
    objects: dict[str, Stored] = field(default_factory=dict)
    keys: list[str] = field(default_factory=list)


class _Place(msgspec.Struct, frozen=True):
    """What a continue token says: the state of which version, and where to go on."""

    rv: int
    start: str = ""
    v: Literal["meta.k8s.io/v1"] = "meta.k8s.io/v1"


class Store:
    """See the module. Raises ApiErrors with the reasons and the texts of an API server.

    version: of the last write. history: how many changes of a kind are remembered for watches and for later pages.
    """

    def __init__(self, clock: Clock, rng: random.Random, history: int = HISTORY) -> None:
        self.version = FIRST_VERSION
        self._clock = clock
        self._rng = rng
        self._resources = {each.kind: each for each in RESOURCES}
        self._collections = {each.kind: _Collection(WatchLog(self.version, history)) for each in RESOURCES}
        self._collections[CORE_EVENT] = self._collections[EVENT]
        for name in NAMESPACES:
            self.create(NAMESPACE, "", {"metadata": {"name": name}})

    def get(self, kind: Kind, namespace: str, name: str) -> Stored:
        return _shown(kind, self._find(kind, namespace, name))

    def list(
        self,
        kind: Kind,
        selection: Selection = EVERYTHING,
        limit: int = 0,
        continue_token: str = "",
        resource_version: str = "",
    ) -> Page:
        """Raises: Expired if the state that is asked for is forgotten."""
        resource, collection = self._resource(kind), self._collections[kind]
        asked = _number(resource_version)
        place = _place(continue_token) if continue_token else _Place(asked if limit and asked else self.version)
        if max(place.rv, asked) > self.version:
            message = f"Timeout: Too large resource version: {max(place.rv, asked)}, current: {self.version}"
            raise refused(504, message, retry_after_s=1.0)
        keys, at = _as_of(collection, place)
        space = f"{selection.namespace}/" if selection.namespace and kind.namespaced else ""
        last = bisect_left(keys, f"{selection.namespace}0") if space else len(keys)  # "0" is what follows "/"
        question = wanted(resource, Selection(labels=selection.labels, fields=selection.fields))
        most = limit if limit > 0 and resource_version != "0" else last
        items: list[Stored] = []
        for index in range(bisect_left(keys, max(place.start, space)), last):
            shown = _shown(kind, at(keys[index]))
            if question is not None and not question(shown.document):
                continue
            if len(items) == most:
                token = base64.urlsafe_b64encode(msgspec.json.encode(_Place(place.rv, keys[index]))).decode()
                return Page(items, str(place.rv), token.rstrip("="), None if question else last - index)
            items.append(shown)
        return Page(items, str(place.rv))

    def create(self, kind: Kind, namespace: str, body: Body) -> Stored:
        resource = self._resource(kind)
        document = checks.read(resource, body)
        name = rules.settle(resource, document, namespace, self._rng)
        if kind.namespaced:
            self._find(NAMESPACE, "", namespace)
        new = rules.born(resource, _kept(kind, document), self._clock.now(), self._rng)
        key = _key(kind, namespace, name)
        if key in self._collections[kind].objects:
            is_going = "deletionTimestamp" in self._find(kind, namespace, name).document["metadata"]
            why = "object is being deleted: " if is_going else ""
            raise refused(409, f'{why}{resource.qualified} "{name}" already exists', "AlreadyExists")
        insort(self._collections[kind].keys, key)
        return _shown(kind, self._write(kind, key, new))

    def update(self, kind: Kind, namespace: str, name: str, body: Body, subresource: str = "") -> Stored:
        resource = self._resource(kind, subresource, name)
        document = checks.read(resource, body)
        meta = document["metadata"]
        _demand_place(kind, meta, namespace, name)
        stored = self._find(kind, namespace, name)
        rules.demand_uid(resource, name, meta.get("uid", ""), stored.document["metadata"]["uid"])
        if resource.update_needs_version and not meta.get("resourceVersion"):
            what = "Invalid value: 0: must be specified for an update"
            raise invalid(resource, name, [("metadata.resourceVersion", what)])
        return self._replace(kind, name, stored, document, subresource)

    def patch(
        self, kind: Kind, namespace: str, name: str, body: Body, *, strategic: bool = False, subresource: str = ""
    ) -> Stored:
        resource = self._resource(kind, subresource, name)
        if strategic and resource.is_custom:
            raise refused(415, "the body of the request was in an unknown format - send application/merge-patch+json")
        stored = self._find(kind, namespace, name)
        old, patched = _shown(kind, stored).document, msgspec.to_builtins(body, str_keys=True)
        document = checks.read(resource, (patch.strategic if strategic else patch.merge)(old, patched))
        _demand_place(kind, document["metadata"], namespace, name)
        return self._replace(kind, name, stored, document, subresource)

    def delete(
        self,
        kind: Kind,
        namespace: str,
        name: str,
        *,
        grace_s: int | None = None,
        uid: str = "",
        resource_version: str = "",
    ) -> Stored:
        """Returns: what is left of it, or was."""
        stored, key = self._find(kind, namespace, name), _key(kind, namespace, name)
        rules.demand_preconditions(self._resources[kind], stored.document, uid, resource_version)
        if kind == NAMESPACE:
            for inner in (Pod.KIND, EVENT, LEASE):  # the latter two are there though nobody wrote them
                for inside in [each.document["metadata"]["name"] for each in self.list(inner, Selection(name)).items]:
                    if inner == Pod.KIND:
                        raise conflict("namespaces", name, f"in the embedded cluster, delete pod {name}/{inside} first")
                    self.delete(inner, name, inside)
        if kind == Pod.KIND:
            left = rules.doomed(stored.document, grace_s, self._clock.now())
            if left is not stored.document:
                stored = self._write(kind, key, left)
            if left["metadata"]["deletionGracePeriodSeconds"]:
                return stored
        self.version += 1
        collection, gone = self._collections[kind], stored.at_version(self.version)
        del collection.objects[key], collection.keys[bisect_left(collection.keys, key)]
        collection.log.append(Entry(self.version, key, stored, gone, True, self._clock.monotonic()))
        return _shown(kind, gone)

    def bind(self, request: BindRequest) -> None:
        if not request.node_name:
            raise refused(500, "target.name: Required value", "Unknown")
        pod = self._find(Pod.KIND, request.namespace, request.name).document
        bound = rules.bound(self._resources[Pod.KIND], pod, request, self._clock.now())
        self._write(Pod.KIND, _key(Pod.KIND, request.namespace, request.name), bound)

    def watch(
        self,
        kind: Kind,
        resource_version: str = "",
        selection: Selection = EVERYTHING,
        *,
        timeout_s: float = 1800.0,
        bookmarks: bool = True,
    ) -> Watch:
        """Raises: Expired if the version is no longer remembered."""
        question, head = wanted(self._resource(kind), selection), {"kind": kind.name, "apiVersion": kind.api_version}
        first: list[Change] = []
        after = _number(resource_version)
        if not after:
            first, after = [Change("ADDED", each) for each in self.list(kind, selection).items], self.version
            if bookmarks:
                first.append(bookmark(head, after, {"k8s.io/initial-events-end": "true"}))
        see = partial(seen, wanted=question, show=partial(_shown, kind))
        mark = (lambda: bookmark(head, self.version)) if bookmarks else None
        view = View(see, mark, lambda: self.version, self._clock)
        return Watch(self._collections[kind].log, view, after, first, timeout_s)

    def compact(self) -> None:
        """Forget the past: what continues from before now is answered with 410."""
        for collection in self._collections.values():
            collection.log.forget()
            collection.log.oldest = self.version

    def _replace(self, kind: Kind, name: str, stored: Stored, document: Document, subresource: str) -> Stored:
        resource, meta = self._resources[kind], document["metadata"]
        if (meta.get("resourceVersion") or "0") not in ("0", str(stored.version)):
            why = "the object has been modified; please apply your changes to the latest version and try again"
            raise conflict(resource.qualified, name, why)
        if (uid := meta.get("uid", stored.document["metadata"]["uid"])) != stored.document["metadata"]["uid"]:
            raise invalid(resource, name, [("metadata.uid", f'Invalid value: "{uid}": field is immutable')])
        new = rules.replaced(resource, stored.document, _kept(kind, document), subresource)
        if new == stored.document:
            return _shown(kind, stored)
        return _shown(kind, self._write(kind, _key(kind, meta.get("namespace", ""), name), new))

    def _write(self, kind: Kind, key: str, document: Document) -> Stored:
        """`document`, and its metadata, are nobody else's."""
        self.version += 1
        document["metadata"]["resourceVersion"] = str(self.version)
        collection, stored = self._collections[kind], Stored(document, self.version)
        entry = Entry(self.version, key, collection.objects.get(key), stored, False, self._clock.monotonic())
        collection.objects[key] = stored
        collection.log.append(entry)
        return stored

    def _resource(self, kind: Kind, subresource: str = "", name: str = "") -> Resource:
        resource = self._resources.get(kind)
        if resource is None:
            raise refused(404, "the server could not find the requested resource")
        if subresource and not (subresource == "status" and resource.has_status):
            raise refused(404, f'{resource.qualified} "{name}" not found')
        return resource

    def _find(self, kind: Kind, namespace: str, name: str) -> Stored:
        resource = self._resource(kind)
        stored = self._collections[kind].objects.get(_key(kind, namespace, name))
        if stored is None:
            raise refused(404, f'{resource.qualified} "{name}" not found')
        return stored


def _key(kind: Kind, namespace: str, name: str) -> str:
    return f"{namespace}/{name}" if kind.namespaced else name


def _demand_place(kind: Kind, meta: Document, namespace: str, name: str) -> None:
    """An object says, or does not say, that it is where the request goes to. Raises: ApiError 400."""
    space = meta.setdefault("namespace", namespace) if kind.namespaced else namespace
    for what, given, there in (("name", meta.get("name", ""), name), ("namespace", space, namespace)):
        if given != there:
            raise refused(400, f"the {what} of the object ({given}) does not match the {what} on the URL ({there})")


def _kept(kind: Kind, document: Document) -> Document:
    """Events are kept in their newer version."""
    return from_core(document) if kind == CORE_EVENT else document


def _shown(kind: Kind, stored: Stored) -> Stored:
    """Whoever asks for the older version of an Event gets it, converted once."""
    if kind != CORE_EVENT:
        return stored
    if stored.twin is None:
        stored.twin = Stored(to_core(stored.document), stored.version)
    return stored.twin


def _number(version: str) -> int:
    if version and not version.isdecimal():
        raise refused(400, f'invalid resource version: "{version}"')
    return int(version or 0)


def _as_of(collection: _Collection, place: _Place) -> tuple[list[str], Callable[[str], Stored]]:
    """The keys in order, and the objects, of that version."""
    try:
        undone = collection.log.undone(place.rv)
    except Expired:
        raise refused(410, "The provided continue parameter is too old to be consistent.") from None
    if not undone:
        return collection.keys, collection.objects.__getitem__
    was: dict[str, Any] = {key: old for key, old in undone.items() if old is not None}
    keys = sorted({key for key in collection.keys if key not in undone} | was.keys())
    return keys, lambda key: was[key] if key in was else collection.objects[key]


def _place(token: str) -> _Place:
    """`start` is the first of the next page."""
    try:
        return msgspec.json.decode(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)), type=_Place)
    except (ValueError, msgspec.DecodeError) as error:
        raise refused(400, f"invalid continue token: continue key is not valid: {error}") from None

"""Bytes to objects of one kind. An object that cannot be read is reported, and never stops what it came in.

1. Nearly always the bytes fit the type.
2. Else every null is taken out, since in Kubernetes' JSON a null means absent, and it is tried again.
3. Else, of a Pod that is assigned, what can be read is kept: what it holds on its node must stay booked.
4. Anything else raises UndecodableObject, which still knows whose version it is.
"""

import re
from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar, get_args, get_origin

import msgspec

from koordpy.errors import KoordpyError
from koordpy_api import Problem
from koordpy_api.objects import KubeObject, Pod

K = TypeVar("K", bound=KubeObject)

Report = Callable[[str, str, Problem], None]
"""Told the kind's name, the object's key, and what is wrong with it."""

# How many complaints are remembered, so that an object that is sent every minute is reported once.
_REMEMBERED: Final = 10_000
_SHOWN: Final = 64
_PLACE: Final = re.compile(r"(?P<what>.*?)(?: - at `(?P<where>.*)`)?", re.DOTALL)
_STEP: Final = re.compile(r"\.(?P<key>[^.\[\]]+)|\[(?P<index>\d+)\]")


class UndecodableObject(KoordpyError):
    """An object exists, but cannot be read. `key`, `uid` and `resource_version` are empty if even they cannot."""

    def __init__(self, kind: str, key: str, problem: Problem, uid: str = "", resource_version: str = "") -> None:
        super().__init__(f"{kind} {key}: {problem}")
        self.kind = kind
        self.key = key
        self.problem = problem
        self.uid = uid
        self.resource_version = resource_version


class ObjectDecoder(Generic[K]):
    """Decodes objects of one kind; `report` hears of each object and place once. share: what is done to each then."""

    def __init__(self, kind: type[K], report: Report, share: Callable[[K], K] | None = None) -> None:
        self.kind = kind.KIND
        self._type = kind
        self._report = report
        self._share = share
        self._fast = msgspec.json.Decoder(kind)
        self._reported: dict[tuple[str, str, str, str], None] = {}

    def decode(self, raw: bytes | msgspec.Raw) -> K:
        """Raises: UndecodableObject."""
        try:
            decoded = self._fast.decode(raw)
            return decoded if self._share is None else self._share(decoded)
        except msgspec.DecodeError as error:
            return self._repair(raw, error)
        except RecursionError:
            raise UndecodableObject(self.kind.name, "", Problem("", "", "nested too deeply to be read")) from None

    def _repair(self, raw: bytes | msgspec.Raw, error: msgspec.DecodeError) -> K:
        try:
            # As Go does: a byte that is no UTF-8 becomes U+FFFD instead of an error.
            document = msgspec.json.decode(bytes(raw).decode(errors="replace"))
        except msgspec.DecodeError:
            problem = Problem("", "", f"expected JSON: {error}")
            self._say("", "", problem)
            raise UndecodableObject(self.kind.name, "", problem) from None
        identity = _identity(document)
        problem = _explain(error, document)
        self._say(identity.key, identity.metadata.uid, problem)
        document = _without_nulls(document)
        try:
            return msgspec.convert(document, self._type)
        except msgspec.ValidationError as second:
            problem = _explain(second, document)
        self._say(identity.key, identity.metadata.uid, problem)
        if issubclass(self._type, Pod) and identity.key and _is_assigned(document):
            kept: K = _keep(document, self._type)
            return kept
        meta = identity.metadata
        raise UndecodableObject(self.kind.name, identity.key, problem, meta.uid, meta.resource_version)

    def _say(self, key: str, uid: str, problem: Problem) -> None:
        mark = (key, uid, problem.path, problem.value)
        if mark in self._reported:
            return
        if len(self._reported) >= _REMEMBERED:
            del self._reported[next(iter(self._reported))]
        self._reported[mark] = None
        self._report(self.kind.name, key, problem)


def _identity(document: object) -> KubeObject:
    """Only the metadata, as far as it is right."""
    try:
        identity: KubeObject = _keep(document, KubeObject)
    except msgspec.ValidationError:
        return KubeObject()
    return identity


def _is_assigned(document: dict[str, Any]) -> bool:
    spec = document.get("spec")
    return isinstance(spec, dict) and isinstance(spec.get("nodeName"), str) and bool(spec["nodeName"])


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(each) for key, each in value.items() if each is not None}
    if isinstance(value, list):
        return [_without_nulls(each) for each in value if each is not None]
    return value


def _keep(value: Any, shape: Any) -> Any:
    """The parts of `value` that are of the type `shape`. Raises: ValidationError if it is nothing of the sort."""
    try:
        return msgspec.convert(value, shape)
    except msgspec.ValidationError:
        if isinstance(value, dict) and isinstance(shape, type) and issubclass(shape, msgspec.Struct):
            fields = [each for each in msgspec.structs.fields(shape) if each.encode_name in value]
            parts = {each.name: _keep_all([value[each.encode_name]], each.type) for each in fields}
            return shape(**{name: part[0] for name, part in parts.items() if part})
        if isinstance(value, dict) and get_origin(shape) is dict:
            kept = {key: _keep_all([each], get_args(shape)[1]) for key, each in value.items()}
            return {key: part[0] for key, part in kept.items() if part}
        if isinstance(value, list) and get_origin(shape) in (list, tuple):
            return get_origin(shape)(_keep_all(value, get_args(shape)[0]))
        raise


def _keep_all(values: list[Any], shape: Any) -> list[Any]:
    kept = []
    for value in values:
        try:
            kept.append(_keep(value, shape))
        except msgspec.ValidationError:
            continue
    return kept


def _explain(error: msgspec.DecodeError, document: Any) -> Problem:
    """msgspec's sentence "Expected `str`, got `null` - at `$.metadata.name`" as a Problem."""
    match = _PLACE.fullmatch(str(error))
    what, where = (match["what"], match["where"] or "") if match else (str(error), "")
    path = where[where.find("$") + 1 :].lstrip(".")
    return Problem(path, _value_at(path, document), what[:1].lower() + what[1:])


def _value_at(path: str, document: Any) -> str:
    """What stands there, as far as msgspec says where: of a mapping it does not name the key."""
    value = document
    for step in _STEP.finditer(f".{path}") if path and "[...]" not in path else ():
        try:
            value = value[step["key"] if step["key"] is not None else int(step["index"])]
        except (KeyError, IndexError, TypeError):
            return ""
    if value is document:
        return ""
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"

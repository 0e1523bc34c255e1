"""Objects that people write: a file of YAML → typed objects, and every mistake in it with its line and place.

Read are Pods, Nodes, Devices, the pod templates of workloads, and lists of any of them (kinds.py). Fields that nobody
here reads are none of our business, and other kinds are only named. Of an object with mistakes what is right is kept,
so that whoever knows more can look at it too.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from koordpy.config.kinds import OBJECTS, TEMPLATES, Head, Way, about, identify
from koordpy.config.places import Location, path_of
from koordpy.config.shapes import misfits, show
from koordpy.config.yaml_stream import WHOLE, Document, Mistake, read_stream
from koordpy_api import Problem
from koordpy_api.objects import KubeObject, ObjectMeta, Pod


@dataclass(frozen=True, slots=True)
class Found:
    """One object of a file, or a document that is none.

    about: kind and name, as people call it. root: where in the document the object stands.
    obj: what could be read; None if nobody here reads the kind. at: where that stands; of a workload its pod template.
    is_configuration: it is a KubeSchedulerConfiguration, which koordpy.config.load reads.
    note: something worth knowing that is no mistake.
    """

    document: Document
    about: str = ""
    root: Location = ()
    obj: KubeObject | None = None
    at: Location = ()
    mistakes: tuple[Mistake, ...] = ()
    warnings: tuple[Mistake, ...] = ()
    is_configuration: bool = False
    note: str = ""

    @property
    def line(self) -> int:
        return self.document.line_of(self.root)


def read(raw: bytes) -> list[Found]:
    """Everything in a file, mistakes and all. Raises: nothing, whatever the bytes are."""
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        right = f"no text in UTF-8: byte 0x{raw[error.start]:02x} stands where a character should"
        return [_nothing(Mistake(raw.count(b"\n", 0, error.start) + 1, Problem(WHOLE, "", right)))]
    documents = read_stream(text)
    if not documents:
        return [_nothing(Mistake(1, Problem(WHOLE, "", "there is no object in it")))]
    return [found for document in documents for found in _read_document(document)]


def _nothing(mistake: Mistake) -> Found:
    return Found(Document(None, "", 0), mistakes=(mistake,))


def _read_document(document: Document) -> list[Found]:
    """What is wrong with the YAML itself goes to the object in whose lines it stands."""
    if document.value is None:
        return [Found(document, mistakes=document.mistakes)] if document.mistakes else []
    found = list(_read_object(document, document.value, (), Head())) or [Found(document)]
    for mistake in document.mistakes:
        index = max((index for index, each in enumerate(found) if each.line <= mistake.line), default=0)
        found[index] = replace(found[index], mistakes=(*found[index].mistakes, mistake))
    return found


def _read_object(document: Document, value: Any, root: Location, inherited: Head) -> Iterator[Found]:
    reading = _Reading(document, root)
    if not isinstance(value, dict):
        reading.mistake((), show(value), "must be a mapping with apiVersion, kind and metadata")
        yield reading.found("")
        return
    head = identify(value, inherited)
    for key, right in head.wrong.items():
        reading.mistake((key,), show(value[key]) if value.get(key) is not None else "", right)
    name = about(head.kind, value)
    match head.way:
        case Way.LIST if not reading.mistakes:
            yield from _read_items(document, value, root, head)
        case Way.CONFIGURATION:
            yield replace(reading.found(name), is_configuration=True)
        case Way.OBJECT:
            yield reading.read_whole(value, OBJECTS[head.kind], name)
        case Way.TEMPLATE:
            yield reading.read_template(value, TEMPLATES[head.kind], name)
        case _:
            yield replace(reading.found(name), note="" if reading.mistakes else "nobody here reads this kind")


def _read_items(document: Document, value: dict[str, Any], root: Location, head: Head) -> Iterator[Found]:
    items = value.get("items") or []
    if not isinstance(items, list):
        reading = _Reading(document, root)
        reading.mistake(("items",), show(items), "must be a list: a dash before each entry")
        yield reading.found(head.kind)
        return
    for index, item in enumerate(items):
        yield from _read_object(document, item, (*root, "items", index), head.of_items())


class _Reading:
    """One object being read; collects what is wrong with it."""

    def __init__(self, document: Document, root: Location) -> None:
        self._document = document
        self._root = root
        self._wrong: list[Location] = []
        self.mistakes: list[Mistake] = []
        self.warnings: list[Mistake] = []

    def mistake(self, location: Location, value: str, right: str) -> None:
        """location: from the object's root."""
        self._wrong.append(location)
        self.mistakes.append(self._told(location, value, right))

    def found(self, about: str, obj: KubeObject | None = None, at: Location = ()) -> Found:
        mistakes, warnings = tuple(self.mistakes), tuple(self.warnings)
        return Found(self._document, about, self._root, obj, (*self._root, *at), mistakes, warnings)

    def read_whole(self, value: dict[str, Any], shape: type[KubeObject], about: str) -> Found:
        self._fit(value, shape, ())
        self._require_name(value)
        if shape is Pod:
            self._require_containers(value, ())
        return self.found(about, self._convert(value, shape, ()))

    def read_template(self, value: dict[str, Any], at: Location, about: str) -> Found:
        self._fit(value.get("metadata"), ObjectMeta, ("metadata",))
        self._require_name(value)
        template: Any = value
        for depth, key in enumerate(at):
            template = template.get(key) if isinstance(template, dict) else None
            if not isinstance(template, dict):
                right = "required: the Pods to make" if template is None else "must be a mapping"
                self.mistake(at[: depth + 1], "" if template is None else show(template), right)
                return self.found(about)
        self._fit(template, Pod, at)
        self._require_containers(template, at)
        return self.found(about, self._convert(template, Pod, at, owner=value.get("metadata")), at)

    def _fit(self, value: Any, shape: type[msgspec.Struct], at: Location) -> None:
        def shown(location: Location, value: Any) -> str:
            written = self._document.shown((*self._root, *at, *location))
            return show(value if written is None else written)

        for misfit in misfits(value, shape, shown):
            location = (*at, *misfit.location)
            if misfit.is_warning:
                self.warnings.append(self._told(location, misfit.value, misfit.right))
            else:
                self.mistake(location, misfit.value, misfit.right)

    def _require_name(self, value: dict[str, Any]) -> None:
        metadata = value.get("metadata") or {}
        if isinstance(metadata, dict) and not (metadata.get("name") or metadata.get("generateName")):
            self.mistake(("metadata", "name"), "", "required: what this object is called")

    def _require_containers(self, pod: dict[str, Any], at: Location) -> None:
        spec = pod.get("spec") or {}
        if not isinstance(spec, dict):
            return
        containers = spec.get("containers") or []
        if not containers:
            self.mistake((*at, "spec", "containers"), "", "required: a Pod has at least one container")
        for key in ("initContainers", "containers"):
            listed = spec.get(key)
            for index, container in enumerate(listed if isinstance(listed, list) else ()):
                if isinstance(container, dict) and not container.get("name"):
                    self.mistake((*at, "spec", key, index, "name"), "", "required: every container has a name")

    def _convert(
        self, value: dict[str, Any], shape: type[KubeObject], at: Location, owner: Any = None
    ) -> KubeObject | None:
        """What is right of value. A Pod of a template is called as its owner."""
        wrong = {location[len(at) :] for location in self._wrong if location[: len(at)] == at}
        right = _without(value, wrong - {()}, ())
        metadata: dict[str, Any] = right.setdefault("metadata", {})
        if isinstance(owner, dict):
            metadata |= {key: owner[key] for key in ("name", "namespace") if isinstance(owner.get(key), str)}
        if shape.KIND.namespaced:
            metadata.setdefault("namespace", "default")
        try:
            return msgspec.convert(right, shape)
        except msgspec.ValidationError as error:  # something that shapes does not know; better told than passed over
            self.mistake(at, "", str(error))
            return None

    def _told(self, location: Location, value: str, right: str) -> Mistake:
        location = (*self._root, *location)
        return Mistake(self._document.line_of(location), Problem(path_of(location) or WHOLE, value, right))


def _without(value: Any, wrong: set[Location], at: Location) -> Any:
    """A copy without these places, and without nulls."""
    if isinstance(value, dict):
        kept = {key: _without(each, wrong, (*at, key)) for key, each in value.items() if (*at, key) not in wrong}
        return {key: each for key, each in kept.items() if each is not None}
    if isinstance(value, list):
        entries = [_without(each, wrong, (*at, i)) for i, each in enumerate(value) if (*at, i) not in wrong]
        return [each for each in entries if each is not None]
    return value

"""What the informer remembers of Pods, so that 50,000 of them are some 40 MB and not 250.

Pods of one template differ in little but their names: what is equal in two Pods is one object in both. And of a Pod
that is on a node nobody reads other annotations than those that plugins declared. Pods stay Pods all the same: hints
and handlers see the version before as they see the new one.
"""

import sys
from collections.abc import Callable
from typing import Any, Final, Protocol, TypeVar

import msgspec
from msgspec.structs import replace

from koordpy_api.objects import KubeObject, Pod

K = TypeVar("K", bound=KubeObject)
T = TypeVar("T")

_MOST: Final = 8192
"""Parts that are known; beyond, all are forgotten, and the next Pods share among themselves."""


class Slimming(Protocol[K]):
    """How objects of one kind are made small."""

    def share(self, obj: K) -> K:
        """The same, made of parts that others have too. Asked for every version as soon as it is read."""
        ...

    def keep(self, obj: K) -> K:
        """What is remembered once every handler has seen it."""
        ...


class SlimPods:
    """annotation_prefixes: of a Pod on a node only these annotations are kept."""

    def __init__(self, annotation_prefixes: tuple[str, ...]) -> None:
        self._annotation_prefixes = annotation_prefixes
        self._parts: dict[tuple[type, bytes], Any] = {}
        self._encode: Final[Callable[[object], bytes]] = msgspec.msgpack.Encoder().encode

    def share(self, obj: Pod) -> Pod:
        meta, spec = obj.metadata, obj.spec
        node_name = spec.node_name
        if node_name:
            spec = replace(self._shared(replace(spec, node_name="")), node_name=sys.intern(node_name))
        else:
            spec = self._shared(spec)
        meta = replace(
            meta,
            namespace=sys.intern(meta.namespace),
            labels=self._shared(meta.labels) if meta.labels else meta.labels,
            creation_timestamp=sys.intern(meta.creation_timestamp),
        )
        return Pod(metadata=meta, spec=spec, status=self._shared(obj.status))

    def keep(self, obj: Pod) -> Pod:
        meta = obj.metadata
        if not obj.spec.node_name or not meta.annotations:
            return obj
        kept = {key: text for key, text in meta.annotations.items() if key.startswith(self._annotation_prefixes)}
        return obj if len(kept) == len(meta.annotations) else replace(obj, metadata=replace(meta, annotations=kept))

    def _shared(self, part: T) -> T:
        key = type(part), self._encode(part)  # a label and a status may be the same bytes
        known: T | None = self._parts.get(key)
        if known is None:
            if len(self._parts) >= _MOST:
                self._parts.clear()
            self._parts[key] = known = part
        return known

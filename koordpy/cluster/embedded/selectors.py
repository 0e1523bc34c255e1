"""Selections as questions about a document: parsed once, asked for every object.

Source: k8s.io/apimachinery/pkg/fields/selector.go.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from koordpy.cluster.embedded.kinds import Resource
from koordpy.cluster.embedded.refusals import refused
from koordpy.cluster.protocol import Selection
from koordpy_api.selectors import parse_label_selector, selects

Wanted = Callable[[Mapping[str, Any]], bool]

_FIELD: Final = re.compile(r"((?:[^\\,=!]|\\.)*)(!=|==|=)(.*)", re.DOTALL)


def wanted(resource: Resource, selection: Selection) -> Wanted | None:
    """The selection as a question about a document; None if it takes everything. Raises: ApiError 400."""
    fields = _fields(resource, selection.fields)
    try:
        labels = parse_label_selector(selection.labels)
    except ValueError as error:
        raise refused(400, str(error)) from None
    namespace = selection.namespace if resource.kind.namespaced else ""
    if not (fields or labels or namespace):
        return None

    def is_wanted(document: Mapping[str, Any]) -> bool:
        meta = document["metadata"]
        if namespace and meta.get("namespace") != namespace:
            return False
        if any((_value(document, path) == value) != is_equal for path, value, is_equal in fields):
            return False
        return selects(labels, meta.get("labels") or {})

    return is_wanted


def _fields(resource: Resource, text: str) -> list[tuple[str, str, bool]]:
    """Paths, values, and whether they should be equal."""
    known = {"metadata.name", *resource.fields} | ({"metadata.namespace"} if resource.kind.namespaced else set())
    terms = []
    for part in filter(None, re.split(r"(?<!\\),", text)):
        match = _FIELD.fullmatch(part)
        if match is None:
            raise refused(400, f"invalid selector: '{part}'; can't understand '{part}'")
        if match[1] not in known:
            raise refused(400, f"field label not supported: {match[1]}")
        terms.append((match[1], re.sub(r"\\([\\,=])", r"\1", match[3]), match[2] != "!="))
    return terms


def _value(document: Mapping[str, Any], path: str) -> str:
    value: Any = document
    for step in path.split("."):
        value = value.get(step) if isinstance(value, Mapping) else None
    return "" if value is None else str(value)

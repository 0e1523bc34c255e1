"""Tables: what `kubectl get` prints of each kind, columns and cells, in lists and in watches."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import partial
from typing import Any, Final

from koordpy_api.objects import Kind

Document = dict[str, Any]
Cells = list[Any]

NONE: Final = "<none>"
UNKNOWN: Final = "<unknown>"
_ROLE: Final = "node-role.kubernetes.io/"
_MINUTE, _HOUR, _DAY, _YEAR = 60, 3_600, 86_400, 31_536_000
_UNITS: Final = {1: "s", _MINUTE: "m", _HOUR: "h", _DAY: "d", _YEAR: "y"}
# Up to how many seconds an age is told in which unit, and with which smaller one beside it.
_AGES: Final = (
    *((2 * _MINUTE, 1, 0), (10 * _MINUTE, _MINUTE, 1), (3 * _HOUR, _MINUTE, 0), (8 * _HOUR, _HOUR, _MINUTE)),
    *((2 * _DAY, _HOUR, 0), (8 * _DAY, _DAY, _HOUR), (2 * _YEAR, _DAY, 0), (8 * _YEAR, _YEAR, _DAY)),
)


def table(kind: Kind, objects: Iterable[Document], now: datetime, include: str = "Metadata") -> Document:
    """A Table of objects. include: what stands beside each row: Metadata, Object or None."""
    columns, cells = _KINDS[kind.plural]
    names = columns.split(", ")
    rows: list[Document] = []
    for each in objects:
        try:
            told = cells(each, now)
        except (AttributeError, KeyError, TypeError, ValueError):  # one bad object must not hide the others
            told = [each["metadata"].get("name", ""), *(len(names) - 1) * ["<unreadable>"]]
        meta = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": each["metadata"]}
        rows.append({"cells": told, "object": meta if include == "Metadata" else each if include == "Object" else None})
    head = {"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": {}}
    return {**head, "columnDefinitions": [_column(each) for each in names], "rows": rows}


def age(then: str | None, now: datetime) -> str:
    """How long ago an RFC 3339 time was: 90s, 5m10s, 3d4h; <unknown> without one."""
    try:
        seconds = int((now - datetime.fromisoformat(then or "")).total_seconds())
    except (ValueError, TypeError):
        return UNKNOWN
    if seconds < 0:
        return "0s" if seconds == -1 else "<invalid>"
    for limit, unit, smaller in _AGES:
        if seconds < limit:
            rest = seconds % unit // smaller if smaller else 0
            return f"{seconds // unit}{_UNITS[unit]}" + (f"{rest}{_UNITS[smaller]}" if rest else "")
    return f"{seconds // _YEAR}y"


def _column(words: str) -> Document:
    """Of "Name" or, for `-o wide` only, "+Node"."""
    name, form = words.removeprefix("+"), "name" if words.endswith("Name") else ""
    return {"name": name, "type": "string", "format": form, "description": "", "priority": int(words[0] == "+")}


def _parts(of: Document, now: datetime) -> tuple[str, str, Document, Document]:
    """Name, age, spec and status."""
    meta = of["metadata"]
    return meta.get("name", ""), age(meta.get("creationTimestamp"), now), of.get("spec") or {}, of.get("status") or {}


def _brief(section: str, key: str, of: Document, now: datetime) -> Cells:
    name, old, _, _ = _parts(of, now)
    return [name, (of.get(section) or {}).get(key, ""), old] if key else [name, old]


def _node(of: Document, now: datetime) -> Cells:
    name, old, spec, status = _parts(of, now)
    ready = {each["type"]: each["status"] for each in status.get("conditions") or ()}.get("Ready")
    word = "Unknown" if ready is None else "Ready" if ready == "True" else "NotReady"
    labels = of["metadata"].get("labels") or {}
    roles = {key.removeprefix(_ROLE) for key in labels if key.startswith(_ROLE)}
    addresses = {each["type"]: each["address"] for each in reversed(status.get("addresses") or ())}
    info = status.get("nodeInfo") or {}
    kernel, machine = info.get("kernelVersion") or UNKNOWN, info.get("architecture")
    return [
        *(name, f"{word},SchedulingDisabled" if spec.get("unschedulable") else word, ",".join(sorted(roles)) or NONE),
        *(old, info.get("kubeletVersion", ""), addresses.get("InternalIP", NONE), addresses.get("ExternalIP", NONE)),
        *(info.get("osImage") or UNKNOWN, f"{kernel} ({machine})" if machine else kernel),
        info.get("containerRuntimeVersion") or UNKNOWN,
    ]


def _event(of: Document, now: datetime) -> Cells:
    """Of a core/v1 Event; the newer form has the same table."""
    about, source, series = of.get("involvedObject") or {}, of.get("source") or {}, of.get("series") or {}
    first = of.get("firstTimestamp") or of.get("eventTime")
    last = series.get("lastObservedTime") or of.get("lastTimestamp") or first
    told_by = source.get("component") or of.get("reportingComponent"), source.get("host") or of.get("reportingInstance")
    subject = "/".join(filter(None, (about.get("kind", "").lower(), about.get("name"))))
    count = series.get("count") or of.get("count") or 1
    return [
        *(age(last, now), of.get("type", ""), of.get("reason", ""), subject, about.get("fieldPath", "")),
        *(", ".join(filter(None, told_by)), of.get("message", "").strip(), age(first, now), count),
        of["metadata"].get("name", ""),
    ]


def _pod(of: Document, now: datetime) -> Cells:
    name, old, spec, status = _parts(of, now)
    containers = status.get("containerStatuses") or ()
    restarts = sum(each.get("restartCount", 0) for each in containers)
    ready = sum(bool(each.get("ready") and "running" in each["state"]) for each in containers)
    word = status.get("reason") or status.get("phase", "")
    if any(each.get("reason") == "SchedulingGated" for each in status.get("conditions") or ()):
        word = "SchedulingGated"
    word = next(filter(None, map(_ails, containers)), word)
    if of["metadata"].get("deletionTimestamp") and status.get("phase") not in ("Succeeded", "Failed"):
        word = "Terminating"
    return [
        *(name, f"{ready}/{len(spec.get('containers') or ())}", word, str(restarts), old, status.get("podIP") or NONE),
        *(spec.get("nodeName") or NONE, status.get("nominatedNodeName") or NONE, NONE),
    ]


def _ails(container: Document) -> str:
    """Why it does not run; empty if it does, or nobody said."""
    state = container["state"]
    if ended := state.get("terminated"):
        return str(ended.get("reason") or f"ExitCode:{ended['exitCode']}")
    return str((state.get("waiting") or {}).get("reason", ""))


_NODE_COLUMNS: Final = "Age, Version, +Internal-IP, +External-IP, +OS-Image, +Kernel-Version, +Container-Runtime"
_EVENT_COLUMNS: Final = "Last Seen, Type, Reason, Object, +Subobject, +Source, Message, +First Seen, +Count, +Name"
_KINDS: Final[Mapping[str, tuple[str, Callable[[Document, datetime], Cells]]]] = {
    "pods": ("Name, Ready, Status, Restarts, Age, +IP, +Node, +Nominated Node, +Readiness Gates", _pod),
    "nodes": (f"Name, Status, Roles, {_NODE_COLUMNS}", _node),
    "events": (_EVENT_COLUMNS, _event),
    "namespaces": ("Name, Status, Age", partial(_brief, "status", "phase")),
    "leases": ("Name, Holder, Age", partial(_brief, "spec", "holderIdentity")),
    "devices": ("Name, Age", partial(_brief, "", "")),
}

"""Which objects are read, by what they say of themselves: apiVersion and kind."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, Final

from koordpy.config.models import API_VERSION, KIND
from koordpy.config.places import Location
from koordpy_api.objects import Device, KubeObject, Node, Pod

OBJECTS: Final[Mapping[str, type[KubeObject]]] = {kind.KIND.name: kind for kind in (Pod, Node, Device)}
_WORKLOADS: Final[Mapping[str, tuple[str, Location]]] = {
    **dict.fromkeys(("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"), ("apps/v1", ("spec", "template"))),
    "Job": ("batch/v1", ("spec", "template")),
    "CronJob": ("batch/v1", ("spec", "jobTemplate", "spec", "template")),
    "ReplicationController": ("v1", ("spec", "template")),
    "PodTemplate": ("v1", ("template",)),
}
TEMPLATES: Final[Mapping[str, Location]] = {name: place for name, (_, place) in _WORKLOADS.items()}
"""Workload → where its pod template stands."""

_VERSIONS: Final[Mapping[str, str]] = {
    **{name: kind.KIND.api_version for name, kind in OBJECTS.items()},
    **{name: version for name, (version, _) in _WORKLOADS.items()},
    KIND: API_VERSION,
}
_ALIKE: Final = 0.85


class Way(Enum):
    """How a document is read."""

    NOT = auto()
    LIST = auto()
    OBJECT = auto()
    TEMPLATE = auto()
    CONFIGURATION = auto()


@dataclass(frozen=True, slots=True)
class Head:
    """What an object is. wrong: what is wrong with its `kind` and `apiVersion`, and what would be right."""

    kind: str = ""
    version: str = ""
    way: Way = Way.NOT
    wrong: Mapping[str, str] = field(default_factory=dict)

    def of_items(self) -> "Head":
        """What items that do not say it themselves are: those of a PodList are Pods."""
        return Head(self.kind.removesuffix("List"), self.version)


def identify(value: Mapping[str, Any], inherited: Head) -> Head:
    """What this object is by its own words, or else by those of the list that it stands in."""
    kind = inherited.kind if value.get("kind") is None else value["kind"]
    version = inherited.version if value.get("apiVersion") is None else value["apiVersion"]
    wrong = {key: _needed(key, given, kind) for key, given in (("apiVersion", version), ("kind", kind))}
    wrong = {key: right for key, right in wrong.items() if right}
    if not isinstance(kind, str) or not isinstance(version, str) or not kind:
        return Head(wrong=wrong)
    if kind == KIND or version.partition("/")[0] == API_VERSION.partition("/")[0]:
        return Head(kind, version, Way.CONFIGURATION)  # whoever reads those says more about versions
    if kind == "List" or (kind.endswith("List") and "items" in value):
        return Head(kind, version, Way.LIST)
    meant = _kind_meant(kind, version)
    if meant is None or (version and _is_of_others(meant, version)):
        return Head(kind, version, Way.NOT, wrong)
    if kind != meant:
        wrong["kind"] = f"must be {meant}"
    if version and version != _VERSIONS[meant]:
        wrong["apiVersion"] = f"must be {_VERSIONS[meant]}, of a {meant}"
    return Head(meant, version, _way_to_read(meant), wrong)


def about(kind: str, value: Mapping[str, Any]) -> str:
    """kind namespace/name, as people call it."""
    metadata = value.get("metadata")
    if not isinstance(metadata, dict):
        return kind
    name = metadata.get("name") or (f"{metadata['generateName']}*" if metadata.get("generateName") else "")
    known = OBJECTS.get(kind)
    in_namespace = kind in TEMPLATES or (known is not None and known.KIND.namespaced)
    namespace = metadata.get("namespace") or ("default" if in_namespace else "")
    return f"{kind} {namespace}/{name}" if namespace and name else f"{kind} {name}".strip()


def _needed(key: str, given: Any, kind: Any) -> str:
    if isinstance(given, str) and given:
        return ""
    if key == "kind":
        return "required: what this is, such as Pod"
    known = _VERSIONS.get(kind) if isinstance(kind, str) else None
    return f"required: {known}, of a {kind}" if known else "required: group/version of the kind, such as v1 or apps/v1"


def _way_to_read(kind: str) -> Way:
    return Way.OBJECT if kind in OBJECTS else Way.TEMPLATE


def _kind_meant(kind: str, version: str) -> str | None:
    """The kind of ours that this is, or probably misspells."""
    if kind in _VERSIONS:
        return kind
    by_lower = {name.lower(): name for name in _VERSIONS}
    close = difflib.get_close_matches(kind.lower(), by_lower, n=1, cutoff=_ALIKE)
    if not close:
        return None
    meant = by_lower[close[0]]
    return meant if not version or version == _VERSIONS[meant] or kind.lower() == meant.lower() else None


def _is_of_others(kind: str, version: str) -> bool:
    """Somebody else's kind of the same name, as Volcano's Job: its group is a domain that is not ours."""
    group, ours = (each.rpartition("/")[0] for each in (version, _VERSIONS[kind]))
    return "." in group and group != ours and not difflib.get_close_matches(group, [ours], cutoff=_ALIKE)

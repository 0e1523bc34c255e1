"""An Event in its two versions: they are one object, kept as events.k8s.io/v1, and core/v1 only names it otherwise.

Source: k8s.io/kubernetes/pkg/apis/events/v1/conversion.go.
"""

from collections.abc import Mapping
from typing import Any, Final

from koordpy.cluster.embedded.kinds import CORE_EVENT
from koordpy.cluster.kinds import EVENT

_CORE: Final[Mapping[str, str]] = {
    "regarding": "involvedObject",
    "note": "message",
    "reportingController": "reportingComponent",
    "deprecatedSource": "source",
    "deprecatedCount": "count",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
}
_NEWER: Final = {core: newer for newer, core in _CORE.items()}


def to_core(event: Mapping[str, Any]) -> dict[str, Any]:
    renamed = {_CORE.get(key, key): value for key, value in event.items()}
    always = {"source": {}, "reportingComponent": "", "reportingInstance": ""}
    return {**always, **renamed, "apiVersion": CORE_EVENT.api_version, "kind": CORE_EVENT.name}


def from_core(event: Mapping[str, Any]) -> dict[str, Any]:
    renamed = {_NEWER.get(key, key): value for key, value in event.items() if value not in ("", {})}
    return {**renamed, "apiVersion": EVENT.api_version, "kind": EVENT.name}

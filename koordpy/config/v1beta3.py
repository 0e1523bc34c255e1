"""kubescheduler.config.k8s.io/v1beta3 → v1: the one door for the older form.

The fields that both versions have are the same. v1beta3's own default plugins are not: their order and weights do not
matter, a file is expanded with v1's.
"""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any, Final

from koordpy.config.document import Document, write_line

OLD: Final = "kubescheduler.config.k8s.io/v1beta3"
NEW: Final = "kubescheduler.config.k8s.io/v1"


def converted(written: Document) -> tuple[Mapping[str, Any], tuple[str, ...]]:
    """The document in v1, and the warning to print; none for a document that is v1 already."""
    document: dict[str, Any] = deepcopy(written.value)
    places = [f"arguments of {name}" for name in _convert_args(document)]
    if document.get("apiVersion") == OLD:
        document["apiVersion"] = NEW
        places = [f"line {written.lines.get('apiVersion', 1)}", *places]
    if not places:
        return document, ()
    where = " and in the ".join([places[0], *places[1:]]) if places[0].startswith("line") else ", ".join(places)
    text = (
        f"{written.source}: apiVersion {OLD} is old; read as {NEW}, with the default plugins of that version. "
        f"Write it in v1 (changed: {where}): {write_line(document)}"
    )
    return document, (text,)


def _convert_args(document: Mapping[str, Any]) -> list[str]:
    """Plugins whose arguments said the older version. Whatever else is wrong with the document is told later."""
    found = []
    for profile in _mappings(document.get("profiles")):
        for config in _mappings(profile.get("pluginConfig")):
            args = config.get("args")
            if isinstance(args, dict) and args.get("apiVersion") == OLD:
                args["apiVersion"] = NEW
                found.append(str(config.get("name", "")))
    return found


def _mappings(listed: Any) -> list[dict[str, Any]]:
    return [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []

"""Merge patches (RFC 7396), and strategic ones as far as our kinds know their lists. A patched document is a new one.

Source: k8s.io/apimachinery/pkg/util/strategicpatch/patch.go (mergeMap, mergeSliceHandler, normalizeElementOrder);
the keys are the patchMergeKey tags of k8s.io/api/core/v1/types.go.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from koordpy.cluster.embedded.refusals import refused

Document = dict[str, Any]

# Lists of objects that are merged by a key. Every other list is replaced as a whole: taints and tolerations too.
MERGE_KEYS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("containers", "initContainers", "volumes", "env", "schedulingGates", "resourceClaims"), "name"),
    **dict.fromkeys(("conditions", "addresses"), "type"),
    **dict.fromkeys(("podIPs", "hostIPs"), "ip"),
    "ownerReferences": "uid",
    "ports": "containerPort",
    "topologySpreadConstraints": "topologyKey",
    "volumeMounts": "mountPath",
}
_ORDER: Final = "$setElementOrder/"


def merge(document: Mapping[str, Any], patch: Mapping[str, Any]) -> Document:
    """A merge patch: null removes, maps are merged, anything else is replaced."""
    merged = dict(document)
    for key, value in patch.items():
        there = merged.pop(key, None) if value is None else merged.get(key)
        if isinstance(value, Mapping):
            merged[key] = merge(there if isinstance(there, Mapping) else {}, value)
        elif value is not None:
            merged[key] = value
    return merged


def strategic(document: Mapping[str, Any], patch: Mapping[str, Any]) -> Document:
    """A strategic merge patch. Raises: ApiError for a directive that nobody knows, or a list's item without its key."""
    directive = patch.get("$patch", "merge")
    if directive not in ("merge", "replace", "delete"):
        raise refused(500, f"unknown patch type: {directive} in {patch}", "Unknown")
    merged = dict(document) if directive == "merge" else {}
    for key, value in patch.items() if directive != "delete" else ():
        there = merged.get(key)
        name = key.removeprefix(_ORDER)
        if key.startswith(_ORDER) and name in MERGE_KEYS:
            merged[name] = _merged_list(merged.get(name, []), patch.get(name) or [], MERGE_KEYS[name], value)
        elif key.startswith("$"):
            if key != "$patch":
                raise refused(501, f"the directive {key} of strategic patches is not known; write the field itself")
        elif value is None:
            merged.pop(key, None)
        elif isinstance(value, Mapping):
            merged[key] = strategic(there if isinstance(there, Mapping) else {}, value)
        elif key in MERGE_KEYS and all(isinstance(each, Mapping) for each in [*value, *(there or ())]):
            if f"{_ORDER}{key}" not in patch:
                merged[key] = _merged_list(there or [], value, MERGE_KEYS[key], None)
        else:
            merged[key] = value
    return merged


def _merged_list(
    old: Sequence[Document], patch: Sequence[Document], key: str, order: Sequence[Document] | None
) -> list[Document]:
    plain = [each for each in patch if "$patch" not in each]
    if any(each.get("$patch") == "replace" for each in patch):
        return plain
    there = {_key_of(each, key): each for each in old}
    for each in patch:
        name = _key_of(each, key)
        if each.get("$patch") == "delete":
            there.pop(name, None)
        else:
            there[name] = strategic(there.get(name, {}), each)
    wished = dict.fromkeys(_key_of(each, key) for each in (plain if order is None else order))
    ours = [name for name in wished if name in there]
    theirs = [name for name in there if name not in wished]
    before = [_key_of(each, key) for each in old]
    names = []
    while theirs and ours:  # both keep their order; one of theirs is first only where it stood before ours already
        is_theirs = ours[0] in before and before.index(theirs[0]) < before.index(ours[0])
        names.append((theirs if is_theirs else ours).pop(0))
    return [there[name] for name in (*names, *theirs, *ours)]


def _key_of(item: Document, key: str) -> Any:
    if key not in item:
        raise refused(500, f"{item} does not contain declared merge key: {key}", "Unknown")
    return item[key]

"""One form for what came of a question, whoever was asked, so that answers can be compared.

An alloc answer: {"prefilter": said} or {"filter": said, "reserve": said}; said = code, reasons unless it went well,
devices (type → list of minor, resources, id) and, at Reserve, the annotation's text.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from koordpy_api import Code, Status
from koordpy_api.koordinator import DEVICE_ALLOCATED
from koordpy_api.quantity import value_of

Said = dict[str, Any]
CODES: Final[Mapping[Code, str]] = {
    Code.SUCCESS: "Success",
    Code.ERROR: "Error",
    Code.UNSCHEDULABLE: "Unschedulable",
    Code.UNSCHEDULABLE_AND_UNRESOLVABLE: "UnschedulableAndUnresolvable",
    Code.SKIP: "Skip",
}
SUCCESS: Final[Said] = {"code": "Success"}
UPSTREAM_TEXTS: Final = (
    r"pod request should not be empty",
    r"invalid resource unit \S+: \d+",
    r"invalid resource device requests: \[",
    r"Insufficient \S+ devices",
    r"Insufficient \S+ VirtualFunctions",
    r"no matched GPU shared resource template",
    r"fillGPUTotalMem failed: no healthy gpu device with minor \d+ of allocation, node: \S+",
)
"""The part of a refusal that is upstream's; koordpy may say more after it. The names after [ have no stable order."""


def upstreams_part(reason: str) -> str:
    """The text as it is, if upstream has none like it."""
    found = (re.search(pattern, reason) for pattern in UPSTREAM_TEXTS)
    return next((match[0] for match in found if match), reason)


def told(status: Status | None) -> Said:
    if status is None:
        return dict(SUCCESS)
    return {"code": CODES[status.code], "reasons": texts(status.reasons)}


def texts(reasons: Iterable[str]) -> list[str]:
    return sorted(map(upstreams_part, reasons))


def recorded(answer: Mapping[str, Any]) -> Said:
    """A recorded alloc or score answer in this form."""
    said = {key: _recorded(each) if isinstance(each, Mapping) else each for key, each in answer.items()}
    return said | ({"reasons": texts(said["reasons"])} if "reasons" in said else {})


def _recorded(said: Mapping[str, Any]) -> Said:
    plain = dict(said) | ({"reasons": texts(said["reasons"])} if "reasons" in said else {})
    if "devices" in said:
        plain["devices"] = {kind: [_device(each) for each in devices] for kind, devices in said["devices"].items()}
    return plain


def devices_of(annotations: Mapping[str, str]) -> Said:
    """What PreBind wrote, as amounts and as the text itself."""
    if (text := annotations.get(DEVICE_ALLOCATED)) is None:
        return {}
    wire = json.loads(text)
    return {"devices": {kind: [_device(each) for each in wire[kind]] for kind in sorted(wire)}, "annotation": text}


def _device(wire: Mapping[str, Any]) -> Said:
    amounts = {name: value_of(amount) for name, amount in (wire["resources"] or {}).items()}
    return dict(wire) | {"resources": dict(sorted(amounts.items()))}


def without_ids(said: Said) -> Said:
    """Filter names no ids, and writes nothing."""
    plain = {key: value for key, value in said.items() if key != "annotation"}
    if "devices" in said:
        plain["devices"] = {
            kind: [{key: value for key, value in each.items() if key != "id"} for each in devices]
            for kind, devices in said["devices"].items()
        }
    return plain


# -- what a case of the YAML file expects, found in such an answer -----------------------------------------------------


def as_expected(expect: Mapping[str, Any], said: Said) -> Said:
    """The parts of an answer that the case speaks of, in its words."""
    seen: Said = {}
    for key in expect:
        if key == "code":
            seen[key] = said["code"]
        elif key == "reasons":
            seen[key] = said.get("reasons", [])
        elif key.startswith("per_"):
            seen[key] = _amounts_of_each(said, key.removeprefix("per_"))
        else:
            seen[key] = sorted(device["minor"] for device in said.get("devices", {}).get(key, ()))
    return seen


def expected(expect: Mapping[str, Any]) -> Said:
    plain = dict(expect) | ({"reasons": texts(expect["reasons"])} if "reasons" in expect else {})
    for key, value in expect.items():
        if key.startswith("per_"):
            plain[key] = {name: value_of(amount) for name, amount in sorted(value.items())}
    return plain


def _amounts_of_each(said: Said, kind: str) -> Any:
    """What each device of the type gives, if all give the same."""
    each: Sequence[Any] = [device["resources"] for device in said.get("devices", {}).get(kind, ())]
    return each[0] if each and all(amounts == each[0] for amounts in each) else each

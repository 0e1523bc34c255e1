"""What the model says to a case, in the form in which the readers write answers."""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from koordpy_api.koordinator import GPU_MEMORY
from koordpy_api.quantity import format_binary, format_decimal
from tests.parity.model import books, requests
from tests.parity.model.amounts import Amounts, read_amounts
from tests.parity.model.device import completed
from tests.parity.model.differences import ALL_SHORT, CORE_FITS, DESIGNATED_HERE, Differences
from tests.parity.model.flat import LASTING, NODE, Given, Node, Refused

Case = Mapping[str, Any]
Said = dict[str, Any]
DEFAULT_SCORER: Final = "LeastAllocated"


def alloc(case: Case, differences: Differences) -> Said:
    node = Node(case, differences)
    if (text := node.prefilter()) is not None:
        return _prefilter(text)
    scorer = case.get("scorer", DEFAULT_SCORER)
    is_designated = "designated" in case
    filtered = _completed(node, scorer if is_designated else None)
    said: Said = {"filter": _told(filtered)}
    if isinstance(filtered, Given) and not is_designated:
        said["filter"]["devices"] = _devices(filtered, {})
    reserved = _completed(node, scorer)
    said["reserve"] = _told(reserved)
    if isinstance(reserved, Given):
        ids = {(entry["type"], entry["minor"]): entry.get("id", "") for entry in case["device"]["devices"]}
        said["reserve"] |= {"devices": _devices(reserved, ids), "annotation": _annotation(reserved, ids)}
    return said


def score(case: Case, differences: Differences) -> Said:
    node = Node(case, differences)
    if (text := node.prefilter()) is not None:
        return _prefilter(text)
    if ALL_SHORT in differences and isinstance(refused := node.allocate(None), Refused) and refused.code == LASTING:
        return _told(refused)  # a node that lacks what is asked gets no further than Filter
    scored = node.score(case["strategy"])
    return _told(scored) if isinstance(scored, Refused) else {"score": scored}


def validate(case: Case, differences: Differences) -> Said:
    text = requests.refusal(read_amounts(case["req"]), differences)
    return {"ok": True} if text is None else {"error": text}


def percard(case: Case, differences: Differences) -> Said:
    if (text := requests.refusal(read_amounts(case["req"]), differences)) and CORE_FITS in differences:
        return {"error": text}
    divided = requests.per_card(read_amounts(case["req"]), differences)
    return {"count": divided.count, "per_card": divided.per_card, "shared": divided.shared}


def fill(case: Case, differences: Differences) -> Said:
    if not (total := read_amounts(case["total"])):
        text = "no healthy gpu device with minor 0 of allocation"
        if DESIGNATED_HERE not in differences:
            return {"code": "Error", "error": text}
        return {"code": LASTING, "reasons": [f"fillGPUTotalMem failed: {text}, node: {NODE}"]}
    return completed(read_amounts(case["alloc"]), total, differences)


def cache(case: Case, differences: Differences) -> Said:
    said = books.play_all(case["steps"], differences)
    if "unknown" in said:
        return said
    said["allocateSet"] = {kind: pods for kind, pods in said["allocateSet"].items() if pods}
    for key in ("used", "free"):
        said[key] = {
            kind: {minor: counted(key, each, said["total"].get(kind, {}).get(minor)) for minor, each in minors.items()}
            for kind, minors in said[key].items()
        }
    return said


ANSWERS: Final[Mapping[str, Callable[[Case, Differences], Said]]] = {
    "alloc": alloc,
    "score": score,
    "validate": validate,
    "percard": percard,
    "fill": fill,
    "cache": cache,
}
"""By kind of case."""


def counted(key: str, amounts: Mapping[str, int], total: Mapping[str, int] | None) -> Amounts:
    """0 used, or free of a device without any total, is the same as the resource not being named."""
    return {name: amount for name, amount in amounts.items() if amount or (key == "free" and total)}


def _prefilter(text: str) -> Said:
    return {"prefilter": {"code": "UnschedulableAndUnresolvable", "reasons": [text]}}


def _completed(node: Node, scorer: str | None) -> Given | Refused:
    given = node.allocate(scorer)
    return given if isinstance(given, Refused) else node.complete(given)


def _told(answer: Given | Refused) -> Said:
    if isinstance(answer, Refused):
        return {"code": answer.code, "reasons": [*answer.reasons]}
    return {"code": "Success"}


def _devices(given: Given, ids: Mapping[tuple[str, int], str]) -> Said:
    """In the order in which they were chosen."""
    return {
        kind: [
            {"minor": minor, "resources": amounts} | ({"id": ids[kind, minor]} if ids.get((kind, minor)) else {})
            for minor, amounts in minors.items()
        ]
        for kind, minors in given.devices.items()
    }


def _annotation(given: Given, ids: Mapping[tuple[str, int], str]) -> str:
    wire = {
        kind: [each | {"resources": _written(each["resources"])} for each in devices]
        for kind, devices in sorted(_devices(given, ids).items())
    }
    return json.dumps(wire, separators=(",", ":"))


def _written(amounts: Amounts) -> dict[str, str]:
    return {
        name: format_binary(amount) if name == GPU_MEMORY else format_decimal(amount)
        for name, amount in sorted(amounts.items())
    }

"""Kinds validate, normalise, percard and fill: what a Pod's request comes to, before and after a card is chosen."""

from collections.abc import Mapping
from typing import Any, Final

from koordpy.testing import make_pod
from koordpy_api import Status
from koordpy_api.quantity import value_of
from koordpy_deviceshare.dialects import read_wish
from koordpy_deviceshare.dialects.combinations import validate
from koordpy_deviceshare.model import complete
from koordpy_deviceshare.request import DeviceRequest
from tests.parity.frame import Case, Legend, Outcome, Right, Wrong, compare
from tests.parity.readers.koordinator import answers
from tests.parity.readers.koordinator.alloc import ask
from tests.parity.readers.koordinator.stage import asking_pod

OK: Final = {"ok": True}


def read_validate(case: Case, legend: Legend) -> Outcome:
    """The case's text is the beginning of ours."""
    wanted, got = case["expect"], ask_validate(case)
    if "error" in wanted and got.get("error", "").startswith(wanted["error"].partition("[")[0]):
        return Right()
    return compare(wanted, got)


def read_recorded_validate(case: Case, legend: Legend) -> Outcome:
    error = case["answer"].get("error")
    return compare({"error": answers.upstreams_part(error)} if error else OK, ask_validate(case))


def ask_validate(case: Case) -> dict[str, Any]:
    refusal = read_wish(make_pod(requests=case["req"])) if case["req"] else validate({})
    return {"error": answers.upstreams_part(refusal.message)} if isinstance(refusal, Status) else dict(OK)


def read_normalise(case: Case, legend: Legend) -> Outcome:
    request = request_of(case)
    if isinstance(request, Status):
        return compare(case["expect"], {"error": request.message})
    if request is None:
        return compare(case["expect"], {"skip": True})
    wanted = {kind: _read(amounts) for kind, amounts in case["expect"].items()}
    return compare(wanted, {each.type: dict(each.asked) for each in request.types})


def read_percard(case: Case, legend: Legend) -> Outcome:
    return _per_card(case, case["expect"])


def read_recorded_percard(case: Case, legend: Legend) -> Outcome:
    return _per_card(case, case["answer"])


def _per_card(case: Case, wanted: Mapping[str, Any]) -> Outcome:
    return compare(dict(wanted) | {"per_card": _read(wanted["per_card"])}, ask_per_card(case))


def ask_per_card(case: Case) -> Mapping[str, Any]:
    request = request_of({"pod": {"requests": case["req"]}})
    if not isinstance(request, DeviceRequest) or (gpus := request.gpus) is None:
        return {"error": answers.upstreams_part(request.message) if isinstance(request, Status) else "no GPU asked for"}
    return {"count": gpus.count, "per_card": dict(gpus.per_device), "shared": not gpus.is_whole}


def request_of(case: Case) -> DeviceRequest | Status | None:
    wish = read_wish(asking_pod(case))
    return wish if wish is None or isinstance(wish, Status) else wish.request


def read_fill(case: Case, legend: Legend) -> Outcome:
    """A card without a total completes nothing; that shows where somebody designates it."""
    total, given = _read(case["total"]), _read(case["alloc"])
    if total:
        return compare(_read(case["expect"]), complete(given, total))
    sick = {"type": "gpu", "minor": 0, "id": "GPU-0", "health": False, "resources": case["alloc"]}
    other = sick | {"minor": 1, "id": "GPU-1", "health": True}
    question = {"device": {"devices": [sick, other]}, "designated": {"gpu": {"0": case["alloc"]}}}
    said = ask(question | {"pod": {"requests": case["alloc"]}})["filter"]
    wanted = case["expect"]
    is_so = said["code"] == wanted["code"] and wanted["error"] in said["reasons"][0]
    return Right() if is_so else Wrong(wanted, said)


def _read(amounts: Mapping[str, Any]) -> dict[str, int]:
    return {name: value_of(amount) for name, amount in amounts.items()}

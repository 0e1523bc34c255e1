"""A case of koordinator.yaml → the same case in the form of a recorded one, with nothing left to look up."""

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any, Final

from tests.parity.frame import Case, Legend

Short = Mapping[str, Any]
FLAT: Final = "flat4"
CUT: Final[Mapping[str, tuple[int, Mapping[str, str]]]] = {
    "flat1": (1, {}),
    "flat2": (2, {}),
    "flat1big": (1, {"mem": "32Gi"}),
    "empty": (0, {}),
}
"""small_fixtures of the file: so many GPUs of flat4 and nothing else, with other amounts."""

TYPES: Final = ("gpu", "rdma", "fpga")
FULL: Final = "full"


def written_out(case: Case, legend: Legend) -> Case:
    """What is expected stays as it is, with names in full."""
    kind = case.get("kind")
    return _FORMS[kind](dict(case), _Legend(legend)) if kind in _FORMS else case


class _Legend:
    """Names and fixtures of the file."""

    def __init__(self, legend: Legend) -> None:
        self.aliases: Mapping[str, str] = legend.get("legend", {}).get("aliases", {})
        self.templates: Mapping[str, Any] = legend.get("templates", {})
        self._fixtures: Mapping[str, Any] = legend.get("fixtures", {})

    def amounts(self, short: Short | None) -> dict[str, Any]:
        return {self.aliases.get(name, name): amount for name, amount in (short or {}).items()}

    def device(self, name: str, patch: Short, labels: Short | None) -> dict[str, Any]:
        count, changed = CUT.get(name, (None, {}))
        fixture = self._fixtures[name if count is None else FLAT]
        entries = [self._entry(entry, changed) for entry in fixture["devices"]]
        if count is not None:
            entries = [entry for entry in entries if entry["type"] == "gpu"][:count]
        for entry in entries:
            over = dict(patch.get(entry["type"], {}).get(entry["minor"], {}))
            entry |= over | ({"resources": self.amounts(over["resources"])} if "resources" in over else {})
        worn = labels if labels is not None else fixture.get("labels")
        return {"devices": entries} | ({"labels": worn} if worn else {})

    def _entry(self, short: Short, changed: Short) -> dict[str, Any]:
        entry = {"health": True, **deepcopy(dict(short))}
        entry["resources"] = self.amounts({**entry["resources"], **changed})
        groups = [
            group | {"vfs": [{"minor": place, "busID": bus} for place, bus in enumerate(group["vfs"])]}
            for group in entry.pop("vfGroups", ())
        ]
        return entry | ({"vfGroups": groups} if groups else {})

    def minors(self, kind: str, short: Short, device: Short) -> dict[str, Any]:
        """Minor → amounts; "full" is all of that device."""
        all_of = {str(e["minor"]): e["resources"] for e in device.get("devices", ()) if e["type"] == kind}
        return {
            str(minor): dict(all_of[str(minor)]) if amounts == FULL else self.amounts(amounts)
            for minor, amounts in short.items()
        }

    def by_type(self, short: Short, device: Short) -> dict[str, Any]:
        """What is beside the device types stays."""
        return {
            key: self.minors(key, value, device) if key in TYPES and isinstance(value, Mapping) else value
            for key, value in short.items()
        }

    def pod(self, short: Short) -> dict[str, Any]:
        pod = dict(short)
        for key in ("requests", "overhead"):
            if key in pod:
                pod[key] = self.amounts(pod[key])
        for key in ("containers", "initContainers"):
            if key in pod:
                pod[key] = [each | {"requests": self.amounts(each.get("requests"))} for each in pod[key]]
        return pod


def _of_requests(case: dict[str, Any], legend: _Legend) -> Case:
    """validate, percard, fill, device_score: amounts only."""
    for key in ("req", "total", "free", "alloc"):
        if key in case:
            case[key] = legend.amounts(case[key])
    expect = case["expect"]
    if "per_card" in expect:
        return case | {"expect": expect | {"per_card": legend.amounts(expect["per_card"])}}
    return case | {"expect": legend.amounts(expect) if case["kind"] == "fill" else expect}


def _of_pod(case: dict[str, Any], legend: _Legend) -> Case:
    expect = {
        key: legend.amounts(value) if isinstance(value, Mapping) else value for key, value in case["expect"].items()
    }
    return case | {"pod": legend.pod(case["pod"]), "expect": expect}


def _of_node(case: dict[str, Any], legend: _Legend) -> Case:
    device = legend.device(case.get("device", FLAT), case.pop("patch", {}), case.pop("labels", None))
    case |= {"device": device, "pod": legend.pod(case["pod"])}
    if "used" in case:
        case["used"] = [legend.by_type(each, device) for each in case["used"]]
    for key in ("preemptible", "designated"):
        if key in case:
            case[key] = legend.by_type(case[key], device)
    if "weights" in case:
        case["weights"] = legend.amounts(case["weights"])
    if case.pop("templates", False):
        case["templates"] = legend.templates
    expect = {key: legend.amounts(value) if key.startswith("per_") else value for key, value in case["expect"].items()}
    return case | {"expect": expect}


def _of_books(case: dict[str, Any], legend: _Legend) -> Case:
    steps: list[dict[str, Any]] = []
    device: Short = {}
    for short in case["steps"]:
        if isinstance(short.get("device"), str):
            device = legend.device(short["device"], {}, None)
            steps.append(dict(short) | {"device": device})
        elif "device_deleted" in short:
            steps.append({"device_deleted": device})
        else:
            steps.append(legend.by_type(short, device or legend.device(FLAT, {}, None)))
    last = device or legend.device(FLAT, {}, None)
    expect = {
        key: {kind: legend.minors(kind, minors, last) if key != "vf" else minors for kind, minors in value.items()}
        for key, value in case["expect"].items()
    }
    return case | {"steps": steps, "expect": expect}


_FORMS: Final[Mapping[Any, Callable[[dict[str, Any], _Legend], Case]]] = {
    **dict.fromkeys(("validate", "percard", "fill", "device_score"), _of_requests),
    "normalise": _of_pod,
    "alloc": _of_node,
    "score": _of_node,
    "cache": _of_books,
}

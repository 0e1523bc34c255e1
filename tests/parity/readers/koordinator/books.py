"""Kind cache: what the books hold after a sequence of events on one node."""

from collections.abc import Mapping
from typing import Any

from koordpy.testing import make_pod
from koordpy_api.koordinator import DEVICE_ALLOCATED
from koordpy_api.objects import Device, Pod
from koordpy_api.quantity import value_of
from koordpy_deviceshare.cache import DeviceCache
from tests.parity.frame import Case, Legend, Outcome, Right, Wrong, compare
from tests.parity.model.answers import counted
from tests.parity.readers.koordinator.stage import NODE, PLUGIN, TYPES, Stage, allocated_text, device_of

Answer = dict[str, Any]


def read(case: Case, legend: Legend) -> Outcome:
    """Only what the case speaks of, exactly."""
    got = ask(case)
    wanted = recorded(case["expect"], got.get("total"))
    return Right() if {key: got.get(key) for key in wanted} == wanted else Wrong(wanted, got)


def read_recorded(case: Case, legend: Legend) -> Outcome:
    return compare(recorded(case["answer"]), ask(case))


def recorded(answer: Mapping[str, Any], totals: Mapping[str, Any] | None = None) -> Answer:
    """In the form of our answers: a type of which no Pod holds anything says nothing in allocateSet.

    totals: for an answer that tells none.
    """
    plain = {key: value if key == "unknown" else _plain(key, value) for key, value in answer.items()}
    totals = plain.get("total", totals or {})
    for key in ("used", "free"):
        for kind, minors in plain.get(key, {}).items():
            of_kind = totals.get(kind, {})
            minors |= {minor: counted(key, each, of_kind.get(minor)) for minor, each in minors.items()}
    return plain


def ask(case: Case) -> Answer:
    stage = Stage()
    listed: Device | None = None
    for step in case["steps"]:
        listed = _play(stage, step, listed)
    return answer_of(stage)


def _play(stage: Stage, step: Mapping[str, Any], listed: Device | None) -> Device | None:
    """One event, as a watch tells it. Returns: the Device that exists now."""
    world = stage.harness
    match step:
        case {"device": short}:
            device = device_of(short)
            world.add(device) if listed is None else world.update(listed, device)
            return device
        case {"device_deleted": short}:
            world.delete(device_of(short))
            return None
        case {"add": name}:
            world.add(_pod(name, step))
        case {"update": name, "old": old, "new": new} if old.get("node", NODE) and not new.get("node", NODE):
            world.delete(_pod(name, old))  # no Pod leaves its node: this is another one of the same name
            world.add(_pod(name, new, uid=f"another-{name}"))
        case {"update": name, "old": old, "new": new}:
            world.update(_pod(name, old), _pod(name, new))
        case {"remove": name}:
            world.delete(_pod(name, step))
        case _:
            raise ValueError(f"no step of a cache case: {step!r}")
    return listed


def _pod(key: str, short: Mapping[str, Any], uid: str = "") -> Pod:
    """As somebody else's scheduler binds it: on the node and Running, unless the case says otherwise."""
    namespace, _, name = key.partition("/")
    held = {kind: short[kind] for kind in TYPES if short.get(kind)}
    text = short.get("annotation", allocated_text(held) if held else None)
    return make_pod(
        name,
        namespace=namespace,
        uid=uid,
        node=short.get("node", NODE),
        phase=short.get("phase", "Running"),
        annotations=None if text is None else {DEVICE_ALLOCATED: text},
        scheduler_name="another",
    )


def answer_of(stage: Stage) -> Answer:
    books = _books(stage)
    if NODE not in books.sums():
        return {"unknown": True}
    types = {kind: {card.minor: card for card in of_type.cards} for kind, of_type in _types(books).items()}
    return {
        "total": {kind: {minor: dict(card.total) for minor, card in cards.items()} for kind, cards in types.items()},
        "free": {
            kind: {minor: counted("free", card.free, card.total) for minor, card in cards.items()}
            for kind, cards in types.items()
        },
        "used": _without_empty(
            {
                kind: {
                    minor: counted("used", card.used, card.total)
                    for minor, card in cards.items()
                    if any(card.used.values())
                }
                for kind, cards in types.items()
            }
        ),
        **_by_pod(books),
    }


def _by_pod(books: DeviceCache) -> Answer:
    held: dict[str, dict[str, dict[int, dict[str, int]]]] = {}
    vfs: dict[str, dict[int, list[str]]] = {}
    for record in books.books[NODE].records.values() if NODE in books.books else ():
        for kind, devices in record.devices.items():
            held.setdefault(kind, {})[record.pod] = {each.minor: dict(each.resources) for each in devices}
            for each in devices:
                if taken := _vfs_of(each):
                    vfs.setdefault(kind, {}).setdefault(each.minor, []).extend(taken)
    return {
        "vf": {kind: {minor: sorted({*ids}) for minor, ids in minors.items()} for kind, minors in vfs.items()},
        "allocateSet": held,
    }


def _vfs_of(device: Any) -> list[str]:
    return [vf if isinstance(vf, str) else vf.bus_id for vf in getattr(device, "vfs", ())]


def _books(stage: Stage) -> DeviceCache:
    plugin = next(hook.__self__ for name, hook in stage.framework.chains["filter"] if name == PLUGIN)  # type: ignore[attr-defined]
    books = plugin.books
    assert isinstance(books, DeviceCache)
    return books


def _types(books: DeviceCache) -> Mapping[str, Any]:
    return books.devices_of(NODE).by_type


def _plain(key: str, value: Mapping[str, Any]) -> Answer:
    """A part of an expected answer with numbers for minors and amounts."""
    if key == "vf":
        return {kind: {int(minor): sorted(ids) for minor, ids in minors.items()} for kind, minors in value.items()}
    if key == "allocateSet":
        return _without_empty(
            {kind: {pod: _minors(minors) for pod, minors in pods.items()} for kind, pods in value.items()}
        )
    return {kind: _minors(minors) for kind, minors in value.items()}


def amounts(written: Mapping[str, Any]) -> dict[str, int]:
    return {name: value_of(amount) for name, amount in written.items()}


def _minors(minors: Mapping[str, Any]) -> dict[int, dict[str, int]]:
    return {int(minor): amounts(each) for minor, each in minors.items()}


def _without_empty(by_type: Mapping[str, Any]) -> Answer:
    return {kind: value for kind, value in by_type.items() if value}

"""The node's device cache, event by event. Source: koordinator.md 4.1 to 4.3."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.parity.model.amounts import Books, Minors, is_zero, minus, plus, read_amounts, read_minors
from tests.parity.model.differences import BY_RECORD, NONE, Differences
from tests.parity.model.requests import TYPES

Step = Mapping[str, Any]
NODE = "n1"
FINAL = ("Succeeded", "Failed")


@dataclass(frozen=True)
class Held:
    """What a Pod's annotation says: amounts, and VFs by bus id."""

    devices: Books = field(default_factory=dict)
    vfs: Mapping[str, Mapping[int, frozenset[str]]] = field(default_factory=dict)


@dataclass(frozen=True)
class Seen:
    """A Pod as an event shows it. held: None if its annotation cannot be read."""

    node: str
    is_final: bool
    held: Held | None


class NodeBooks:
    """What the cache believes of the node after some steps."""

    def __init__(self, differences: Differences = NONE) -> None:
        self._differences = differences
        self._known = False
        self._total: Books = {}
        self._used: Books = {}
        self._vfs: dict[str, dict[int, frozenset[str]]] = {}
        self._sets: dict[str, dict[str, Minors]] = {}
        self._given_vfs: dict[str, Mapping[str, Mapping[int, frozenset[str]]]] = {}

    def play(self, step: Step) -> None:
        match step:
            case {"device": device}:
                self._list(device, exists=True)
            case {"device_deleted": device}:
                if self._known:
                    self._list(device, exists=False)
            case {"add": name}:
                self._updated(name, None, seen(step))
            case {"update": name, "old": old, "new": new}:
                self._updated(name, seen(old), seen(new))
            case {"remove": name}:
                self._deleted(name, seen(step))

    def answer(self) -> dict[str, Any]:
        if not self._known:
            return {"unknown": True}
        free = {
            kind: {m: minus(total, self._used.get(kind, {}).get(m, {})) for m, total in minors.items()}
            for kind, minors in self._total.items()
        }
        return {
            "total": self._total,
            "free": free,
            "used": {kind: minors for kind, minors in self._used.items() if minors},
            "vf": {
                kind: {minor: sorted(ids) for minor, ids in minors.items() if ids}
                for kind, minors in (self._vfs_of_records() if BY_RECORD in self._differences else self._vfs).items()
                if any(minors.values())
            },
            "allocateSet": self._sets,
        }

    # -- Device ------------------------------------------------------------------------------------------------------

    def _list(self, device: Mapping[str, Any], *, exists: bool) -> None:
        self._known = True
        listed: Books = {kind: {} for kind in self._total}
        for entry in device["devices"]:
            amounts = read_amounts(entry["resources"]) if entry["health"] and exists else {}
            listed.setdefault(entry["type"], {})[entry["minor"]] = amounts
        self._total = listed
        for kind in self._used:
            self._know(kind)

    def _know(self, kind: str) -> None:
        total = self._total.setdefault(kind, {})
        for minor in self._used.get(kind, {}):
            total.setdefault(minor, {})

    # -- pods --------------------------------------------------------------------------------------------------------

    def _updated(self, name: str, old: Seen | None, new: Seen) -> None:
        if BY_RECORD in self._differences:
            self._recorded(name, old, new)
            return
        if not new.node:
            if old is not None and old.node:
                self._deleted(name, old)
            return
        if new.is_final:
            self._deleted(name, new)
            return
        before = Held() if old is None else old.held
        if before is None or new.held is None or not (before.devices or new.held.devices):
            return
        self._known = True
        if old is not None and old.node and before.devices:
            self._take(name, before)
        if new.held.devices:
            self._give(name, new.held)

    def _recorded(self, name: str, old: Seen | None, new: Seen) -> None:
        """The newest text that can be read counts as long as the Pod runs, whatever the event says of before."""
        if new.is_final or not new.node:
            if new.is_final or (old is not None and old.node):
                self._deleted(name, new)
            return
        self._known = self._known or new.held is None or bool(new.held.devices)
        if new.held is not None and new.held.devices:
            self._deleted(name, new)
            self._give(name, new.held)

    def _deleted(self, name: str, pod: Seen) -> None:
        if BY_RECORD in self._differences:
            self._take(name, self._held(name))
            return
        if self._known and pod.node and pod.held is not None and pod.held.devices:
            self._take(name, pod.held)

    def _give(self, name: str, held: Held) -> None:
        for kind, minors in held.devices.items():
            by_name = self._sets.setdefault(kind, {})
            if name in by_name:
                continue
            by_name[name] = minors
            used = self._used.setdefault(kind, {})
            for minor, amounts in minors.items():
                used[minor] = plus(used.get(minor, {}), amounts)
            vfs = self._vfs.setdefault(kind, {})
            for minor, ids in held.vfs.get(kind, {}).items():
                vfs[minor] = vfs.get(minor, frozenset()) | ids
            self._know(kind)
        self._given_vfs[name] = held.vfs

    def _take(self, name: str, held: Held) -> None:
        for kind, minors in held.devices.items():
            if self._sets.setdefault(kind, {}).pop(name, None) is None:
                continue
            used = self._used.setdefault(kind, {})
            for minor, amounts in minors.items():
                used[minor] = minus(used.get(minor, {}), amounts)
                if is_zero(used[minor]):
                    del used[minor]
            vfs = self._vfs.setdefault(kind, {})
            for minor, ids in held.vfs.get(kind, {}).items():
                vfs[minor] = vfs.get(minor, frozenset()) - ids
            self._know(kind)

    def _vfs_of_records(self) -> dict[str, dict[int, frozenset[str]]]:
        """One VF may be held twice; then it is free when both have let go of it."""
        held: dict[str, dict[int, frozenset[str]]] = {}
        for name, by_kind in self._given_vfs.items():
            for kind, minors in by_kind.items():
                if name in self._sets.get(kind, {}):
                    of_kind = held.setdefault(kind, {})
                    of_kind |= {minor: of_kind.get(minor, frozenset()) | ids for minor, ids in minors.items()}
        return held

    def _held(self, name: str) -> Held:
        kinds = [kind for kind, by_name in self._sets.items() if name in by_name]
        return Held({kind: self._sets[kind][name] for kind in kinds}, self._given_vfs.get(name, {}))


def seen(step: Step) -> Seen:
    """An event's Pod: on the node and Running unless it says otherwise."""
    held: Held | None = None
    if "annotation" not in step:
        devices = {kind: read_minors(step[kind]) for kind in TYPES if step.get(kind)}
        vfs = {
            kind: {int(minor): frozenset(each["vfs"]) for minor, each in step[kind].items() if "vfs" in each}
            for kind in devices
        }
        held = Held(devices, vfs)
    return Seen(step.get("node", NODE), step.get("phase", "Running") in FINAL, held)


def play_all(steps: list[Step], differences: Differences = NONE) -> dict[str, Any]:
    books = NodeBooks(differences)
    for step in steps:
        books.play(step)
    return books.answer()

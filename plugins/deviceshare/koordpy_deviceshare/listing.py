"""What a Device object lists, and what is wrong with it."""

from dataclasses import dataclass
from typing import Final

from koordpy_api.errors import Problem, QuantityError
from koordpy_api.koordinator import GPU_MODEL, GPU_PARTITIONS, GPU_VENDOR, current_names
from koordpy_api.objects import Device, DeviceInfo
from koordpy_api.quantity import value_of
from koordpy_api.resources import Amounts
from koordpy_deviceshare.model import Card, Health

Listed = dict[str, dict[int, Card]]
"""Device type → minor → the device as its Device object lists it. What pods hold is not in it."""


@dataclass(frozen=True, slots=True)
class Listing:
    """One Device as it was last seen. model, vendor: of all cards of the node; "" unknown.

    has_partitions: does it say which of its cards form partitions?
    """

    listed: Listed
    model: str = ""
    vendor: str = ""
    has_partitions: bool = False
    problems: tuple[Problem, ...] = ()


NO_LISTING: Final = Listing({})


def read_device(device: Device) -> Listing:
    """The devices that a Device object lists.

    An entry that does not say which device it means is left out; so are all that claim one minor, since any could be
    it. An entry with an amount that is no quantity stays known and can be given to nobody.
    """
    problems: list[Problem] = []
    claims: dict[tuple[str, int], list[int]] = {}
    for i, info in enumerate(device.spec.devices):
        if info.minor is None or info.minor < 0:
            shown = "" if info.minor is None else str(info.minor)
            problems.append(Problem(f"spec.devices[{i}].minor", shown, "a device needs a minor, 0 or more"))
        else:
            claims.setdefault((info.type, info.minor), []).append(i)
    listed: Listed = {}
    for (kind, minor), places in claims.items():
        if len(places) > 1:
            problems += [_claimed_twice(kind, minor, i) for i in places]
            continue
        card, wrong = _read_card(f"spec.devices[{places[0]}]", minor, device.spec.devices[places[0]])
        listed.setdefault(kind, {})[minor] = card
        problems += wrong
    problems += _ids_claimed_twice(device)
    labels, has_partitions = device.metadata.labels, GPU_PARTITIONS in device.metadata.annotations
    return Listing(listed, labels.get(GPU_MODEL, ""), labels.get(GPU_VENDOR, ""), has_partitions, tuple(problems))


def _claimed_twice(kind: str, minor: int, place: int) -> Problem:
    right = f"a minor that no other device of type {kind!r} has; none of them is used until then"
    return Problem(f"spec.devices[{place}].minor", str(minor), right)


def _ids_claimed_twice(device: Device) -> list[Problem]:
    """Such devices are still given by their minors; but nobody can tell where a card went that changes its minor."""
    claims: dict[tuple[str, str], list[int]] = {}
    for i, info in enumerate(device.spec.devices):
        if info.id:
            claims.setdefault((info.type, info.id), []).append(i)
    right = "an id that no other device of this type has"
    return [
        Problem(f"spec.devices[{i}].id", uuid, right)
        for (_, uuid), places in claims.items()
        if len(places) > 1
        for i in places
    ]


def _read_card(path: str, minor: int, info: DeviceInfo) -> tuple[Card, list[Problem]]:
    total: Amounts = {}
    problems: list[Problem] = []
    for name, raw in current_names(info.resources).items():
        try:
            total[name] = value_of(raw)
        except QuantityError as error:
            problems.append(Problem(f"{path}.resources[{name}]", str(raw), str(error)))
            continue
        if total[name] < 0:
            problems.append(Problem(f"{path}.resources[{name}]", str(raw), "an amount is not negative"))
    if problems:
        return Card(minor, info.id, Health.UNREADABLE, labels=info.labels), problems
    if not info.health:
        return Card(minor, info.id, Health.UNHEALTHY, labels=info.labels), problems
    return Card(minor, info.id, Health.HEALTHY, total, labels=info.labels), problems

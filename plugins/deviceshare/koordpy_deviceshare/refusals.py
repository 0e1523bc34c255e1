"""Every text in which DeviceShare says no. Where upstream has a text, ours begins with it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from koordpy_api.koordinator import GPU_MEMORY
from koordpy_api.quantity import RawQuantity, format_decimal
from koordpy_api.status import Status
from koordpy_deviceshare.model import GPU_TYPE, Card, Health, Shortage, TypeShortage

UNREADABLE_POD: Final = "node(s) had a pod whose device-allocated annotation cannot be read"
NO_DEVICE: Final = "node(s) had no Device"
OTHER_VENDOR: Final = "node(s) had cards of another vendor"
NO_TOPOLOGY: Final = "node(s) missing GPU Device Topology Tree"
NO_PARTITIONS: Final = "node(s) missing GPU Partition Table"
NO_PROVIDER: Final = "GPUIsolationProviderHAMICore not found on the node"
PARTITIONS_NOT_KNOWN: Final = "node(s) had a GPU Partition Table, and koordpy knows no GPU partitions yet"
NO_TEMPLATE: Final = "no matched GPU shared resource template; koordpy knows no GPU resource templates yet"

_MOST_HOLDERS: Final = 20
"""So many pods of one card are named; a longer list helps nobody."""

_WHY_CLOSED: Final = {
    Health.UNHEALTHY: "the Device reports it unhealthy",
    Health.UNREADABLE: "the Device reports a resource of it that is no quantity",
    Health.UNLISTED: "the Device does not list it",
}


# What is asked, before any node is looked at


def nothing_asked() -> Status:
    """Only for who asks about amounts alone: a Pod that asks for no device is skipped."""
    return Status.unresolvable("pod request should not be empty")


def invalid_unit(resource: str, amount: int, right: str) -> Status:
    """Neither a percentage of one device nor a multiple of 100."""
    return Status.unresolvable(f"invalid resource unit {resource}: {format_decimal(amount)}; {right}")


def invalid_combination(resources: Iterable[str], right: str) -> Status:
    """Names that cannot be asked for together, or amounts that do not go together."""
    return Status.unresolvable(f"invalid resource device requests: [{' '.join(sorted(resources))}]; {right}")


def negative(resource: str, amount: int) -> Status:
    return Status.unresolvable(f"invalid resource unit {resource}: {format_decimal(amount)}; must be >= 0")


def unlike_limit(resource: str) -> Status:
    """The API server lets none through."""
    return Status.unresolvable(f"invalid resource amount: {resource}: requests must equal limits")


def unreadable_amount(error: ValueError) -> Status:
    """Something that the Pod asks for is no quantity."""
    return Status.unresolvable(f"invalid resource amount: {error}")


def fraction(resource: str, raw: RawQuantity) -> Status:
    """The API server lets none through; a share of a card is asked for in percent."""
    return Status.unresolvable(
        f"invalid resource amount: {resource}: {raw} is no whole number, but must be an integer; shares are in percent"
    )


def invalid_annotation(error: object) -> Status:
    """An annotation that narrows what the Pod may get cannot be read, so it could get the wrong thing."""
    return Status.unresolvable(str(error))


def not_supported(wishes: Iterable[str]) -> Status:
    """Right in Koordinator, but nothing that koordpy can do. Never ignored: the Pod would get the wrong device."""
    return Status.unresolvable(f"koordpy does not support {', '.join(wishes)} yet")


def no_template() -> Status:
    """A slice of an NPU is cut by a template, and none is known that gives what is asked."""
    return Status.unresolvable(NO_TEMPLATE)


# What a node has


def unreadable_pods(pods: Sequence[str]) -> Status:
    """The node cannot be judged while these pods (namespace/name) hold nobody knows what."""
    return Status.unschedulable(UNREADABLE_POD, details={"pod": min(pods), "pods": len(pods)})


def no_device() -> Status:
    """Nobody has said which cards the node has. Upstream lets the Pod pass, and it runs without a card."""
    return Status.unresolvable(NO_DEVICE)


def other_vendor(asked: str, vendor: str) -> Status:
    """A program for one vendor's cards cannot use another's."""
    return Status.unresolvable(OTHER_VENDOR, details={"asked": asked, "vendor": vendor})


def insufficient_count(resource: str, asked: int, free: int) -> Status:
    """A node with a device plugin only, whose count of cards decides."""
    return Status.unschedulable(f"Insufficient {resource}", details={"asked": asked, "free": free})


def no_provider() -> Status:
    """Nobody on the node holds containers to their shares as the Pod wants it."""
    return Status.unresolvable(NO_PROVIDER)


def not_shared(vendor: str, model: str) -> Status:
    return Status.unresolvable(f'model "{model}" of vendor "{vendor}" does not support GPU Share')


def no_topology() -> Status:
    return Status.unresolvable(NO_TOPOLOGY)


def no_partitions() -> Status:
    return Status.unresolvable(NO_PARTITIONS)


def partitions_not_known() -> Status:
    """Never ignored: the Pod could get cards that form none."""
    return Status.unresolvable(PARTITIONS_NOT_KNOWN)


def no_designated(error: Exception, node_name: str) -> Status:
    """Upstream answers Error with this text, which ends the attempt though the next node may have the device."""
    return Status.unresolvable(f"fillGPUTotalMem failed: {error}, node: {node_name}")


def insufficient(shortage: Shortage) -> Status:
    """Too few devices can give what was asked. Pods that leave could help, unless there is no such device at all."""
    status = too_few((each.type for each in shortage.types), is_lasting=shortage.is_lasting)
    return Status(status.code, status.reasons, _ShortageDetails(shortage))


def too_few(types: Iterable[str], *, is_lasting: bool) -> Status:
    """The same without details."""
    texts = (f"Insufficient {device_type} devices" for device_type in types)
    return Status.unresolvable(*texts) if is_lasting else Status.unschedulable(*texts)


class _ShortageDetails(Mapping[str, int | str]):
    """A Shortage as flat data, worked out once somebody looks: most refusals of a node are only counted.

    Keys: `TYPE.asked.count`; for each device `TYPE[MINOR].asked.RESOURCE`, `TYPE[MINOR].free.RESOURCE`,
    `TYPE[MINOR].holders` (how many pods), `TYPE[MINOR].held_by` (which, if any), and `TYPE[MINOR].why` where the device
    is closed to everybody.
    """

    __slots__ = ("_shortage", "_told")

    def __init__(self, shortage: Shortage) -> None:
        self._shortage = shortage
        self._told: dict[str, int | str] = {}

    def __getitem__(self, key: str) -> int | str:
        return self._written()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._written())

    def __len__(self) -> int:
        return len(self._written())

    def __repr__(self) -> str:
        return repr(self._written())

    def _written(self) -> dict[str, int | str]:
        for short in () if self._told else self._shortage.types:
            self._told[f"{short.type}.asked.count"] = short.count
            for card in short.cards:
                self._told |= _card_details(short, card)
        return self._told


def _card_details(short: TypeShortage, card: Card) -> dict[str, int | str]:
    at = f"{short.type}[{card.minor}]"
    written: dict[str, int | str] = {}
    for name, amount in sorted(short.asked_of(card).items()):
        written[f"{at}.asked.{name}"] = amount
        written[f"{at}.free.{name}"] = card.free.get(name, 0)
    written[f"{at}.holders"] = len(card.held_by)
    if card.held_by:
        more = f" and {len(card.held_by) - _MOST_HOLDERS} more" if len(card.held_by) > _MOST_HOLDERS else ""
        written[f"{at}.held_by"] = ", ".join(sorted(card.held_by)[:_MOST_HOLDERS]) + more
    if why := _why_closed(short.type, card):
        written[f"{at}.why"] = why
    return written


def _why_closed(device_type: str, card: Card) -> str:
    if card.health is not Health.HEALTHY:
        return _WHY_CLOSED[card.health]
    if device_type == GPU_TYPE and card.total.get(GPU_MEMORY, 0) <= 0:
        return f"the Device reports no {GPU_MEMORY} of it"
    return ""

"""Every text in which DeviceShare says no. Where upstream has a text, it is upstream's."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from koordpy_api.koordinator import GPU_MEMORY
from koordpy_api.quantity import RawQuantity, format_binary, format_decimal
from koordpy_api.status import Status
from koordpy_deviceshare.model import GPU_TYPE, Amounts, Card, Health, Shortage

UNREADABLE_POD: Final = "node(s) had a pod whose device-allocated annotation cannot be read"

_WHY_CLOSED: Final = {
    Health.UNHEALTHY: "the Device reports it unhealthy",
    Health.UNREADABLE: "the Device reports a resource of it that is no quantity",
    Health.UNLISTED: "the Device does not list it",
}


def invalid_unit(resource: str, amount: int) -> Status:
    """Neither a percentage of one device nor a multiple of 100."""
    return Status.unresolvable(f"invalid resource unit {resource}: {format_decimal(amount)}")


def invalid_combination(resources: Iterable[str]) -> Status:
    """Names that cannot be asked for together, or amounts that do not go together."""
    return Status.unresolvable(f"invalid resource device requests: [{' '.join(sorted(resources))}]")


def unreadable_amount(error: ValueError) -> Status:
    """Something that the Pod asks for is no quantity."""
    return Status.unresolvable(f"invalid resource amount: {error}")


def fraction(resource: str, raw: RawQuantity) -> Status:
    """The API server lets none through; a share of a card is asked for in percent."""
    return Status.unresolvable(f"invalid resource amount: {resource}: {raw} is no whole number; shares are in percent")


def not_supported(asked: Iterable[str], supported: str) -> Status:
    """Right in Koordinator, but nothing that koordpy can do. Never ignored: the Pod would run without its device."""
    return Status.unresolvable(f"koordpy does not support {', '.join(asked)} yet; supported are {supported}")


def write_amounts(amounts: Amounts) -> list[str]:
    """`name=quantity`, sorted by name."""
    return [
        f"{name}={format_binary(amount) if name == GPU_MEMORY else format_decimal(amount)}"
        for name, amount in sorted(amounts.items())
    ]


def unreadable_pods(pods: Sequence[str]) -> Status:
    """The node cannot be judged while these pods (namespace/name) hold nobody knows what."""
    return Status.unschedulable(UNREADABLE_POD, details={"pod": min(pods), "pods": len(pods)})


def insufficient(shortage: Shortage) -> Status:
    """Too few cards can give what was asked. Pods that leave could help, unless the node has no card at all."""
    text = f"Insufficient {GPU_TYPE} devices"
    details = _ShortageDetails(shortage)
    if shortage.is_lasting:
        return Status.unresolvable(text, details=details)
    return Status.unschedulable(text, details=details)


class _ShortageDetails(Mapping[str, int | str]):
    """A Shortage as flat data, worked out when somebody looks: most refusals of a node are only counted.

    Keys: `asked.count`; for each card `gpu[MINOR].asked.RESOURCE`, `gpu[MINOR].free.RESOURCE`, `gpu[MINOR].holders`,
    and `gpu[MINOR].why` where the card is closed to everybody.
    """

    __slots__ = ("_shortage",)

    def __init__(self, shortage: Shortage) -> None:
        self._shortage = shortage

    def __getitem__(self, key: str) -> int | str:
        return self._written()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._written())

    def __len__(self) -> int:
        return len(self._written())

    def __repr__(self) -> str:
        return repr(self._written())

    def _written(self) -> dict[str, int | str]:
        written: dict[str, int | str] = {"asked.count": self._shortage.count}
        for card in self._shortage.cards:
            at = f"{GPU_TYPE}[{card.minor}]"
            for name, amount in sorted(self._shortage.asked_of(card).items()):
                written[f"{at}.asked.{name}"] = amount
                written[f"{at}.free.{name}"] = card.free.get(name, 0)
            written[f"{at}.holders"] = card.holders
            if why := _why_closed(card):
                written[f"{at}.why"] = why
        return written


def _why_closed(card: Card) -> str:
    if card.health is not Health.HEALTHY:
        return _WHY_CLOSED[card.health]
    return "" if card.total.get(GPU_MEMORY, 0) > 0 else f"the Device reports no {GPU_MEMORY} of it"

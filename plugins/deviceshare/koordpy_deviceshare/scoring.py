"""Which node, and which of its devices that fit: how full and how empty are measured, and what is preferred. Pure.

Two levels, so that the two keys of the arguments never contradict: `scoringStrategy` rates nodes, `allocator` orders
the devices of one; without `allocator`, `scoringStrategy` does both.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from koordpy_api.selectors import selects
from koordpy_deviceshare.args import DeviceShareArgs, ScoringStrategy
from koordpy_deviceshare.model import Amounts, Card, NodeDevices, TypeDevices
from koordpy_deviceshare.request import DeviceRequest, TypeRequest

MAX_SCORE: Final = 100

SortKey = tuple[int, ...]
Order = Callable[[Amounts, Card], SortKey]
"""(what a device must give, the device) → its place; the smallest comes first. It ends in the minor: none are equal."""


@dataclass(frozen=True, slots=True)
class Scorer:
    """How empty (LeastAllocated) or how full (MostAllocated) something would be with a request, 0..100.

    Source: Koordinator's deviceshare scoring.go (leastResourceScorer, mostResourceScorer).
    """

    fullest: bool
    weights: Mapping[str, int]

    @classmethod
    def of(cls, strategy: ScoringStrategy) -> "Scorer":
        return cls(strategy.type == "MostAllocated", {each.name: each.weight for each in strategy.resources})

    def rate(self, asked: Amounts, total: Amounts, free: Amounts) -> int:
        """The weighted mean over the resources that device or node has. Asked counts as it was made, uncompleted."""
        score = weights = 0
        for name, weight in self.weights.items():
            if name in total and (capacity := total[name]) > 0:
                left = free.get(name, 0)
                left = max(left - asked.get(name, 0), 0) if left <= capacity else 0
                score += weight * ((capacity - left if self.fullest else left) * MAX_SCORE // capacity)
                weights += weight
        return score // weights if weights else 0

    def rate_node(self, request: DeviceRequest, devices: NodeDevices) -> int:
        """The sum over the device types that are asked for; to be normalised over all nodes.

        All devices that the Pod would get count, while upstream counts one of them.
        """
        return sum([self._rate_type(each, devices.type(each.type)) for each in request.types])

    def _rate_type(self, request: TypeRequest, devices: TypeDevices) -> int:
        if request.selector is not None:
            matching = (card for card in devices.cards if selects(request.selector, card.labels))
            devices = TypeDevices.of(matching)
        count = count_on(request, devices)
        return self.rate_devices({name: amount * count for name, amount in request.per_device.items()}, devices)

    def rate_devices(self, asked: Amounts, devices: TypeDevices) -> int:
        """asked: of all of them together. Where nothing is left of any, there is nothing to rate."""
        return self.rate(asked, devices.total, devices.free) if any(devices.free.values()) else 0


def count_on(request: TypeRequest, devices: TypeDevices) -> int:
    """On how many devices something is asked; a request for every device counts those of the node, sick ones too."""
    if not request.on_every:
        return request.count
    if request.selector is None:
        return len(devices.cards)
    return sum(selects(request.selector, card.labels) for card in devices.cards if card.is_listed)


def lowest_minor(asked: Amounts, card: Card) -> SortKey:
    return (card.minor,)


def by_score(scorer: Scorer) -> Order:
    """The highest score first."""
    return lambda asked, card: (-scorer.rate(asked, card.total, card.free), card.minor)


def packed(scorer: Scorer) -> Order:
    """A device that the request fills exactly, then devices in use, the fullest first; empty ones stay whole."""

    def order(asked: Amounts, card: Card) -> SortKey:
        exact = all(card.free.get(name, 0) == amount for name, amount in asked.items())
        return not exact, not card.held_by, -scorer.rate(asked, card.total, card.free), card.minor

    return order


class Preferences:
    """What a profile prefers, and what a Pod may prefer instead for its own devices."""

    def __init__(self, args: DeviceShareArgs) -> None:
        strategy = args.scoring_strategy
        weights = Scorer.of(strategy).weights
        emptiest, fullest = Scorer(False, weights), Scorer(True, weights)
        self.nodes: Final = Scorer.of(strategy)
        self._orders: Final[Mapping[str, Order]] = {
            "default": lowest_minor,
            "binpack": packed(fullest),
            "spread": by_score(emptiest),
        }
        self._usual: Final = self._orders[args.allocator] if args.allocator else by_score(self.nodes)

    def order(self, request: TypeRequest) -> Order:
        """Whole devices are alike: the lowest minors, whatever is preferred."""
        if request.is_whole:
            return lowest_minor
        return self._orders.get(request.strategy, self._usual)


USUAL: Final = Preferences(DeviceShareArgs())
"""What Koordinator prefers without arguments: the emptiest device."""

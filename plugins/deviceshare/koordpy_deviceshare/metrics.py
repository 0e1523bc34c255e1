"""What DeviceShare counts and shows. Names and meaning: docs/deviceshare.md.

A card has one series of each gauge: a sick one a total of 0, one that is in no Device (any more) none at all.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from koordpy_api.koordinator import GPU_CORE, GPU_MEMORY
from koordpy_api.metrics import Gauge, Metrics
from koordpy_api.objects import Pod
from koordpy_deviceshare.cache import DeviceCache, Shown
from koordpy_deviceshare.model import GPU_TYPE, Amounts, Card, Health

ALLOCATIONS: Final = "scheduler_deviceshare_allocations_total"
SUCCESS: Final = "success"
FAILURE: Final = "failure"
LABELS: Final = ("node", "minor", "uuid", "model")

# Beyond so many pods that wait for a card at once, the one that failed longest ago may be counted again.
REMEMBERED: Final = 100_000

_AMOUNTS: Final[Sequence[tuple[str, str, Callable[[Card], Amounts]]]] = (
    ("total", "What there is of a card, 0 if it is sick", lambda card: card.total),
    ("used", "What pods hold of a card", lambda card: card.used),
    ("free", "What is left of a card to give", lambda card: card.free),
)
_UNITS: Final = (("core", "percent of one card", GPU_CORE), ("memory_bytes", "bytes of its memory", GPU_MEMORY))


class AllocationCount:
    """How attempts end that ask for a card. Both results are there from the start, so that a rate of them is."""

    def __init__(self, metrics: Metrics, books: DeviceCache) -> None:
        self._counter = metrics.counter(
            ALLOCATIONS,
            "Attempts to give a Pod its devices, by result: success when it was given some, failure when no node "
            "could; that once a Pod, until its spec or the cluster's cards change.",
            ("result",),
        )
        self._books = books
        self._cards_version = books.cards_version
        self._failed: OrderedDict[str, int] = OrderedDict()
        for result in (SUCCESS, FAILURE):
            self._counter.add(0, result)

    def succeeded(self, pod: Pod) -> None:
        self._failed.pop(pod.uid, None)
        self._counter.inc(SUCCESS)

    def failed(self, pod: Pod) -> None:
        if self._cards_version != self._books.cards_version:
            self._cards_version = self._books.cards_version
            self._failed.clear()
        spec = pod.metadata.generation or hash(repr(pod.spec))  # older API servers do not number the specs of pods
        if self._failed.get(pod.uid) == spec:
            self._failed.move_to_end(pod.uid)
            return
        self._failed[pod.uid] = spec
        if len(self._failed) > REMEMBERED:
            self._failed.popitem(last=False)
        self._counter.inc(FAILURE)


def show_cards(metrics: Metrics, books: DeviceCache) -> None:
    """Declare the gauges of every card, read from the books whenever somebody scrapes."""
    metrics.gauges("DeviceShare", books.shown, gauges_of)


def gauges_of(nodes: Sequence[Shown]) -> Iterator[Gauge]:
    """One gauge after the other, as the text format wants them."""
    cards = [
        ((each.node, str(card.minor), card.id, each.model), card)
        for each in nodes
        for card in each.devices.type(GPU_TYPE).cards
        if card.is_listed
    ]
    for kind, help_text, amounts_of in _AMOUNTS:
        for unit, measure, resource in _UNITS:
            yield _gauge(f"{kind}_{unit}", f"{help_text}, in {measure}.", _amounts(cards, amounts_of, resource))
    health = ((labels, float(card.health is Health.HEALTHY)) for labels, card in cards)
    yield _gauge("health", "1 if a card is healthy, else 0.", health)


_Labelled = tuple[tuple[str, ...], Card]


def _amounts(
    cards: Iterable[_Labelled], amounts_of: Callable[[Card], Amounts], resource: str
) -> Iterator[tuple[tuple[str, ...], float]]:
    return ((labels, amounts_of(card).get(resource, 0)) for labels, card in cards)


def _gauge(name: str, text: str, series: Iterable[tuple[tuple[str, ...], float]]) -> Gauge:
    return Gauge(f"device_gpu_{name}", text, LABELS, series)

"""Counters, gauges and histograms that cost the scheduling loop little: whoever writes them needs no lock.

One thread writes, the event loop's; a scrape on another thread reads numbers that are each right, if not all of the
same moment. What they look like to Prometheus is made in metrics.py. prometheus_client's own take a lock and several
times as long for each number, which a cycle over few nodes would feel.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, Generic, Literal, TypeVar

Stability = Literal["stable", "beta", "alpha", "koordpy"]
"""Of kube-scheduler's own metrics what upstream promises; "koordpy": the metric is ours."""


class CounterCell:
    """One series that only grows."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0.0

    def inc(self, amount: float = 1) -> None:
        self.value += amount


class GaugeCell:
    """One series that goes up and down."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0.0

    def set(self, value: float) -> None:
        self.value = value


class HistogramCell:
    """One series of observations. counts: by bucket, not added up; the last is of what is above every bound."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def observe(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value


Cell = TypeVar("Cell", CounterCell, GaugeCell, HistogramCell)


class Family(Generic[Cell]):
    """A metric with all its series. `labels` finds or makes one; whoever writes often may keep what it returns."""

    def __init__(
        self,
        name: str,
        text: str,
        labels: Sequence[str],
        stability: Stability,
        make: Callable[[], Cell],
    ) -> None:
        self.name: Final = name
        self.text: Final = text
        self.label_names: Final = tuple(labels)
        self.stability: Final[Stability] = stability
        self._make: Callable[[], Cell] = make
        self._cells: dict[tuple[str, ...], Cell] = {}

    def labels(self, *values: str) -> Cell:
        cell = self._cells.get(values)
        if cell is None:
            if len(values) != len(self.label_names):
                raise ValueError(f"{self.name} has the labels {', '.join(self.label_names) or 'none'}, not {values}")
            cell = self._cells[values] = self._make()
        return cell

    def series(self) -> Iterator[tuple[tuple[str, ...], Cell]]:
        yield from list(self._cells.items())


class Counter(Family[CounterCell]):
    """Its name ends in _total."""

    def __init__(self, name: str, text: str, labels: Sequence[str], stability: Stability) -> None:
        super().__init__(name, text, labels, stability, CounterCell)
        if not labels:
            self.labels()  # there from the start, at zero

    def inc(self, amount: float = 1) -> None:
        self.labels().inc(amount)


class Gauge(Family[GaugeCell]):
    """What is so now."""

    def __init__(self, name: str, text: str, labels: Sequence[str], stability: Stability) -> None:
        super().__init__(name, text, labels, stability, GaugeCell)

    def set(self, value: float) -> None:
        self.labels().set(value)

    def replace(self, series: Iterable[tuple[tuple[str, ...], float]]) -> None:
        """These are all series that there are; one that is not given any more is at zero."""
        values = dict(series)
        for labels, cell in self.series():
            if labels not in values:
                cell.set(0)
        for labels, value in values.items():
            self.labels(*labels).set(value)


class Histogram(Family[HistogramCell]):
    """bounds: the upper bounds of its buckets."""

    def __init__(
        self,
        name: str,
        text: str,
        labels: Sequence[str],
        stability: Stability,
        bounds: Sequence[float],
    ) -> None:
        self.bounds: Final = tuple(bounds)
        super().__init__(name, text, labels, stability, lambda: HistogramCell(self.bounds))
        if not labels:
            self.labels()

    def observe(self, value: float) -> None:
        self.labels().observe(value)


def exponential(first: float, factor: float, number: int) -> tuple[float, ...]:
    """So many bounds, each `factor` times the one before, as upstream writes them."""
    bounds, bound = [], first
    for _ in range(number):
        bounds.append(bound)
        bound *= factor
    return tuple(bounds)

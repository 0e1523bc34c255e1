"""Metrics of a plugin: what it may declare through `handle.metrics`, and how it says what its gauges show."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

T = TypeVar("T")


class Counter(Protocol):
    """A metric that only grows. Cheap enough for the cycle."""

    def inc(self, *labels: str) -> None:
        """One more, of the series with these label values. The first call makes the series; `add` of 0 does too."""
        ...

    def add(self, amount: int, *labels: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Gauge:
    """One gauge with all the series that it has at this moment; a series that is not given any more is gone.

    labels: their names, the same of all gauges of one plugin. series: (label values, value).
    """

    name: str
    help: str
    labels: tuple[str, ...]
    series: Iterable[tuple[tuple[str, ...], float]]


class Metrics(Protocol):
    """One for all profiles of a scheduler. Exported only by the scheduler that leads.

    Whoever labels by something that users make without end (a Pod) fills the memory of whoever scrapes: do not.
    """

    def counter(self, name: str, help: str, labels: Sequence[str] = ()) -> Counter:  # noqa: A002 - Prometheus' word
        """The counter of this name; declared again with the same labels it is the same one.

        Raises: ValueError if the name is taken otherwise.
        """
        ...

    def gauges(self, name: str, freeze: Callable[[], T], read: Callable[[T], Iterable[Gauge]]) -> None:
        """Show these gauges whenever somebody scrapes; nothing is counted in between.

        name: whose gauges these are; the first that comes with a name counts, so every profile may come.
        freeze: called on the scheduler's loop between cycles; hands out, at once, values that nobody changes any more.
        read: turns them into gauges, on whatever thread the scrape is answered.
        """
        ...

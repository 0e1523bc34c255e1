"""What each result should be, and whether it is."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from tests.perf.history import Quantity, Record
from tests.perf.workloads import Contestant

KOORDPY, UPSTREAM = Contestant.KOORDPY, Contestant.KUBE_SCHEDULER
CEILING, BINDS = Contestant.CEILING, Contestant.CEILING_OF_BINDS
CYCLE: Final = "cycle"
"""The name of the workload of `make bench-cycle`."""
CYCLE_TARGET: Final = 3_000
CYCLE_NODES: Final = 5_000
TO_CEILING, TO_UPSTREAM = 0.8, 1.8
CHEAP_AS_QUARTER: Final = frozenset({"basic", "node-affinity"})
"""Where a quarter of kube-scheduler's CPU will do; elsewhere it is a sixth."""

KOORDINATOR_PODS_PER_S: Final = 38.0
KOORDINATOR_CPU_MS: Final = 35.0
KOORDINATOR_PEAK_MB: Final = 585.0
KOORDINATOR_LEFT_OUT: Final = 27
"""Koordinator's scheduler with its defaults on the workload gpu-shares. Measured once, before this bench was there and
not by it."""


@dataclass(frozen=True, slots=True)
class Target:
    """read: the result in a record; None if it was not measured. at_least: else it is at most."""

    what: str
    goal: float
    at_least: bool
    read: Callable[[Record], float | None]
    unit: str = ""
    digits: int = 2


@dataclass(frozen=True, slots=True)
class Judged:
    workload: str
    target: Target
    result: float

    @property
    def is_met(self) -> bool:
        return self.result >= self.target.goal if self.target.at_least else self.result <= self.target.goal

    @property
    def goal(self) -> str:
        return f"{'≥' if self.target.at_least else '≤'} {self._written(self.target.goal)}"

    @property
    def got(self) -> str:
        return self._written(self.result)

    def _written(self, number: float) -> str:
        return f"{number:,.{self.target.digits}f}{self.target.unit}"


def judged(records: Iterable[Record]) -> Iterator[Judged]:
    """Every target that one of these records says something of."""
    for record in records:
        for target in targets_of(record):
            result = target.read(record)
            if result is not None:
                yield Judged(record.workload, target, result)


def verdict(each: Judged) -> str:
    """A line of a bench's output."""
    return f"target {each.goal}: {each.target.what}: {each.got}, {'met' if each.is_met else 'MISSED'}"


def verdicts(told: Sequence[Judged]) -> str:
    """The last line of it."""
    missed = [each for each in told if not each.is_met]
    by_workload: dict[str, list[str]] = {}
    for each in missed:
        by_workload.setdefault(each.workload, []).append(each.target.what)
    named = "; ".join(f"{workload}: {', '.join(whats)}" for workload, whats in by_workload.items())
    told_missed = f", {len(missed)} MISSED ({named})" if missed else ""
    return f"{len(told) - len(missed)} of {len(told)} targets are met{told_missed}"


def targets_of(record: Record) -> Iterator[Target]:
    """Those of its workload."""
    match record.workload:
        case "steady":
            late = "longest lag of an Event behind its bind"
            yield Target(late, 10, False, lambda each: each.median(KOORDPY, Quantity.EVENT_MAX_S), " s")
        case "memory":
            settled, peak = "memory, settled", "memory, peak"
            yield Target(settled, 400, False, lambda each: each.median(KOORDPY, Quantity.SETTLED_MB), " MB", 0)
            yield Target(peak, 600, False, lambda each: each.median(KOORDPY, Quantity.PEAK_MB), " MB", 0)
        case "cycle":
            yield from _of_cycle(record)
        case _:
            yield from _of_backlog(record.workload)


def _of_backlog(workload: str) -> Iterator[Target]:
    per_s, binds, cpu = Quantity.PODS_PER_S, Quantity.BINDS_PER_S, Quantity.CPU_MS
    yield Target("pods/s, of its ceiling", TO_CEILING, True, lambda each: each.ratio(per_s, KOORDPY, CEILING))
    yield Target("pods/s, of kube-scheduler's", TO_UPSTREAM, True, lambda each: each.ratio(per_s, KOORDPY, UPSTREAM))
    yield Target("binds/s, of the ceiling of binds", TO_CEILING, True, lambda each: each.ratio(binds, KOORDPY, BINDS))
    if workload == "gpu-shares":
        yield from _of_cards()
        return
    share = 4 if workload in CHEAP_AS_QUARTER else 6
    for quantity, more in ((cpu, ""), (Quantity.CPU_WITH_START_MS, ", start included")):
        what = f"CPU a pod{more}, of kube-scheduler's"
        yield Target(
            what, 1 / share, False, partial(Record.ratio, quantity=quantity, above=KOORDPY, below=UPSTREAM), "", 3
        )


def _of_cards() -> Iterator[Target]:
    goal, cpu = 15 * KOORDINATOR_PODS_PER_S, KOORDINATOR_CPU_MS / 50
    yield Target("pods/s", goal, True, lambda each: each.median(KOORDPY, Quantity.PODS_PER_S), digits=0)
    yield Target("CPU a pod", cpu, False, lambda each: each.median(KOORDPY, Quantity.CPU_MS), " ms")
    yield Target("pods left out", 0, False, lambda each: each.median(KOORDPY, Quantity.LEFT_OUT), digits=0)


def _of_cycle(record: Record) -> Iterator[Target]:
    """Of what it measured, those with cards at 5,000 nodes."""
    for what in record.medians:
        if what.startswith(f"{CYCLE_NODES} nodes, ") and not what.endswith(", plain"):
            yield Target(
                f"pods/s: {what}",
                CYCLE_TARGET,
                True,
                partial(Record.median, contestant=what, quantity=Quantity.PODS_PER_S),
                digits=0,
            )

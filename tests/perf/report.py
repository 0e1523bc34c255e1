"""What the runs came to, as tables for the terminal and as docs/performance.md; nothing is measured here."""

import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from tests.perf.measure import Binds, Reading
from tests.perf.workload import (
    CLIENT_QPS,
    NODE_CPU,
    NODE_MEMORY,
    NODE_PODS,
    POD_REQUESTS,
    Side,
    Size,
)

MIB: Final = 2**20
KOORDPY, KUBE_SCHEDULER = Side.KOORDPY, Side.KUBE_SCHEDULER


@dataclass(frozen=True, slots=True)
class Run:
    """One scheduler on one fresh control plane. before: right before its start; end: when the last Event was seen."""

    pair: int
    side: Side
    pods: int
    before: Reading
    binds: Binds
    end: Reading
    events: int
    peak_memory_bytes: int

    @property
    def start_up_s(self) -> float:
        return self.binds.first.at - self.before.at

    @property
    def binding_s(self) -> float:
        return self.binds.last.at - self.binds.first.at

    @property
    def pods_per_s(self) -> float:
        return (self.pods - 1) / self.binding_s

    @property
    def last_event_s(self) -> float:
        return self.end.at - self.binds.first.at

    @property
    def peak_memory_mib(self) -> float:
        return self.peak_memory_bytes / MIB

    @property
    def scheduling_cpu_ms(self) -> float:
        return self._per_pod_ms(self.end.scheduler - self.binds.first.scheduler)

    @property
    def scheduler_cpu_ms(self) -> float:
        return self._per_pod_ms(self.end.scheduler)

    @property
    def api_server_cpu_ms(self) -> float:
        return self._per_pod_ms(self.end.api_server - self.before.api_server)

    @property
    def etcd_cpu_ms(self) -> float:
        return self._per_pod_ms(self.end.etcd - self.before.etcd)

    @property
    def bench_cpu_ms(self) -> float:
        return self._per_pod_ms(self.end.bench - self.before.bench)

    @property
    def others_percent(self) -> float:
        """Of all CPU that the machine had during the run: what went to nobody of ours."""
        spent, capacity = self.end.others - self.before.others, self.end.capacity - self.before.capacity
        return max(0.0, 100 * spent / capacity)

    def _per_pod_ms(self, cpu_s: float) -> float:
        return 1000 * cpu_s / self.pods


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where and with what the runs were made."""

    date: str
    cores: int
    cpu_model: str
    kubernetes: str
    koordpy_plugins: Sequence[str]
    kube_scheduler_plugins: Sequence[str]
    nodes_to_score_percent: int
    command: str


@dataclass(frozen=True, slots=True)
class Column:
    """One measured quantity. digits: after the point. compared: does a ratio of the two sides say anything?"""

    name: str
    unit: str
    value: Callable[[Run], float]
    digits: int = 1
    compared: bool = True

    def text(self, run: Run) -> str:
        return f"{self.value(run):.{self.digits}f}"

    def spread(self, values: Sequence[float]) -> str:
        low, middle, high = min(values), median(values), max(values)
        return f"{middle:.{self.digits}f} ({low:.{self.digits}f} to {high:.{self.digits}f})"


COLUMNS: Final = (
    Column("binds", "pods/s", lambda run: run.pods_per_s, 0),
    Column("start to first bind", "s", lambda run: run.start_up_s, 2),
    Column("first bind to last Event", "s", lambda run: run.last_event_s, 2),
    Column("Events stored", "", lambda run: run.events, 0, compared=False),
    Column("scheduler CPU", "ms/pod", lambda run: run.scheduling_cpu_ms, 2),
    Column("scheduler CPU with start", "ms/pod", lambda run: run.scheduler_cpu_ms, 2),
    Column("scheduler peak memory", "MiB", lambda run: run.peak_memory_mib, 0),
    Column("API server CPU", "ms/pod", lambda run: run.api_server_cpu_ms, 2),
    Column("etcd CPU", "ms/pod", lambda run: run.etcd_cpu_ms, 2),
    Column("bench CPU", "ms/pod", lambda run: run.bench_cpu_ms, 2, compared=False),
    Column("CPU taken by others", "%", lambda run: run.others_percent, 0, compared=False),
)


def runs_table(runs: Sequence[Run]) -> str:
    """A row per run, in the order in which they were made."""
    head = ["pair", "scheduler", *(_title(column) for column in COLUMNS)]
    return _table(head, [[str(run.pair), run.side, *(column.text(run) for column in COLUMNS)] for run in runs])


def medians_table(runs: Sequence[Run]) -> str:
    """A row per quantity: medians and ranges of both sides, and of the ratio within each pair."""
    rows = []
    for column in COLUMNS:
        ours = [column.value(run) for run in runs if run.side is KOORDPY]
        theirs = [column.value(run) for run in runs if run.side is KUBE_SCHEDULER]
        ratios = [_ratio(column, runs, pair) for pair in sorted({run.pair for run in runs})] if column.compared else []
        last = Column("", "", column.value, 2).spread(ratios) if ratios else ""
        rows.append([_title(column), column.spread(ours), column.spread(theirs), last])
    return _table(["median (range)", KOORDPY, KUBE_SCHEDULER, f"{KOORDPY} / {KUBE_SCHEDULER}, by pair"], rows)


def page(runs: Sequence[Run], size: Size, around: Surroundings) -> str:
    """docs/performance.md, whole."""
    parts = [
        "<!-- Generated by `make bench`; do not edit: the next run replaces it. -->",
        "# Performance: first numbers",
        f"{size.nodes:,} nodes, {size.pods:,} plain pods; {around.date}; {around.cores} cores ({around.cpu_model}), "
        f"Python {platform.python_version()}, Kubernetes {around.kubernetes}. {_how_busy(runs)}",
        medians_table(runs),
        "## This is no fair race yet",
        _unfairness(around),
        "## Method",
        _method(size),
        "## Runs",
        "In the order in which they were made.",
        runs_table(runs),
        "## Command",
        f"    {around.command}",
    ]
    return "\n\n".join(parts) + "\n"


def _how_busy(runs: Sequence[Run]) -> str:
    shares = [run.others_percent for run in runs]
    return f"Other processes took {min(shares):.0f} to {max(shares):.0f} % of the machine's CPU during a run."


def _unfairness(around: Surroundings) -> str:
    ours, theirs = around.koordpy_plugins, around.kube_scheduler_plugins
    percent = around.nodes_to_score_percent
    sampling = "its own choice by the number of nodes" if percent == 0 else f"{percent} %"
    return _lines(
        f"koordpy's default profile runs {len(ours)} plugins, kube-scheduler's {len(theirs)}: they do not do "
        "the same work for a pod.",
        f"Only kube-scheduler runs: {', '.join(name for name in theirs if name not in ours) or 'none'}.",
        f"Only koordpy runs: {', '.join(name for name in ours if name not in theirs) or 'none'}.",
        f"kube-scheduler may stop looking once enough nodes fit: percentageOfNodesToScore is {percent}, {sampling}. "
        "koordpy has no such setting yet and looks at every node for every pod.",
        "kube-scheduler has the rights of an administrator, koordpy only its own, which the API server checks.",
        "All pods are alike, which favours whoever remembers an earlier answer.",
    )


def _method(size: Size) -> str:
    requests = ", ".join(f"{resource} {amount}" for resource, amount in POD_REQUESTS.items())
    return _lines(
        "Each run has a fresh etcd and kube-apiserver on loopback, which allow many requests at once; etcd does not "
        "wait for the disk.",
        f"First come {size.nodes:,} nodes (cpu {NODE_CPU}, memory {NODE_MEMORY}, pods {NODE_PODS}), then all "
        f"{size.pods:,} pods ({requests}), then the scheduler is started as a process of its own.",
        "The pairs alternate in who is first. Both schedulers see the same objects and write an Event for each pod.",
        f"kube-scheduler runs its default profile with a client limit of {CLIENT_QPS} requests/s; koordpy has none. "
        "Neither elects a leader. Neither is asked anything while it runs.",
        "A watch on pods notes when each bind is seen; pods/s is from the first to the last. Events are counted by "
        "polling, after the last bind.",
        "CPU is user and system time from /proc, memory is VmHWM. 'scheduler CPU' is from the first bind seen to the "
        "last Event; 'with start' is all since the process began; servers are counted from the scheduler's start.",
        "'CPU taken by others' is what went to processes outside the run, of all that the machine had meanwhile: the "
        "larger it is, the less the absolute numbers mean.",
        "After each run all pods were bound, and no node was over its cpu, memory or pods; else there is no page.",
    )


def _ratio(column: Column, runs: Sequence[Run], pair: int) -> float:
    by_side = {run.side: column.value(run) for run in runs if run.pair == pair}
    return by_side[KOORDPY] / by_side[KUBE_SCHEDULER]


def _title(column: Column) -> str:
    return f"{column.name}, {column.unit}" if column.unit else column.name


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, cells)) for cells in zip(head, *rows, strict=True)]
    lines = [head, ["-" * width for width in widths], *rows]
    return "\n".join(
        f"| {' | '.join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))} |" for line in lines
    )


def _lines(*sentences: str) -> str:
    return "\n".join(f"- {sentence}" for sentence in sentences)

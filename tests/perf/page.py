"""`python -m tests.perf.page` makes docs/performance.md and its picture of the history; nothing is measured here."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.controlplane.fixtures import REPOSITORY
from tests.perf import picture
from tests.perf.history import HISTORY, Quantity, Record, latest, read
from tests.perf.method import METHOD, unlike
from tests.perf.targets import (
    CYCLE,
    KOORDINATOR_CPU_MS,
    KOORDINATOR_LEFT_OUT,
    KOORDINATOR_PEAK_MB,
    KOORDINATOR_PODS_PER_S,
    Judged,
    judged,
)
from tests.perf.workloads import WORKLOADS, Contestant

PAGE: Final = REPOSITORY / "docs" / "performance.md"
PICTURE: Final = REPOSITORY / "docs" / "performance" / "overview.png"
KUBERNETES: Final = "Kubernetes"
"""Only benches with a server have a version of it."""
MOST_LINES: Final = 30
"""Of earlier benches."""


@dataclass(frozen=True, slots=True)
class Column:
    """How a quantity is written. digits: after the point. is_told: also in the one line about each turn."""

    title: str
    digits: int = 2
    is_told: bool = False


COLUMNS: Final[Mapping[Quantity, Column]] = {
    Quantity.PODS_PER_S: Column("**pods/s, to the last Event**", 0, is_told=True),
    Quantity.BINDS_PER_S: Column("pods/s, to the last bind", 0, is_told=True),
    Quantity.EVENTS_BEHIND_S: Column("last bind to last Event, s", 1),
    Quantity.START_S: Column("start to first change, s"),
    Quantity.CPU_MS: Column("**CPU, ms a pod**", 3, is_told=True),
    Quantity.CPU_WITH_START_MS: Column("CPU with its start, ms a pod", 3),
    Quantity.READ_MB: Column("memory after reading, MB", 0, is_told=True),
    Quantity.SETTLED_MB: Column("memory settled, MB", 0, is_told=True),
    Quantity.PEAK_MB: Column("memory at its peak, MB", 0, is_told=True),
    Quantity.PSS_MB: Column("memory at the end (PSS), MB", 0),
    Quantity.LEFT_OUT: Column("pods left out", 0),
    Quantity.EVENTS: Column("Events stored", 0),
    Quantity.ARRIVED_PER_S: Column("pods arriving, a second", 0, is_told=True),
    Quantity.BIND_P50_S: Column("arrival to bind, median, s", 3),
    Quantity.BIND_P99_S: Column("arrival to bind, 99 %, s", 3),
    Quantity.BIND_MAX_S: Column("arrival to bind, longest, s", 3, is_told=True),
    Quantity.EVENT_P50_S: Column("bind to Event, median, s", 3),
    Quantity.EVENT_P99_S: Column("bind to Event, 99 %, s", 3),
    Quantity.EVENT_MAX_S: Column("**bind to Event, longest, s**", 3, is_told=True),
    Quantity.EVENT_END_S: Column("bind to Event, of the last, s", 3),
    Quantity.API_SERVER_CPU_MS: Column("API server CPU, ms a pod"),
    Quantity.ETCD_CPU_MS: Column("etcd CPU, ms a pod"),
    Quantity.BENCH_CPU_MS: Column("bench CPU, ms a pod"),
    Quantity.OTHERS_PERCENT: Column("CPU taken by others, %", 0, is_told=True),
}


def told(numbers: Mapping[Quantity, float]) -> str:
    """One line about one turn."""
    columns = ((column, numbers[each]) for each, column in COLUMNS.items() if column.is_told and each in numbers)
    return "; ".join(f"{column.title.strip('*')} {number:.{column.digits}f}" for column, number in columns)


def table_of(record: Record) -> str:
    """A row per quantity, a column per contestant: median and range."""
    who = list(dict.fromkeys(run.contestant for run in sorted(record.runs, key=lambda run: run.round)))
    rows = []
    for quantity, column in COLUMNS.items():
        cells = [_spread(record.numbers(each, quantity), column.digits) for each in who]
        if any(cells):
            rows.append([column.title, *cells])
    return table(["median (range)", *who], rows)


def page(records: Sequence[Record]) -> str:
    """docs/performance.md, whole. records: the history, the oldest first."""
    shown = {record.workload: record for record in latest(records)}
    backlogs = [shown[name] for name in (*WORKLOADS, CYCLE) if name in shown]
    parts = [
        "<!-- Made by `python -m tests.perf.page` from performance/history.jsonl; do not edit this page. -->",
        "# Performance",
        _surroundings(backlogs),
        f"![bars of every workload beside its targets](performance/{PICTURE.name})",
        "## Targets",
        _targets(list(judged(backlogs))),
        *(_section(record) for record in backlogs),
        "## How unlike they are",
        unlike(next((record.around.notes for record in reversed(backlogs) if record.around.notes), {})),
        "## Method",
        METHOD,
        "## Earlier",
        _earlier(records),
        _empty(records),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, cells)) for cells in zip(head, *rows, strict=True)]
    lines = [head, ["-" * width for width in widths], *rows]
    return "\n".join(
        f"| {' | '.join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))} |" for line in lines
    )


def _surroundings(records: Sequence[Record]) -> str:
    """Of each machine and set of versions, what was measured there."""
    versions: dict[str, dict[str, str]] = {}
    measured: dict[str, dict[str, list[str]]] = {}
    for record in records:
        around = record.around
        libraries = {name: number for name, number in around.versions.items() if name != KUBERNETES}
        place = f"{around.cores} cores ({around.cpu}), {around.memory_gib:g} GiB; {_listed(libraries)}"
        versions.setdefault(place, {}).update(around.versions)
        of_commit = measured.setdefault(place, {}).setdefault(f"{around.date[:10]}, commit {around.commit}", [])
        of_commit.append(record.workload)
    paragraphs = []
    for place, by_commit in measured.items():
        kubernetes = f", {KUBERNETES} {versions[place][KUBERNETES]}" if KUBERNETES in versions[place] else ""
        told = "; ".join(f"{when}: {', '.join(names)}" for when, names in by_commit.items())
        paragraphs.append(f"{place}{kubernetes}. {told}.")
    return "\n\n".join(paragraphs)


def _listed(versions: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {number}" for name, number in versions.items())


def _targets(all_of_them: Sequence[Judged]) -> str:
    missed = sum(not each.is_met for each in all_of_them)
    rows = [
        [each.workload, each.target.what, each.goal, each.got, "met" if each.is_met else "**missed**"]
        for each in all_of_them
    ]
    head = f"{len(all_of_them) - missed} of {len(all_of_them)} are met. Ratios are medians of those within each round."
    return f"{head}\n\n{table(['workload', 'what', 'target', 'result', ''], rows)}"


def _section(record: Record) -> str:
    around = record.around
    if record.workload == CYCLE:
        return f"## {record.workload}: {record.says}\n\n{_cycle_table(record)}\n\n    {around.command}"
    size = f"{record.nodes:,} nodes, {record.pods:,} pods"
    rounds = max(run.round for run in record.runs)
    often = f"{rounds} rounds" if rounds > 1 else "1 round"
    parts = [f"## {record.workload}: {record.says}", f"{size}; {often}.", table_of(record)]
    if record.workload == "gpu-shares":
        parts.append(
            "kube-scheduler cannot do this. Koordinator's scheduler with its defaults, measured once on a machine of "
            f"this kind and quoted here, not measured by this bench: {KOORDINATOR_PODS_PER_S:.0f} pods/s, "
            f"{KOORDINATOR_CPU_MS:.0f} ms of CPU a pod, {KOORDINATOR_PEAK_MB:.0f} MB, {KOORDINATOR_LEFT_OUT} pods left "
            "out."
        )
    return "\n\n".join([*parts, f"    {around.command}"])


def _cycle_table(record: Record) -> str:
    rows = [
        [what, _spread(record.numbers(what, Quantity.PODS_PER_S), 0), f"{1e6 / numbers[Quantity.PODS_PER_S]:,.0f}"]
        for what, numbers in record.medians.items()
    ]
    return table(["what", "pods/s, median (range)", "µs a pod"], rows)


def _earlier(records: Sequence[Record]) -> str:
    """The headline of every bench that was whole, the newest first."""
    rows = []
    for record in reversed(
        [each for each in records if each.is_whole and not each.is_empty and each.workload != CYCLE]
    ):
        per_s, cpu = (record.median(Contestant.KOORDPY, each) for each in (Quantity.PODS_PER_S, Quantity.CPU_MS))
        of_ceiling = record.ratio(Quantity.PODS_PER_S, Contestant.KOORDPY, Contestant.CEILING)
        of_upstream = record.ratio(Quantity.PODS_PER_S, Contestant.KOORDPY, Contestant.KUBE_SCHEDULER)
        numbers = ((per_s, 0), (of_ceiling, 2), (of_upstream, 2), (cpu, 3))
        cells = ["" if number is None else f"{number:.{digits}f}" for number, digits in numbers]
        rows.append([record.around.date[:10], record.around.commit, record.workload, *cells])
    head = ["date", "commit", "workload", "pods/s", "of its ceiling", "of kube-scheduler's", "CPU, ms a pod"]
    says = f"koordpy's headline in the last {MOST_LINES} lines of [history.jsonl](performance/{HISTORY.name}), which"
    return f"{says} has the numbers of every run.\n\n{table(head, rows[:MOST_LINES])}"


def _empty(records: Sequence[Record]) -> str:
    """Lines that should not be there: named, and looked at no further."""
    named = [
        f"line {number} ({record.workload}, {record.around.date[:10]}, `{record.around.command}`)"
        for number, record in enumerate(records, 1)
        if record.is_empty
    ]
    return f"Nothing was measured in these of its lines: {', '.join(named)}." if named else ""


def _spread(numbers: Sequence[float], digits: int) -> str:
    if not numbers:
        return ""
    ordered = sorted(numbers)
    middle = (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2
    low, high = ordered[0], ordered[-1]
    range_ = "" if len(ordered) == 1 or low == high else f" ({low:,.{digits}f} to {high:,.{digits}f})"
    return f"{middle:,.{digits}f}{range_}"


def write(history: Path = HISTORY, written: Path = PAGE, drawn: Path = PICTURE) -> None:
    """Both files; nothing if nothing was measured yet."""
    records = read(history)
    if not all(record.is_empty for record in records):
        written.write_text(page(records), encoding="utf-8")
        picture.draw(list(latest(records)), drawn)


if __name__ == "__main__":
    write()

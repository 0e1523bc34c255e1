"""The picture of docs/performance.md: every workload's bars beside its targets."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tests.perf.history import Quantity, Record
from tests.perf.targets import (
    CHEAP_AS_QUARTER,
    CYCLE,
    CYCLE_TARGET,
    KOORDINATOR_CPU_MS,
    KOORDINATOR_PODS_PER_S,
    TO_CEILING,
    TO_UPSTREAM,
)
from tests.perf.workloads import Contestant

COLOURS: Final = {
    Contestant.KOORDPY: "#2a6fbb",
    Contestant.KUBE_SCHEDULER: "#9aa0a6",
    Contestant.CEILING: "#d9dde2",
}
TARGET: Final = "#c0392b"
WIDTH: Final = 0.8
"""Of all bars of one workload together; the distance of two workloads is 1."""


def draw(records: Sequence[Record], path: Path) -> None:
    """records: the newest of each workload. The same records make the same picture."""
    backlogs = [each for each in records if each.median(Contestant.KOORDPY, Quantity.CPU_MS) and not _is_steady(each)]
    cycles = [each for each in records if each.workload == CYCLE]
    panels = 2 * bool(backlogs) + bool(cycles)
    if not panels:
        return
    with mpl.rc_context({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False}):
        figure = Figure(figsize=(9, 3.4 * panels), layout="constrained")
        axes = list(figure.subplots(panels, 1, squeeze=False)[:, 0])
        if backlogs:
            _bars(axes.pop(0), backlogs, Quantity.PODS_PER_S, "pods/s, to the last Event stored")
            _bars(axes.pop(0), backlogs, Quantity.CPU_MS, "CPU of the scheduler, ms a pod")
        if cycles:
            _cycle(axes.pop(0), cycles[0])
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=110, metadata={"Software": None})


def _is_steady(record: Record) -> bool:
    return record.median(Contestant.KOORDPY, Quantity.ARRIVED_PER_S) is not None


def _bars(axes: Axes, records: Sequence[Record], quantity: Quantity, title: str) -> None:
    shown = [who for who in COLOURS if not (quantity is Quantity.CPU_MS and who is Contestant.CEILING)]
    width = WIDTH / len(shown)
    for place, who in enumerate(shown):
        bars = [(x, each.median(who, quantity)) for x, each in enumerate(records)]
        there = [(x, height) for x, height in bars if height is not None]
        left = [x - WIDTH / 2 + (place + 0.5) * width for x, _ in there]
        drawn = axes.bar(left, [height for _, height in there], width, color=COLOURS[who], label=str(who))
        axes.bar_label(drawn, fmt="{:,.0f}" if quantity is Quantity.PODS_PER_S else "{:.2f}", fontsize=7)
    for x, record in enumerate(records):
        goal = _speed_goal(record) if quantity is Quantity.PODS_PER_S else _cpu_goal(record)
        if goal is not None:
            label = "" if x else "koordpy's target"
            axes.hlines(goal, x - WIDTH / 2, x - WIDTH / 2 + width, colors=TARGET, linewidth=2, label=label)
    axes.set_xticks(range(len(records)), [each.workload for each in records])
    axes.set_title(title, loc="left")
    axes.legend(frameon=False, ncols=4, fontsize=8, loc="upper right", bbox_to_anchor=(1, 1.16))


def _speed_goal(record: Record) -> float | None:
    """What would meet every target of speed."""
    ceiling, upstream = (
        record.median(who, Quantity.PODS_PER_S) for who in (Contestant.CEILING, Contestant.KUBE_SCHEDULER)
    )
    goals = [TO_CEILING * ceiling] if ceiling else []
    goals += [TO_UPSTREAM * upstream] if upstream else []
    goals += [15 * KOORDINATOR_PODS_PER_S] if record.workload == "gpu-shares" else []
    return max(goals, default=None)


def _cpu_goal(record: Record) -> float | None:
    if record.workload == "gpu-shares":
        return KOORDINATOR_CPU_MS / 50
    upstream = record.median(Contestant.KUBE_SCHEDULER, Quantity.CPU_MS)
    return upstream / (4 if record.workload in CHEAP_AS_QUARTER else 6) if upstream else None


def _cycle(axes: Axes, record: Record) -> None:
    names = list(record.medians)
    rates = [record.medians[name][Quantity.PODS_PER_S] for name in names]
    drawn = axes.bar(range(len(names)), rates, WIDTH, color=COLOURS[Contestant.KOORDPY])
    axes.bar_label(drawn, fmt="{:,.0f}", fontsize=6)
    axes.axhline(CYCLE_TARGET, color=TARGET, linewidth=1.5, label=f"target at 5,000 nodes: {CYCLE_TARGET:,} pods/s")
    axes.set_yscale("log")
    axes.set_xticks(range(len(names)), [name.replace(", ", "\n") for name in names], fontsize=5.5, rotation=90)
    axes.set_title("the cycle by itself, pods/s", loc="left")
    axes.legend(frameon=False, fontsize=8, loc="upper right", bbox_to_anchor=(1, 1.16))

"""The command behind `make bench`: every workload by each of its contestants in turn; printed, and made a page."""

import argparse
import asyncio
import sys
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import aiohttp

from tests.controlplane.build import BuildError
from tests.controlplane.server import ControlPlane, ControlPlaneError
from tests.controlplane.supervisor import SupervisorError
from tests.options import some_of, whole
from tests.perf import backlog, memory, page, steady
from tests.perf.around import look_around
from tests.perf.contestants import koordpy_plugins, kube_scheduler_defaults
from tests.perf.environs import fresh_control_plane, kubernetes_version
from tests.perf.history import HISTORY, Record, Run, append, medians
from tests.perf.targets import Judged, judged, verdict, verdicts
from tests.perf.watching import WrongResult
from tests.perf.workloads import WORKLOADS, Contestant, Kind, Workload

QUICK: Final = 100
"""A smoke test is so many times smaller."""
LEAST_PODS: Final = 10
"""Fewer have no rate."""
FAILURES: Final = (BuildError, ControlPlaneError, SupervisorError, WrongResult, aiohttp.ClientError, TimeoutError)

Measure = Callable[[Workload, Contestant, ControlPlane, int], Coroutine[Any, Any, Run]]
MEASURES: Final[Mapping[Kind, Measure]] = {
    Kind.BACKLOG: backlog.measure,
    Kind.STEADY: steady.measure,
    Kind.MEMORY: memory.measure,
}


def measure(workload: Workload) -> list[Run]:
    """All rounds, each on a control plane of its own; every other round goes the other way round.

    A line about each turn as soon as it is done. *Raises* one of FAILURES.
    """
    runs: list[Run] = []
    for number in range(1, workload.rounds + 1):
        order = workload.contestants if number % 2 else tuple(reversed(workload.contestants))
        for contestant in order:
            began = time.monotonic()
            with fresh_control_plane() as control_plane:
                run = asyncio.run(MEASURES[workload.kind](workload, contestant, control_plane, number))
            runs.append(run)
            told = page.told(run.numbers)
            print(f"  round {number}, {contestant}: {told} ({time.monotonic() - began:.0f} s)", flush=True)
    return runs


def notes(workloads: Sequence[Workload]) -> dict[str, str]:
    """What the two schedulers do by default, as they say it themselves; nothing if they do not meet."""
    if not any(Contestant.KUBE_SCHEDULER in each.contestants for each in workloads):
        return {}
    with fresh_control_plane() as control_plane:
        defaults = kube_scheduler_defaults(control_plane)
    theirs = [each["name"] for each in defaults["profiles"][0]["plugins"]["multiPoint"]["enabled"]]
    return {
        "koordpy plugins": " ".join(koordpy_plugins()),
        "kube-scheduler plugins": " ".join(theirs),
        "kube-scheduler percentageOfNodesToScore": str(defaults["percentageOfNodesToScore"]),
    }


def chosen(options: argparse.Namespace) -> list[Workload]:
    """The workloads as the command line wants them; none that no contestant would work on."""
    found = []
    for name in options.workloads:
        workload = WORKLOADS[name]
        if options.quick:
            workload = workload.smaller(QUICK)
        workload = workload.resized(options.nodes or workload.nodes, options.pods or workload.pods)
        who = tuple(each for each in workload.contestants if each in options.contestants)
        rounds = options.pairs or (1 if options.quick else workload.rounds)
        enough = who == workload.contestants and rounds >= workload.rounds
        if who:
            is_whole = workload.is_whole and enough
            found.append(replace(workload, contestants=who, rounds=rounds, is_whole=is_whole))
    return found


def main(arguments: Sequence[str]) -> int:
    """The command line; *returns* the exit status: 1 if something could not be measured, whatever the numbers."""
    parser = command_line()
    options = parser.parse_args(arguments)
    workloads = chosen(options)
    if not workloads:
        parser.error(f"{_listed(options.contestants)} has no turn at {_listed(options.workloads)}")
    if idle := [name for name in options.workloads if name not in {each.name for each in workloads}]:
        print(f"left out, since {_listed(options.contestants)} has no turn there: {', '.join(idle)}")
    failed: list[str] = []
    told: list[Judged] = []
    try:
        said, version = notes(workloads), kubernetes_version()
    except FAILURES as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    for workload in workloads:
        print(f"{workload.name}: {workload.nodes} nodes, {workload.pods} pods; {workload.says}", flush=True)
        try:
            runs = measure(workload)
        except FAILURES as error:  # the others need not be measured again for it
            print(f"bench: {workload.name}: {error}", file=sys.stderr, flush=True)
            failed.append(workload.name)
            continue
        around = look_around("bench", arguments, {"Kubernetes": version}, said)
        size = (workload.nodes, workload.pods)
        record = Record(workload.name, workload.says, *size, workload.is_whole, around, runs, medians(runs))
        told += _tell(record)
        if options.history or record.is_whole:
            append(options.history or HISTORY, record)
    if not options.history:
        page.write()
    _tell_at_last(told, failed)
    return 1 if failed else 0


def _tell(record: Record) -> Sequence[Judged]:
    """*Returns* what was said of targets: nothing of a size that they do not speak of."""
    print(f"\n{page.table_of(record)}\n")
    usual = WORKLOADS[record.workload]
    if (record.nodes, record.pods) != (usual.nodes, usual.pods):
        print(f"no verdicts: the targets speak of {usual.nodes} nodes and {usual.pods} pods\n", flush=True)
        return []
    found = list(judged([record]))
    for each in found:
        print(verdict(each))
    print(flush=True)
    return found


def _tell_at_last(told: Sequence[Judged], failed: Sequence[str]) -> None:
    if told:
        print(verdicts(told))
    if failed:
        print(f"bench: not measured: {', '.join(failed)}", file=sys.stderr)


def _listed(names: Iterable[str]) -> str:
    return " or ".join(names)


def command_line() -> argparse.ArgumentParser:
    """What it refuses, it refuses before anything has started."""
    parser = argparse.ArgumentParser(
        prog="bench",
        description=__doc__.partition(";")[0],
        epilog="Exits with 0 once all is measured, targets met or missed; with 1 if something could not be measured.",
    )
    workloads, contestants = some_of(WORKLOADS, "workload"), some_of(list(Contestant), "contestant")
    parser.add_argument("--workloads", type=workloads, default=tuple(WORKLOADS), help=f"of {', '.join(WORKLOADS)}; all")
    parser.add_argument(
        "--contestants", type=contestants, default=tuple(Contestant), help=f"of {', '.join(Contestant)}; all"
    )
    parser.add_argument(
        "--pairs", type=whole(1), help="rounds of each; default: 5 of basic, 1 of steady and memory, else 3"
    )
    parser.add_argument("--quick", action="store_true", help="a hundredth of every size, once: is all in order?")
    parser.add_argument("--nodes", type=whole(1), help="other than the workload's")
    parser.add_argument("--pods", type=whole(LEAST_PODS), help="other than the workload's")
    parser.add_argument(
        "--history", type=Path, help="append here, whatever the size; default: docs/performance, if nothing is left out"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

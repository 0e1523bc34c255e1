"""The command behind `make bench`: koordpy and kube-scheduler in turn, then the numbers, printed and written down."""

import argparse
import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import aiohttp

from tests.controlplane.build import BuildError
from tests.controlplane.fixtures import REPOSITORY
from tests.controlplane.server import ControlPlane, ControlPlaneError
from tests.controlplane.supervisor import SupervisorError
from tests.perf.measure import PROC, Binds, BindWatch, Meter, WrongResult, last_event, peak_memory_bytes, verify
from tests.perf.report import Run, Surroundings, medians_table, page, runs_table
from tests.perf.workload import (
    Side,
    Size,
    admin_session,
    create_backlog,
    fresh_control_plane,
    koordpy_plugins,
    kube_scheduler_defaults,
    kubernetes_version,
    start,
)

PAGE: Final = REPOSITORY / "docs" / "performance.md"
SETTLE_S: Final = 2.0
"""The API server has work of its own left after the last create."""
STALL_S: Final = 120.0
LOG_TAIL_BYTES: Final = 2000
DEFAULT_PAIRS, DEFAULT_NODES, DEFAULT_PODS = 3, 1000, 2000


def run_once(pair: int, side: Side, size: Size) -> tuple[Run, dict[str, Any]]:
    """One scheduler on a control plane of its own; and what kube-scheduler's defaults are there."""
    with fresh_control_plane() as control_plane:
        defaults = dict(kube_scheduler_defaults(control_plane))
        return asyncio.run(_measure(control_plane, pair, side, size)), defaults


async def _measure(control_plane: ControlPlane, pair: int, side: Side, size: Size) -> Run:
    async with admin_session(control_plane) as session:
        await create_backlog(session, size)
        await asyncio.sleep(SETTLE_S)
        watch, started = BindWatch(session), asyncio.get_running_loop().create_future()
        watching = asyncio.create_task(watch.run(started, size.pods))
        await asyncio.wait({watching, asyncio.create_task(watch.opened.wait())}, return_when=asyncio.FIRST_COMPLETED)
        servers = control_plane.pids()
        before = Meter(servers).read()
        log = control_plane.folder / f"{side}.log"
        process = start(side, control_plane, log)
        meter = Meter(servers, process.pid)
        started.set_result(meter)
        binds = await _all_binds(watching, watch, process, log)
        events, end = await last_event(session, meter, size.pods)
        peak = peak_memory_bytes(process.pid)
        await verify(session, size.pods)
        return Run(pair, side, size.pods, before, binds, end, events, peak)


async def _all_binds(
    watching: asyncio.Task[Binds], watch: BindWatch, process: subprocess.Popen[bytes], log: Path
) -> Binds:
    """*Raises* WrongResult if the scheduler ends or no longer binds anything."""
    progress, since = 0, time.monotonic()
    while not (await asyncio.wait({watching}, timeout=1.0))[0]:
        if watch.progress > progress:
            progress, since = watch.progress, time.monotonic()
        elif process.poll() is not None or time.monotonic() - since > STALL_S:
            watching.cancel()
            raise WrongResult(f"{progress} pods are bound, and no more come. Its log ends: {_tail(log)}")
    return watching.result()


def _tail(log: Path) -> str:
    return log.read_bytes()[-LOG_TAIL_BYTES:].decode(errors="replace")


def run_pairs(pairs: int, size: Size) -> tuple[list[Run], dict[str, Any]]:
    """All runs, koordpy first in every other pair; a line about each as soon as it is done."""
    runs: list[Run] = []
    defaults: dict[str, Any] = {}
    for pair in range(1, pairs + 1):
        for side in list(Side) if pair % 2 else list(reversed(Side)):
            print(f"pair {pair} of {pairs}: {side}", flush=True)
            run, defaults = run_once(pair, side, size)
            print(f"  {run.pods_per_s:.0f} pods/s, {run.scheduling_cpu_ms:.2f} ms of CPU a pod", flush=True)
            runs.append(run)
    return runs, defaults


def look_around(defaults: dict[str, Any], options: argparse.Namespace) -> Surroundings:
    """What the page says of the machine and of the versions: never its name, never a path."""
    arguments = f"--pairs {options.pairs} --nodes {options.nodes} --pods {options.pods}"
    return Surroundings(
        date=datetime.now(UTC).date().isoformat(),
        cores=os.cpu_count() or 0,
        cpu_model=_cpu_model(),
        kubernetes=kubernetes_version(),
        koordpy_plugins=koordpy_plugins(),
        kube_scheduler_plugins=[each["name"] for each in defaults["profiles"][0]["plugins"]["multiPoint"]["enabled"]],
        nodes_to_score_percent=defaults["percentageOfNodesToScore"],
        command=f"make bench ARGS='{arguments}'",
    )


def _cpu_model() -> str:
    lines = (PROC / "cpuinfo").read_text().splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown model")


def main(arguments: Sequence[str]) -> int:
    """The command line; *returns* the exit status."""
    parser = argparse.ArgumentParser(prog="bench", description="Measure koordpy and kube-scheduler in turn.")
    parser.add_argument("--pairs", type=int, default=DEFAULT_PAIRS, help="runs of each (default %(default)s)")
    parser.add_argument("--nodes", type=int, default=DEFAULT_NODES, help="(default %(default)s)")
    parser.add_argument("--pods", type=int, default=DEFAULT_PODS, help="(default %(default)s)")
    parser.add_argument("--output", type=Path, default=PAGE, help="the page to write (default docs/performance.md)")
    options = parser.parse_args(arguments)
    if options.pairs < 1 or options.nodes < 1 or options.pods < 2:
        parser.error("there must be a pair, a node and two pods at least")
    size = Size(options.nodes, options.pods)
    try:
        runs, defaults = run_pairs(options.pairs, size)
        around = look_around(defaults, options)
    except (BuildError, ControlPlaneError, SupervisorError, WrongResult, aiohttp.ClientError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(page(runs, size, around))
    print(f"\n{runs_table(runs)}\n\n{medians_table(runs)}\n\nwritten to {options.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

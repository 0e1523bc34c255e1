"""A run with a backlog: all pods wait already when the contestant starts."""

import asyncio
import subprocess
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import aiohttp

from tests.controlplane.server import ControlPlane
from tests.perf.contestants import prepare
from tests.perf.environs import admin_session, create_all
from tests.perf.history import Quantity, Run
from tests.perf.procfs import Memory, Meter, Reading, memory
from tests.perf.verify import left_out
from tests.perf.watching import POLL_S, PodWatch, WrongResult, last_event
from tests.perf.workloads import Contestant, Workload

SETTLE_S: Final = 2.0
SETTLES_PER_S: Final = 500
"""The API server has work of its own left after the last create; after a few there is little."""
START_S: Final = 120.0
STALL_S: Final = 20.0
"""Nothing more is bound for so long: nothing will be."""
LOG_TAIL_BYTES: Final = 2000
MB: Final = 10**6


@dataclass(frozen=True, slots=True)
class Turn:
    """A contestant at work. started: the counters right before its start."""

    workload: Workload
    contestant: Contestant
    session: aiohttp.ClientSession
    watch: PodWatch
    watching: asyncio.Task[None]
    process: subprocess.Popen[bytes]
    log: Path
    meter: Meter
    started: Reading

    async def all_bound(self, count: int) -> None:
        """Wait until so many are, or nothing more is. *Raises* WrongResult if the process ends or never begins."""
        progress, since = 0, time.monotonic()
        while len(self.watch.bound) < count:
            await asyncio.sleep(POLL_S)
            if self.watching.done():
                self.watching.result()
            if len(self.watch.bound) > progress:
                progress, since = len(self.watch.bound), time.monotonic()
            elif self.process.poll() is not None:
                raise WrongResult(f"{self.contestant} has ended after {progress} binds. Its log ends: {self._tail()}")
            elif time.monotonic() - since > (STALL_S if progress else START_S):
                if not progress:
                    raise WrongResult(f"{self.contestant} binds nothing. Its log ends: {self._tail()}")
                return

    def _tail(self) -> str:
        return self.log.read_bytes()[-LOG_TAIL_BYTES:].decode(errors="replace")


@asynccontextmanager
async def turn(workload: Workload, contestant: Contestant, control_plane: ControlPlane) -> AsyncIterator[Turn]:
    """The objects, a watch that is open, and then the contestant, for as long as the block lasts."""
    async with admin_session(control_plane) as session:
        await create_all(session, workload.objects())
        backlog = await create_all(session, workload.backlog())
        command = prepare(contestant, workload, control_plane, backlog)
        await asyncio.sleep(min(SETTLE_S, len(backlog) / SETTLES_PER_S))
        watch = PodWatch(session)
        watching = asyncio.create_task(watch.run())
        await asyncio.wait({watching, asyncio.create_task(watch.opened.wait())}, return_when=asyncio.FIRST_COMPLETED)
        servers = control_plane.pids()
        started = Meter(servers).read()
        log = control_plane.folder / "contestant.log"
        process = control_plane.start_process(command, log)
        watch.meter = Meter(servers, process.pid)
        try:
            yield Turn(workload, contestant, session, watch, watching, process, log, watch.meter, started)
        finally:
            watching.cancel()


async def measure(workload: Workload, contestant: Contestant, control_plane: ControlPlane, number: int) -> Run:
    """One turn, of this number of round. *Raises* WrongResult."""
    async with turn(workload, contestant, control_plane) as at_work:
        await at_work.all_bound(workload.pods)
        watch, meter = at_work.watch, at_work.meter
        writes_events = contestant is not Contestant.CEILING_OF_BINDS
        count = len(watch.bound) + workload.never_fit if writes_events else 0
        events, end = await last_event(at_work.session, watch, meter, count)
        used = memory(at_work.process.pid)
        missing = await left_out(at_work.session, workload.pods)
        if events < count:
            raise WrongResult(f"{contestant} has written {events} Events for {count} pods")
        assert watch.first is not None
        numbers = costs(workload.pods, at_work.started, watch.first, end, used)
        # When pods were left out, somebody waited for them first, and looked at the Events too late.
        ended_at = end.at if writes_events and not missing else None
        numbers |= _rates(workload.pods - missing, at_work.started.at, watch, ended_at)
        numbers |= {Quantity.EVENTS: float(events), Quantity.LEFT_OUT: float(missing)}
        return Run(number, contestant, numbers)


def _rates(bound: int, started: float, watch: PodWatch, last_event_at: float | None) -> dict[Quantity, float]:
    """All on time.monotonic's scale. last_event_at: None if nobody knows."""
    assert watch.first is not None
    first, last = watch.first.at, watch.last_bind_at
    rates = {Quantity.START_S: first - started, Quantity.BINDS_PER_S: bound / (last - first)}
    if last_event_at is not None:
        done = max(last_event_at, last)
        rates |= {Quantity.PODS_PER_S: bound / (done - first), Quantity.EVENTS_BEHIND_S: done - last}
    return rates


def costs(pods: int, started: Reading, first: Reading, end: Reading, used: Memory) -> dict[Quantity, float]:
    """CPU and memory of everybody; the contestant's from the first change, and from its start."""
    others = 100 * (end.others - started.others) / (end.capacity - started.capacity)
    return {
        Quantity.CPU_MS: 1000 * (end.contestant - first.contestant) / pods,
        Quantity.CPU_WITH_START_MS: 1000 * end.contestant / pods,
        Quantity.PEAK_MB: used.peak / MB,
        Quantity.PSS_MB: used.proportional / MB,
        Quantity.API_SERVER_CPU_MS: 1000 * (end.api_server - started.api_server) / pods,
        Quantity.ETCD_CPU_MS: 1000 * (end.etcd - started.etcd) / pods,
        Quantity.BENCH_CPU_MS: 1000 * (end.bench - started.bench) / pods,
        Quantity.OTHERS_PERCENT: max(0.0, others),
    }

"""A run in which pods arrive evenly: how far binds and Events fall behind."""

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import aiohttp

from tests.controlplane.server import ControlPlane
from tests.perf.backlog import costs, turn
from tests.perf.environs import CREATES_IN_FLIGHT, create
from tests.perf.history import Quantity, Run
from tests.perf.procfs import memory
from tests.perf.verify import left_out
from tests.perf.watching import PodWatch, WrongResult, event_revisions, last_event
from tests.perf.workloads import Contestant, Workload

SCHEDULED: Final = "Scheduled"


async def measure(workload: Workload, contestant: Contestant, control_plane: ControlPlane, number: int) -> Run:
    """One turn, of this number of round. The first pod comes alone, to learn when the contestant has started.

    *Raises* WrongResult.
    """
    async with turn(workload, contestant, control_plane) as at_work:
        session, watch, meter = at_work.session, at_work.watch, at_work.meter
        probe, *others = workload.arrivals()
        await create(session, probe)
        await at_work.all_bound(1)
        start_s = watch.last_bind_at - at_work.started.at
        first = meter.read()
        await _arrive(session, others, workload.rate)
        await at_work.all_bound(workload.pods)
        events, end = await last_event(session, watch, meter, workload.pods)
        used = memory(at_work.process.pid)
        missing = await left_out(session, workload.pods)
        stored = await event_revisions(session, SCHEDULED)
        if missing:
            raise WrongResult(f"{missing} pods are not bound")
        numbers = costs(workload.pods, at_work.started, first, end, used)
        numbers |= {Quantity.EVENTS: float(events), Quantity.LEFT_OUT: float(missing), Quantity.START_S: start_s}
        return Run(number, contestant, numbers | lags(watch, stored, probe["metadata"]["name"]))


async def _arrive(session: aiohttp.ClientSession, pods: Iterable[Mapping[str, Any]], rate: int) -> None:
    """Each at its moment, or as soon after it as the API server takes it."""
    began = time.monotonic()
    remaining = enumerate(pods)

    async def create_some() -> None:
        for number, manifest in remaining:
            await asyncio.sleep(began + number / rate - time.monotonic())
            await create(session, manifest)

    async with asyncio.TaskGroup() as group:
        for _ in range(CREATES_IN_FLIGHT):
            group.create_task(create_some())


def lags(watch: PodWatch, stored: Mapping[str, int], probe: str) -> dict[Quantity, float]:
    """Of all but the probe.

    An Event that fell so far behind that it was given up in favour of newer ones shows in how many there are; the lags
    are those of the others.

    *Raises* WrongResult if there are no others.
    """
    names = [name for name in watch.bound if name != probe]
    if not (told := [name for name in names if name in stored]):
        raise WrongResult("no pod has an Event")
    arrivals = sorted(watch.came[name] for name in names)
    binds = sorted(watch.bound[name] - watch.came[name] for name in names)
    # An Event may be seen, by its version, before its pod's bind is: both were written within the same moment.
    behind = {name: max(0.0, watch.seen_at(stored[name]) - watch.bound[name]) for name in told}
    events = sorted(behind.values())
    return {
        Quantity.ARRIVED_PER_S: (len(arrivals) - 1) / (arrivals[-1] - arrivals[0]),
        Quantity.BIND_P50_S: _percentile(binds, 50),
        Quantity.BIND_P99_S: _percentile(binds, 99),
        Quantity.BIND_MAX_S: binds[-1],
        Quantity.EVENT_P50_S: _percentile(events, 50),
        Quantity.EVENT_P99_S: _percentile(events, 99),
        Quantity.EVENT_MAX_S: events[-1],
        Quantity.EVENT_END_S: behind[max(told, key=watch.bound.__getitem__)],
    }


def _percentile(ascending: Sequence[float], percent: int) -> float:
    return ascending[min(len(ascending) * percent // 100, len(ascending) - 1)]

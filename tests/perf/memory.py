"""A run with many pods bound already: what a scheduler keeps of them, and what it takes to read them."""

import asyncio
from collections import deque
from typing import Final

from tests.controlplane.server import ControlPlane
from tests.perf.backlog import MB, turn
from tests.perf.environs import create, create_all
from tests.perf.history import Quantity, Run
from tests.perf.procfs import Memory, memory
from tests.perf.verify import left_out
from tests.perf.watching import WrongResult, last_event
from tests.perf.workloads import Contestant, Workload

SAMPLE_S: Final = 1.0
STILL: Final = 5
"""So many samples within a MB: it has settled."""
PATIENCE: Final = 60
"""So many samples at most."""


async def measure(workload: Workload, contestant: Contestant, control_plane: ControlPlane, number: int) -> Run:
    """One turn, of this number of round. The first pod that comes says that everything is read.

    *Raises* WrongResult.
    """
    async with turn(workload, contestant, control_plane) as at_work:
        session, watch, pid = at_work.session, at_work.watch, at_work.process.pid
        probe, *others = workload.arrivals()
        await create(session, probe)
        await at_work.all_bound(1)
        start_s = watch.last_bind_at - at_work.started.at
        read = await _settled(pid)
        await create_all(session, others)
        await at_work.all_bound(workload.extra)
        events, _ = await last_event(session, watch, at_work.meter, workload.extra)
        settled = await _settled(pid)
        missing = await left_out(session, workload.pods + workload.extra)
        if missing:
            raise WrongResult(f"{missing} pods are not bound")
        numbers = {
            Quantity.READ_MB: read.resident / MB,
            Quantity.SETTLED_MB: settled.resident / MB,
            Quantity.PSS_MB: settled.proportional / MB,
            Quantity.PEAK_MB: settled.peak / MB,
            Quantity.START_S: start_s,
            Quantity.EVENTS: float(events),
        }
        return Run(number, contestant, numbers)


async def _settled(pid: int) -> Memory:
    """What it has when that has not changed for a while, or after a minute."""
    recent: deque[Memory] = deque(maxlen=STILL)
    for _ in range(PATIENCE):
        recent.append(memory(pid))
        residents = [each.resident for each in recent]
        if len(recent) == STILL and max(residents) - min(residents) < MB:
            break
        await asyncio.sleep(SAMPLE_S)
    return recent[-1]

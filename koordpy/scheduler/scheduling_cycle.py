"""One attempt: pick a node and hold it. Plain functions that never await.

Source: pkg/scheduler (schedule_one.go, schedulingCycle).
"""

from collections.abc import Sequence
from random import Random

import numpy as np

from koordpy.cache.cache import Cache
from koordpy.cache.snapshot import Snapshot
from koordpy.framework.runner import Candidates, Filtered, Framework
from koordpy.queue.queue import QueuedPodInfo
from koordpy.scheduler.diagnosis import NO_NODES, Diagnosis
from koordpy.scheduler.outcome import NotPlaced, Placed
from koordpy_api import Code, CycleState, NodeInfo, QuantityError, Status
from koordpy_api.objects import Pod


class SchedulingCycle:
    """Holds what every attempt needs, and nothing of any attempt."""

    def __init__(self, cache: Cache, rng: Random) -> None:
        self._cache = cache
        self._rng = rng

    def schedule(self, framework: Framework, queued: QueuedPodInfo) -> Placed | NotPlaced:
        """Pick a node for one Pod and hold it. No exception of a plugin crosses this line."""
        pod, state = queued.pod, CycleState()

        # 1. Freeze what we believe.
        snapshot = self._cache.update_snapshot()

        # 2. Find the nodes that fit.
        found = find_feasible(framework, state, pod, snapshot)
        if isinstance(found, Status):
            return NotPlaced(queued, pod, state, found)
        if isinstance(found, Diagnosis):
            return NotPlaced(queued, pod, state, found.status(), diagnosis=found, wait_for_change=True)

        # 3. Prefer one.
        node_name = self._pick(framework, state, pod, found)
        if isinstance(node_name, Status):
            return NotPlaced(queued, pod, state, node_name)

        # 4. Hold it, then let plugins object.
        try:
            self._cache.assume(pod, node_name)
        except QuantityError as error:  # of a request that no plugin of the profile read
            return NotPlaced(queued, pod, state, Status.error(str(error)))
        if (refusal := framework.run_reserve(state, pod, node_name)) is not None:
            return NotPlaced.on_node(Placed(queued, pod, state, node_name), refusal)
        return Placed(queued, pod, state, node_name)

    def _pick(self, framework: Framework, state: CycleState, pod: Pod, feasible: Sequence[NodeInfo]) -> str | Status:
        """The best-scored node; among equals the seeded random source decides."""
        if len(feasible) == 1:
            return feasible[0].name
        totals = framework.run_score(state, pod, feasible)
        if isinstance(totals, Status):
            return totals
        best = np.flatnonzero(totals == totals.max())
        return feasible[int(best[self._rng.randrange(len(best))])].name


def find_feasible(
    framework: Framework, state: CycleState, pod: Pod, snapshot: Snapshot
) -> Sequence[NodeInfo] | Diagnosis | Status:
    """The nodes that fit; or why none does; or what broke."""
    if not snapshot.nodes:
        return Status.unresolvable(NO_NODES)
    candidates = framework.run_pre_filter(state, pod, snapshot.nodes)
    if isinstance(candidates, Status):
        if candidates.code is Code.ERROR:
            return candidates
        return Diagnosis(len(snapshot.nodes), pre_filter=candidates)
    filtered = framework.run_filter(state, pod, candidates.nodes)
    if isinstance(filtered, Status):
        return filtered
    return filtered.feasible or _diagnose(snapshot, candidates, filtered)


def _diagnose(snapshot: Snapshot, candidates: Candidates, filtered: Filtered) -> Diagnosis:
    return Diagnosis(len(snapshot.nodes), filtered.refusals, candidates.absent)

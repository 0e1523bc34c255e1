"""One attempt: pick a node and hold it. Plain functions that never await.

Source: pkg/scheduler (schedule_one.go, schedulingCycle).
"""

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from koordpy.cache.cache import Cache
from koordpy.cache.snapshot import Snapshot, starting_at
from koordpy.framework.runner import Framework
from koordpy.framework.verdicts import Filtered
from koordpy.queue.pod_info import QueuedPodInfo
from koordpy.scheduler.diagnosis import NO_NODES, Diagnosis
from koordpy.scheduler.outcome import NotPlaced, Placed
from koordpy.scheduler.sampling import nodes_to_find
from koordpy.scheduler.unheard import refuse_unheard
from koordpy_api import Code, CycleState, NodeInfo, QuantityError, Status
from koordpy_api.objects import Pod


class SchedulingCycle:
    """Holds what every attempt needs, and nothing of any attempt but where the next search starts."""

    def __init__(self, cache: Cache, rng: Random) -> None:
        self._cache = cache
        self._rng = rng
        self._next_start = 0

    def schedule(self, framework: Framework, queued: QueuedPodInfo) -> Placed | NotPlaced:
        """Pick a node for one Pod and hold it. No exception of a plugin crosses this line."""
        pod, state = queued.pod, CycleState()

        # 1. Freeze what we believe.
        snapshot = self._cache.update_snapshot()

        # 2. Find the nodes that fit; if none, ask whether room can be made.
        found = self._find_feasible(framework, state, pod, snapshot)
        if isinstance(found, Status):
            return NotPlaced(queued, pod, state, found)
        if isinstance(found, Diagnosis):
            return _make_room(framework, NotPlaced(queued, pod, state, found.status(), found), snapshot)

        # 3. Prefer one.
        node_name = self._pick(framework, state, pod, found)
        if isinstance(node_name, Status):
            return NotPlaced(queued, pod, state, node_name)

        # 4. Hold it, then let plugins object.
        try:
            self._cache.assume(pod, node_name)
        except QuantityError as error:  # of a request that no plugin of the profile read
            return NotPlaced(queued, pod, state, Status.error(str(error)))
        placed = Placed(queued, pod, state, node_name)
        refusal = framework.run_reserve(state, pod, node_name) or framework.run_permit(state, pod, node_name)
        return placed if refusal is None else NotPlaced.on_node(placed, refusal)

    def _find_feasible(
        self, framework: Framework, state: CycleState, pod: Pod, snapshot: Snapshot
    ) -> Sequence[NodeInfo] | Diagnosis | Status:
        """The nodes that fit; or why none does; or what broke."""
        if not snapshot.nodes:
            return Status.unresolvable(NO_NODES)
        if (unheard := refuse_unheard(pod, framework.left_out)) is not None:
            return Diagnosis(len(snapshot.nodes), pre_filter=unheard)
        candidates = framework.run_pre_filter(state, pod, snapshot.everyone)
        if isinstance(candidates, Status):
            if candidates.code is Code.ERROR:
                return candidates
            return Diagnosis(len(snapshot.nodes), pre_filter=candidates)
        filtered = self._filter(framework, state, pod, candidates.nodes)
        if isinstance(filtered, Status):
            return filtered
        if filtered.feasible:
            return filtered.feasible
        return Diagnosis(len(snapshot.nodes), filtered.refusals, candidates.absent)

    def _filter(
        self, framework: Framework, state: CycleState, pod: Pod, nodes: Sequence[NodeInfo]
    ) -> Filtered | Status:
        """All nodes; or, if the profile wants fewer, enough of them, starting where the last search ended."""
        enough = nodes_to_find(len(nodes), framework.percentage_of_nodes_to_score)
        if enough >= len(nodes):
            return framework.run_filter(state, pod, nodes)
        start = self._next_start % len(nodes)
        filtered = framework.run_filter(state, pod, starting_at(start, nodes), enough)
        if isinstance(filtered, Filtered):
            self._next_start = start + len(filtered.feasible) + len(filtered.refusals)
        return filtered

    def _pick(self, framework: Framework, state: CycleState, pod: Pod, feasible: Sequence[NodeInfo]) -> str | Status:
        """The best-scored node; among equals the seeded random source decides."""
        if len(feasible) == 1:
            return feasible[0].name
        totals = framework.run_score(state, pod, feasible)
        if isinstance(totals, Status):
            return totals
        (best,) = (totals == totals[totals.argmax()]).nonzero()
        return feasible[int(best[self._rng.randrange(len(best))])].name


def _make_room(framework: Framework, refused: NotPlaced, snapshot: Snapshot) -> NotPlaced:
    """Refused it stays, whatever PostFilter says; but it may be nominated, and its message grows."""
    diagnosis = refused.diagnosis
    assert diagnosis is not None
    everyone = diagnosis.of_every_node(snapshot.rows)
    made = framework.run_post_filter(refused.state, refused.pod, everyone)
    if made.refusal is not None:
        diagnosis = replace(diagnosis, post_filter=made.refusal.message)
    return replace(refused, status=diagnosis.status(), diagnosis=diagnosis, nominated=made.nominated_node)

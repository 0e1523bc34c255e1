"""kube-scheduler, kind calc: functions of a few numbers."""

from collections.abc import Callable, Mapping
from typing import Final

from koordpy.queue.backoff import Backoff
from koordpy.scheduler.sampling import nodes_to_find
from tests.parity.frame import Case, Legend, Outcome, Waiting, compare


def read(case: Case, legend: Legend) -> Outcome:
    if (function := _OURS.get(case["fn"])) is None:
        return Waiting(f"a function {case['fn']}")
    answer = function(*case["args"])
    return answer if isinstance(answer, Waiting) else compare(case["expect"], answer)


def nodes_in_one_piece(nodes: int, workers: int) -> int:
    """One loop asks about all nodes; there are no workers to hand pieces to."""
    return nodes


def backoff_seconds(failures: int, initial_s: int, max_s: int) -> int:
    return Backoff(initial_s, max_s).seconds(failures)


def preemption_candidates(nodes: int, percentage: int, absolute: int) -> Waiting:
    return Waiting("preemption")


_OURS: Final[Mapping[str, Callable[..., int | Waiting]]] = {
    "numFeasibleNodesToFind": nodes_to_find,
    "chunkSize": nodes_in_one_piece,
    "backoffSeconds": backoff_seconds,
    "numPreemptionCandidates": preemption_candidates,
}

"""TaintToleration: a node's taints keep Pods off, or make it a worse choice."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from koordpy_api import (
    ActionType,
    ClusterEvent,
    CycleState,
    EventRegistration,
    Handle,
    Kept,
    NoArgs,
    NodeColumns,
    NodeInfo,
    QueueingHint,
    StateKey,
    Status,
    Verdicts,
    hookimpl,
    share,
)
from koordpy_api.columns import Amounts, Codes, Rows, Selection, stretch, take
from koordpy_api.events import NODE, POD
from koordpy_api.objects import KubeObject, Node, Pod, Taint, Toleration
from koordpy_api.selectors import is_tolerated

REFUSAL = Status.unresolvable("node(s) had untolerated taint(s)")
HARD_EFFECTS = ("NoSchedule", "NoExecute")
SOFT_EFFECT = "PreferNoSchedule"

Tolerations = tuple[Toleration, ...]
SOFT_TOLERATIONS = StateKey[Tolerations]("TaintToleration", clone=share)


class TaintToleration:
    """Source: kube-scheduler's tainttoleration plugin."""

    Args = NoArgs

    def __init__(self, args: NoArgs, handle: Handle) -> None:
        # By what a Pod tolerates; the host's columns hold each different list of taints once.
        self._codes = Kept(_codes_of)
        self._scores = Kept(_scores_of)

    @hookimpl
    def filter(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> Status | None:
        return None if _tolerates(pod.spec.tolerations, node_info.taints) else REFUSAL

    @hookimpl
    def filter_nodes(self, pod: Pod, columns: NodeColumns) -> Verdicts:
        return Verdicts(self._codes.of(tuple(pod.spec.tolerations), columns, columns.objects), (REFUSAL,))

    @hookimpl
    def pre_score(self, state: CycleState, pod: Pod, nodes: Sequence[NodeInfo]) -> None:
        soft = tuple([each for each in pod.spec.tolerations if each.effect in ("", SOFT_EFFECT)])
        state.write(SOFT_TOLERATIONS, soft)

    @hookimpl
    def score(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> int:
        """The number of taints that the Pod would rather avoid; turned round when normalized."""
        tolerations = state.read(SOFT_TOLERATIONS)
        return _avoided(tolerations, node_info.taints) if node_info.taints else 0

    @hookimpl
    def score_nodes(self, state: CycleState, columns: NodeColumns, rows: Rows) -> Amounts:
        return take(self._scores.of(state.read(SOFT_TOLERATIONS), columns, columns.objects), rows)

    @hookimpl
    def normalize_scores(self, scores: npt.NDArray[np.int64]) -> None:
        """The node with the most such taints gets 0, one without any 100."""
        stretch(scores, reverse=True)

    @hookimpl
    def events_to_register(self) -> Sequence[EventRegistration]:
        return [
            EventRegistration(ClusterEvent(NODE, ActionType.ADD | ActionType.UPDATE_NODE_TAINT), _is_tolerated_now),
            EventRegistration(ClusterEvent(POD, ActionType.UPDATE_POD_TOLERATION), _is_itself),
        ]


def _codes_of(tolerations: Tolerations, columns: NodeColumns, rows: Selection) -> Codes:
    return columns.taints.judged(rows, lambda taints: not _tolerates(tolerations, taints), np.uint16)


def _scores_of(tolerations: Tolerations, columns: NodeColumns, rows: Selection) -> Amounts:
    return columns.taints.judged(rows, lambda taints: _avoided(tolerations, taints), np.int64)


def _tolerates(tolerations: Sequence[Toleration], taints: Sequence[Taint]) -> bool:
    hard = (taint for taint in taints if taint.effect in HARD_EFFECTS)
    return all(is_tolerated(taint, tolerations) for taint in hard)


def _avoided(tolerations: Sequence[Toleration], taints: Sequence[Taint]) -> int:
    return sum(1 for taint in taints if taint.effect == SOFT_EFFECT and not is_tolerated(taint, tolerations))


def _is_tolerated_now(pod: Pod, old: KubeObject | None, new: KubeObject | None) -> QueueingHint:
    """Also a new node that needs no toleration."""
    before = isinstance(old, Node) and _tolerates(pod.spec.tolerations, old.spec.taints)
    return QueueingHint.when(isinstance(new, Node) and not before and _tolerates(pod.spec.tolerations, new.spec.taints))


def _is_itself(pod: Pod, old: KubeObject | None, new: KubeObject | None) -> QueueingHint:
    return QueueingHint.when(new is not None and new.metadata.uid == pod.uid)

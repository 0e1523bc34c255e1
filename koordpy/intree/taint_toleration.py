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
    NoArgs,
    NodeInfo,
    QueueingHint,
    StateKey,
    Status,
    hookimpl,
    share,
)
from koordpy_api.events import NODE, POD
from koordpy_api.objects import KubeObject, Node, Pod, Taint, Toleration
from koordpy_api.selectors import is_tolerated

REFUSAL = Status.unresolvable("node(s) had untolerated taint(s)")
HARD_EFFECTS = ("NoSchedule", "NoExecute")
SOFT_EFFECT = "PreferNoSchedule"

SOFT_TOLERATIONS = StateKey[tuple[Toleration, ...]]("TaintToleration", clone=share)


class TaintToleration:
    """Source: kube-scheduler's tainttoleration plugin."""

    Args = NoArgs

    def __init__(self, args: NoArgs, handle: Handle) -> None:
        pass

    @hookimpl
    def filter(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> Status | None:
        return None if _tolerates(pod, node_info.taints) else REFUSAL

    @hookimpl
    def pre_score(self, state: CycleState, pod: Pod, nodes: Sequence[NodeInfo]) -> None:
        soft = tuple(each for each in pod.spec.tolerations if each.effect in ("", SOFT_EFFECT))
        state.write(SOFT_TOLERATIONS, soft)

    @hookimpl
    def score(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> int:
        """The number of taints that the Pod would rather avoid; turned round when normalized."""
        if not node_info.taints:
            return 0
        tolerations = state.read(SOFT_TOLERATIONS)
        return sum(
            1 for taint in node_info.taints if taint.effect == SOFT_EFFECT and not is_tolerated(taint, tolerations)
        )

    @hookimpl
    def normalize_scores(self, scores: npt.NDArray[np.int64]) -> None:
        """The node with the most such taints gets 0, one without any 100. Source: helper.DefaultNormalizeScore."""
        most = scores.max()
        scores[:] = 100 if most == 0 else 100 - 100 * scores // most

    @hookimpl
    def events_to_register(self) -> Sequence[EventRegistration]:
        return [
            EventRegistration(ClusterEvent(NODE, ActionType.ADD | ActionType.UPDATE_NODE_TAINT), _is_tolerated_now),
            EventRegistration(ClusterEvent(POD, ActionType.UPDATE_POD_TOLERATION), _is_itself),
        ]


def _tolerates(pod: Pod, taints: Sequence[Taint]) -> bool:
    hard = (taint for taint in taints if taint.effect in HARD_EFFECTS)
    return all(is_tolerated(taint, pod.spec.tolerations) for taint in hard)


def _is_tolerated_now(pod: Pod, old: KubeObject | None, new: KubeObject | None) -> QueueingHint:
    """Also a new node that needs no toleration."""
    before = isinstance(old, Node) and _tolerates(pod, old.spec.taints)
    return QueueingHint.when(isinstance(new, Node) and not before and _tolerates(pod, new.spec.taints))


def _is_itself(pod: Pod, old: KubeObject | None, new: KubeObject | None) -> QueueingHint:
    return QueueingHint.when(new is not None and new.metadata.uid == pod.uid)

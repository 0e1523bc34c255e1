"""The scheduling cycle: which nodes fit, which is best, and holding it. Nothing here ever awaits."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from koordpy_api.columns import NodeColumns, Rows, Verdicts
from koordpy_api.markers import hookspec
from koordpy_api.node_info import NodeInfo, PodInfo
from koordpy_api.objects import Pod
from koordpy_api.results import PostFilterResult, PreFilterResult, Wait
from koordpy_api.state import CycleState
from koordpy_api.status import Status


@hookspec
def pre_filter(state: CycleState, pod: Pod, nodes: Sequence[NodeInfo]) -> PreFilterResult | Status | None:
    """What has to be known of this Pod before nodes are looked at?

    Called   once an attempt, in profile order; Status.unresolvable ends the asking, and of several other refusals the
             last one counts.
    Returns  None; a PreFilterResult to narrow the nodes; Status.skip() if this plugin's filter has nothing to do;
             Status.unschedulable or Status.unresolvable if no node can take the Pod.
    Raises   any exception ends the attempt as an error and is blamed on this plugin.
    Must not await, do I/O, or change a NodeInfo.
    Source   kube-scheduler PreFilterPlugin.
    """


@hookspec
def add_pod(state: CycleState, pod: Pod, added: PodInfo, node_info: NodeInfo) -> Status | None:
    """In a dry run, another Pod comes to this node: bring this plugin's notes in `state` up to date.

    Called   between pre_filter and filter, on a clone of the state; not if this plugin skipped at pre_filter.
    Returns  None; anything else ends the dry run as an error. node_info has the Pod already.
    Raises   any exception ends the dry run as an error and is blamed on this plugin.
    Must not await, do I/O, or touch anything but this plugin's own notes in `state`.
    Source   kube-scheduler PreFilterExtensions.AddPod.
    """


@hookspec
def remove_pod(state: CycleState, pod: Pod, removed: PodInfo, node_info: NodeInfo) -> Status | None:
    """In a dry run, another Pod leaves this node: bring this plugin's notes in `state` up to date.

    Called   between pre_filter and filter, on a clone of the state; not if this plugin skipped at pre_filter.
    Returns  None; anything else ends the dry run as an error. node_info is without the Pod already.
    Raises   any exception ends the dry run as an error and is blamed on this plugin.
    Must not await, do I/O, or touch anything but this plugin's own notes in `state`.
    Source   kube-scheduler PreFilterExtensions.RemovePod.
    """


@hookspec
def filter(state: CycleState, pod: Pod, node_info: NodeInfo) -> Status | None:
    """Can this Pod run on this node?

    Called   once per candidate node, in profile order; the first refusal settles the node.
    Returns  None to accept; Status.unschedulable(why, details) if preemption might help;
             Status.unresolvable(why, details) if it cannot.
    Raises   any exception ends the attempt as an error and is blamed on this plugin.
    Must not await, do I/O, or change node_info: it may be a fork.
    Source   kube-scheduler FilterPlugin.
    """


@hookspec
def filter_nodes(state: CycleState, pod: Pod, columns: NodeColumns) -> Verdicts | Status | None:
    """Which nodes can this Pod run on? The same answer as `filter`, for all of them at once.

    Called   once an attempt, in profile order, instead of `filter` wherever many nodes are looked at. A plugin that has
             it has `filter` too, which decides what this one must say, explains refusals, and runs in dry runs.
    Returns  None to accept every node; Verdicts for all rows, also of nodes that others refused; Status.error(why).
    Raises   any exception ends the attempt as an error and is blamed on this plugin.
    Must not await, do I/O, write to a column, or keep a row for another cycle without the epoch.
    Source   koordpy's own; upstream asks node by node.
    """


@hookspec
def post_filter(state: CycleState, pod: Pod, refusals: Mapping[str, Status]) -> PostFilterResult | Status | None:
    """No node fits this Pod: can room be made for it?

    Called   once an attempt that found no node, in profile order, until one makes room; refusals has every node.
    Returns  None if this plugin cannot help; a PostFilterResult; Status.unschedulable(why), which is appended to the
             Pod's message unless a later plugin makes room; Status.unresolvable(why), which ends the asking.
    Raises   any exception is blamed on this plugin and appended to the Pod's message; the Pod stays refused.
    Must not await, do I/O, or evict anything itself.
    Source   kube-scheduler PostFilterPlugin.
    """


@hookspec
def pre_score(state: CycleState, pod: Pod, nodes: Sequence[NodeInfo]) -> Status | None:
    """What has to be known of this Pod and its feasible nodes before they are scored?

    Called   once an attempt, in profile order, if at least two nodes fit.
    Returns  None, or Status.skip() if this plugin's score has nothing to say.
    Raises   any exception ends the attempt as an error and is blamed on this plugin.
    Must not await, do I/O, or change a NodeInfo.
    Source   kube-scheduler PreScorePlugin.
    """


@hookspec
def score(state: CycleState, pod: Pod, node_info: NodeInfo) -> int:  # type: ignore[empty-body]
    """How good is this node for this Pod?

    Called   once per feasible node, in profile order.
    Returns  an integer; after normalize_scores it must lie in 0..100.
    Raises   any exception ends the attempt as an error and is blamed on this plugin.
    Must not await, do I/O, or change node_info.
    Source   kube-scheduler ScorePlugin.
    """


@hookspec
def score_nodes(  # type: ignore[empty-body]
    state: CycleState, pod: Pod, columns: NodeColumns, rows: Rows
) -> npt.NDArray[np.int64]:
    """How good are these nodes for this Pod? The same answer as `score`, for all of them at once.

    Called   once an attempt, in profile order, instead of `score`; `rows` (intp, ascending) are the feasible nodes. A
             plugin that has it has `score` too, which decides what this one must say.
    Returns  int64, one per row of `rows`, before normalization; the host may change the array.
    Raises   any exception ends the attempt as an error and is blamed on this plugin.
    Must not await, do I/O, write to a column, or keep a row for another cycle without the epoch.
    Source   koordpy's own; upstream asks node by node.
    """


@hookspec
def normalize_scores(state: CycleState, pod: Pod, scores: npt.NDArray[np.int64]) -> Status | None:
    """Bring this plugin's own scores of all feasible nodes into 0..100.

    Called   once an attempt, after this plugin's score was asked for every node.
    Returns  nothing: `scores` (int64, one per node) is changed in place; or Status.error(why).
    Raises   any exception ends the attempt as an error and is blamed on this plugin.
    Must not await, or use floats.
    Source   kube-scheduler ScoreExtensions.NormalizeScore.
    """


@hookspec
def reserve(state: CycleState, pod: Pod, node_name: str) -> Status | None:
    """Hold what this Pod will use on this node.

    Called   once the node is chosen and the Pod is assumed there, in profile order.
    Returns  None, or a refusal; then every plugin's unreserve is called.
    Raises   any exception ends the attempt as an error and is blamed on this plugin.
    Must not await or do I/O.
    Source   kube-scheduler ReservePlugin.
    """


@hookspec
def unreserve(state: CycleState, pod: Pod, node_name: str) -> None:
    """Let go of what reserve held.

    Called   when anything after the choice of the node failed, in reverse profile order, also of plugins whose
             reserve was never called, and possibly twice.
    Returns  nothing.
    Raises   any exception is blamed on this plugin; the others are still asked.
    Must not await, do I/O, or fail because there is nothing to undo.
    Source   kube-scheduler ReservePlugin.
    """


@hookspec
def permit(state: CycleState, pod: Pod, node_name: str) -> Wait | Status | None:
    """The Pod is held on its node: may it be bound now?

    Called   once an attempt, at the end of the scheduling cycle, in profile order; the first refusal ends the asking.
    Returns  None; Wait(timeout_s), and then allow or reject on handle.waiting_pod(uid); or a refusal.
    Raises   any exception ends the attempt as an error and is blamed on this plugin.
    Must not await or do I/O: the waiting is the host's.
    Source   kube-scheduler PermitPlugin.
    """

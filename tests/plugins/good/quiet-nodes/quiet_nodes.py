"""QuietNodes: few Pods on each node, and better on a node of the Pod's own tier."""

import numpy as np

from koordpy_api import Handle, Kept, NodeColumns, NodeInfo, PluginArgs, Status, Verdicts, hookimpl
from koordpy_api.columns import Amounts, Rows, Selection, take
from koordpy_api.objects import Pod

TIER = "acme.io/tier"
LOUD = Status.unschedulable("node(s) were loud enough")


class QuietNodesArgs(PluginArgs):
    """max_pods: how many Pods a node may run."""

    max_pods: int = 5


class QuietNodes:
    """Refuse nodes that run max_pods Pods; prefer those of the Pod's tier."""

    Args = QuietNodesArgs

    def __init__(self, args: QuietNodesArgs, handle: Handle) -> None:
        self.max_pods = args.max_pods
        self._points = Kept(self._points_of)

    # One node: what is said here holds.

    @hookimpl
    def filter(self, node_info: NodeInfo) -> Status | None:
        return LOUD if len(node_info.pods) >= self.max_pods else None

    @hookimpl
    def score(self, pod: Pod, node_info: NodeInfo) -> int:
        return points(pod.metadata.labels.get(TIER), node_info.labels.get(TIER))

    # All nodes at once: the same again.

    @hookimpl
    def filter_nodes(self, columns: NodeColumns) -> Verdicts:
        return Verdicts.where(columns.pods >= self.max_pods, LOUD)

    @hookimpl
    def score_nodes(self, pod: Pod, columns: NodeColumns, rows: Rows) -> Amounts:
        return take(self._points.of(pod.metadata.labels.get(TIER), columns, columns.objects), rows)

    def _points_of(self, tier: str | None, columns: NodeColumns, rows: Selection) -> Amounts:
        return columns.label(TIER).judged(rows, lambda other: points(tier, other), np.int64)


def points(tier: str | None, other: str | None) -> int:
    return 0 if other is None else 100 if tier == other else 50

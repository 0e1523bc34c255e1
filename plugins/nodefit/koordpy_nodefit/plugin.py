"""The plugin: what a Pod asks for is worked out once, then compared with every node, one by one or all at once."""

from collections.abc import Iterator, Sequence

import numpy as np

from koordpy_api import (
    CycleState,
    EventRegistration,
    Finding,
    Handle,
    Kept,
    NodeColumns,
    NodeInfo,
    PodMemo,
    Problem,
    StateKey,
    Status,
    Verdicts,
    hookimpl,
    share,
)
from koordpy_api.columns import Amounts, Rows, Selection, take
from koordpy_api.objects import Pod
from koordpy_api.resources import CPU, PODS
from koordpy_nodefit.args import NodeResourcesFitArgs
from koordpy_nodefit.asked import Asked, Reader, Scored
from koordpy_nodefit.scoring import rating
from koordpy_nodefit.vector import FEW, MOST, TOO_MANY_PODS, Ratings, Room, Scores
from koordpy_nodefit.waking import Waking

ASKED = StateKey[Asked]("NodeResourcesFit", clone=share)


class NodeResourcesFit:
    """Source: kube-scheduler's noderesources plugin (fit.go)."""

    Args = NodeResourcesFitArgs

    def __init__(self, args: NodeResourcesFitArgs, handle: Handle) -> None:
        self._accounted = handle.accounted_resources
        self._reader = Reader(args, self._accounted)
        self._rate = rating(args.scoring_strategy)
        self._ratings = Ratings(args.scoring_strategy)
        self._room = Room()
        self._rated = Kept(self._rate_rows)
        self._waiting = PodMemo(self._reader.read)
        self._waking = Waking(handle.node_info, self._fits)

    @hookimpl
    def pre_filter(self, state: CycleState, pod: Pod) -> None:
        state.write(ASKED, self._reader.read(pod))

    @hookimpl
    def filter(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> Status | None:
        """All that is missing, not only the first; unresolvable if even the empty node would not do."""
        reasons: list[str] = []
        hopeless = False
        if len(node_info.pods) + 1 > node_info.allowed_pods:
            reasons.append(TOO_MANY_PODS)
        allocatable, requested = node_info.allocatable, node_info.requested
        for name, amount, is_accounted in state.read(ASKED).compared:
            capacity = allocatable.get(name)
            if capacity is None:
                if is_accounted:
                    continue  # the node says nothing of it; the plugin that accounts for it knows
                capacity = 0
            if amount > capacity - requested.get(name, 0):
                reasons.append(f"Insufficient {name}")
                hopeless = hopeless or amount > capacity
        if not reasons:
            return None
        return Status.unresolvable(*reasons) if hopeless else Status.unschedulable(*reasons)

    @hookimpl
    def filter_nodes(self, state: CycleState, pod: Pod, columns: NodeColumns) -> Verdicts | None:
        compared = state.read(ASKED).compared
        if len(compared) > MOST:
            return Verdicts.one_by_one((self.filter(state, pod, node) for node in columns.nodes), len(columns))
        return self._room.verdicts(compared, columns)

    @hookimpl
    def score(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> int:
        return self._rate(node_info, state.read(ASKED).scored)

    @hookimpl
    def score_nodes(self, state: CycleState, pod: Pod, columns: NodeColumns, rows: Rows) -> Amounts:
        """Pods that ask for the same share what is known of nodes that did not change since."""
        return take(self._rated.of(state.read(ASKED).scored, columns), rows).astype(np.int64)

    def _rate_rows(self, asked: Scored, columns: NodeColumns, rows: Selection) -> Scores:
        if isinstance(rows, slice) or len(rows) > FEW:
            scores = self._ratings.of(asked, columns, rows)
            if scores is not None:
                return scores.astype(np.int16, copy=False)  # in one form, however heavy the weights
        nodes = columns.nodes if isinstance(rows, slice) else [columns.nodes[row] for row in rows.tolist()]
        return np.array([self._rate(node, asked) for node in nodes], dtype=np.int16)

    @hookimpl
    def events_to_register(self) -> Sequence[EventRegistration]:
        return self._waking.registrations()

    def _fits(self, pod: Pod, node_info: NodeInfo) -> bool:
        state = CycleState()
        state.write(ASKED, self._waiting.of(pod))
        return self.filter(state, pod, node_info) is None

    @hookimpl
    def audit(self, nodes: Sequence[NodeInfo]) -> Sequence[Finding]:
        """Nodes that gave away more than they have, as two schedulers can do that do not hear of each other in time."""
        return [
            Finding("Node", node.name, Problem(f"status.allocatable[{name}]", has, f"its pods ask for {asked}"))
            for node in nodes
            for name, has, asked in self._over(node)
        ]

    def _over(self, node: NodeInfo) -> Iterator[tuple[str, str, str]]:
        """Resource, what there is, what is asked for; as people write amounts."""
        if len(node.pods) > node.allowed_pods:
            yield PODS, str(node.allowed_pods), str(len(node.pods))
        for name, asked in sorted(node.requested.items()):
            has = node.allocatable.get(name, 0)
            if asked > has and name not in self._accounted and not self._reader.is_ignored(name):
                unit = "m" if name == CPU else ""
                yield name, f"{has}{unit}", f"{asked}{unit}"

"""NodeAffinity itself."""

from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from koordpy.intree.node_affinity.args import NodeAffinityArgs
from koordpy_api import (
    ActionType,
    ClusterEvent,
    CycleState,
    EventRegistration,
    Handle,
    Kept,
    NodeColumns,
    NodeInfo,
    PreFilterResult,
    Problem,
    QueueingHint,
    StateKey,
    Status,
    Verdicts,
    hookimpl,
    share,
)
from koordpy_api.columns import Amounts, Codes, Rows, Selection, stretch, take
from koordpy_api.errors import SelectorError
from koordpy_api.events import NODE
from koordpy_api.node_selectors import PREFERRED, REQUIRED, NodeTerm, PreferredNodes, RequiredNodes, names_in
from koordpy_api.objects import KubeObject, Node, Pod

CONFLICT = Status.unresolvable("pod affinity terms conflict")
REFUSALS = (
    Status.unresolvable("node(s) didn't match scheduler-enforced node affinity"),
    Status.unresolvable("node(s) didn't match Pod's node affinity/selector"),
)
ENFORCED, REFUSAL = REFUSALS

NODES_REQUIRED = StateKey[RequiredNodes]("NodeAffinity required", clone=share)
NODES_PREFERRED = StateKey[PreferredNodes]("NodeAffinity preferred", clone=share)

_REMEMBERED = 1024


class NodeAffinity:
    """Source: kube-scheduler's nodeaffinity plugin."""

    Args = NodeAffinityArgs

    def __init__(self, args: NodeAffinityArgs, handle: Handle) -> None:
        added = args.added
        self._added = None if added.required is None else RequiredNodes.read(added.required)
        self._added_preferred = PreferredNodes.read(added.preferred) if added.preferred else None
        # Equal wishes are read once and are then the same object, which is what their answers are kept by.
        self._read_required = lru_cache(_REMEMBERED)(RequiredNodes.read)
        self._read_preferred = lru_cache(_REMEMBERED)(PreferredNodes.read)
        self._codes = Kept(self._codes_of)
        self._scores = Kept(self._scores_of)

    # Objects as people write them

    @hookimpl
    def check(self, obj: KubeObject) -> Sequence[Problem]:
        """Terms that mean no node because they cannot be read, though the API server may take them."""
        return list(_unreadable(obj)) if isinstance(obj, Pod) else ()

    # Which nodes fit

    @hookimpl
    def pre_filter(self, state: CycleState, pod: Pod) -> PreFilterResult | Status | None:
        required = pod.spec.affinity.node_affinity.required
        if required is None and self._added is None and not pod.spec.node_selector:
            return Status.skip()
        state.write(NODES_REQUIRED, self._required_of(pod))
        names = None if required is None else names_in(required)
        if names is None:
            return None
        return PreFilterResult(names) if names else CONFLICT

    @hookimpl
    def filter(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> Status | None:
        name, labels = node_info.name, node_info.labels
        if self._added is not None and not self._added.matches(name, labels):
            return ENFORCED
        return None if self._wish(state, pod).matches(name, labels) else REFUSAL

    @hookimpl
    def filter_nodes(self, state: CycleState, pod: Pod, columns: NodeColumns) -> Verdicts:
        return Verdicts(self._codes.of(self._wish(state, pod), columns, columns.objects), REFUSALS)

    def _codes_of(self, required: RequiredNodes, columns: NodeColumns, rows: Selection) -> Codes:
        codes = ~required.among(columns, rows) * np.uint16(2)
        if self._added is not None:
            codes[~self._added.among(columns, rows)] = 1
        return codes

    def _wish(self, state: CycleState, pod: Pod) -> RequiredNodes:
        """Read here where a profile has the plugin at filter only."""
        return state.get(NODES_REQUIRED) or self._required_of(pod)

    def _required_of(self, pod: Pod) -> RequiredNodes:
        return self._read_required(pod.spec.affinity.node_affinity.required, tuple(pod.spec.node_selector.items()))

    # Which it likes

    @hookimpl
    def pre_score(self, state: CycleState, pod: Pod) -> Status | None:
        """Upstream too gives up on a Pod with a preferred term that cannot be read."""
        preferred = pod.spec.affinity.node_affinity.preferred
        if not preferred and self._added_preferred is None:
            return Status.skip()
        try:
            state.write(NODES_PREFERRED, self._read_preferred(preferred))
        except SelectorError as error:
            return Status.error(str(error))
        return None

    @hookimpl
    def score(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> int:
        name, labels = node_info.name, node_info.labels
        own = self._liking(state, pod).score(name, labels)
        return own if self._added_preferred is None else own + self._added_preferred.score(name, labels)

    @hookimpl
    def score_nodes(self, state: CycleState, pod: Pod, columns: NodeColumns, rows: Rows) -> Amounts:
        return take(self._scores.of(self._liking(state, pod), columns, columns.objects), rows)

    def _scores_of(self, preferred: PreferredNodes, columns: NodeColumns, rows: Selection) -> Amounts:
        scores = preferred.among(columns, rows)
        return scores if self._added_preferred is None else scores + self._added_preferred.among(columns, rows)

    def _liking(self, state: CycleState, pod: Pod) -> PreferredNodes:
        return state.get(NODES_PREFERRED) or self._read_preferred(pod.spec.affinity.node_affinity.preferred)

    @hookimpl
    def normalize_scores(self, scores: npt.NDArray[np.int64]) -> None:
        """The best node gets 100, the others in proportion."""
        stretch(scores)

    # After which events a Pod may fit

    @hookimpl
    def events_to_register(self) -> Sequence[EventRegistration]:
        event = ClusterEvent(NODE, ActionType.ADD | ActionType.UPDATE_NODE_LABEL)
        return [EventRegistration(event, self._matches_now)]

    def _matches_now(self, pod: Pod, old: KubeObject | None, new: KubeObject | None) -> QueueingHint:
        before = isinstance(old, Node) and self._matches(pod, old)
        return QueueingHint.when(isinstance(new, Node) and not before and self._matches(pod, new))

    def _matches(self, pod: Pod, node: Node) -> bool:
        name, labels = node.metadata.name, node.metadata.labels
        if self._added is not None and not self._added.matches(name, labels):
            return False
        return self._required_of(pod).matches(name, labels)


def _unreadable(pod: Pod) -> Iterator[Problem]:
    affinity = pod.spec.affinity.node_affinity
    required = () if affinity.required is None else affinity.required.node_selector_terms
    terms = {f"{REQUIRED}[{index}]": term for index, term in enumerate(required)}
    terms |= {f"{PREFERRED}[{index}].preference": each.preference for index, each in enumerate(affinity.preferred)}
    for path, term in terms.items():
        try:
            NodeTerm.read(term, path)
        except SelectorError as error:
            yield error.problem

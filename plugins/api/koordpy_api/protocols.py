"""A Protocol per hook, so that mypy can hold a plugin against the specifications.

    _: type[protocols.FilterPlugin] = MyPlugin

A hook that leaves arguments out is legal, but matches no Protocol: these show the full list.
Written by tests/plugins/protocols.py from the specifications in koordpy_api/hooks; change those.
"""

from collections.abc import Awaitable, Mapping, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from koordpy_api.columns import NodeColumns, Rows, Verdicts
from koordpy_api.errors import Finding, Problem
from koordpy_api.events import EventRegistration
from koordpy_api.node_info import NodeInfo, PodInfo
from koordpy_api.objects import KubeObject, Pod
from koordpy_api.results import Binding, PostFilterResult, PreBindPlan, PreFilterResult, QueuedPod, SortKey, Wait
from koordpy_api.state import CycleState
from koordpy_api.status import Status


class CheckPlugin(Protocol):
    """What is wrong with this object, as far as this plugin knows?"""

    def check(self, obj: KubeObject) -> Sequence[Problem]: ...


class AuditPlugin(Protocol):
    """What of what this plugin keeps account of cannot be right, whoever wrote it?"""

    def audit(self, nodes: Sequence[NodeInfo]) -> Sequence[Finding]: ...


class RecountPlugin(Protocol):
    """Where do this plugin's own books differ from these objects? Each difference is a bug."""

    def recount(self, objects: Sequence[KubeObject], assumed: frozenset[str]) -> Sequence[str]: ...


class PreEnqueuePlugin(Protocol):
    """May this Pod be tried at all?"""

    def pre_enqueue(self, pod: Pod) -> Status | None: ...


class QueueSortPlugin(Protocol):
    """Where does this Pod stand in the queue?"""

    def queue_sort(self, queued: QueuedPod) -> SortKey: ...


class EventsToRegisterPlugin(Protocol):
    """Which events may help a Pod that this plugin refused?"""

    def events_to_register(self) -> Sequence[EventRegistration]: ...


class PodRefusedPlugin(Protocol):
    """An attempt ended without a node for this Pod."""

    def pod_refused(self, pod: Pod, plugins: frozenset[str]) -> None: ...


class PodAddedPlugin(Protocol):
    """A Pod now counts on this node."""

    def pod_added(self, pod: Pod, node_info: NodeInfo) -> None: ...


class PodUpdatedPlugin(Protocol):
    """A Pod that counts on this node changed there, or the API server confirmed that it is bound there."""

    def pod_updated(self, old: PodInfo, new: Pod, node_info: NodeInfo) -> None: ...


class PodRemovedPlugin(Protocol):
    """A Pod counts on this node no longer: forgotten, finished, deleted, or seen elsewhere."""

    def pod_removed(self, pod: PodInfo, node_info: NodeInfo) -> None: ...


class NodeUpdatedPlugin(Protocol):
    """A node came, changed or went; one that is not known has `node` None."""

    def node_updated(self, old: NodeInfo, new: NodeInfo) -> None: ...


class PreFilterPlugin(Protocol):
    """What has to be known of this Pod before nodes are looked at?"""

    def pre_filter(self, state: CycleState, pod: Pod, nodes: Sequence[NodeInfo]) -> PreFilterResult | Status | None: ...


class AddPodPlugin(Protocol):
    """In a dry run, another Pod comes to this node: bring this plugin's notes in `state` up to date."""

    def add_pod(self, state: CycleState, pod: Pod, added: PodInfo, node_info: NodeInfo) -> Status | None: ...


class RemovePodPlugin(Protocol):
    """In a dry run, another Pod leaves this node: bring this plugin's notes in `state` up to date."""

    def remove_pod(self, state: CycleState, pod: Pod, removed: PodInfo, node_info: NodeInfo) -> Status | None: ...


class FilterPlugin(Protocol):
    """Can this Pod run on this node?"""

    def filter(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> Status | None: ...


class FilterNodesPlugin(Protocol):
    """Which nodes can this Pod run on? The same answer as `filter`, for all of them at once."""

    def filter_nodes(self, state: CycleState, pod: Pod, columns: NodeColumns) -> Verdicts | Status | None: ...


class PostFilterPlugin(Protocol):
    """No node fits this Pod: can room be made for it?"""

    def post_filter(
        self, state: CycleState, pod: Pod, refusals: Mapping[str, Status]
    ) -> PostFilterResult | Status | None: ...


class PreScorePlugin(Protocol):
    """What has to be known of this Pod and its feasible nodes before they are scored?"""

    def pre_score(self, state: CycleState, pod: Pod, nodes: Sequence[NodeInfo]) -> Status | None: ...


class ScorePlugin(Protocol):
    """How good is this node for this Pod?"""

    def score(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> int: ...


class ScoreNodesPlugin(Protocol):
    """How good are these nodes for this Pod? The same answer as `score`, for all of them at once."""

    def score_nodes(self, state: CycleState, pod: Pod, columns: NodeColumns, rows: Rows) -> npt.NDArray[np.int64]: ...


class NormalizeScoresPlugin(Protocol):
    """Bring this plugin's own scores of all feasible nodes into 0..100."""

    def normalize_scores(self, state: CycleState, pod: Pod, scores: npt.NDArray[np.int64]) -> Status | None: ...


class ReservePlugin(Protocol):
    """Hold what this Pod will use on this node."""

    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status | None: ...


class UnreservePlugin(Protocol):
    """Let go of what reserve held."""

    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None: ...


class PermitPlugin(Protocol):
    """The Pod is held on its node: may it be bound now?"""

    def permit(self, state: CycleState, pod: Pod, node_name: str) -> Wait | Status | None: ...


class PreBindPlugin(Protocol):
    """What has to be written before this Pod may run?"""

    def pre_bind(
        self, state: CycleState, pod: Pod, node_name: str
    ) -> Awaitable[PreBindPlan | Status | None] | PreBindPlan | Status | None: ...


class BindPlugin(Protocol):
    """Who binds this Pod, and how?"""

    def bind(
        self, state: CycleState, pod: Pod, node_name: str
    ) -> Awaitable[Binding | Status | None] | Binding | Status | None: ...


class PostBindPlugin(Protocol):
    """The Pod is bound."""

    def post_bind(self, state: CycleState, pod: Pod, node_name: str) -> Awaitable[None] | None: ...

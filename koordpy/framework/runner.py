"""class Framework: the plugins of one profile, one method per extension point, in the order in which a Pod meets them.

What one hook's exception or odd answer comes to is in calls.py; here is what all answers at one point come to.
Source: pkg/scheduler/framework/runtime (framework.go).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from koordpy.cache.snapshot import NodeRows
from koordpy.framework.calls import (
    PLUGIN_FAULTS,
    Chain,
    ask,
    ask_async,
    attribute,
    doing,
    illegal,
    is_refusal_or_error,
    logger,
    text_of,
)
from koordpy.framework.examining import audit, check, recount
from koordpy.framework.filtering import FilterHooks, filter_at_once, filter_each
from koordpy.framework.handle import BelievedNodes, Subscription
from koordpy.framework.measuring import Meter, timed, timed_async
from koordpy.framework.plans import merge
from koordpy.framework.registrations import Registration
from koordpy.framework.scoring import ScoreHooks, score
from koordpy.framework.vector import asks_too_much
from koordpy.framework.verdicts import Candidates, Filtered, PostFiltered, narrow
from koordpy.framework.waiting import WaitingPod, WaitingPods
from koordpy.telemetry.instruments import CounterCell
from koordpy_api import (
    Binding,
    Code,
    CycleState,
    Finding,
    NodeInfo,
    PodInfo,
    PodPatch,
    PostFilterResult,
    PreBindPlan,
    PreFilterResult,
    Problem,
    QueuedPod,
    SortKey,
    StateKey,
    Status,
    Wait,
    share,
)
from koordpy_api.objects import KubeObject, Pod
from koordpy_api.status import SKIP

FEW_NODES: Final = 16
"""So few are asked about one by one: columns would cost more."""

SKIPPED_FILTERS: Final = StateKey[frozenset[str]]("koordpy/skipped-filters", clone=share)
PLANNED_BY: Final = StateKey[tuple[str, ...]]("koordpy/planned-by", clone=share)
LAST: Final[SortKey] = (2**63 - 1,)


@dataclass(frozen=True)
class Framework:
    """One profile, compiled: an ordered chain of bound methods per hook.

    annotation_prefixes: what of running Pods' annotations its plugins want kept.
    subscriptions: the kinds of objects that its plugins want to be told of.
    registrations: which events may help a Pod that its plugins refused.
    waiting: the Pods that Permit holds; nodes: what plugins may ask of nodes. The same for all profiles of a scheduler.
    left_out: plugins of the profile that are not built yet.
    percentage_of_nodes_to_score: None or 0 to look at all nodes.
    meter: what its extension points cost goes there; None: nobody measures.
    """

    profile: str
    chains: Mapping[str, Chain]
    weights: Mapping[str, int]
    annotation_prefixes: tuple[str, ...] = ()
    subscriptions: tuple[Subscription, ...] = ()
    registrations: tuple[Registration, ...] = ()
    waiting: WaitingPods = field(default_factory=WaitingPods)
    nodes: BelievedNodes = field(default_factory=BelievedNodes)
    left_out: frozenset[str] = frozenset()
    percentage_of_nodes_to_score: int | None = None
    meter: Meter | None = None
    _warned: set[tuple[str, str]] = field(default_factory=set)

    @cached_property
    def _pre_filters(self) -> list[tuple[str, Callable[..., Any], CounterCell]]:
        return [(plugin, hook, self._evaluations(plugin, "PreFilter")) for plugin, hook in self.chains["pre_filter"]]

    @cached_property
    def _filters(self) -> list[FilterHooks]:
        at_once = dict(self.chains["filter_nodes"])
        return [
            FilterHooks(plugin, hook, at_once.get(plugin), self._evaluations(plugin, "Filter"))
            for plugin, hook in self.chains["filter"]
        ]

    @cached_property
    def _pre_scores(self) -> list[tuple[str, Callable[..., Any], CounterCell]]:
        return [(plugin, hook, self._evaluations(plugin, "PreScore")) for plugin, hook in self.chains["pre_score"]]

    @cached_property
    def _scores(self) -> list[ScoreHooks]:
        at_once, normalizers = dict(self.chains["score_nodes"]), dict(self.chains["normalize_scores"])
        return [
            ScoreHooks(
                plugin,
                hook,
                at_once.get(plugin),
                normalizers.get(plugin),
                self.weights.get(plugin, 1),
                self._evaluations(plugin, "Score"),
            )
            for plugin, hook in self.chains["score"]
        ]

    def _evaluations(self, plugin: str, point: str) -> CounterCell:
        return CounterCell() if self.meter is None else self.meter.evaluations(plugin, point)

    # -- before the attempt ------------------------------------------------------------------------------------------

    @timed("PreEnqueue")
    def run_pre_enqueue(self, pod: Pod, first: str = "") -> Status | None:
        """The first answer that is not None gates the Pod; what breaks, too, but it is logged.

        first: the plugin that is asked before the others.
        """
        chain = self.chains["pre_enqueue"]
        if first:
            chain = tuple(sorted(chain, key=lambda each: each[0] != first))
        for plugin, hook in chain:
            try:
                answer = hook(pod)
            except PLUGIN_FAULTS as error:
                self._complain(plugin, "pre_enqueue", pod.key)
                return Status.error(f'running PreEnqueue plugin "{plugin}": {text_of(error)}').by(plugin)
            if answer is not None:
                return answer.by(plugin) if is_refusal_or_error(answer) else illegal(plugin, "PreEnqueue", answer)
        return None

    def queue_sort(self, queued: QueuedPod) -> SortKey:
        plugin, hook = self.chains["queue_sort"][0]
        try:
            key: SortKey = hook(queued)
            if not (isinstance(key, tuple) and all(isinstance(part, int) for part in key)):
                raise TypeError(f"{key!r} is no tuple of integers")
        except PLUGIN_FAULTS:
            self._complain(plugin, "queue_sort", queued.pod.key)
            return LAST
        return key

    def pod_refused(self, pod: Pod, plugins: Callable[[], frozenset[str]]) -> None:
        """Asks who refused only if somebody wants to know: that looks at the answer of every node."""
        if self.chains["pod_refused"]:
            self._tell("pod_refused", pod.key, pod, plugins())

    def pod_added(self, pod: Pod, node_info: NodeInfo) -> None:
        self._tell("pod_added", pod.key, pod, node_info)

    def pod_updated(self, old: PodInfo, new: Pod, node_info: NodeInfo) -> None:
        self._tell("pod_updated", new.key, old, new, node_info)

    def pod_removed(self, pod: PodInfo, node_info: NodeInfo) -> None:
        self._tell("pod_removed", pod.key, pod, node_info)

    def node_updated(self, old: NodeInfo, new: NodeInfo) -> None:
        self._tell("node_updated", new.name, old, new)

    # -- outside of any attempt --------------------------------------------------------------------------------------

    def run_check(self, obj: KubeObject) -> list[tuple[str, Problem]]:
        return check(self.chains["check"], self._complain, obj)

    def run_audit(self, nodes: Sequence[NodeInfo]) -> list[Finding]:
        return audit(self.chains["audit"], self._complain, self.profile, nodes)

    def run_recount(self, objects: Sequence[KubeObject], assumed: frozenset[str]) -> list[str]:
        return recount(self.chains["recount"], self._complain, self.profile, objects, assumed)

    # -- the scheduling cycle ----------------------------------------------------------------------------------------

    @timed("PreFilter")
    def run_pre_filter(self, state: CycleState, pod: Pod, nodes: Sequence[NodeInfo]) -> Candidates | Status:
        """Every plugin is asked, unless one says that nothing can help; the last refusal counts."""
        refusal: Status | None = None
        skipped: set[str] = set()
        wanted: dict[str, frozenset[str]] = {}
        try:
            for plugin, hook, asked in self._pre_filters:
                answer = ask(plugin, "PreFilter", hook, state, pod, nodes)
                if answer is SKIP:
                    skipped.add(plugin)
                    continue
                asked.value += 1
                match answer:
                    case None:
                        pass
                    case PreFilterResult(frozenset() | set() as node_names):
                        wanted[plugin] = frozenset(node_names)
                    case Status(code=Code.UNSCHEDULABLE):
                        refusal = answer
                    case Status(code=Code.UNSCHEDULABLE_AND_UNRESOLVABLE | Code.ERROR):
                        return answer
                    case _:
                        return illegal(plugin, "PreFilter", answer)
        finally:
            state.write(SKIPPED_FILTERS, frozenset(skipped))  # also for a dry run after a refusal
        return refusal or narrow(nodes, wanted)

    def run_add_pod(self, state: CycleState, pod: Pod, added: PodInfo, node_info: NodeInfo) -> Status | None:
        """For a dry run: `added` comes to the node. A Status means that a plugin broke."""
        return self._move_pod("add_pod", "AddPod", state, pod, added, node_info)

    def run_remove_pod(self, state: CycleState, pod: Pod, removed: PodInfo, node_info: NodeInfo) -> Status | None:
        """For a dry run: `removed` leaves the node. A Status means that a plugin broke."""
        return self._move_pod("remove_pod", "RemovePod", state, pod, removed, node_info)

    def _move_pod(
        self, hook_name: str, upstream: str, state: CycleState, pod: Pod, moved: PodInfo, node_info: NodeInfo
    ) -> Status | None:
        skipped = state.get(SKIPPED_FILTERS) or frozenset()
        for plugin, hook in self.chains[hook_name]:
            if plugin in skipped:
                continue
            answer = ask(plugin, f"{upstream} on PreFilter", hook, state, pod, moved, node_info)
            if answer is not None:
                is_error = isinstance(answer, Status) and answer.code is Code.ERROR
                broken: Status = answer if is_error else illegal(plugin, upstream, answer)
                return broken
        return None

    @timed("Filter")
    def run_filter(
        self, state: CycleState, pod: Pod, nodes: Sequence[NodeInfo], enough: int | None = None
    ) -> Filtered | Status:
        """Which of these nodes fit; no more than `enough`. A Status means that a plugin broke.

        nodes: NodeRows are asked about at once, where there are many; a list one by one. Where fewer than all that fit
        are wanted, and one plugin has no vector shape, asking one by one costs less.
        """
        skipped = state.get(SKIPPED_FILTERS)
        hooks = [each for each in self._filters if each.plugin not in skipped] if skipped else self._filters
        if (
            isinstance(nodes, NodeRows)
            and len(nodes) > FEW_NODES
            and (enough is None or all(each.at_once for each in hooks))
            and not asks_too_much(pod)
        ):
            return filter_at_once(hooks, state, pod, nodes, enough)
        return filter_each(hooks, state, pod, nodes, enough)

    @timed("PostFilter")
    def run_post_filter(self, state: CycleState, pod: Pod, refusals: Mapping[str, Status]) -> PostFiltered:
        """Plugins are asked until one makes room, says that nothing helps, or breaks. refusals: of every node."""
        refused: list[Status] = []
        nominated: str | None = None
        for plugin, hook in self.chains["post_filter"]:
            answer = ask(plugin, "PostFilter", hook, state, pod, refusals)
            match answer:
                case None:
                    continue
                case PostFilterResult(str() as node_name, None):
                    return PostFiltered(node_name)
                case PostFilterResult(str() as nominated, Status() as refusal):
                    refusal = attribute(plugin, doing(plugin, "PostFilter"), refusal)
                case _:
                    refusal = answer
            if not is_refusal_or_error(refusal):
                return PostFiltered(None, illegal(plugin, "PostFilter", refusal))
            if refusal.code is Code.ERROR:
                return PostFiltered(None, refusal)
            if refusal.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
                return PostFiltered(nominated, refusal)
            refused.append(refusal)
        if not refused:
            return PostFiltered(nominated)
        reasons = (reason for refusal in refused for reason in refusal.reasons)
        return PostFiltered(nominated, Status.unschedulable(*reasons).by(refused[0].plugin))

    def run_score(self, state: CycleState, pod: Pod, nodes: Sequence[NodeInfo]) -> npt.NDArray[np.int64] | Status:
        """The weighted total of every node. nodes: as of run_filter. A Status means that a plugin broke."""
        skipped = self._pre_score(state, pod, nodes)
        return skipped if isinstance(skipped, Status) else self._score(state, pod, nodes, skipped)

    @timed("PreScore")
    def _pre_score(self, state: CycleState, pod: Pod, nodes: Sequence[NodeInfo]) -> set[str] | Status:
        """Which plugins have no score for this Pod."""
        skipped: set[str] = set()
        for plugin, hook, asked in self._pre_scores:
            answer = ask(plugin, "PreScore", hook, state, pod, nodes)
            if answer is SKIP:
                skipped.add(plugin)
                continue
            asked.value += 1
            if answer is not None:
                is_error = isinstance(answer, Status) and answer.code is Code.ERROR
                broken: Status = answer if is_error else illegal(plugin, "PreScore", answer)
                return broken
        return skipped

    @timed("Score")
    def _score(
        self, state: CycleState, pod: Pod, nodes: Sequence[NodeInfo], skipped: set[str]
    ) -> npt.NDArray[np.int64] | Status:
        hooks = [each for each in self._scores if each.plugin not in skipped] if skipped else self._scores
        return score(hooks, state, pod, nodes)

    @timed("Reserve")
    def run_reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        for plugin, hook in self.chains["reserve"]:
            answer = ask(plugin, "Reserve", hook, state, pod, node_name)
            if answer is not None:
                refusal: Status = answer if is_refusal_or_error(answer) else illegal(plugin, "Reserve", answer)
                return refusal
        return None

    @timed("Unreserve")
    def run_unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        """In reverse order, and every one of them, whatever the others do."""
        for plugin, hook in reversed(self.chains["unreserve"]):
            try:
                hook(state, pod, node_name)
            except PLUGIN_FAULTS:
                self._complain(plugin, "unreserve", pod.key)

    def run_permit(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        """The first refusal counts. Without one, and if somebody wants to wait, the Pod is in `waiting` afterwards."""
        answer = self._permit(state, pod, node_name)
        return None if isinstance(answer, Wait) else answer

    @timed("Permit")
    def _permit(self, state: CycleState, pod: Pod, node_name: str) -> Status | Wait | None:
        timeouts_s: dict[str, float] = {}
        for plugin, hook in self.chains["permit"]:
            answer = ask(plugin, "Permit", hook, state, pod, node_name)
            match answer:
                case None:
                    pass
                case Wait(int() | float() as timeout_s) if timeout_s >= 0:
                    timeouts_s[plugin] = timeout_s
                case Status() if is_refusal_or_error(answer):
                    return answer
                case _:
                    return illegal(plugin, "Permit", answer)
        if not timeouts_s:
            return None
        self.waiting.add(WaitingPod(pod, node_name, timeouts_s))
        return Wait(max(timeouts_s.values()))

    # -- the binding cycle -------------------------------------------------------------------------------------------

    async def wait_on_permit(self, pod: Pod) -> Status | None:
        """Returns at once if nobody asked to wait; else when all have allowed the Pod, or one rejected it."""
        if (waiting := self.waiting.get(pod.uid)) is None:
            return None
        started = self.meter.now() if self.meter else 0.0
        try:
            refusal = await waiting.settled()
        finally:
            self.waiting.remove(pod.uid)
        if self.meter is not None:
            self.meter.permit_waited(refusal, self.meter.now() - started)
        return refusal

    @timed_async("PreBind")
    async def run_pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> PreBindPlan | Status:
        """All plans merged into one, or the first answer that is none."""
        plans: list[tuple[str, PreBindPlan]] = []
        for plugin, hook in self.chains["pre_bind"]:
            answer = await ask_async(plugin, "PreBind", hook, state, pod, node_name)
            match answer:
                case None:
                    pass
                case PreBindPlan(PodPatch(Mapping())):
                    plans.append((plugin, answer))
                case Status() if is_refusal_or_error(answer):
                    return answer
                case _:
                    return illegal(plugin, "PreBind", answer)
        state.write(PLANNED_BY, tuple(plugin for plugin, _ in plans))
        return merge(plans)

    @timed_async("Bind")
    async def run_bind(self, state: CycleState, pod: Pod, node_name: str) -> Binding | Status:
        """The first answer that is not None. Status(SUCCESS) means that the plugin bound the Pod itself."""
        for plugin, hook in self.chains["bind"]:
            answer = await ask_async(plugin, "Bind", hook, state, pod, node_name)
            if answer is None or (isinstance(answer, Status) and answer.code is Code.SKIP):
                continue
            return answer if isinstance(answer, Binding | Status) else illegal(plugin, "Bind", answer)
        return Status.error("no Bind plugin took the Pod")

    @timed_async("PostBind")
    async def run_post_bind(self, state: CycleState, pod: Pod, node_name: str) -> None:
        """Every one of them, whatever the others do; the Pod is bound."""
        for plugin, hook in self.chains["post_bind"]:
            answer = await ask_async(plugin, "PostBind", hook, state, pod, node_name)
            if answer is not None:
                logger.warning("plugin %s answered at PostBind, where nobody listens", plugin)

    # -- blame -------------------------------------------------------------------------------------------------------

    def _tell(self, hook_name: str, subject: str, *args: object) -> None:
        for plugin, hook in self.chains[hook_name]:
            try:
                hook(*args)
            except PLUGIN_FAULTS:
                self._complain(plugin, hook_name, subject)

    def _complain(self, plugin: str, hook_name: str, subject: str) -> None:
        """The first time with its traceback; a plugin that fails for each of 10,000 Pods fills no log."""
        first = (plugin, hook_name) not in self._warned
        self._warned.add((plugin, hook_name))
        logger.error("plugin %s failed in %s of %s", plugin, hook_name, subject, exc_info=first)

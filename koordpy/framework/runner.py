"""class Framework: the plugins of one profile, one method per extension point.

The only place that calls plugins, and so the only place where their exceptions are caught: each is blamed on its
plugin, in the words of kube-scheduler. Source: pkg/scheduler/framework/runtime (framework.go).
"""

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import index
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from koordpy.framework.handle import Subscription
from koordpy.framework.plans import merge
from koordpy_api import (
    Binding,
    Code,
    CycleState,
    NodeInfo,
    PodInfo,
    PreBindPlan,
    PreFilterResult,
    QueuedPod,
    SortKey,
    StateKey,
    Status,
    share,
)
from koordpy_api.objects import Pod

logger = logging.getLogger("koordpy.framework")

Chain = tuple[tuple[str, Callable[..., Any]], ...]
"""(plugin, bound hook) pairs in profile order."""

MAX_SCORE: Final = 100
SKIPPED_FILTERS: Final = StateKey[frozenset[str]]("koordpy/skipped-filters", clone=share)
LAST: Final[SortKey] = (2**63 - 1,)


@dataclass(frozen=True, slots=True)
class Candidates:
    """What PreFilter left: the nodes worth looking at, and the refusal of those that are not."""

    nodes: Sequence[NodeInfo]
    absent: Status | None = None


@dataclass(frozen=True, slots=True)
class Filtered:
    """What Filter said: the nodes that fit, and why each of the others does not."""

    feasible: list[NodeInfo]
    refusals: dict[str, Status]


@dataclass(frozen=True)
class Framework:
    """One profile, compiled: an ordered chain of bound methods per hook.

    annotation_prefixes: what of running Pods' annotations its plugins want kept.
    subscriptions: the kinds of objects that its plugins want to be told of.
    """

    profile: str
    chains: Mapping[str, Chain]
    weights: Mapping[str, int]
    annotation_prefixes: tuple[str, ...] = ()
    subscriptions: tuple[Subscription, ...] = ()
    _warned: set[tuple[str, str]] = field(default_factory=set)

    # -- before the attempt ------------------------------------------------------------------------------------------

    def queue_sort(self, queued: QueuedPod) -> SortKey:
        plugin, hook = self.chains["queue_sort"][0]
        try:
            key: SortKey = hook(queued)
            if not (isinstance(key, tuple) and all(isinstance(part, int) for part in key)):
                raise TypeError(f"{key!r} is no tuple of integers")
        except Exception:
            self._complain(plugin, "queue_sort", queued.pod.key)
            return LAST
        return key

    def pod_added(self, pod: Pod, node_info: NodeInfo) -> None:
        self._tell("pod_added", pod.key, pod, node_info)

    def pod_updated(self, old: PodInfo, new: Pod, node_info: NodeInfo) -> None:
        self._tell("pod_updated", new.key, old, new, node_info)

    def pod_removed(self, pod: PodInfo, node_info: NodeInfo) -> None:
        self._tell("pod_removed", pod.key, pod, node_info)

    def node_updated(self, old: NodeInfo, new: NodeInfo) -> None:
        self._tell("node_updated", new.name, old, new)

    # -- the scheduling cycle ----------------------------------------------------------------------------------------

    def run_pre_filter(self, state: CycleState, pod: Pod, nodes: Sequence[NodeInfo]) -> Candidates | Status:
        """Every plugin is asked, unless one says that nothing can help; the last refusal counts."""
        refusal: Status | None = None
        skipped: set[str] = set()
        wanted: dict[str, frozenset[str]] = {}
        for plugin, hook in self.chains["pre_filter"]:
            answer = _ask(plugin, f'running PreFilter plugin "{plugin}"', hook, state, pod, nodes)
            match answer:
                case None:
                    pass
                case PreFilterResult(node_names):
                    wanted[plugin] = node_names
                case Status(code=Code.SKIP):
                    skipped.add(plugin)
                case Status(code=Code.UNSCHEDULABLE):
                    refusal = answer
                case Status(code=Code.UNSCHEDULABLE_AND_UNRESOLVABLE | Code.ERROR):
                    return answer
                case _:
                    return _illegal(plugin, "PreFilter", answer)
        state.write(SKIPPED_FILTERS, frozenset(skipped))
        return refusal or _narrow(nodes, wanted)

    def run_filter(self, state: CycleState, pod: Pod, nodes: Sequence[NodeInfo]) -> Filtered | Status:
        """Each node is asked about until one plugin refuses it. A Status means that a plugin broke."""
        skipped = state.get(SKIPPED_FILTERS) or frozenset()
        chain = [(plugin, hook) for plugin, hook in self.chains["filter"] if plugin not in skipped]
        feasible: list[NodeInfo] = []
        refusals: dict[str, Status] = {}
        plugin = ""
        try:
            for node in nodes:
                for plugin, hook in chain:  # noqa: B007 - the name of the last one asked is for the except clause
                    if (answer := hook(state, pod, node)) is not None:
                        break
                else:
                    feasible.append(node)
                    continue
                if not isinstance(answer, Status) or not answer.is_rejected:
                    if isinstance(answer, Status) and answer.code is Code.ERROR:
                        broken: Status = _attribute(plugin, f'running "{plugin}" filter plugin', answer)
                        return broken
                    return _illegal(plugin, "Filter", answer)
                refusals[node.name] = answer.by(plugin)
        except Exception as error:
            return _blame(plugin, f'running "{plugin}" filter plugin', error)
        return Filtered(feasible, refusals)

    def run_score(self, state: CycleState, pod: Pod, nodes: Sequence[NodeInfo]) -> npt.NDArray[np.int64] | Status:
        """The weighted total of every node. A Status means that a plugin broke."""
        skipped: set[str] = set()
        for plugin, hook in self.chains["pre_score"]:
            answer = _ask(plugin, f'running PreScore plugin "{plugin}"', hook, state, pod, nodes)
            if isinstance(answer, Status) and answer.code is Code.SKIP:
                skipped.add(plugin)
            elif answer is not None:
                return answer if answer.code is Code.ERROR else _illegal(plugin, "PreScore", answer)
        totals = np.zeros(len(nodes), dtype=np.int64)
        normalizers = dict(self.chains["normalize_scores"])
        for plugin, hook in self.chains["score"]:
            if plugin in skipped:
                continue
            doing = f'running Score plugins: plugin "{plugin}" failed with'
            try:
                scores = np.fromiter(
                    (index(hook(state, pod, node)) for node in nodes), dtype=np.int64, count=len(nodes)
                )
                if plugin in normalizers:
                    doing = f'running Normalize on Score plugins: plugin "{plugin}" failed with'
                    normalizers[plugin](state, pod, scores)
            except Exception as error:
                return _blame(plugin, doing, error)
            if scores.min() < 0 or scores.max() > MAX_SCORE:
                wrong = int(scores.min() if scores.min() < 0 else scores.max())
                return Status.error(
                    f'applying score defaultWeights on Score plugins: plugin "{plugin}" returns an invalid score '
                    f"{wrong}, it should in the range of [0, {MAX_SCORE}] after normalizing"
                ).by(plugin)
            totals += scores * self.weights.get(plugin, 1)
        return totals

    def run_reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        for plugin, hook in self.chains["reserve"]:
            answer = _ask(plugin, f'running Reserve plugin "{plugin}"', hook, state, pod, node_name)
            if answer is not None:
                legal = isinstance(answer, Status) and (answer.is_rejected or answer.code is Code.ERROR)
                return answer if legal else _illegal(plugin, "Reserve", answer)
        return None

    def run_unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        """In reverse order, and every one of them, whatever the others do."""
        for plugin, hook in reversed(self.chains["unreserve"]):
            try:
                hook(state, pod, node_name)
            except Exception:
                self._complain(plugin, "unreserve", pod.key)

    # -- the binding cycle -------------------------------------------------------------------------------------------

    async def run_pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> PreBindPlan | Status:
        """All plans merged into one, or the first answer that is none."""
        plans: list[tuple[str, PreBindPlan]] = []
        for plugin, hook in self.chains["pre_bind"]:
            answer = await _ask_async(plugin, f'running PreBind plugin "{plugin}"', hook, state, pod, node_name)
            match answer:
                case None:
                    pass
                case PreBindPlan():
                    plans.append((plugin, answer))
                case Status() if answer.is_rejected or answer.code is Code.ERROR:
                    return answer
                case _:
                    return _illegal(plugin, "PreBind", answer)
        return merge(plans)

    async def run_bind(self, state: CycleState, pod: Pod, node_name: str) -> Binding | Status:
        """The first answer that is not None. Status(SUCCESS) means that the plugin bound the Pod itself."""
        for plugin, hook in self.chains["bind"]:
            answer = await _ask_async(plugin, f'running Bind plugin "{plugin}"', hook, state, pod, node_name)
            if answer is None:
                continue
            return answer if isinstance(answer, Binding | Status) else _illegal(plugin, "Bind", answer)
        return Status.error("no Bind plugin took the Pod")

    # -- blame -------------------------------------------------------------------------------------------------------

    def _tell(self, hook_name: str, subject: str, *args: object) -> None:
        for plugin, hook in self.chains[hook_name]:
            try:
                hook(*args)
            except Exception:
                self._complain(plugin, hook_name, subject)

    def _complain(self, plugin: str, hook_name: str, subject: str) -> None:
        """The first time with its traceback; a plugin that fails for each of 10,000 Pods fills no log."""
        first = (plugin, hook_name) not in self._warned
        self._warned.add((plugin, hook_name))
        logger.error("plugin %s failed in %s of %s", plugin, hook_name, subject, exc_info=first)


def _ask(plugin: str, doing: str, hook: Callable[..., Any], *args: object) -> Any:
    try:
        answer = hook(*args)
    except Exception as error:
        return _blame(plugin, doing, error)
    return _attribute(plugin, doing, answer)


async def _ask_async(plugin: str, doing: str, hook: Callable[..., Any], *args: object) -> Any:
    try:
        answer = hook(*args)
        if inspect.isawaitable(answer):
            answer = await _result(answer)
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise  # the host's own will
        return _blame(plugin, doing, error)  # something inside the plugin was cancelled
    except Exception as error:
        return _blame(plugin, doing, error)
    return _attribute(plugin, doing, answer)


async def _result(answer: Awaitable[Any]) -> Any:
    return await answer


def _attribute(plugin: str, doing: str, answer: Any) -> Any:
    """A Status with its plugin's name; an error also with what was going on, as upstream wraps it."""
    if not isinstance(answer, Status):
        return answer
    if answer.code is Code.ERROR:
        answer = Status.error(f"{doing}: {answer.message}", details=answer.details)
    return answer.by(plugin)


def _blame(plugin: str, doing: str, error: BaseException) -> Status:
    logger.error("%s: %s: %s", doing, type(error).__name__, error, exc_info=error)
    return Status.error(f"{doing}: {type(error).__name__}: {error}").by(plugin)


def _illegal(plugin: str, point: str, answer: object) -> Status:
    said = answer.code.name if isinstance(answer, Status) else type(answer).__name__
    return Status.error(f'plugin "{plugin}" answered {said}, which is unsupported at {point}').by(plugin)


def _narrow(nodes: Sequence[NodeInfo], wanted: Mapping[str, frozenset[str]]) -> Candidates | Status:
    """Only the nodes that every plugin of `wanted` named."""
    if not wanted:
        return Candidates(nodes)
    names = frozenset.intersection(*wanted.values())
    plugins = sorted(wanted)
    if not names and len(plugins) == 1:
        return Status.unresolvable(f"node(s) didn't satisfy plugin {plugins[0]}").by(plugins[0])
    reason = f"node(s) didn't satisfy plugin(s) [{' '.join(plugins)}]"
    if not names:
        return Status.unresolvable(f"{reason} simultaneously").by(plugins[0])
    return Candidates([node for node in nodes if node.name in names], Status.unresolvable(reason).by(plugins[0]))

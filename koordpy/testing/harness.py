"""CycleHarness: one attempt after the other with the real framework, cache and cycle, and no cluster."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from random import Random
from typing import Any

from koordpy.cache.cache import Cache
from koordpy.cache.columns import Columns
from koordpy.clock import SystemClock
from koordpy.config.defaults import DEFAULT_MULTI_POINT, DEFAULT_SCHEDULER_NAME
from koordpy.config.expand import ResolvedProfile
from koordpy.framework.build import build
from koordpy.framework.registry import Registry
from koordpy.framework.runner import Framework
from koordpy.queue.backoff import Backoff
from koordpy.queue.changes import NODE_ADDED, NODE_DELETED, POD_ASSIGNED, POD_DELETED, node_events, of_kind, pod_events
from koordpy.queue.hints import Hints, Worth
from koordpy.queue.pod_info import QueuedPodInfo
from koordpy.queue.queue import SchedulingQueue
from koordpy.scheduler.event_handlers import NodeEvents, PodEvents
from koordpy.scheduler.outcome import NotPlaced, Placed
from koordpy.scheduler.scheduling_cycle import SchedulingCycle
from koordpy.telemetry.metrics import Metrics
from koordpy.telemetry.problems import ProblemLog
from koordpy_api import ActionType, ClusterEvent, NodeInfo, PodInfo, PreBindPlan, Problem, Status
from koordpy_api.objects import KubeObject, Node, Pod


def build_profile(
    plugins: Sequence[str] | None = None,
    *,
    given: Mapping[str, type] | None = None,
    args: Mapping[str, Mapping[str, Any]] | None = None,
    problems: ProblemLog | None = None,
) -> Framework:
    """A profile of these plugins, or the default one. `given`: classes by name, beside the installed ones."""
    registry = Registry(given=given)
    names = plugins or [name for name, _ in DEFAULT_MULTI_POINT if name in registry]
    weights = {name: weight for name, weight in DEFAULT_MULTI_POINT if weight}
    report = problems.report if problems else _ignore
    profile = ResolvedProfile.of(DEFAULT_SCHEDULER_NAME, names, registry, weights, args)
    return build(profile, registry, report, {})


def columns_of(objects: Sequence[NodeInfo | Node | Pod]) -> Columns:
    """Columns as the host makes them, of just these nodes, with the pods that are assigned to them.

    Its `nodes` has the NodeInfo of each row; its `change` and `catch_up` move a node.
    """
    infos: dict[str, NodeInfo] = {}
    for each in objects:
        match each:
            case NodeInfo():
                infos[each.name] = each
            case Node():
                name = each.metadata.name
                infos[name] = infos.get(name, NodeInfo(name)).with_node(each)
            case Pod():
                name = each.spec.node_name
                infos[name] = infos.get(name, NodeInfo(name)).with_pod(PodInfo.of(each, ()))
    return Columns(list(infos.values()))


class CycleHarness:
    """What a scheduler believes, and one cycle at a time.

    Feed it objects with add, update and delete, as a watch would; `schedule` makes one attempt.
    """

    def __init__(self, objects: Iterable[KubeObject] = (), framework: Framework | None = None, seed: int = 0) -> None:
        self.problems = ProblemLog(Metrics())
        self.framework = framework or build_profile(problems=self.problems)
        self.cache = Cache([self.framework], self.framework.annotation_prefixes)
        self.framework.nodes.find = self.cache.node
        hints = Hints({self.framework.profile: self.framework.registrations})
        self.queue = SchedulingQueue(
            self.framework.queue_sort, SystemClock(), Backoff(), self.framework.run_pre_enqueue, hints
        )
        self._cycle = SchedulingCycle(self.cache, Random(seed))
        report = self.problems.report
        self._pods = PodEvents(self.cache, self.queue, {self.framework.profile}.__contains__, report, self._release)
        self._nodes = NodeEvents(self.cache, self.queue, report)
        self.add(*objects)

    def add(self, *objects: KubeObject) -> None:
        for obj in objects:
            for handler in self._handlers(obj):
                handler.added(obj)

    def update(self, old: KubeObject, new: KubeObject) -> None:
        for handler in self._handlers(new):
            handler.updated(old, new)

    def delete(self, *objects: KubeObject) -> None:
        for obj in objects:
            for handler in self._handlers(obj):
                handler.deleted(obj)

    def schedule(self, pod: Pod) -> Placed | NotPlaced:
        """One attempt. What it holds stays held; undo it with `forget`."""
        return self._cycle.schedule(self.framework, QueuedPodInfo(pod, 0.0, 0.0))

    def plan(self, placed: Placed) -> PreBindPlan:
        """What the plugins want written with the bind."""
        plan = asyncio.run(self.framework.run_pre_bind(placed.state, placed.pod, placed.node_name))
        if isinstance(plan, Status):
            raise AssertionError(f"pre_bind refused: {plan.message}")
        return plan

    def wakes(self, plugin: str, pod: Pod, old: KubeObject | None, new: KubeObject | None) -> bool:
        """Would this change make a Pod that `plugin` refused worth another attempt? old None: it came; new None: gone.

        The harness must have been told of the change before, as the scheduler is.
        """
        hints = Hints({self.framework.profile: self.framework.registrations})
        queued = QueuedPodInfo(pod, 0.0, 0.0, refused_by=frozenset((plugin,)))
        concerns = [concern for event in _events(old, new) if (concern := hints.concern(event)) is not None]
        return any(
            hints.may_help(queued, each) and hints.worth(queued, each, old, new) is not Worth.NO for each in concerns
        )

    def forget(self, placed: Placed) -> None:
        """Undo a placement, as a failed bind does."""
        self.framework.run_unreserve(placed.state, placed.pod, placed.node_name)
        self.cache.forget(placed.pod.uid)

    def _release(self, uid: str) -> None:
        self.framework.waiting.reject(uid, "removed")

    def _handlers(self, obj: KubeObject) -> list[Any]:
        if isinstance(obj, Pod):
            return [self._pods]
        if isinstance(obj, Node):
            return [self._nodes]
        return [each.handler for each in self.framework.subscriptions if each.kind is type(obj)]


def _events(old: KubeObject | None, new: KubeObject | None) -> Sequence[ClusterEvent]:
    match old, new:
        case Node(), Node():
            return node_events(old, new)
        case Pod(), Pod():
            return pod_events(old, new)
        case None, Node():
            return [NODE_ADDED]
        case Node(), None:
            return [NODE_DELETED]
        case None, Pod():
            return [POD_ASSIGNED]
        case Pod(), None:
            return [POD_DELETED]
    action = ActionType.ADD if old is None else ActionType.DELETE if new is None else ActionType.UPDATE
    obj = new or old
    assert obj is not None
    return [of_kind(obj.KIND, action)]


def _ignore(_kind: str, _name: str, _problem: Problem) -> None:
    """A profile built by itself has nobody to report to."""

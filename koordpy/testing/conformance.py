"""check_plugin: does a plugin keep the rules that every plugin has to keep? For plugin authors' tests."""

import copy
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from koordpy.config.defaults import DEFAULT_SCHEDULER_NAME
from koordpy.config.expand import ResolvedProfile
from koordpy.framework.build import build
from koordpy.framework.declaration import declare
from koordpy.framework.points import AWAITABLE_HOOKS, REGISTRATION_HOOK
from koordpy.framework.registry import Registry
from koordpy.framework.runner import Framework
from koordpy.testing.harness import CycleHarness
from koordpy.testing.makers import make_node, make_pod
from koordpy_api import CycleState, NodeInfo, PodInfo, Status
from koordpy_api.objects import KubeObject, Node, Pod


def check_plugin(
    plugin: type,
    args: Mapping[str, Any] | None = None,
    *,
    pod: Pod | None = None,
    objects: Sequence[KubeObject] = (),
) -> None:
    """The class is right; a Pod goes through every hook, and none of them breaks a rule.

    pod, objects: what it has something to do with; by default a plain Pod and three plain nodes.
    Raises: PluginError or ConfigError for what keeps it from starting, AssertionError for a rule that it breaks.
    """
    name = plugin.__name__
    declaration = declare(name, plugin)
    others = [other for other, hook in (("PrioritySort", "queue_sort"),) if hook not in declaration.hooks]
    given = {name: plugin}
    registry = Registry(given=given)
    names = (*others, name, "DefaultBinder")
    profile = ResolvedProfile.of(DEFAULT_SCHEDULER_NAME, names, registry, args={name: args or {}})
    framework = build(profile, registry, lambda kind, name, problem: None, {})
    world = objects or [make_node(f"n{number}") for number in (1, 2, 3)]
    _Check(name, framework, world, pod or make_pod("conformance")).run()


class _Check:
    """One plugin, one Pod, some nodes."""

    def __init__(self, plugin: str, framework: Framework, objects: Sequence[KubeObject], pod: Pod) -> None:
        self._plugin = plugin
        self._framework = framework
        self._pod = pod
        self._harness = CycleHarness(objects, framework)
        self._nodes: Sequence[NodeInfo] = self._harness.cache.update_snapshot().nodes
        assert any(isinstance(each, Node) for each in objects), "check_plugin needs a Node among its objects"

    def run(self) -> None:
        before = copy.deepcopy(self._nodes)
        state = CycleState()
        self._ask("pre_filter", state, self._pod, self._nodes)
        first = self._filter(state)
        self._same(first, self._filter(state), "filter answers the same question differently the second time")
        self._same(first, self._filter(state.clone()), "filter needs something that a clone of its state does not have")
        self._dry_run(state, first)
        self._same(first, self._filter(state), "a dry run in a clone changes what filter says of the real node")
        self._score(state)
        self._hold(state)
        assert list(before) == list(self._nodes), f"{self._plugin} changes a NodeInfo that it was only given to read"

    def _filter(self, state: CycleState) -> list[object]:
        return [self._ask("filter", state, self._pod, node) for node in self._nodes]

    def _dry_run(self, state: CycleState, first: list[object]) -> None:
        """Another Pod comes and goes; then everything is as it was."""
        clone, node = state.clone(), self._nodes[0]
        other = PodInfo.of(make_pod("conformance-other"), self._framework.annotation_prefixes, node.name)
        self._ask("add_pod", clone, self._pod, other, node.with_pod(other))
        self._ask("remove_pod", clone, self._pod, other, node)
        self._same(
            first, self._filter(clone), "after add_pod and remove_pod of the same Pod filter answers differently"
        )

    def _score(self, state: CycleState) -> None:
        if isinstance(answer := self._ask("pre_score", state, self._pod, self._nodes), Status) and answer.reasons:
            raise AssertionError(f"{self._plugin}: pre_score may skip, but not refuse: {answer.message}")
        if self._hook("score") is None or isinstance(answer, Status):
            return
        scores = np.array([self._ask("score", state, self._pod, node) for node in self._nodes], dtype=np.int64)
        self._ask("normalize_scores", state, self._pod, scores)
        assert scores.min() >= 0 and scores.max() <= 100, f"{self._plugin}: scores {list(scores)} are not in 0..100"

    def _hold(self, state: CycleState) -> None:
        """Unreserve may come without its reserve, and twice; a Pod that was added may be removed."""
        node = self._nodes[0]
        self._ask("unreserve", state, self._pod, node.name)
        counted = PodInfo.of(self._pod, self._framework.annotation_prefixes, node.name)
        self._ask("pod_added", self._pod, node.with_pod(counted))
        self._ask("reserve", state, self._pod, node.name)
        for _ in range(2):
            self._ask("unreserve", state, self._pod, node.name)
        self._ask("pod_removed", counted, node)
        self._ask("pod_refused", self._pod, frozenset({self._plugin}))

    def _ask(self, hook: str, *args: object) -> Any:
        """The plugin's own answer, or None if it has no such hook; what it raises, the test sees."""
        if (function := self._hook(hook)) is None:
            return None
        answer = function(*args)
        may_await = hook in AWAITABLE_HOOKS or hook == REGISTRATION_HOOK
        assert may_await or not inspect.isawaitable(answer), f"{self._plugin}: {hook} answers something to await"
        return answer

    def _hook(self, hook: str) -> Callable[..., Any] | None:
        return dict(self._framework.chains[hook]).get(self._plugin)

    def _same(self, first: object, second: object, otherwise: str) -> None:
        assert first == second, f"{self._plugin}: {otherwise}: {first} and {second}"

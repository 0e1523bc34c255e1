"""check_plugin: does a plugin keep the rules that every plugin has to keep? For plugin authors' tests."""

import copy
import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from koordpy.config.defaults import DEFAULT_SCHEDULER_NAME
from koordpy.config.expand import ResolvedProfile
from koordpy.framework.build import build
from koordpy.framework.calls import illegal
from koordpy.framework.declaration import declare
from koordpy.framework.points import AWAITABLE_HOOKS, REGISTRATION_HOOK
from koordpy.framework.registry import Registry
from koordpy.framework.runner import Framework
from koordpy.testing.answers import legal_at, normalize, prepared, scored
from koordpy.testing.harness import CycleHarness
from koordpy.testing.makers import make_node, make_pod
from koordpy.testing.shapes import check_shapes_of
from koordpy_api import Code, CycleState, NodeInfo, PodInfo, PreFilterResult, Status
from koordpy_api.objects import KubeObject, Node, Pod


def check_plugin(
    plugin: type,
    args: Mapping[str, Any] | None = None,
    *,
    pod: Pod | None = None,
    objects: Sequence[KubeObject] = (),
) -> None:
    """The class is right; a Pod goes from PreFilter to Reserve and back, no hook breaks a rule, and shapes agree.

    pod, objects: what it has something to do with; by default a plain Pod and a few nodes, of which only one is plain.
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
    _Check(name, framework, objects or _some_of_everything(), pod or make_pod("conformance")).run()


def _some_of_everything() -> list[KubeObject]:
    """Nodes that differ in all that columns show of them, and pods on some of them."""
    zone, widget, taint = "topology.kubernetes.io/zone", "example.test/widget", "node.kubernetes.io/unschedulable"
    return [
        make_node("n1"),
        make_node(
            "n2", labels={zone: "a", "kubernetes.io/hostname": "n2"}, images={"registry.example.test/pause": 700}
        ),
        make_node("n3", labels={zone: "b"}, taints=[{"key": "dedicated", "value": "x", "effect": "NoSchedule"}]),
        make_node("n4", unschedulable=True, taints=[{"key": taint, "effect": "NoSchedule"}]),
        make_node("n5", labels={zone: "b"}, extended={widget: 4}),
        make_node("n6", cpu=1, memory="1Gi", pods=1),
        make_node("n7"),  # an odd number: who answers in turns is found
        make_pod("conformance-2a", node="n2", labels={"app": "web"}, requests={"cpu": 2, "memory": "1Gi"}),
        make_pod("conformance-2b", node="n2"),
        make_pod("conformance-5", node="n5", requests={"cpu": "500m", widget: 3}),
        make_pod("conformance-6", node="n6", requests={"cpu": 1, "memory": "1Gi"}),
    ]


class _Check:
    """One plugin, one Pod, some nodes."""

    def __init__(self, plugin: str, framework: Framework, objects: Sequence[KubeObject], pod: Pod) -> None:
        self._plugin = plugin
        self._framework = framework
        self._pod = pod
        self._harness = CycleHarness(objects, framework)
        self._columns = self._harness.cache.update_snapshot().columns
        self._nodes: Sequence[NodeInfo] = self._columns.nodes
        assert any(isinstance(each, Node) for each in objects), "check_plugin needs a Node among its objects"

    def run(self) -> None:
        before = copy.deepcopy(self._nodes)
        state = CycleState()
        answer = prepared(self._plugin, self._ask("pre_filter", state, self._pod, self._nodes))
        self._skips = isinstance(answer, Status) and answer.code is Code.SKIP
        first = self._filter(state)
        self._same(first, self._filter(state), "filter answers the same question differently the second time")
        self._same(first, self._filter(state.clone()), "filter needs something that a clone of its state does not have")
        self._dry_run(state, first)
        self._same(first, self._filter(state), "a dry run in a clone changes what filter says of the real node")
        if not isinstance(answer, Status) or self._skips:
            names = answer.node_names if isinstance(answer, PreFilterResult) else self._columns.names
            fit = [node for node, refusal in zip(self._nodes, first, strict=True) if refusal is None]
            self._score(state, [node for node in fit if node.name in names])
        check_shapes_of(self._plugin, self._framework, self._pod, self._columns)
        self._hold(state)
        assert list(before) == list(self._nodes), f"{self._plugin} changes a NodeInfo that it was only given to read"

    def _filter(self, state: CycleState) -> list[object]:
        """Not asked where PreFilter skips, as in the cycle."""
        if self._skips:
            return [None] * len(self._nodes)
        return [legal_at(self._plugin, "Filter", self._ask("filter", state, self._pod, each)) for each in self._nodes]

    def _dry_run(self, state: CycleState, first: list[object]) -> None:
        """Another Pod comes and goes; then everything is as it was."""
        if self._skips:
            return
        clone, node = state.clone(), self._nodes[0]
        other = PodInfo.of(make_pod("conformance-other"), self._framework.annotation_prefixes, node.name)
        self._ask("add_pod", clone, self._pod, other, node.with_pod(other))
        self._ask("remove_pod", clone, self._pod, other, node)
        self._same(
            first, self._filter(clone), "after add_pod and remove_pod of the same Pod filter answers differently"
        )

    def _score(self, state: CycleState, nodes: Sequence[NodeInfo]) -> None:
        """Asked of the nodes that fit, as in the cycle."""
        if not nodes:
            return
        answer = self._ask("pre_score", state, self._pod, nodes)
        if isinstance(answer, Status) and answer.code is not Code.SKIP:
            raise AssertionError(f"{self._plugin}: pre_score may skip, but not refuse: {answer.message}")
        if answer is not None and not isinstance(answer, Status):
            raise AssertionError(illegal(self._plugin, "PreScore", answer).message)
        if self._hook("score") is None or answer is not None:
            return
        scores = scored(self._plugin, functools.partial(self._ask, "score"), state, self._pod, nodes)
        normalize(self._plugin, self._hook("normalize_scores"), state, self._pod, scores)
        told = scores.tolist()
        assert min(told) >= 0 and max(told) <= 100, f"{self._plugin}: scores {told} are not in 0..100"

    def _hold(self, state: CycleState) -> None:
        """Unreserve may come without its reserve, and twice; a Pod that was added may be removed."""
        node = self._nodes[0]
        self._ask("unreserve", state, self._pod, node.name)
        counted = PodInfo.of(self._pod, self._framework.annotation_prefixes, node.name)
        self._ask("pod_added", self._pod, node.with_pod(counted))
        legal_at(self._plugin, "Reserve", self._ask("reserve", state, self._pod, node.name))
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

"""Whose code runs on a thread is read from its stack: right for every hook that the host calls."""

import asyncio
import inspect
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from koordpy.cache.snapshot import NodeRows
from koordpy.clock import LoopClock
from koordpy.cluster.embedded.cluster import EmbeddedCluster
from koordpy.cluster.informer import Informer
from koordpy.framework.measuring import Meter
from koordpy.framework.points import EVENT_HOOKS, POINTS
from koordpy.framework.runner import Framework
from koordpy.framework.whereabouts import Whereabouts, traceback_of, whereabouts
from koordpy.scheduler.scheduler import timed_twin
from koordpy.telemetry.families import Families
from koordpy.testing import build_profile, columns_of, make_node, make_pod
from koordpy.virtual_time import run
from koordpy_api import CycleState, NoArgs, QueuedPod, SortKey, hookimpl
from koordpy_api.objects import Node, Pod
from tests.framework.scripted_plugins import info, nodes, plugin

POD = make_pod("p")
NODES = nodes(make_node("n1"), make_node("n2"))
MANY = NodeRows(columns_of(nodes(*(make_node(f"n{number}") for number in range(20)))))
Ask = Callable[[Framework, CycleState], Any]

CALLS: dict[str, Ask] = {
    "pre_enqueue": lambda framework, state: framework.run_pre_enqueue(POD),
    "pre_filter": lambda framework, state: framework.run_pre_filter(state, POD, NODES),
    "add_pod": lambda framework, state: framework.run_add_pod(state, POD, info(make_pod("other")), NODES[0]),
    "remove_pod": lambda framework, state: framework.run_remove_pod(state, POD, info(make_pod("other")), NODES[0]),
    "filter": lambda framework, state: framework.run_filter(state, POD, NODES),
    "filter_nodes": lambda framework, state: framework.run_filter(state, POD, MANY),
    "post_filter": lambda framework, state: framework.run_post_filter(state, POD, {}),
    "pre_score": lambda framework, state: framework.run_score(state, POD, NODES),
    "score": lambda framework, state: framework.run_score(state, POD, NODES),
    "score_nodes": lambda framework, state: framework.run_score(state, POD, MANY),
    "normalize_scores": lambda framework, state: framework.run_score(state, POD, NODES),
    "reserve": lambda framework, state: framework.run_reserve(state, POD, "n1"),
    "unreserve": lambda framework, state: framework.run_unreserve(state, POD, "n1"),
    "permit": lambda framework, state: framework.run_permit(state, POD, "n1"),
    "pre_bind": lambda framework, state: framework.run_pre_bind(state, POD, "n1"),
    "bind": lambda framework, state: framework.run_bind(state, POD, "n1"),
    "post_bind": lambda framework, state: framework.run_post_bind(state, POD, "n1"),
    "pod_refused": lambda framework, state: framework.pod_refused(POD, frozenset),
    "pod_added": lambda framework, state: framework.pod_added(POD, NODES[0]),
    "pod_removed": lambda framework, state: framework.pod_removed(info(POD), NODES[0]),
    "pod_updated": lambda framework, state: framework.pod_updated(info(POD), POD, NODES[0]),
    "node_updated": lambda framework, state: framework.node_updated(NODES[0], NODES[0]),
    "check": lambda framework, state: framework.run_check(POD),
}
WITHOUT_A_POD = ("node_updated",)


def looking(seen: list[Whereabouts]) -> Callable[..., None]:
    """A hook that looks at its own thread."""

    def look(*args: object) -> None:
        seen.append(whereabouts(sys._getframe()))

    return look


def named(hook_name: str, body: Callable[..., Any]) -> Any:
    """body with the arguments that the hook is specified with."""
    arguments = {
        "pre_enqueue": "pod",
        "pre_filter": "state, pod, nodes",
        "add_pod": "state, pod, added, node_info",
        "remove_pod": "state, pod, removed, node_info",
        "filter": "state, pod, node_info",
        "filter_nodes": "state, pod, columns",
        "post_filter": "state, pod, refusals",
        "pre_score": "state, pod, nodes",
        "score": "state, pod, node_info",
        "score_nodes": "state, pod, columns, rows",
        "normalize_scores": "state, pod, scores",
        "pod_refused": "pod, plugins",
        "pod_added": "pod, node_info",
        "pod_removed": "pod, node_info",
        "pod_updated": "old, new, node_info",
        "node_updated": "old, new",
        "check": "obj",
    }.get(hook_name, "state, pod, node_name")
    answer = {"score": "0", "score_nodes": "columns.pods[rows]", "check": "()"}.get(hook_name, "None")
    scope: dict[str, Any] = {"body": body}
    text = f"def {hook_name}({arguments}):\n    body()\n    return {answer}\n"
    exec(compile(text, "<a plugin>", "exec"), scope)
    return scope[hook_name]


def framework_with(hook_name: str, body: Callable[..., Any]) -> Framework:
    hooks = {hook_name: named(hook_name, body)}
    if hook_name in ("add_pod", "remove_pod"):
        hooks["pre_filter"] = named("pre_filter", lambda: None)
    if hook_name == "filter_nodes":
        hooks["filter"] = named("filter", lambda: None)
    if hook_name in ("normalize_scores", "score_nodes"):
        hooks["score"] = named("score", lambda: None)
    return build_profile(("PrioritySort", "Curious", "DefaultBinder"), given={"Curious": plugin(**hooks)})


@pytest.mark.parametrize("hook_name", CALLS)
@pytest.mark.parametrize("timed", [False, True], ids=["as always", "while each plugin is timed"])
def test_plugin_hook_and_pod_are_known_while_the_hook_runs(hook_name: str, timed: bool) -> None:
    seen: list[Whereabouts] = []
    framework = framework_with(hook_name, looking(seen))
    if timed:
        framework = timed_twin(measured(framework))

    async def ask() -> None:
        answer = CALLS[hook_name](framework, CycleState())
        if inspect.isawaitable(answer):
            await answer

    run(ask())
    found = seen[0]
    assert (found.plugin, found.hook) == ("Curious", hook_name)
    assert found.pod == ("" if hook_name in WITHOUT_A_POD else "default/p")
    assert found.node == "n1" or (not found.node and found.pod)
    assert "look (test_whereabouts.py:" in found.place or "looking.<locals>.look" in found.place


def measured(framework: Framework) -> Framework:
    return replace(framework, meter=Meter(framework.profile, Families(), lambda: 0.0))


def test_the_node_that_is_looked_at_is_named_too() -> None:
    seen: list[Whereabouts] = []
    framework_with("filter", looking(seen)).run_filter(CycleState(), POD, NODES)
    assert [(found.pod, found.node) for found in seen] == [("default/p", "n1"), ("default/p", "n2")]
    assert str(seen[0]).startswith("in plugin Curious, filter of default/p on n1, at ")


def test_a_hook_that_is_async_is_known_where_it_stands_after_an_await() -> None:
    seen: list[Whereabouts] = []

    class Slow:
        Args = NoArgs

        def __init__(self, args: NoArgs, handle: object) -> None: ...

        @hookimpl
        async def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> None:
            await asyncio.sleep(1)
            seen.append(whereabouts(sys._getframe()))

    framework = build_profile(("PrioritySort", "Slow", "DefaultBinder"), given={"Slow": Slow})
    run(as_coroutine(framework.run_pre_bind(CycleState(), POD, "n1")))
    assert [(found.plugin, found.hook, found.pod) for found in seen] == [("Slow", "pre_bind", "default/p")]


async def as_coroutine(awaitable: Awaitable[Any]) -> Any:
    return await awaitable


def test_the_key_of_the_queue_is_a_hook_like_any_other() -> None:
    seen: list[Whereabouts] = []

    class Order:
        Args = NoArgs

        def __init__(self, args: NoArgs, handle: object) -> None: ...

        @hookimpl
        def queue_sort(self, queued: QueuedPod) -> SortKey:
            seen.append(whereabouts(sys._getframe()))
            return (0,)

    framework = build_profile(("Order", "DefaultBinder"), given={"Order": Order})
    framework.queue_sort(QueuedPod(POD, 0, 0, 0))
    assert [(found.plugin, found.hook) for found in seen] == [("Order", "queue_sort")]


def test_a_plugins_handler_of_objects_is_known_by_its_class() -> None:
    seen: list[Whereabouts] = []

    class Curious:
        def added(self, obj: Node) -> None:
            seen.append(whereabouts(sys._getframe()))

        def updated(self, old: Node, new: Node) -> None: ...

        def deleted(self, obj: Node) -> None: ...

    async def scene() -> None:
        cluster = EmbeddedCluster(LoopClock(), Random(0))
        informer = Informer(cluster, Node, lambda *problem: None, Random(0))
        informer.add_handler(Curious())
        await informer.replace([make_node("n1")])

    run(scene())
    ((plugin_name, hook),) = [(found.plugin, found.hook) for found in seen]
    assert plugin_name.endswith("Curious")
    assert hook == "told of an object"


def test_where_no_plugin_runs_the_place_is_told() -> None:
    found = whereabouts(sys._getframe())
    assert found.plugin == found.hook == found.pod == found.node == ""
    assert str(found).startswith(
        "in no plugin, but in test_where_no_plugin_runs_the_place_is_told (test_whereabouts.py:"
    )


def test_the_stack_can_be_shown_as_a_traceback_whose_last_line_is_the_innermost_frame() -> None:
    made = traceback_of(sys._getframe())
    assert made is not None
    while made.tb_next is not None:
        made = made.tb_next
    assert made.tb_frame is sys._getframe()


def test_every_hook_that_is_called_in_an_attempt_is_in_this_test() -> None:
    called = {hook for point in POINTS for hook in point.hooks} | {*EVENT_HOOKS}
    assert called - {"queue_sort"} <= CALLS.keys()

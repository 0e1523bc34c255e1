"""check_plugin finds plugins that break a rule, and leaves the others alone."""

from typing import Any

import pytest

from koordpy.errors import ConfigError, PluginError
from koordpy.framework.registry import Registry
from koordpy.testing import check_plugin, make_device, make_node, make_pod
from koordpy_api import CycleState, Handle, NoArgs, NodeInfo, StateKey, Status, hookimpl
from koordpy_api.koordinator import GPU_CORE, GPU_MEMORY_RATIO
from koordpy_api.objects import Pod
from tests.framework.scripted_plugins import plugin, raising

COUNT = StateKey[list[int]]("Count", clone=list.copy)
SHARED = StateKey[list[int]]("Shared", clone=lambda same: same)


class Base:
    Args = NoArgs

    def __init__(self, args: NoArgs, handle: Handle) -> None:
        self.calls = 0


class Forgetful(Base):
    @hookimpl
    def filter(self) -> Status | None:
        self.calls += 1
        return Status.unschedulable("odd") if self.calls % 2 else None


class OneWay(Base):
    @hookimpl
    def pre_filter(self, state: CycleState) -> None:
        state.write(COUNT, [0])

    @hookimpl
    def add_pod(self, state: CycleState) -> None:
        state.read(COUNT).append(1)

    @hookimpl
    def filter(self, state: CycleState) -> Status | None:
        return Status.unschedulable("full") if len(state.read(COUNT)) > 1 else None


class WithoutCopy(Base):
    @hookimpl
    def pre_filter(self, state: CycleState) -> None:
        state.write(SHARED, [])

    @hookimpl
    def add_pod(self, state: CycleState) -> None:
        state.read(SHARED).append(1)

    @hookimpl
    def filter(self, state: CycleState) -> Status | None:
        return Status.unschedulable("full") if state.read(SHARED) else None


class Scribbler(Base):
    @hookimpl
    def filter(self, node_info: NodeInfo) -> None:
        node_info.requested["cpu"] = 1  # type: ignore[index]


class Once(Base):
    @hookimpl
    def reserve(self, pod: Pod) -> None:
        self.held = {pod.uid}

    @hookimpl
    def unreserve(self, pod: Pod) -> None:
        self.held.remove(pod.uid)


async def _later() -> None: ...


def row(name: str, *values: Any) -> Any:
    return pytest.param(*values, id=name)


@pytest.mark.parametrize(
    ("broken", "error", "text"),
    [
        row("two answers to one question", Forgetful, AssertionError, "filter answers the same question differently"),
        row("a Pod that comes and never goes", OneWay, AssertionError, "after add_pod and remove_pod of the same Pod"),
        row("a state that is no copy", WithoutCopy, AssertionError, "filter answers differently|a dry run in a clone"),
        row("a NodeInfo that is written to", Scribbler, AssertionError, "changes a NodeInfo that it was only given"),
        row("an unreserve without its reserve", Once, AttributeError, "held"),
        row("a score of 1000", plugin(score=lambda: 1000), AssertionError, r"are not in 0\.\.100"),
        row(
            "a pre_score that refuses", plugin(pre_score=lambda: Status.unschedulable("no")), AssertionError, "may skip"
        ),
        row("a hook that raises", plugin(filter=raising(ValueError("boom"))), ValueError, "boom"),
        row("a class that cannot be used", plugin(API_VERSION=9), PluginError, "is written for plugin API 9"),
    ],
)
def test_a_broken_rule_is_found(broken: type, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        check_plugin(broken)


def test_a_hook_that_hides_an_await_is_found() -> None:
    later = _later()
    with pytest.raises(AssertionError, match="filter answers something to await"):
        check_plugin(plugin(filter=lambda: later))
    later.close()


def test_wrong_arguments_are_found() -> None:
    with pytest.raises(ConfigError, match="unknown field"):
        check_plugin(plugin(filter=lambda: None), {"any": 1})


@pytest.mark.parametrize("name", Registry().names)
def test_our_own_plugins_keep_the_rules(name: str) -> None:
    pod = make_pod("asks", requests={"cpu": 1, GPU_CORE: 50, GPU_MEMORY_RATIO: 50})
    check_plugin(Registry().load(name), pod=pod, objects=[make_node("n1"), make_device("n1", 2), make_node("n2")])

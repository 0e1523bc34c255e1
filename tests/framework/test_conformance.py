"""check_plugin finds plugins that break a rule, and leaves the others alone."""

from typing import Any

import numpy as np
import pytest

from koordpy.errors import ConfigError, PluginError
from koordpy.framework.registry import Registry
from koordpy.testing import check_plugin, make_device, make_node, make_pod
from koordpy_api import CycleState, Handle, NoArgs, NodeInfo, StateKey, Status, Verdicts, hookimpl
from koordpy_api.koordinator import GPU_CORE, GPU_MEMORY_RATIO
from koordpy_api.objects import Pod
from tests.framework.scripted_plugins import plugin, raising, skipping

FULL = Status.unschedulable("full")
KEPT = np.array([1, 1, 3, 1, 1, 1, 1])
ZONE = "topology.kubernetes.io/zone"
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


class Picky(Base):
    """Its score would break on a node without the label."""

    @hookimpl
    def filter(self, node_info: NodeInfo) -> Status | None:
        return None if ZONE in node_info.labels else Status.unresolvable("no zone")

    @hookimpl
    def score(self, node_info: NodeInfo) -> int:
        return len(node_info.labels[ZONE])


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
        row(
            "a vector shape that says something else",
            plugin(filter=lambda: None, filter_nodes=lambda columns: Verdicts.where(columns.pods == 0, FULL)),
            AssertionError,
            "of node n1 filter_nodes says .*full.*, and filter None",
        ),
        row(
            "a vector shape that accepts what is refused",
            plugin(filter=lambda: FULL, filter_nodes=lambda: None),
            AssertionError,
            "of node n1 filter_nodes says None, and filter .*full",
        ),
        row(
            "a vector shape that raises",
            plugin(filter=lambda: None, filter_nodes=raising(ValueError("boom"))),
            AssertionError,
            "filter_nodes fails, where filter does not: ValueError: boom",
        ),
        row(
            "a vector shape that is broken by its own account",
            plugin(filter=lambda: None, filter_nodes=lambda: Status.error("no socket")),
            AssertionError,
            "filter_nodes fails, where filter does not: no socket",
        ),
        row(
            "a vector shape that writes into a column",
            plugin(filter=lambda: None, filter_nodes=lambda columns: columns.pods.fill(0)),
            AssertionError,
            "filter_nodes fails, where filter does not: ValueError: .*read-only",
        ),
        row(
            "a vector shape that looks at nothing but whether there are pods",
            plugin(filter=lambda: None, filter_nodes=lambda columns: Verdicts.where(columns.pods >= 1, FULL)),
            AssertionError,
            "of node n. filter_nodes says .*full.*, and filter None",
        ),
        row(
            "a vector shape that refuses where there is a cordon",
            plugin(filter=lambda: None, filter_nodes=lambda columns: Verdicts.where(columns.unschedulable, FULL)),
            AssertionError,
            "of node n4 filter_nodes says .*full.*, and filter None",
        ),
        row(
            "verdicts of another dtype",
            plugin(filter=lambda: None, filter_nodes=lambda columns: Verdicts(columns.pods * 0, [FULL])),
            AssertionError,
            r"filter_nodes answered codes of int64\[7\]; uint16\[7\] is wanted, one per row",
        ),
        row(
            "verdicts of another length",
            plugin(filter=lambda: None, filter_nodes=lambda: Verdicts(np.zeros(2, np.uint16), [FULL])),
            AssertionError,
            r"filter_nodes answered codes of uint16\[2\]; uint16\[7\] is wanted",
        ),
        row(
            "a code without a reason",
            plugin(filter=lambda: None, filter_nodes=lambda: Verdicts(np.full(7, 2, np.uint16), [FULL])),
            AssertionError,
            "filter_nodes answered code 2, but has 1 reasons",
        ),
        row(
            "a reason that is no refusal",
            plugin(filter=lambda: FULL, filter_nodes=lambda: Verdicts(np.ones(7, np.uint16), [Status.skip()])),
            AssertionError,
            "SKIP.* among the reasons of filter_nodes is no refusal",
        ),
        row(
            "a vector shape that answers what Filter does not know",
            plugin(filter=lambda: None, filter_nodes=lambda: Status.skip()),
            AssertionError,
            "answered SKIP, which is unsupported at Filter",
        ),
        row(
            "a filter that answers False", plugin(filter=lambda: False), AssertionError, "answered bool, which is unsup"
        ),
        row(
            "a filter of both shapes that answers a text",
            plugin(filter=lambda: "no", filter_nodes=lambda: None),
            AssertionError,
            "answered str, which is unsupported at Filter",
        ),
        row(
            "a filter that skips",
            plugin(filter=skipping),
            AssertionError,
            "answered SKIP, which is unsupported at F",
        ),
        row(
            "a pre_filter that answers a list",
            plugin(pre_filter=lambda: ["n1"]),
            AssertionError,
            "answered list, which is unsupported at PreFilter",
        ),
        row("a reserve that skips", plugin(reserve=skipping), AssertionError, "answered SKIP, .* at Reserve"),
        row(
            "half a score",
            plugin(score=lambda: 0.5),
            AssertionError,
            "score answers 0.5 of node n1; an integer is want",
        ),
        row("a score that is a text", plugin(score=lambda: "7"), AssertionError, "answers '7' of node n1; .* not str"),
        row(
            "rows that are written to",
            plugin(score=lambda: 5, score_nodes=lambda rows: rows.fill(5)),
            ValueError,
            "read-only",
        ),
        row(
            "scores of another dtype",
            plugin(score=lambda: 5, score_nodes=lambda rows: np.full(len(rows), 5.0)),
            AssertionError,
            r"score_nodes answered float64\[7\]; int64\[7\] is wanted, one per row",
        ),
        row(
            "normalised scores in a new array",
            plugin(score=lambda: 5, normalize_scores=lambda scores: scores * 2),
            AssertionError,
            "answered ndarray, which is unsupported at NormalizeScore: it changes scores in place",
        ),
        row(
            "an error instead of normalised scores",
            plugin(score=lambda: 5, normalize_scores=lambda: Status.error("no weights")),
            AssertionError,
            "running Normalize on Score plugins: .*no weights",
        ),
        row(
            "other scores of all nodes than of each",
            plugin(score=lambda: 7, score_nodes=lambda rows: rows * 0 + 8),
            AssertionError,
            "the score of node n1 is 8 by score_nodes, 7 by score",
        ),
        row(
            "scores of which only the first are right",
            plugin(score=lambda: 1, score_nodes=lambda rows: KEPT[rows], normalize_scores=lambda scores: None),
            AssertionError,
            "the score of node n3 is 3 by score_nodes",
        ),
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


def test_what_the_vector_shape_raised_is_told_as_the_cause() -> None:
    boom = ValueError("boom")
    with pytest.raises(AssertionError) as caught:
        check_plugin(plugin(filter=lambda: None, filter_nodes=raising(boom)))
    assert caught.value.__cause__ is boom


@pytest.mark.parametrize(
    "fine",
    [
        row("it needs nothing", plugin(filter=lambda: None, score=lambda: 50)),
        row("a score that is a number of another library", plugin(score=lambda: np.int16(7))),
        row("it scores only the nodes that it let pass", Picky),
    ],
)
def test_what_the_host_takes_passes(fine: type) -> None:
    check_plugin(fine)


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

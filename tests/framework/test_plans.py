"""What all plugins want written with the bind becomes one set of annotations, or an error that names who is wrong."""

from typing import Any

import pytest

from koordpy.framework.plans import TOTAL_LIMIT_BYTES, is_qualified_name, merge
from koordpy.virtual_time import run
from koordpy_api import Code, CycleState, PodPatch, PreBindPlan, Status
from tests.framework.scripted_plugins import plugin, profile
from tests.framework.test_calls import POD


def row(name: str, *values: Any) -> Any:
    return pytest.param(*values, id=name)


def plan(annotations: dict[str, Any]) -> PreBindPlan:
    return PreBindPlan(PodPatch(annotations))


def test_the_plans_of_all_plugins_are_merged() -> None:
    framework = profile(
        A=plugin(pre_bind=lambda: plan({"a.io/x": "1"})),
        B=plugin(pre_bind=lambda: None),
        C=plugin(pre_bind=lambda: plan({"c.io/y": "2", "plain": ""})),
    )
    assert run(framework.run_pre_bind(CycleState(), POD, "n1")) == plan({"a.io/x": "1", "c.io/y": "2", "plain": ""})


def test_without_plans_nothing_is_written() -> None:
    assert merge([]) == plan({})


def test_two_plugins_that_write_one_key_are_both_named() -> None:
    answer = merge([("A", plan({"a.io/x": "1"})), ("B", plan({"a.io/x": "1"}))])
    assert answer == Status.error("plugins A and B both write annotation a.io/x").by("B")


@pytest.mark.parametrize(
    "key",
    ["a", "a.b_c-d", "A1", "example.com/a", "a-b.c/D", "0/0", "x" * 63, "a." * 126 + "a/x", "Example.COM/Key"],
)
def test_a_qualified_name_is_written(key: str) -> None:
    assert merge([("A", plan({key: "x"}))]) == plan({key: "x"})


@pytest.mark.parametrize(
    "key",
    [
        row("an empty one", ""),
        row("a prefix without a name", "example.com/"),
        row("a name without a prefix", "/x"),
        row("two slashes", "a/b/c"),
        row("a space", "a b"),
        row("a newline at the end", "a\n"),
        row("a leading dash", "-a"),
        row("a trailing dot", "a."),
        row("a name of 64", "x" * 64),
        row("a prefix of 254", "a." * 126 + "ab/x"),
        row("an underscore in the prefix", "a_b/x"),
        row("an umlaut", "ä"),
        row("a full-width letter", "\uff41"),
    ],
)
def test_a_key_that_would_block_later_updates_of_the_pod_is_refused(key: str) -> None:
    assert not is_qualified_name(key)
    answer = merge([("A", plan({key: "x"}))])
    assert answer == Status.error(f"plugin A writes annotation {key!r}, which is no qualified name").by("A")


@pytest.mark.parametrize("value", [row("a number", 5), row("nothing", None), row("half a character", "\ud800")])
def test_a_value_that_is_no_text_is_an_error_of_its_plugin_and_never_an_exception(value: object) -> None:
    answer = merge([("A", plan({"a.io/x": value}))])
    assert isinstance(answer, Status)
    assert (answer.code, answer.plugin) == (Code.ERROR, "A")
    assert "a.io/x" in answer.message


def test_annotations_may_fill_the_limit_but_not_exceed_it() -> None:
    keys = {"A": plan({"a": "é" * 10}), "B": plan({"b": "x" * (TOTAL_LIMIT_BYTES - 22)})}
    assert isinstance(merge(list(keys.items())), PreBindPlan)
    answer = merge([*keys.items(), ("C", plan({"c": ""}))])
    text = "annotations of 262145 bytes, but a Pod takes 262144 bytes"
    assert answer == Status.error(text)

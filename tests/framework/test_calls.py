"""What the runner makes of plugins' answers and exceptions. Names with P01 and the like are kube-scheduler cases."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from koordpy.framework.runner import LAST, Framework
from koordpy.framework.verdicts import Candidates, Filtered
from koordpy.scheduler.outcome import NotPlaced, Placed
from koordpy.testing import CycleHarness, make_node, make_pod
from koordpy.virtual_time import run
from koordpy_api import Binding, Code, CycleState, PodPatch, PreBindPlan, PreFilterResult, QueuedPod, Status
from tests.framework.scripted_plugins import bare_profile, info, nodes, plugin, profile, raising, skipping

POD = make_pod("web")
ONE = nodes(make_node("n1"))
THREE = nodes(make_node("n1"), make_node("n2"), make_node("n3"))
BOOM = ValueError("boom")


def row(name: str, *values: Any) -> Any:
    return pytest.param(*values, id=name)


def refusing(*why: str) -> Callable[[], Status]:
    return lambda: Status.unschedulable(*why)


def only(*names: str) -> Callable[[], PreFilterResult]:
    return lambda: PreFilterResult(frozenset(names))


def pre_filter(**plugins: Any) -> Candidates | Status:
    return profile(**plugins).run_pre_filter(CycleState(), POD, THREE)


# -- exceptions ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hook", "call", "text"),
    [
        row(
            "PreFilter",
            "pre_filter",
            lambda f: f.run_pre_filter(CycleState(), POD, ONE),
            'running PreFilter plugin "A": ',
        ),
        row("Filter", "filter", lambda f: f.run_filter(CycleState(), POD, ONE), 'running "A" filter plugin: '),
        row("PreScore", "pre_score", lambda f: f.run_score(CycleState(), POD, ONE), 'running PreScore plugin "A": '),
        row(
            "Score",
            "score",
            lambda f: f.run_score(CycleState(), POD, ONE),
            'running Score plugins: plugin "A" failed with: ',
        ),
        row("Reserve", "reserve", lambda f: f.run_reserve(CycleState(), POD, "n1"), 'running Reserve plugin "A": '),
        row(
            "PreBind",
            "pre_bind",
            lambda f: run(f.run_pre_bind(CycleState(), POD, "n1")),
            'running PreBind plugin "A": ',
        ),
        row("Bind", "bind", lambda f: run(f.run_bind(CycleState(), POD, "n1")), 'running Bind plugin "A": '),
    ],
)
def test_an_exception_ends_the_attempt_as_an_error_and_is_blamed_in_kube_schedulers_words(
    hook: str, call: Callable[[Framework], object], text: str
) -> None:
    answer = call(profile(A=plugin(**{hook: raising(BOOM)}), B=plugin(**{hook: raising(TypeError("not me"))})))
    assert answer == Status.error(f"{text}ValueError: boom").by("A")


def test_an_exception_of_normalize_scores_has_words_of_its_own() -> None:
    broken = plugin(score=lambda: 5, normalize_scores=raising(BOOM))
    answer = profile(A=broken).run_score(CycleState(), POD, ONE)
    text = 'running Normalize on Score plugins: plugin "A" failed with: ValueError: boom'
    assert answer == Status.error(text).by("A")


def test_an_error_that_normalize_scores_answers_ends_the_attempt() -> None:
    broken = plugin(score=lambda: 5, normalize_scores=lambda: Status.error("no weights"))
    answer = profile(A=broken).run_score(CycleState(), POD, ONE)
    text = 'running Normalize on Score plugins: plugin "A" failed with: no weights'
    assert answer == Status.error(text).by("A")


@pytest.mark.parametrize(
    ("answer", "said"), [(lambda scores: scores * 2, "ndarray"), (lambda: Status.unschedulable("no"), "UNSCHEDULABLE")]
)
def test_scores_that_normalize_scores_answers_are_not_lost_without_a_word(
    answer: Callable[..., object], said: str
) -> None:
    framework = profile(A=plugin(score=lambda: 5, normalize_scores=answer))
    text = (
        f'plugin "A" answered {said}, which is unsupported at NormalizeScore: '
        "it changes scores in place (scores[:] = ...) and returns None"
    )
    assert framework.run_score(CycleState(), POD, ONE) == Status.error(text).by("A")


def test_the_exception_of_an_async_hook_is_blamed_too() -> None:
    async def pre_bind() -> None:
        raise BOOM

    answer = run(profile(A=plugin(pre_bind=pre_bind)).run_pre_bind(CycleState(), POD, "n1"))
    assert answer == Status.error('running PreBind plugin "A": ValueError: boom').by("A")


def test_a_cancellation_inside_a_plugin_is_its_own_fault_and_ends_only_the_attempt() -> None:
    async def pre_bind() -> None:
        task = asyncio.ensure_future(asyncio.sleep(1))
        task.cancel()
        await task

    answer = run(profile(A=plugin(pre_bind=pre_bind)).run_pre_bind(CycleState(), POD, "n1"))
    assert isinstance(answer, Status)
    assert (answer.code, answer.plugin) == (Code.ERROR, "A")


def test_a_cancellation_from_outside_goes_through_the_plugin() -> None:
    async def pre_bind() -> None:
        await asyncio.sleep(3600)

    async def main() -> None:
        framework = profile(A=plugin(pre_bind=pre_bind))
        task = asyncio.create_task(framework.run_pre_bind(CycleState(), POD, "n1"))
        await asyncio.sleep(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(main())


@pytest.mark.parametrize("hook", ["pod_added", "pod_updated", "pod_removed", "node_updated", "unreserve"])
def test_an_exception_in_a_hook_that_only_tells_keeps_nobody_else_from_being_told(
    hook: str, caplog: pytest.LogCaptureFixture
) -> None:
    told: list[str] = []
    tellers = {name: plugin(**{hook: _teller(told, name)}) for name in "AC"}
    framework = profile(A=tellers["A"], B=plugin(**{hook: raising(BOOM)}), C=tellers["C"])
    (node,) = ONE
    calls: dict[str, Callable[[], None]] = {
        "pod_added": lambda: framework.pod_added(POD, node),
        "pod_updated": lambda: framework.pod_updated(info(POD), POD, node),
        "pod_removed": lambda: framework.pod_removed(info(POD), node),
        "node_updated": lambda: framework.node_updated(node, node),
        "unreserve": lambda: framework.run_unreserve(CycleState(), POD, "n1"),
    }
    for _ in range(3):
        calls[hook]()
    assert sorted(told) == ["A"] * 3 + ["C"] * 3
    blamed = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert [record.getMessage().startswith(f"plugin B failed in {hook} of ") for record in blamed] == [True] * 3
    assert [bool(record.exc_info) for record in blamed] == [True, False, False]  # one traceback is enough


def _teller(told: list[str], name: str) -> Callable[[], None]:
    return lambda: told.append(name)


@pytest.mark.parametrize(
    "queue_sort",
    [
        row("raises", raising(BOOM)),
        row("answers nothing", lambda: None),
        row("answers a number", lambda: 5),
        row("answers a text inside the tuple", lambda: ("high", 1)),
    ],
)
def test_a_pod_is_queued_last_when_its_queue_sort(queue_sort: Callable[[], Any]) -> None:
    framework = bare_profile(("Sort", "DefaultBinder"), {"Sort": plugin(queue_sort=queue_sort)})
    key = framework.queue_sort(QueuedPod(POD, 0, 0, 1))
    assert key == LAST
    assert key > (-(2**31), 10**18)


# -- answers -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hook", "call", "answer", "text"),
    [
        row(
            "P05 Pending at PreFilter",
            "pre_filter",
            lambda f: f.run_pre_filter(CycleState(), POD, ONE),
            Status(Code.PENDING),
            "PENDING, which is unsupported at PreFilter",
        ),
        row(
            "Wait at PreFilter",
            "pre_filter",
            lambda f: f.run_pre_filter(CycleState(), POD, ONE),
            Status(Code.WAIT),
            "WAIT, which is unsupported at PreFilter",
        ),
        row(
            "a list at PreFilter",
            "pre_filter",
            lambda f: f.run_pre_filter(CycleState(), POD, ONE),
            ["n1"],
            "list, which is unsupported at PreFilter",
        ),
        row(
            "Skip at Filter",
            "filter",
            lambda f: f.run_filter(CycleState(), POD, ONE),
            Status.skip(),
            "SKIP, which is unsupported at Filter",
        ),
        row(
            "True at Filter",
            "filter",
            lambda f: f.run_filter(CycleState(), POD, ONE),
            True,
            "bool, which is unsupported at Filter",
        ),
        row(
            "a refusal at PreScore",
            "pre_score",
            lambda f: f.run_score(CycleState(), POD, ONE),
            Status.unschedulable("no"),
            "UNSCHEDULABLE, which is unsupported at PreScore",
        ),
        row(
            "Skip at Reserve",
            "reserve",
            lambda f: f.run_reserve(CycleState(), POD, "n1"),
            Status.skip(),
            "SKIP, which is unsupported at Reserve",
        ),
        row(
            "True at PreScore",
            "pre_score",
            lambda f: f.run_score(CycleState(), POD, ONE),
            True,
            "bool, which is unsupported at PreScore",
        ),
        row(
            "a list of nodes in a PreFilterResult",
            "pre_filter",
            lambda f: f.run_pre_filter(CycleState(), POD, ONE),
            PreFilterResult(["n1"]),  # type: ignore[arg-type]
            "PreFilterResult, which is unsupported at PreFilter",
        ),
        row(
            "a plan of nothing at PreBind",
            "pre_bind",
            lambda f: run(f.run_pre_bind(CycleState(), POD, "n1")),
            PreBindPlan(None),  # type: ignore[arg-type]
            "PreBindPlan, which is unsupported at PreBind",
        ),
        row(
            "a Binding at PreBind",
            "pre_bind",
            lambda f: run(f.run_pre_bind(CycleState(), POD, "n1")),
            Binding("n1"),
            "Binding, which is unsupported at PreBind",
        ),
        row(
            "a plan at Bind",
            "bind",
            lambda f: run(f.run_bind(CycleState(), POD, "n1")),
            PreBindPlan(PodPatch()),
            "PreBindPlan, which is unsupported at Bind",
        ),
    ],
)
def test_an_answer_that_the_point_does_not_know_is_an_error(
    hook: str, call: Callable[[Framework], object], answer: object, text: str
) -> None:
    framework = profile(A=plugin(**{hook: lambda: answer}))
    assert call(framework) == Status.error(f'plugin "A" answered {text}').by("A")


def test_an_error_status_of_a_filter_ends_the_attempt_with_the_plugins_own_words() -> None:
    broken = plugin(filter=lambda: Status.error("the books are torn"))
    answer = profile(A=broken).run_filter(CycleState(), POD, ONE)
    assert isinstance(answer, Status)
    assert answer == Status.error('running "A" filter plugin: the books are torn').by("A")


def test_an_error_status_is_told_with_the_point_at_which_it_was_answered() -> None:
    framework = profile(A=plugin(reserve=lambda: Status.error("the books are torn")))
    answer = framework.run_reserve(CycleState(), POD, "n1")
    assert answer == Status.error('running Reserve plugin "A": the books are torn').by("A")


def test_p01_a_plugin_that_skips_at_pre_filter_is_not_asked_to_filter() -> None:
    asked: list[str] = []
    framework = profile(
        A=plugin(pre_filter=skipping, filter=lambda node_info: asked.append("A")),
        B=plugin(pre_filter=lambda: None, filter=lambda node_info: asked.append("B")),
    )
    outcome = CycleHarness([make_node("n1")], framework).schedule(POD)
    assert isinstance(outcome, Placed)
    assert asked == ["B"]


def test_a_skip_holds_for_one_attempt_only() -> None:
    asked: list[str] = []
    answers = iter([Status.skip(), None])
    framework = profile(A=plugin(pre_filter=lambda: next(answers), filter=lambda pod: asked.append(pod.key)))
    harness = CycleHarness([make_node("n1")], framework)
    harness.schedule(make_pod("first"))
    harness.schedule(make_pod("second"))
    assert asked == ["default/second"]


def test_a_plugin_that_skips_at_pre_score_is_not_asked_to_score() -> None:
    framework = profile(A=plugin(pre_score=skipping, score=raising(BOOM)), B=plugin(score=lambda: 7))
    assert list(np.asarray(framework.run_score(CycleState(), POD, THREE))) == [7, 7, 7]


def test_p02_an_unresolvable_refusal_ends_pre_filter_at_once() -> None:
    answer = pre_filter(
        A=plugin(pre_filter=refusing("m1")),
        B=plugin(pre_filter=lambda: Status.unresolvable("m2")),
        C=plugin(pre_filter=raising(AssertionError("must not be asked"))),
    )
    assert answer == Status.unresolvable("m2").by("B")


def test_p03_the_last_unschedulable_counts_after_every_plugin_was_asked() -> None:
    asked: list[str] = []
    answer = pre_filter(
        A=plugin(pre_filter=refusing("m1")),
        B=plugin(pre_filter=lambda: asked.append("B")),
        C=plugin(pre_filter=refusing("m3")),
    )
    assert answer == Status.unschedulable("m3").by("C")
    assert asked == ["B"]


def test_the_node_sets_of_several_plugins_are_intersected() -> None:
    answer = pre_filter(A=plugin(pre_filter=only("n1", "n2")), B=plugin(), C=plugin(pre_filter=only("n3", "n2")))
    assert isinstance(answer, Candidates)
    assert [node.name for node in answer.nodes] == ["n2"]
    refusal = Status.unresolvable("node(s) didn't satisfy plugin(s) [A C]")
    assert answer.absent == replace(refusal, plugin="A", others=frozenset({"C"}))


@pytest.mark.parametrize(
    ("plugins", "text"),
    [
        row(
            "P04 disjoint node sets",
            {"B": only("n1"), "A": only("n2")},
            "node(s) didn't satisfy plugin(s) [A B] simultaneously",
        ),
        row("an empty node set of one plugin", {"A": only()}, "node(s) didn't satisfy plugin A"),
        row(
            "an empty node set beside another",
            {"A": only(), "B": only("n1")},
            "node(s) didn't satisfy plugin(s) [A B] simultaneously",
        ),
    ],
)
def test_node_sets_that_leave_nothing_refuse_the_pod_everywhere(plugins: dict[str, Any], text: str) -> None:
    answer = pre_filter(**{name: plugin(pre_filter=hook) for name, hook in plugins.items()})
    assert isinstance(answer, Status)
    assert (answer.code, answer.reasons) == (Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (text,))


def test_a_refusal_weighs_more_than_a_node_set() -> None:
    answer = pre_filter(A=plugin(pre_filter=only("n1")), B=plugin(pre_filter=refusing("no")))
    assert answer == Status.unschedulable("no").by("B")


def test_p22_nodes_outside_the_set_are_counted_with_the_plugins_that_left_them_out() -> None:
    narrow = plugin(pre_filter=only("n1"), filter=refusing("Insufficient cpu"))
    outcome = CycleHarness([make_node(f"n{i}") for i in range(5)], profile(Pinned=narrow)).schedule(POD)
    assert isinstance(outcome, NotPlaced)
    text = "0/5 nodes are available: 1 Insufficient cpu, 4 node(s) didn't satisfy plugin(s) [Pinned]."
    assert outcome.status.message == text


def test_the_first_refusal_settles_a_node_and_the_others_are_still_asked_about() -> None:
    asked: list[str] = []
    framework = profile(
        A=plugin(filter=lambda node_info: Status.unschedulable("full") if node_info.name != "n2" else None),
        B=plugin(filter=lambda node_info: asked.append(node_info.name)),
    )
    answer = framework.run_filter(CycleState(), POD, THREE)
    refusal = Status.unschedulable("full").by("A")
    assert answer == Filtered([THREE[1]], {"n1": refusal, "n3": refusal})
    assert asked == ["n2"]


@pytest.mark.parametrize("wrong", [-1, 101, 10**6])
def test_a_score_outside_0_to_100_is_an_error(wrong: int) -> None:
    framework = profile(A=plugin(score=lambda node_info: wrong if node_info.name == "n2" else 50))
    text = (
        f'applying score defaultWeights on Score plugins: plugin "A" returns an invalid score {wrong}, '
        "it should in the range of [0, 100] after normalizing"
    )
    assert framework.run_score(CycleState(), POD, THREE) == Status.error(text).by("A")


def test_only_the_normalized_score_must_lie_in_range() -> None:
    def normalize(scores: Any) -> None:
        scores //= 1000

    wild = plugin(score=lambda node_info: 1000 * int(node_info.name[1]), normalize_scores=normalize)
    assert list(np.asarray(profile(A=wild).run_score(CycleState(), POD, THREE))) == [1, 2, 3]


def test_the_total_is_the_sum_of_scores_times_weights_and_no_weight_is_one() -> None:
    framework = bare_profile(
        ("PrioritySort", "A", "B", "DefaultBinder"),
        {"A": plugin(score=lambda node_info: int(node_info.name[1])), "B": plugin(score=lambda: 2)},
        {"A": 10},
    )
    assert list(np.asarray(framework.run_score(CycleState(), POD, THREE))) == [12, 22, 32]


@pytest.mark.parametrize(
    "answer", [row("nothing", None), row("a text", "5"), row("a fraction", 1.5), row("more than 64 bits", 2**70)]
)
def test_a_score_that_is_no_number_is_an_error(answer: object) -> None:
    status = profile(A=plugin(score=lambda: answer)).run_score(CycleState(), POD, THREE)
    assert isinstance(status, Status)
    assert status.message.startswith('running Score plugins: plugin "A" failed with: ')


# -- reserve, bind ---------------------------------------------------------------------------------------------------


def _holder(name: str, diary: list[str], answer: Status | None = None) -> type:
    def reserve(node_name: str) -> Status | None:
        diary.append(f"reserve {name} {node_name}")
        return answer

    return plugin(reserve=reserve, unreserve=lambda node_name: diary.append(f"unreserve {name} {node_name}"))


def test_p09_a_refusal_at_reserve_stops_the_others_and_is_counted_over_one_node() -> None:
    diary: list[str] = []
    framework = profile(
        A=_holder("A", diary), B=_holder("B", diary, Status.unschedulable("taken")), C=_holder("C", diary)
    )
    harness = CycleHarness([make_node("n1"), make_node("n2", unschedulable=True)], framework)
    harness.cache.remove_node("n2")
    outcome = harness.schedule(POD)
    assert isinstance(outcome, NotPlaced)
    assert (outcome.status.message, outcome.held) == ("0/1 nodes are available: 1 taken.", "n1")
    assert diary == ["reserve A n1", "reserve B n1"]


def test_unreserve_is_asked_of_every_plugin_in_reverse_order() -> None:
    diary: list[str] = []
    framework = profile(A=_holder("A", diary), B=_holder("B", diary), C=_holder("C", diary))
    framework.run_unreserve(CycleState(), POD, "n1")
    assert diary == ["unreserve C n1", "unreserve B n1", "unreserve A n1"]


def test_the_first_refusal_of_pre_bind_is_the_answer() -> None:
    framework = profile(
        A=plugin(pre_bind=lambda: None), B=plugin(pre_bind=refusing("no")), C=plugin(pre_bind=raising(BOOM))
    )
    assert run(framework.run_pre_bind(CycleState(), POD, "n1")) == Status.unschedulable("no").by("B")


@pytest.mark.parametrize("answer", [lambda: None, skipping], ids=["None", "Skip"])
def test_p12_the_first_bind_that_answers_wins(answer: Callable[[], Any]) -> None:
    framework = bare_profile(
        ("PrioritySort", "A", "B", "C"),
        {
            "A": plugin(bind=answer),
            "B": plugin(bind=lambda node_name: Binding(node_name)),
            "C": plugin(bind=raising(BOOM)),
        },
    )
    assert run(framework.run_bind(CycleState(), POD, "n1")) == Binding("n1")


def test_a_bind_that_nobody_takes_is_an_error() -> None:
    framework = bare_profile(("PrioritySort", "A"), {"A": plugin(bind=lambda: None)})
    assert run(framework.run_bind(CycleState(), POD, "n1")) == Status.error("no Bind plugin took the Pod")

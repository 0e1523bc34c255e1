"""Many nodes are asked about at once, and what comes of it is what comes of asking about each."""

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest

from koordpy.cache.snapshot import NodeRows, starting_at
from koordpy.config.expand import ResolvedProfile
from koordpy.errors import PluginError
from koordpy.framework.build import build
from koordpy.framework.registry import Registry
from koordpy.framework.runner import FEW_NODES, Framework
from koordpy.framework.verdicts import Candidates, Filtered
from koordpy.scheduler.diagnosis import Diagnosis
from koordpy.scheduler.outcome import NotPlaced, Placed
from koordpy.testing import CycleHarness, check_shapes, columns_of, make_node, make_pod
from koordpy_api import Code, CycleState, NodeColumns, NodeInfo, PreFilterResult, Status, Verdicts
from koordpy_api.columns import LIMIT, Rows
from tests.framework.scripted_plugins import nodes, plugin, profile, skipping

POD = make_pod("web")
COUNT = 40
NO_REASONS: Any = (None, "full", Status.unschedulable("full"), {1: "full"})
NODES = nodes(*(make_node(f"n{number}") for number in range(COUNT)))


def everyone() -> NodeRows:
    return NodeRows(columns_of(NODES))


def number_of(node: NodeInfo) -> int:
    return int(node.name[1:])


def numbers(columns: NodeColumns) -> Any:
    return np.array([number_of(node) for node in columns.nodes])


def refusing(divisor: int, reason: str, asked: list[str] | None = None, **more: Any) -> type:
    """Refuses every node whose number can be divided; in both shapes."""

    def each(node_info: NodeInfo) -> Status | None:
        if asked is not None:
            asked.append(node_info.name)
        return None if number_of(node_info) % divisor else Status.unschedulable(reason)

    def at_once(columns: NodeColumns) -> Verdicts:
        if asked is not None:
            asked.append("all")
        return Verdicts.where(numbers(columns) % divisor == 0, Status.unschedulable(reason))

    return plugin(filter=each, filter_nodes=at_once, **more)


def each_of(divisor: int, reason: str, asked: list[str] | None = None) -> type:
    """The same in one shape."""
    return plugin(filter=refusing(divisor, reason, asked).filter)  # type: ignore[attr-defined]


def filtered(framework: Framework, nodes: Any, enough: int | None = None) -> Filtered:
    answer = framework.run_filter(CycleState(), POD, nodes, enough)
    assert isinstance(answer, Filtered)
    return answer


def told(answer: Filtered) -> tuple[list[str], dict[str, tuple[str, ...]]]:
    refusals = {name: (status.plugin, *status.reasons) for name, status in answer.refusals.items()}
    return [node.name for node in answer.feasible], refusals


def broken(framework: Framework, nodes: Any = None) -> str:
    answer = framework.run_filter(CycleState(), POD, everyone() if nodes is None else nodes)
    assert isinstance(answer, Status) and answer.code is Code.ERROR and answer.plugin == "A"
    return answer.message


# -- Filter ----------------------------------------------------------------------------------------------------------


def test_the_first_refusal_in_profile_order_settles_a_node() -> None:
    framework = profile(A=refusing(3, "three"), B=refusing(2, "two"), C=refusing(5, "five"))
    names, refusals = told(filtered(framework, everyone()))
    assert names == ["n1", "n7", "n11", "n13", "n17", "n19", "n23", "n29", "n31", "n37"]
    assert [refusals[name] for name in ("n0", "n2", "n6", "n25")] == [
        ("A", "three"),
        ("B", "two"),
        ("A", "three"),
        ("C", "five"),
    ]
    assert told(filtered(framework, list(NODES))) == (names, refusals)


def test_a_plugin_without_the_vector_shape_is_asked_about_the_nodes_that_are_left() -> None:
    asked: list[str] = []
    framework = profile(A=refusing(2, "two"), B=each_of(3, "three", asked), C=refusing(5, "five"))
    answer = filtered(framework, everyone())
    assert asked == [f"n{number}" for number in range(1, COUNT, 2)]
    assert told(answer) == told(filtered(framework, list(NODES)))


def test_plugins_with_both_shapes_are_asked_once() -> None:
    asked: list[str] = []
    filtered(profile(A=refusing(2, "two", asked), B=refusing(3, "three", asked)), everyone())
    assert asked == ["all", "all"]


def test_nobody_is_asked_once_no_node_is_left() -> None:
    asked: list[str] = []
    framework = profile(A=refusing(1, "no"), B=refusing(2, "two", asked), C=each_of(2, "two", asked))
    assert told(filtered(framework, everyone()))[0] == []
    assert asked == []


def test_few_nodes_are_asked_about_one_by_one() -> None:
    asked: list[str] = []
    framework = profile(A=refusing(2, "two", asked))
    few = NodeRows(columns_of(NODES[:FEW_NODES]))
    filtered(framework, few)
    assert asked == [f"n{number}" for number in range(FEW_NODES)]


def test_a_plugin_that_skips_is_not_asked_at_once_either() -> None:
    framework = profile(A=refusing(1, "no", pre_filter=skipping))
    state = CycleState()
    framework.run_pre_filter(state, POD, everyone())
    answer = framework.run_filter(state, POD, everyone())
    assert isinstance(answer, Filtered) and len(answer.feasible) == COUNT


def test_nodes_that_pre_filter_left_out_are_neither_feasible_nor_refused() -> None:
    names = frozenset(f"n{number}" for number in range(5, 30))
    narrow = plugin(pre_filter=lambda: PreFilterResult(names | {"unknown"}))
    framework, state = profile(Pinned=narrow, A=refusing(2, "two")), CycleState()
    candidates = framework.run_pre_filter(state, POD, everyone())
    assert isinstance(candidates, Candidates)
    assert [node.name for node in candidates.nodes] == [f"n{number}" for number in range(5, 30)]
    answer = framework.run_filter(state, POD, candidates.nodes)
    assert isinstance(answer, Filtered)
    feasible, refusals = told(answer)
    assert feasible == [f"n{number}" for number in range(5, 30, 2)]
    assert sorted(refusals) == sorted(f"n{number}" for number in range(6, 30, 2))


@pytest.mark.parametrize("make", [refusing, each_of], ids=["in both shapes", "per node"])
def test_where_fewer_nodes_are_wanted_the_search_ends_and_goes_on_where_it_ended(make: Callable[..., type]) -> None:
    framework = profile(A=make(2, "two"))
    answers = [filtered(framework, starting_at(start, some), 5) for start in (0, 33) for some in (everyone(), NODES)]
    assert sorted(told(answers[0])[0]) == ["n1", "n3", "n5", "n7", "n9"]
    assert sorted(told(answers[0])[1]) == ["n0", "n2", "n4", "n6", "n8"]
    assert sorted(told(answers[2])[0]) == ["n1", "n33", "n35", "n37", "n39"]
    assert sorted(told(answers[2])[1]) == ["n0", "n34", "n36", "n38"]
    for at_once, one_by_one in (answers[:2], answers[2:]):
        assert sorted(told(at_once)[0]) == sorted(told(one_by_one)[0])
        assert told(at_once)[1] == told(one_by_one)[1]


def test_feasible_rows_ascend_also_where_the_search_began_in_the_middle() -> None:
    asked: list[list[int]] = []

    def rows_of(rows: Rows) -> Any:
        asked.append(rows.tolist())
        return rows * 0

    framework = profile(A=refusing(2, "two"), B=plugin(score=lambda: 0, score_nodes=rows_of))
    framework.run_score(CycleState(), POD, filtered(framework, starting_at(33, everyone()), 5).feasible)
    assert asked == [[1, 33, 35, 37, 39]]


def test_refusals_stay_as_they_are_when_the_nodes_change() -> None:
    codes = np.ones(COUNT, dtype=np.uint16)
    kept = plugin(filter=lambda: None, filter_nodes=lambda: Verdicts(codes, (Status.unschedulable("full"),)))
    some = everyone()
    answer = filtered(profile(A=kept), some)
    codes[:] = 0
    some.columns.order(NODES[:3])
    assert len(answer.refusals) == COUNT
    assert answer.refusals["n39"].reasons == ("full",)
    assert "n40" not in answer.refusals


def test_refusals_that_nobody_asked_about_yet_stay_as_they_are_too() -> None:
    codes = [np.arange(COUNT, dtype=np.uint16) % divisor // (divisor - 1) for divisor in (2, 3)]
    every = [
        plugin(filter=lambda: None, filter_nodes=lambda mine=mine: Verdicts(mine, (Status.unschedulable("full"),)))
        for mine in codes
    ]
    answer = filtered(profile(A=every[0], B=every[1]), everyone())
    for each in codes:
        each[:] = 0
    said = {name: status.plugin for name, status in answer.refusals.items()}
    assert said == {f"n{k}": "A" if k % 2 else "B" for k in range(COUNT) if k % 2 or k % 3 == 2}


def test_a_reason_that_no_node_has_is_never_made() -> None:
    class Reasons(list[Status]):
        def __getitem__(self, place: Any) -> Any:
            assert place == 1
            return super().__getitem__(place)

    reasons = Reasons([Status.unschedulable(text) for text in ("never", "always", "never")])
    lazy = plugin(filter=lambda: None, filter_nodes=lambda: Verdicts(np.full(COUNT, 2, dtype=np.uint16), reasons))
    assert filtered(profile(A=lazy), everyone()).refusals["n7"].reasons == ("always",)


def test_more_reasons_than_16_bits_can_number_are_told_apart() -> None:
    def many(offset: int) -> type:
        reasons = [Status.unschedulable(f"{offset}/{number}") for number in range(60_000)]

        def at_once(columns: NodeColumns) -> Verdicts:
            return Verdicts(np.where(numbers(columns) % 2 == offset, 59_000, 0).astype(np.uint16), reasons)

        return plugin(filter=lambda: None, filter_nodes=at_once)

    refusals = told(filtered(profile(A=many(0), B=many(1)), everyone()))[1]
    assert (refusals["n0"], refusals["n1"]) == (("A", "0/58999"), ("B", "1/58999"))


def test_a_node_whose_amounts_no_column_holds_is_asked_about_by_itself() -> None:
    huge = nodes(*(make_node(f"n{number}", memory=LIMIT * 4 if number == 7 else 100) for number in range(COUNT)))

    def each(node_info: NodeInfo) -> Status | None:
        return None if node_info.allocatable["memory"] > LIMIT * 3 else Status.unschedulable("small")

    def at_once(columns: NodeColumns) -> Verdicts:
        return Verdicts.where(columns.allocatable("memory") <= LIMIT * 3, Status.unschedulable("small"))

    framework = profile(A=plugin(filter=each, filter_nodes=at_once), B=plugin(score=lambda: 1))
    assert told(filtered(framework, NodeRows(columns_of(huge))))[0] == ["n7"]
    check_shapes(framework, POD, columns_of(huge))


def test_the_score_of_such_a_node_is_its_own_too() -> None:
    huge = nodes(*(make_node(f"n{number}", memory=LIMIT * 4 if number == 7 else 100) for number in range(COUNT)))

    def at_once(columns: NodeColumns, rows: Rows) -> Any:
        return columns.allocatable("memory")[rows] // (LIMIT // 10)

    scoring = plugin(score=lambda node_info: min(node_info.allocatable["memory"] // LIMIT, 50), score_nodes=at_once)
    totals = profile(A=scoring).run_score(CycleState(), POD, NodeRows(columns_of(huge)))
    assert not isinstance(totals, Status)
    assert (totals[7], totals.sum()) == (4, 4)


@pytest.mark.parametrize("memory", [LIMIT + 1, f"{LIMIT + 1}", "1E", "1e18", "65Pi", "999999999999999Ti"])
def test_a_pod_that_asks_what_no_column_holds_is_asked_about_node_by_node(memory: str | int) -> None:
    asked: list[str] = []
    pod = make_pod("huge", requests={"memory": memory})
    framework = profile(A=refusing(2, "two", asked))
    answer = framework.run_filter(CycleState(), pod, everyone())
    assert isinstance(answer, Filtered) and len(answer.feasible) == COUNT / 2
    assert "all" not in asked


@pytest.mark.parametrize("memory", [LIMIT, "64Pi", "1Ti", "500Gi", "17179869184", "0.5Gi", "100m", "1e9", 10**9])
def test_a_pod_that_asks_what_a_column_holds_is_asked_about_at_once(memory: str | int) -> None:
    asked: list[str] = []
    pod = make_pod("modest", requests={"memory": memory})
    profile(A=refusing(2, "two", asked)).run_filter(CycleState(), pod, everyone())
    assert asked == ["all"]


# -- what goes wrong -------------------------------------------------------------------------------------------------


def misshapen(answer: object) -> type:
    return plugin(filter=lambda: None, filter_nodes=lambda: answer)


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (True, "filter_nodes answered bool; None or Verdicts is wanted"),
        (
            Verdicts(np.zeros(COUNT, dtype=np.int64), ()),
            "filter_nodes answered codes of int64[40]; uint16[40] is wanted, one per row",
        ),
        (
            Verdicts(np.zeros(3, dtype=np.uint16), ()),
            "filter_nodes answered codes of uint16[3]; uint16[40] is wanted, one per row",
        ),
        (
            Verdicts([0] * COUNT, ()),  # type: ignore[arg-type]
            "filter_nodes answered codes of list; uint16[40] is wanted, one per row",
        ),
        (
            Verdicts(np.full(COUNT, 2, dtype=np.uint16), (Status.unschedulable("one"),)),
            "filter_nodes answered code 2, but has 1 reasons",
        ),
        *(
            (
                Verdicts(np.zeros(COUNT, dtype=np.uint16), reasons),
                f"filter_nodes answered reasons of {type(reasons).__name__}; a sequence of Status is wanted",
            )
            for reasons in NO_REASONS
        ),
    ],
    ids=[
        *("no Verdicts", "wide codes", "too few codes", "a list", "a code without a reason"),
        *("no reasons", "a text for reasons", "one reason", "numbered reasons"),
    ],
)
def test_a_misshapen_answer_is_the_plugins_fault(answer: object, text: str) -> None:
    assert broken(profile(A=misshapen(answer), B=plugin())) == f'running "A" filter plugin: BadAnswer: {text}'


def test_an_exception_in_filter_nodes_is_blamed_as_one_in_filter() -> None:
    def boom() -> None:
        raise ValueError("boom")

    framework = profile(A=plugin(filter=boom, filter_nodes=boom))
    assert broken(framework) == broken(framework, list(NODES)) == 'running "A" filter plugin: ValueError: boom'


def test_an_error_status_ends_the_attempt() -> None:
    torn = Status.error("the books are torn")
    framework = profile(A=plugin(filter=lambda: torn, filter_nodes=lambda: torn))
    assert broken(framework) == broken(framework, list(NODES)) == 'running "A" filter plugin: the books are torn'


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        (Status.skip(), "filter_nodes answered reasons[0] SKIP; a Status that refuses is wanted"),
        ("full", "filter_nodes answered reasons[0] 'full'; a Status that refuses is wanted"),
        (None, "filter_nodes answered reasons[0] None; a Status that refuses is wanted"),
        (Status.error("torn"), "torn"),
    ],
    ids=["skip", "a text", "nothing", "an error"],
)
def test_a_reason_that_is_no_refusal_is_an_error_once_it_is_told(reason: Any, said: str) -> None:
    every = misshapen(Verdicts(np.ones(COUNT, dtype=np.uint16), (reason,)))
    assert broken(profile(A=every)) == f'running "A" filter plugin: {said}'


def test_a_wrong_reason_of_a_node_that_was_not_needed_is_told_to_who_asks_and_raises_nothing() -> None:
    codes = (np.arange(COUNT) == 7).astype(np.uint16)
    answer = filtered(profile(A=misshapen(Verdicts(codes, [3]))), everyone())  # type: ignore[list-item]
    assert len(answer.feasible) == COUNT - 1
    assert (answer.refusals["n7"].code, answer.refusals["n7"].plugin) == (Code.ERROR, "A")


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (None, "score_nodes answered NoneType"),
        (np.zeros(COUNT), "score_nodes answered float64[40]"),
        (np.zeros(3, dtype=np.int64), "score_nodes answered int64[3]"),
    ],
    ids=["nothing", "fractions", "too few"],
)
def test_misshapen_scores_are_the_plugins_fault(answer: object, text: str) -> None:
    status = profile(A=plugin(score=lambda: 0, score_nodes=lambda: answer)).run_score(CycleState(), POD, everyone())
    assert isinstance(status, Status) and status.plugin == "A"
    assert status.message == (
        f'running Score plugins: plugin "A" failed with: BadAnswer: {text}; int64[40] is wanted, one per row that was '
        "asked for"
    )


@pytest.mark.parametrize(
    ("scores", "told"),
    [([0, -1, -7, 300], -7), ([0, 101, 300, 5], 300), ([-1] * 4, -1), ([101] * 4, 101)],
    ids=["negative ones first", "beyond the highest", "all negative", "all beyond"],
)
def test_scores_out_of_range_are_the_plugins_fault_and_the_worst_is_told(scores: list[int], told: int) -> None:
    framework = profile(A=plugin(score=lambda: 0, score_nodes=lambda: np.array(scores * (COUNT // 4))))
    status = framework.run_score(CycleState(), POD, everyone())
    assert isinstance(status, Status) and status.plugin == "A"
    assert f"returns an invalid score {told}, " in status.message


def test_a_vector_shape_without_the_one_that_decides_is_refused_with_the_fix() -> None:
    points = {"queueSort": ("PrioritySort",), "bind": ("DefaultBinder",), "filter": ("A",)}
    lonely = ResolvedProfile("p", points, {}, {}, None, frozenset(["A"]))
    with pytest.raises(PluginError) as refused:
        build(lonely, Registry(given={"A": plugin(filter_nodes=lambda: None)}), lambda *said: None, {})
    assert str(refused.value) == (
        'plugin "A": implements filter_nodes without filter, which decides what filter_nodes must say, explains its '
        "answers and runs in dry runs; add filter, with the same answer for one node"
    )


# -- Score -----------------------------------------------------------------------------------------------------------


def scoring(**more: Any) -> type:
    return plugin(
        score=lambda node_info: number_of(node_info),
        score_nodes=lambda columns, rows: numbers(columns)[rows].astype(np.int64),
        **more,
    )


def totals(framework: Framework, nodes: Any) -> list[int]:
    answer = framework.run_score(CycleState(), POD, nodes)
    assert not isinstance(answer, Status)
    return [int(total) for total in answer]


def test_scores_of_all_nodes_are_those_of_each() -> None:
    def normalize(scores: Any) -> None:
        scores *= 2

    framework = profile(A=scoring(normalize_scores=normalize), B=scoring(), C=plugin(score=lambda: 1))
    wanted = [3 * number + 1 for number in range(COUNT)]
    assert totals(framework, everyone()) == totals(framework, list(NODES)) == wanted
    some = NodeRows(everyone().columns, np.array([3, 9], dtype=np.intp))
    assert totals(framework, some) == [10, 28]


def test_what_a_plugin_keeps_is_not_written_into() -> None:
    kept = np.arange(COUNT)
    kept.flags.writeable = False

    def normalize(scores: Any) -> None:
        scores[:] = 5

    framework = profile(A=plugin(score=lambda: 0, score_nodes=lambda: kept, normalize_scores=normalize))
    assert totals(framework, everyone()) == [5] * COUNT
    assert kept.tolist() == list(range(COUNT))


# -- the whole cycle -------------------------------------------------------------------------------------------------


def cluster(framework: Framework, count: int = COUNT) -> CycleHarness:
    return CycleHarness([make_node(f"n{number}") for number in range(count)], framework)


def test_the_message_counts_the_nodes_of_each_reason() -> None:
    framework = profile(A=refusing(2, "even"), B=each_of(1, "odd"))
    outcome = cluster(framework).schedule(POD)
    assert isinstance(outcome, NotPlaced) and outcome.diagnosis is not None
    assert outcome.status.message == "0/40 nodes are available: 20 even, 20 odd."
    assert outcome.diagnosis.plugins == {"A", "B"}
    assert len(outcome.diagnosis.refusals) == COUNT


def test_the_message_is_that_of_asking_one_by_one() -> None:
    framework = profile(A=refusing(2, "even"), B=refusing(3, "three"), C=refusing(1, "rest"))
    answers = [filtered(framework, some) for some in (everyone(), list(NODES))]
    messages = [Diagnosis(COUNT, answer.refusals).message() for answer in answers]
    assert messages[0] == messages[1] == "0/40 nodes are available: 13 rest, 20 even, 7 three."


def test_post_filter_sees_a_refusal_of_every_node() -> None:
    seen: list[dict[str, Status]] = []
    names = frozenset(f"n{number}" for number in range(20))
    narrow = plugin(pre_filter=lambda: PreFilterResult(names), post_filter=lambda refusals: seen.append(dict(refusals)))
    cluster(profile(Pinned=narrow, A=refusing(1, "no"))).schedule(POD)
    (refusals,) = seen
    assert len(refusals) == COUNT
    assert (refusals["n3"].reasons, refusals["n30"].plugin) == (("no",), "Pinned")


def test_ties_are_drawn_from_all_of_the_best_nodes() -> None:
    framework = profile(A=refusing(2, "even"), B=plugin(score=lambda: 1, score_nodes=lambda rows: rows * 0 + 1))
    harness = cluster(framework)
    placed = [harness.schedule(make_pod(f"p{number}")) for number in range(200)]
    names = {outcome.node_name for outcome in placed if isinstance(outcome, Placed)}
    assert names == {f"n{number}" for number in range(1, COUNT, 2)}


def test_equal_seeds_place_equally() -> None:
    def places(seed: int) -> list[str]:
        harness = CycleHarness([make_node(f"n{number}") for number in range(COUNT)], profile(A=refusing(3, "x")), seed)
        outcomes = [harness.schedule(make_pod(f"p{number}")) for number in range(30)]
        return [outcome.node_name for outcome in outcomes if isinstance(outcome, Placed)]

    assert places(7) == places(7) != places(8)


def test_the_snapshot_of_a_cycle_does_not_move_while_plugins_are_asked_to_reserve() -> None:
    seen: list[tuple[int, int]] = []

    def look(pod: Any, node_name: str) -> None:
        row = snapshot.columns.row_of(node_name)
        assert row is not None
        seen.append((len(snapshot.nodes[row].pods), int(snapshot.columns.pods[row])))

    harness = cluster(profile(A=plugin(reserve=look)))
    snapshot = harness.cache.update_snapshot()
    for number in range(3):
        harness.schedule(make_pod(f"p{number}"))
    assert len(seen) == 3 and all(nodes == column for nodes, column in seen)


def test_random_refusals_and_scores_come_to_the_same_either_way() -> None:
    rng = Random(1)
    for _ in range(30):
        plugins: dict[str, Any] = {
            name: (refusing if rng.random() < 0.7 else each_of)(rng.randrange(1, 9), name) for name in "ABC"
        }
        framework = profile(**plugins, D=scoring())
        check_shapes(framework, POD, columns_of(rng.sample(NODES, rng.randrange(17, COUNT))))

"""The nodes as arrays: right for every node, moved by nothing but what changed, and cut where they cannot hold it."""

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from koordpy.cache.cache import Cache
from koordpy.cache.columns import MANY_COLUMNS, Columns
from koordpy.cache.snapshot import NodeRows
from koordpy.testing import columns_of, make_node, make_pod
from koordpy_api import Changes, Kept, NodeColumns, NodeInfo, PodInfo
from koordpy_api.columns import LIMIT, SMALL, Rows, Selection
from koordpy_api.objects import Taint

_: type[NodeColumns] = Columns
GPU = "nvidia.com/gpu"
TAINT = {"key": "a", "effect": "NoSchedule"}


def info(name: str, **more: Any) -> NodeInfo:
    return NodeInfo(name).with_node(make_node(name, **more))


def holding(node: NodeInfo, name: str, **requests: str | int) -> NodeInfo:
    return node.with_pod(PodInfo.of(make_pod(name, requests=dict(requests), node=node.name), ()))


def test_a_row_is_a_node_in_the_order_of_the_snapshot() -> None:
    columns = columns_of([info("a", cpu=4), info("b", cpu=2, extended={GPU: 0}), NodeInfo("ghost")])
    assert (len(columns), list(columns.names)) == (3, ["a", "b", "ghost"])
    assert [columns.row_of(name) for name in ("b", "x")] == [1, None]
    assert columns.allocatable("cpu").tolist() == [4000, 2000, 0]
    assert columns.names_resource(GPU).tolist() == [False, True, False]
    assert columns.allowed_pods.tolist() == [110, 110, 0]
    assert columns.unschedulable.tolist() == [False, False, True]


def test_pods_count_with_what_they_ask_and_where_they_ask_nothing_with_a_default_for_scoring() -> None:
    columns = columns_of([holding(holding(info("a"), "p", cpu=1), "q"), info("b")])
    assert columns.pods.tolist() == [2, 0]
    assert columns.requested("cpu").tolist() == [1000, 0]
    assert columns.non_zero_requested("cpu").tolist() == [1100, 0]


def test_few_different_values_are_numbered() -> None:
    columns = columns_of([info("a", labels={"zone": "x"}, taints=[TAINT]), info("b"), info("c", labels={"zone": "x"})])
    zones, taints = columns.label("zone"), columns.taints
    assert [zones.values[each] for each in zones.ids] == ["x", None, "x"]
    assert [taints.values[each] for each in taints.ids] == [(Taint("a", "", "NoSchedule"),), (), ()]


def test_nobody_but_the_host_can_write_to_a_column() -> None:
    columns = columns_of([info("a")])
    for array in (columns.pods, columns.allocatable("cpu"), columns.unschedulable, columns.label("zone").ids):
        assert not isinstance(array.base, np.ndarray)
        for each in (array, array[:], array.view()):
            with pytest.raises(ValueError, match="read-only"):
                each[:] = 1
            with pytest.raises(ValueError, match="cannot set WRITEABLE"):
                each.setflags(write=True)


@pytest.mark.parametrize("some", [None, np.array([1, 0])], ids=["all", "some"])
def test_the_rows_that_a_plugin_is_asked_about_can_only_be_read(some: Rows | None) -> None:
    with pytest.raises(ValueError, match="read-only"):
        NodeRows(columns_of([info("a"), info("b")]), some).rows[0] = 1


def test_a_change_is_in_sight_after_catching_up_and_not_before() -> None:
    node = info("a")
    columns = columns_of([node, info("b")])
    before = columns.version
    assert columns.requested("cpu").tolist() == [0, 0]
    columns.change(holding(node, "p", cpu=2))
    assert columns.requested("cpu").tolist() == [0, 0]
    columns.catch_up()
    assert columns.requested("cpu").tolist() == [2000, 0]
    assert columns.version > before


def test_a_pod_moves_the_columns_and_not_the_objects() -> None:
    node = info("a")
    columns = columns_of([node, info("b")])
    versions = columns.version, columns.objects.version
    columns.change(holding(node, "p"))
    columns.catch_up()
    assert (columns.version > versions[0], columns.objects.version) == (True, versions[1])
    columns.change(info("b", unschedulable=True))
    columns.catch_up()
    changed = columns.objects.changed_since(versions[1])
    assert changed is not None and changed.tolist() == [1]


def test_an_epoch_ends_when_a_row_means_another_node() -> None:
    cache = Cache()
    cache.set_node(make_node("a"))
    columns = cache.update_snapshot().columns
    epoch = columns.epoch
    cache.set_node(make_node("a", cpu=1))
    assert cache.update_snapshot().columns.epoch is epoch
    cache.set_node(make_node("b"))
    assert cache.update_snapshot().columns.epoch is not epoch


def test_two_clusters_have_no_epoch_in_common() -> None:
    assert columns_of([info("a")]).epoch is not columns_of([info("a")]).epoch


@pytest.mark.parametrize("memory", [LIMIT + 1, 2**80])
def test_an_amount_that_no_column_holds_is_cut_and_its_row_is_told(memory: int) -> None:
    columns = columns_of([info("a"), info("b", memory=memory), info("c")])
    assert columns.irregular.tolist() == []
    assert columns.allocatable("memory").tolist()[1] == LIMIT
    assert columns.irregular.tolist() == [1]
    columns.change(info("b", memory=LIMIT))
    columns.catch_up()
    assert columns.irregular.tolist() == []
    assert columns.allocatable("memory").tolist()[1] == LIMIT


def test_what_is_small_is_known_for_each_resource() -> None:
    node = info("b")
    columns = columns_of([info("a", memory=SMALL), node])
    columns.allocatable("memory"), columns.requested("memory"), columns.allocatable("cpu")
    assert columns.is_small("memory")
    columns.change(holding(node, "p", memory=SMALL + 1))
    columns.catch_up()
    assert (columns.is_small("memory"), columns.is_small("cpu")) == (False, True)
    columns.change(node)
    columns.catch_up()
    assert columns.is_small("memory")


def test_an_image_is_known_as_long_as_one_node_lists_it() -> None:
    cache = Cache()
    cache.set_node(make_node("a", images={"web": 100}))
    cache.set_node(make_node("b", images={"web": 100, "db": 50}))
    columns = cache.update_snapshot().columns
    known = columns.image("db")
    assert known is not None
    assert (known[0].tolist(), known[1].size_bytes, known[1].node_count) == ([False, True], 50, 1)
    assert columns.image("other") is None
    cache.set_node(make_node("b", images={"web": 100}))
    assert cache.update_snapshot().columns.image("db") is None
    cache.set_node(make_node("a", images={"db": 70}))
    known = cache.update_snapshot().columns.image("db")
    assert known is not None
    assert (known[0].tolist(), known[1].size_bytes) == ([True, False], 70)


def test_names_that_pods_invent_are_forgotten_one_day() -> None:
    node = info("a")
    columns = columns_of([node])
    epoch = columns.epoch
    for number in range(MANY_COLUMNS + 1):
        columns.requested(f"acme.io/{number}")
    columns.change(holding(node, "p", cpu=1))
    columns.catch_up()
    assert columns.epoch is not epoch
    assert columns.requested("cpu").tolist() == [1000]


def test_values_that_no_node_has_any_more_are_forgotten_one_day() -> None:
    columns = columns_of([info("a")])
    for number in range(3000):
        assert len(columns.label("beat").values) < 1100
        columns.change(info("a", labels={"beat": str(number)}))
        columns.catch_up()
    zones = columns.label("beat")
    assert zones.values[zones.ids[0]] == "2999"


# -- the log and the cache of whole answers --------------------------------------------------------------------------


def test_the_log_tells_each_row_once_and_nothing_to_who_has_missed_too_much() -> None:
    changes = Changes(100)
    start = changes.version
    for row in (3, 7, 3):
        changes.note(row)
    told = changes.changed_since(start)
    assert told is not None and sorted(told.tolist()) == [3, 7]
    assert [rows.tolist() for rows in [changes.changed_since(changes.version)] if rows is not None] == [[]]
    for row in range(100):
        changes.note(row)
    assert changes.changed_since(start) is None


def test_the_log_goes_around_its_end() -> None:
    changes = Changes(20_000)
    for row in range(10_000):
        before = changes.version
        changes.note(row)
        changes.note(row + 1)
        told = changes.changed_since(before)
        assert told is not None and sorted(told.tolist()) == [row, row + 1]


def test_kept_computes_only_what_changed_and_again_in_a_new_epoch() -> None:
    asked: list[object] = []

    def compute(key: str, columns: NodeColumns, rows: Selection) -> Any:
        asked.append("all" if isinstance(rows, slice) else rows.tolist())
        return columns.requested(key)[rows] * 2

    nodes = [info(f"n{number}") for number in range(40)]
    columns, kept = columns_of(nodes), Kept[str, NodeColumns](compute)
    for _ in range(2):
        assert kept.of("cpu", columns).tolist() == [0] * 40
    columns.change(holding(nodes[7], "p", cpu=1))
    columns.catch_up()
    assert kept.of("cpu", columns)[7] == 2000
    columns.order(nodes)
    assert kept.of("cpu", columns).tolist() == [0] * 40
    assert asked == ["all", [7], "all"]


def test_kept_takes_no_cluster_for_another() -> None:
    kept: Kept[str, NodeColumns] = Kept(lambda key, columns, rows: columns.allocatable(key)[rows])
    first, second = columns_of([info("a", cpu=1)]), columns_of([info("a", cpu=2)])
    assert [kept.of("cpu", each).tolist() for each in (first, second, first)] == [[1000], [2000], [1000]]


def test_kept_forgets_the_key_that_was_asked_for_longest_ago() -> None:
    computed: list[str] = []

    def compute(key: str, columns: NodeColumns, rows: Selection) -> Any:
        computed.append(key)
        return columns.requested(key)[rows]

    columns, kept = columns_of([info("a")]), Kept[str, NodeColumns](compute, limit=2)
    for key in ("x", "y", "x", "z", "x", "y"):
        kept.of(key, columns)
    assert computed == ["x", "y", "z", "y"]


def test_what_is_kept_can_only_be_read() -> None:
    kept: Kept[str, NodeColumns] = Kept(lambda key, columns, rows: columns.requested(key)[rows])
    columns = columns_of([info("a")])
    assert not kept.of("cpu", columns).flags.writeable
    assert not np.shares_memory(kept.of("cpu", columns), columns.requested("cpu"))


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (None, "Kept.compute answered NoneType for all 2 rows; one entry per row is wanted"),
        (np.zeros(3), "Kept.compute answered float64[3] for all 2 rows; one entry per row is wanted"),
        (np.array(7), "Kept.compute answered int64[] for all 2 rows; one entry per row is wanted"),
    ],
    ids=["nothing", "too many", "a number"],
)
def test_what_compute_answers_for_all_rows_has_an_entry_for_each(answer: Any, said: str) -> None:
    with pytest.raises(TypeError, match=f"^{re.escape(said)}$"):
        Kept[str, NodeColumns](lambda *_: answer).of("x", columns_of([info("a"), info("b")]))


@pytest.mark.parametrize("answer", [np.zeros(1), np.zeros(2, np.int64), 7], ids=["fractions", "too many", "a number"])
def test_what_compute_answers_for_some_rows_has_the_form_of_all_and_else_nothing_changes(answer: Any) -> None:
    nodes = [info("a"), info("b")]
    columns = columns_of(nodes)
    kept = Kept[str, NodeColumns](lambda _, columns, rows: columns.pods[rows] if isinstance(rows, slice) else answer)
    before = kept.of("x", columns)
    columns.change(holding(nodes[1], "p"))
    columns.catch_up()
    with pytest.raises(
        TypeError, match=r"^Kept.compute answered .* for 1 rows; int64 is wanted as for all rows, one entry"
    ):
        kept.of("x", columns)
    assert (before.tolist(), before.flags.writeable) == ([0, 0], False)


@pytest.mark.parametrize("row", [-1, 3])
def test_a_change_of_no_row_is_an_error_at_once(row: int) -> None:
    with pytest.raises(IndexError, match=f"there is no row {row}; there are 3"):
        Changes(3).note(row)


def test_of_a_version_that_is_still_to_come_nobody_remembers_anything() -> None:
    assert Changes(3).changed_since(1) is None


ROWS = st.integers(0, 29)


@given(st.lists(st.lists(st.tuples(ROWS, st.integers(0, 3)), max_size=25), max_size=12), st.randoms())
@settings(max_examples=60, deadline=None)
def test_kept_equals_a_full_pass_after_any_changes_however_seldom_it_is_asked(
    steps: list[list[tuple[int, int]]], rng: Any
) -> None:
    nodes = [info(f"n{row}") for row in range(30)]
    columns = columns_of(nodes)
    kept: Kept[str, NodeColumns] = Kept(lambda key, columns, rows: columns.requested(key)[rows])
    for step in steps:
        for row, cpu in step:
            columns.change(holding(nodes[row], "p", cpu=cpu))
        columns.catch_up()
        for key in rng.sample(["cpu", "memory", GPU], 2):
            assert kept.of(key, columns).tolist() == columns.requested(key).tolist()
        assert not list(columns.wrong())

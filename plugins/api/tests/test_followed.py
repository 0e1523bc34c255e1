"""Followed: numbers of a plugin's own that follow the nodes."""

import numpy as np
import pytest

from koordpy.testing import columns_of, make_node, make_pod
from koordpy_api import NodeInfo, PodInfo
from koordpy_api.columns import Amounts, NodeColumns
from koordpy_api.followed import Followed


def free(resource: str, columns: NodeColumns) -> Amounts:
    return columns.allocatable(resource) - columns.requested(resource)


def free_on(resource: str, node: NodeInfo) -> int:
    return node.allocatable.get(resource, 0) - node.requested.get(resource, 0)


@pytest.fixture
def nodes() -> list[NodeInfo]:
    return [NodeInfo(f"n{number}").with_node(make_node(f"n{number}", cpu=2 + number)) for number in range(40)]


def busy(node: NodeInfo, cpu: str) -> NodeInfo:
    return node.with_pod(PodInfo.of(make_pod(f"on-{node.name}", requests={"cpu": cpu}), (), node.name))


def test_a_changed_node_changes_its_number_and_no_other(nodes: list[NodeInfo]) -> None:
    columns, followed = columns_of(nodes), Followed(free, free_on)
    before = followed.of("cpu", columns).copy()
    columns.change(busy(nodes[7], "1500m"))
    columns.catch_up()
    after = followed.of("cpu", columns)
    assert after[7] == before[7] - 1500
    assert np.flatnonzero(after != before).tolist() == [7]


def test_all_reach_what_the_least_has_and_no_more(nodes: list[NodeInfo]) -> None:
    columns, followed = columns_of(nodes), Followed(free, free_on)
    assert followed.all_reach("cpu", columns, 2000)
    assert not followed.all_reach("cpu", columns, 2001)


def test_the_least_falls_with_a_node_and_rises_with_it_again(nodes: list[NodeInfo]) -> None:
    columns, followed = columns_of(nodes), Followed(free, free_on)
    assert followed.all_reach("cpu", columns, 2000)
    columns.change(busy(nodes[30], "31"))
    columns.catch_up()
    assert not followed.all_reach("cpu", columns, 2000)
    assert followed.all_reach("cpu", columns, 1000)
    columns.change(nodes[30])
    columns.catch_up()
    assert followed.all_reach("cpu", columns, 2000)


def test_other_nodes_are_looked_at_anew(nodes: list[NodeInfo]) -> None:
    columns, followed = columns_of(nodes), Followed(free, free_on)
    assert len(followed.of("cpu", columns)) == 40
    columns.order(nodes[3:])
    assert followed.of("cpu", columns).tolist() == [free_on("cpu", node) for node in nodes[3:]]
    assert followed.all_reach("cpu", columns, 5000)


def test_two_clusters_are_told_apart(nodes: list[NodeInfo]) -> None:
    followed = Followed(free, free_on)
    one, other = columns_of(nodes), columns_of(nodes[::-1])
    assert followed.of("cpu", one)[0] == 2000
    assert followed.of("cpu", other)[0] == 41_000


def test_where_there_is_no_node_all_of_them_reach_everything() -> None:
    assert Followed(free, free_on).all_reach("cpu", columns_of([]), 10**9)


def test_what_does_not_depend_on_pods_is_asked_for_when_the_node_itself_changes(nodes: list[NodeInfo]) -> None:
    asked: list[str] = []

    def offered_by(resource: str, node: NodeInfo) -> int:
        asked.append(node.name)
        return node.allocatable.get(resource, 0)

    columns = columns_of(nodes)
    followed = Followed(lambda name, columns: columns.allocatable(name).copy(), offered_by, whatever_runs=True)
    assert followed.of("cpu", columns)[5] == 7000
    columns.change(busy(nodes[5], "1"))
    columns.catch_up()
    assert (followed.of("cpu", columns)[5], asked) == (7000, [])
    columns.change(nodes[5].with_node(make_node("n5", cpu=64)))
    columns.catch_up()
    assert (followed.of("cpu", columns)[5], asked) == (64_000, ["n5"])


def test_many_keys_are_not_kept_for_ever(nodes: list[NodeInfo]) -> None:
    columns, followed = columns_of(nodes), Followed(free, free_on)
    for number in range(200):
        assert followed.of(f"example.test/{number}", columns).sum() == 0
    assert followed.of("cpu", columns)[0] == 2000

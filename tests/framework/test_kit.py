"""What else the kit for plugin authors has to keep."""

import pytest

from koordpy.testing import columns_of, make_node, make_pod
from koordpy_api import NodeInfo
from koordpy_api.objects import Node, Pod

THERE = make_pod("there", node="a", requests={"cpu": 1})


@pytest.mark.parametrize(
    "objects",
    [
        pytest.param([make_node("a", cpu=4), make_node("b"), THERE], id="the pods after the nodes"),
        pytest.param([THERE, make_node("a", cpu=4), make_node("b")], id="a Pod before its node"),
        pytest.param(
            [NodeInfo("a").with_node(make_node("a", cpu=4)), make_node("b"), THERE], id="a NodeInfo among them"
        ),
    ],
)
def test_columns_are_made_of_nodes_and_of_the_pods_on_them(objects: list[NodeInfo | Node | Pod]) -> None:
    columns = columns_of(objects)
    assert list(columns.names) == ["a", "b"]
    assert columns.pods.tolist() == [1, 0]
    assert columns.allocatable("cpu").tolist() == [4000, 8000]
    assert columns.requested("cpu").tolist() == [1000, 0]
    assert [pod.name for pod in columns.nodes[0].pods.values()] == ["there"]

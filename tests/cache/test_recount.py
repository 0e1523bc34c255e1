"""An honest cache has no difference to the objects; one that was tampered with is told, each time in one sentence."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from koordpy.cache.cache import Cache
from koordpy.cache.recount import recount
from koordpy.testing import make_node, make_pod
from koordpy_api.objects import Node, Pod

NODES = [make_node("n1", images={"app": 5}), make_node("n2")]
PODS = [make_pod("on", node="n1", requests={"cpu": 1}), make_pod("held", requests={"cpu": 2}), make_pod("waits")]


def cache() -> Cache:
    honest = Cache()
    for node in NODES:
        honest.set_node(node)
    honest.set_pod(PODS[0])
    honest.assume(PODS[1], "n2")
    return honest


def differences(cache: Cache, nodes: list[Node] = NODES, pods: list[Pod] = PODS) -> list[str]:
    return list(recount(cache, nodes, pods))


def test_an_honest_cache_has_none() -> None:
    assert differences(cache()) == []


def test_a_ghost_that_has_pods_is_none() -> None:
    ghostly = cache()
    ghostly.remove_node("n1")
    assert differences(ghostly, NODES[1:]) == []


def test_what_is_no_quantity_may_be_believed_as_before() -> None:
    nodes = [make_node("n1", cpu="many", images={"app": 5}), NODES[1]]
    pods = [make_pod("on", node="n1", requests={"cpu": "much"}), *PODS[1:]]
    assert differences(cache(), nodes, pods) == []


@pytest.mark.parametrize(
    ("nodes", "pods", "told"),
    [
        pytest.param(NODES[:1], PODS, "node n2 is gone, and is believed to be there", id="a node that went"),
        pytest.param([*NODES, make_node("n3")], PODS, "node n3 exists with", id="a node that came"),
        pytest.param([make_node("n1", cpu=1), NODES[1]], PODS, "node n1: it offers", id="a node that shrank"),
        pytest.param(
            [make_node("n1", unschedulable=True, images={"app": 5}), NODES[1]],
            PODS,
            "not believed to be as it is",
            id="a node that was cordoned",
        ),
        pytest.param([make_node("n1"), NODES[1]], PODS, "images app are not on as many nodes", id="an image that went"),
        pytest.param(NODES, PODS[1:], "pod default/on does not exist, and counts on n1", id="a pod that went"),
        pytest.param(NODES, [PODS[0], PODS[2]], "pod default/held does not exist", id="a held pod that went"),
        pytest.param(
            NODES, [*PODS, make_pod("new", node="n2")], "pod default/new is on n2, and does not count", id="a bound pod"
        ),
        pytest.param(
            NODES,
            [PODS[0], make_pod("held", node="n2", requests={"cpu": 2})],
            "still an assumption",
            id="a confirmation",
        ),
        pytest.param(
            NODES,
            [make_pod("on", requests={"cpu": 1}), *PODS[1:]],
            "is on no node, and counts on n1",
            id="an unbound pod",
        ),
        pytest.param(
            NODES,
            [make_pod("on", node="n1", requests={"cpu": 2}), *PODS[1:]],
            "believed to be requests",
            id="a pod that was resized",
        ),
        pytest.param(
            NODES,
            [make_pod("on", node="n1", requests={"cpu": 1}, phase="Failed"), *PODS[1:]],
            "is on no node",
            id="a pod that failed",
        ),
    ],
)
def test_it_tells_of(nodes: list[Node], pods: list[Pod], told: str) -> None:
    assert any(told in line for line in differences(cache(), nodes, pods))


def _node(cache: Any, name: str, **changed: Any) -> None:
    cache._nodes[name] = replace(cache._nodes[name], **changed)


@pytest.mark.parametrize(
    ("tamper", "told"),
    [
        pytest.param(lambda each: _node(each, "n1", requested={}), "and {} is believed", id="a sum that was lost"),
        pytest.param(lambda each: _node(each, "n2", non_zero_requested={}), "score as", id="a score that was lost"),
        pytest.param(
            lambda each: _node(each, "n1", pods={}), "the pods on it are []", id="a pod that is not on its node"
        ),
        pytest.param(lambda each: each._nodes.pop("n2"), "node n2 has pods, and is not known", id="a lost node"),
        pytest.param(lambda each: _node(each, "n2", images={}), "the snapshot has an older one", id="an old snapshot"),
        pytest.param(lambda each: setattr(each, "_assumed", 7), "assumed_pods': 7", id="a wrong size"),
    ],
)
def test_a_cache_that_was_tampered_with_has(tamper: Callable[[Any], object], told: str) -> None:
    tampered = cache()
    tampered.update_snapshot()
    tamper(tampered)
    assert any(told in line for line in differences(tampered))

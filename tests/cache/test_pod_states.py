"""One pod's way: unknown, assumed, known; and the node it counts on."""

import logging
from typing import Any

import pytest

from koordpy.cache.cache import Cache
from koordpy.testing import make_node, make_pod
from koordpy_api import QuantityError
from koordpy_api.objects import Pod
from tests.cache.ledger import Ledger

UID = "uid-default-web"


class World:
    """A cache of two nodes, and a listener to it."""

    def __init__(self) -> None:
        self.ledger = Ledger()
        self.cache = Cache([self.ledger])
        for name in ("n1", "n2"):
            self.cache.set_node(make_node(name))
        self.ledger.lines.clear()

    def requested(self, node: str) -> dict[str, int]:
        info = self.cache.node(node)
        return dict(info.requested) if info else {}


@pytest.fixture
def world() -> World:
    return World()


def web(node: str = "", cpu: str | int = 1, **more: Any) -> Pod:
    return make_pod("web", node=node, requests={"cpu": cpu}, **more)


def test_an_assumed_pod_counts_at_once(world: World) -> None:
    world.cache.assume(web(), "n1")
    assert world.cache.is_assumed(UID)
    assert world.requested("n1") == {"cpu": 1000}
    assert world.cache.sizes() == {"nodes": 2, "pods": 1, "assumed_pods": 1}
    assert world.ledger.lines == ["added web on n1"]


def test_the_api_servers_word_makes_an_assumed_pod_known_and_listeners_hear_an_update(world: World) -> None:
    world.cache.assume(web(), "n1")
    world.cache.set_pod(web("n1"))
    assert not world.cache.is_assumed(UID)
    assert world.requested("n1") == {"cpu": 1000}
    assert world.cache.sizes() == {"nodes": 2, "pods": 1, "assumed_pods": 0}
    assert world.ledger.lines == ["added web on n1", "updated web on n1"]


def test_the_echo_of_our_own_bind_changes_no_node(world: World) -> None:
    world.cache.assume(web(), "n1")
    before = world.cache.node("n1")
    world.cache.set_pod(web("n1"))
    assert world.cache.node("n1") is before
    world.cache.set_pod(web("n1", labels={"new": "label"}))
    after = world.cache.node("n1")
    assert after is not None
    assert after.pods[UID].labels == {"new": "label"}


def test_a_forgotten_pod_leaves_nothing_behind(world: World) -> None:
    world.cache.assume(web(), "n1")
    world.cache.forget(UID)
    assert (world.cache.pod(UID), world.requested("n1")) == (None, {})
    assert world.cache.sizes() == {"nodes": 2, "pods": 0, "assumed_pods": 0}
    assert world.ledger.lines == ["added web on n1", "removed web from n1"]


def test_a_confirmed_pod_cannot_be_forgotten(world: World) -> None:
    world.cache.assume(web(), "n1")
    world.cache.set_pod(web("n1"))
    world.cache.forget(UID)
    assert world.requested("n1") == {"cpu": 1000}


def test_forgetting_twice_or_an_unknown_pod_does_nothing(world: World) -> None:
    world.cache.assume(web(), "n1")
    for uid in (UID, UID, "uid-of-nobody"):
        world.cache.forget(uid)
    assert world.cache.sizes()["pods"] == 0


def test_s03_assuming_a_pod_that_counts_already_is_a_bug_of_the_caller(world: World) -> None:
    world.cache.assume(web(), "n1")
    with pytest.raises(ValueError, match=r"pod default/web \(uid-default-web\) is in the cache already"):
        world.cache.assume(web(), "n2")
    world.cache.set_pod(web("n1"))
    with pytest.raises(ValueError, match="is in the cache already"):
        world.cache.assume(web(), "n1")
    assert world.ledger.pods == {UID: "n1"}


def test_a_pod_that_somebody_else_bound_counts_as_known(world: World) -> None:
    world.cache.set_pod(web("n2", scheduler_name="default-scheduler"))
    assert not world.cache.is_assumed(UID)
    assert world.requested("n2") == {"cpu": 1000}


def test_a_pod_confirmed_on_another_node_moves_there(world: World, caplog: pytest.LogCaptureFixture) -> None:
    world.cache.assume(web(), "n1")
    with caplog.at_level(logging.WARNING):
        world.cache.set_pod(web("n2"))
    assert (world.requested("n1"), world.requested("n2")) == ({}, {"cpu": 1000})
    assert world.cache.sizes() == {"nodes": 2, "pods": 1, "assumed_pods": 0}
    assert world.ledger.lines == ["added web on n1", "removed web from n1", "added web on n2"]
    assert "pod default/web is on n2, we believed on n1" in caplog.text


def test_a_known_pod_that_is_seen_on_another_node_moves_there(world: World) -> None:
    world.cache.set_pod(web("n1"))
    world.cache.set_pod(web("n2"))
    assert (world.requested("n1"), world.requested("n2")) == ({}, {"cpu": 1000})


def test_an_update_replaces_what_the_pod_asked_for(world: World) -> None:
    world.cache.set_pod(web("n1", cpu=1))
    world.cache.set_pod(web("n1", cpu="1500m"))
    assert world.requested("n1") == {"cpu": 1500}


def test_a_removed_pod_frees_its_node_once(world: World) -> None:
    world.cache.set_pod(web("n1"))
    world.cache.remove_pod(UID)
    world.cache.remove_pod(UID)
    assert world.requested("n1") == {}
    assert world.ledger.lines == ["added web on n1", "removed web from n1"]


def test_an_assumed_pod_that_is_deleted_is_removed(world: World) -> None:
    world.cache.assume(web(), "n1")
    world.cache.remove_pod(UID)
    assert world.cache.sizes() == {"nodes": 2, "pods": 0, "assumed_pods": 0}


def test_a_pod_that_asks_for_no_quantity_changes_nothing(world: World) -> None:
    world.cache.set_pod(web("n1"))
    with pytest.raises(QuantityError):
        world.cache.set_pod(web("n1", cpu="much"))
    with pytest.raises(QuantityError):
        world.cache.assume(make_pod("other", requests={"cpu": "much"}), "n1")
    assert world.requested("n1") == {"cpu": 1000}
    assert world.cache.sizes() == {"nodes": 2, "pods": 1, "assumed_pods": 0}
    assert world.ledger.lines == ["added web on n1"]


def test_two_pods_of_one_name_are_two_pods(world: World) -> None:
    world.cache.set_pod(web("n1", uid="first"))
    world.cache.set_pod(web("n1", uid="second"))
    assert world.requested("n1") == {"cpu": 2000}
    world.cache.remove_pod("first")
    assert world.requested("n1") == {"cpu": 1000}

"""Nodes come and go, pods may be there before and after them, and a snapshot stays until the next one."""

import pytest

from koordpy.cache.cache import Cache
from koordpy.cache.snapshot import Snapshot
from koordpy.testing import make_node, make_pod
from koordpy_api import QuantityError
from tests.cache.ledger import Ledger


def names(cache: Cache) -> list[str]:
    return [node.name for node in cache.update_snapshot().nodes]


def test_a_pod_may_arrive_before_its_node_and_counts_when_the_node_comes() -> None:
    ledger = Ledger()
    cache = Cache([ledger])
    cache.set_pod(make_pod("early", node="n1", requests={"cpu": 2}))
    assert (names(cache), cache.has_node("n1"), cache.sizes()["nodes"]) == ([], False, 0)
    cache.set_node(make_node("n1"))
    snapshot = cache.update_snapshot()
    assert [node.requested for node in snapshot.nodes] == [{"cpu": 2000}]
    assert ledger.lines == ["added early on n1", "node n1 known"]


def test_s05_a_node_that_goes_leaves_a_ghost_until_its_last_pod_goes() -> None:
    ledger = Ledger()
    cache = Cache([ledger])
    cache.set_node(make_node("n1"))
    pods = [make_pod(name, node="n1") for name in ("a", "b")]
    for pod in pods:
        cache.set_pod(pod)
    cache.remove_node("n1")
    assert (names(cache), cache.has_node("n1")) == ([], False)
    assert cache.sizes() == {"nodes": 0, "pods": 2, "assumed_pods": 0}
    ghost = cache.node("n1")
    assert ghost
    assert (ghost.node, len(ghost.pods)) == (None, 2)
    cache.remove_pod(pods[0].uid)
    assert cache.node("n1")
    cache.remove_pod(pods[1].uid)
    assert cache.node("n1") is None
    assert ledger.pods == {}


def test_a_node_that_comes_back_finds_its_pods() -> None:
    cache = Cache()
    cache.set_node(make_node("n1", cpu=8))
    cache.set_pod(make_pod("a", node="n1", requests={"cpu": 2}))
    cache.remove_node("n1")
    cache.set_node(make_node("n1", cpu=16))
    (node,) = cache.update_snapshot().nodes
    assert (node.allocatable["cpu"], node.requested) == (16_000, {"cpu": 2000})


def test_a_node_that_is_not_known_can_go_without_a_trace() -> None:
    ledger = Ledger()
    cache = Cache([ledger])
    cache.remove_node("n1")
    cache.set_pod(make_pod("a", node="n1"))
    cache.remove_node("n1")
    assert ledger.lines == ["added a on n1"]


def test_a_node_that_changes_keeps_its_place() -> None:
    cache = Cache()
    for name in ("n1", "n2", "n3"):
        cache.set_node(make_node(name))
    cache.set_node(make_node("n2", cpu=1))
    assert names(cache) == ["n1", "n2", "n3"]
    cache.remove_node("n1")
    cache.set_node(make_node("n1"))
    assert names(cache) == ["n2", "n3", "n1"]


def test_a_node_that_offers_no_quantity_stays_as_it_was() -> None:
    ledger = Ledger()
    cache = Cache([ledger])
    cache.set_node(make_node("n1", cpu=4))
    with pytest.raises(QuantityError):
        cache.set_node(make_node("n1", cpu="many"))
    with pytest.raises(QuantityError):
        cache.set_node(make_node("n2", cpu="many"))
    (node,) = cache.update_snapshot().nodes
    assert node.allocatable["cpu"] == 4000
    assert ledger.lines == ["node n1 known"]


def changed(cache: Cache) -> None:
    cache.assume(make_pod("a", requests={"cpu": 1}), "n1")
    cache.set_node(make_node("n3"))
    cache.set_node(make_node("n2", cpu=1))
    cache.remove_node("n1")


def is_as_before(snapshot: Snapshot) -> None:
    assert [node.name for node in snapshot.nodes] == ["n1", "n2"]
    assert [node.requested for node in snapshot.nodes] == [{}, {}]
    found = [snapshot.get(name) for name in ("n1", "n2", "n3")]
    assert [node and node.allocatable["cpu"] for node in found] == [8000, 8000, None]
    assert list(snapshot.columns.requested("cpu")) == [0, 0]
    assert list(snapshot.columns.allocatable("cpu")) == [8000, 8000]


def test_a_snapshot_does_not_change_when_the_cache_does_until_the_next_one_is_made() -> None:
    cache = Cache()
    for name in ("n1", "n2"):
        cache.set_node(make_node(name))
    before = cache.update_snapshot()
    kept = before.kept()
    changed(cache)
    is_as_before(before)
    after = cache.update_snapshot()
    assert [node.name for node in after.nodes] == ["n2", "n3"]
    assert after.get("n1") is None
    is_as_before(kept)


def test_a_node_is_found_by_its_name_in_every_snapshot_of_a_changing_cache() -> None:
    cache = Cache()
    snapshots = []
    for step in range(12):
        if step % 4 == 3:
            cache.remove_node(f"n{step - 2}")
        else:
            cache.set_node(make_node(f"n{step}"))
        snapshots.append((cache.update_snapshot().kept(), names(cache)))
    for snapshot, expected in snapshots:
        assert [node.name for node in snapshot.nodes] == expected
        assert [snapshot.get(name) for name in expected] == list(snapshot.nodes)
        assert len(snapshot.rows) == len(expected)


def test_every_listener_is_told() -> None:
    ledgers = [Ledger(), Ledger()]
    cache = Cache(ledgers)
    cache.set_node(make_node("n1"))
    cache.assume(make_pod("a"), "n1")
    cache.forget("uid-default-a")
    assert ledgers[0].lines == ledgers[1].lines == ["node n1 known", "added a on n1", "removed a from n1"]

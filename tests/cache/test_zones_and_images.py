"""In which order nodes are looked at, and what is known of the images on them."""

from collections.abc import Mapping

import pytest

from koordpy.cache.cache import Cache
from koordpy.testing import make_node
from koordpy_api import QuantityError

MI = 2**20
REGION, ZONE = "topology.kubernetes.io/region", "topology.kubernetes.io/zone"
OLD_REGION, OLD_ZONE = "failure-domain.beta.kubernetes.io/region", "failure-domain.beta.kubernetes.io/zone"


def names(cache: Cache) -> list[str]:
    return [node.name for node in cache.update_snapshot().nodes]


def zone(region: str, zone: str) -> dict[str, str]:
    return {REGION: region, ZONE: zone}


def cache_of(*nodes: tuple[str, Mapping[str, str]]) -> Cache:
    cache = Cache()
    for name, labels in nodes:
        cache.set_node(make_node(name, labels=labels))
    return cache


def test_s01_nodes_come_one_of_each_zone_in_turn() -> None:
    one = zone("r1", "z1")
    cache = cache_of(("a1", one), ("a2", one), ("b1", zone("r1", "z2")), ("c1", {}), ("a3", one))
    assert names(cache) == ["a1", "b1", "c1", "a2", "a3"]


def test_zones_of_one_name_in_two_regions_are_two() -> None:
    cache = cache_of(("a1", zone("r1", "z")), ("a2", zone("r1", "z")), ("b1", zone("r2", "z")))
    assert names(cache) == ["a1", "b1", "a2"]


def test_the_older_labels_come_first_where_a_node_has_both() -> None:
    old = {OLD_REGION: "r1", OLD_ZONE: "z1"}
    cache = cache_of(("a1", old), ("a2", old | zone("r9", "z9")), ("b1", zone("r9", "z9")))
    assert names(cache) == ["a1", "b1", "a2"]


def test_a_node_that_moves_to_another_zone_is_its_last_one() -> None:
    cache = cache_of(("a1", zone("r", "z1")), ("a2", zone("r", "z1")), ("b1", zone("r", "z2")))
    assert names(cache) == ["a1", "b1", "a2"]
    cache.set_node(make_node("a1", labels=zone("r", "z2")))
    assert names(cache) == ["a2", "b1", "a1"]
    cache.remove_node("a2")
    cache.set_node(make_node("a2", labels=zone("r", "z1")))
    assert names(cache) == ["b1", "a2", "a1"]


def images(cache: Cache, node: str) -> dict[str, tuple[int, int]]:
    info = cache.node(node)
    assert info
    return {name: (state.size_bytes, state.node_count) for name, state in info.images.items()}


def test_s07_the_size_that_was_seen_first_counts_for_every_node_with_that_name() -> None:
    cache = Cache()
    cache.set_node(make_node("n1", images={"app": 100 * MI}))
    cache.set_node(make_node("n2", images={"app": 140 * MI, "other": MI}))
    assert images(cache, "n1") == {"app": (100 * MI, 2)}
    assert images(cache, "n2") == {"app": (100 * MI, 2), "other": (MI, 1)}


def test_an_image_is_forgotten_with_its_last_node_and_measured_anew_afterwards() -> None:
    cache = Cache()
    cache.set_node(make_node("n1", images={"app": 100 * MI}))
    cache.set_node(make_node("n2", images={"app": 140 * MI}))
    cache.set_node(make_node("n1"))
    assert images(cache, "n2") == {"app": (100 * MI, 1)}
    cache.remove_node("n2")
    assert cache.image_counts() == {}
    cache.set_node(make_node("n2", images={"app": 140 * MI}))
    assert images(cache, "n2") == {"app": (140 * MI, 1)}


def test_a_node_that_offers_no_quantity_moves_neither_its_zone_nor_its_images() -> None:
    cache = cache_of(("a1", zone("r", "z1")), ("a2", zone("r", "z1")), ("b1", zone("r", "z2")))
    with pytest.raises(QuantityError):
        cache.set_node(make_node("a1", cpu="many", labels=zone("r", "z2"), images={"app": 1}))
    assert names(cache) == ["a1", "b1", "a2"]
    assert cache.image_counts() == {}

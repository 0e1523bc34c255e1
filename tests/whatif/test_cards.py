"""Cards counted from Devices and annotations alone."""

from typing import Any

from koordpy.testing import gpu, make_device, make_pod
from koordpy.whatif.cards import count
from koordpy_api.koordinator import (
    DEVICE_ALLOCATED,
    GPU_CORE,
    GPU_MEMORY,
    GPU_MEMORY_RATIO,
    AllocatedDevice,
    encode_device_allocated,
)
from koordpy_api.objects import Pod

GI = 2**30


def holding(name: str, *minors: int, node: str = "n1", phase: str = "", **amounts: int) -> Pod:
    """A Pod that holds core and ratio of these cards, and memory if it says so."""
    names = {"core": GPU_CORE, "ratio": GPU_MEMORY_RATIO, "memory": GPU_MEMORY}
    resources = {names[key]: amount for key, amount in amounts.items()}
    text = encode_device_allocated({"gpu": [AllocatedDevice(minor, resources) for minor in minors]})
    return make_pod(name, node=node, phase=phase, annotations={DEVICE_ALLOCATED: text})


def test_shares_of_a_card_add_up_and_know_their_pods() -> None:
    pods = [holding("b", 0, core=25, ratio=25, memory=4 * GI), holding("a", 0, core=50, ratio=50, memory=8 * GI)]
    (card, other) = count([make_device("n1", 2)], pods).nodes["n1"]
    assert [share.pod for share in card.shares] == ["default/a", "default/b"]
    assert card.used == {GPU_CORE: 75, GPU_MEMORY_RATIO: 75, GPU_MEMORY: 12 * GI}
    assert card.free == {GPU_CORE: 25, GPU_MEMORY_RATIO: 25, GPU_MEMORY: 4 * GI}
    assert not other.shares
    assert other.free[GPU_MEMORY] == 16 * GI


def test_memory_in_one_form_counts_in_the_other_too() -> None:
    pods = [holding("percent", 0, core=25, ratio=25), holding("bytes", 1, core=25, memory=8 * GI)]
    percent, in_bytes = count([make_device("n1", 2)], pods).nodes["n1"]
    assert percent.used[GPU_MEMORY] == 4 * GI
    assert in_bytes.used[GPU_MEMORY_RATIO] == 50


def test_what_is_given_twice_is_named() -> None:
    pods = [holding(name, 0, core=60, ratio=50, memory=8 * GI) for name in "ab"]
    (card,) = count([make_device("n1", 1)], pods).nodes["n1"]
    assert card.exceeded == [GPU_CORE]
    assert card.free[GPU_CORE] == 0


def test_a_pod_that_has_ended_or_is_on_no_node_holds_nothing() -> None:
    pods = [holding("ended", 0, phase="Succeeded", core=100, ratio=100), holding("nowhere", 0, node="", core=100)]
    (card,) = count([make_device("n1", 1)], pods).nodes["n1"]
    assert not card.shares


def test_a_sick_card_and_one_that_is_held_but_not_listed_have_no_total() -> None:
    cards: Any = [gpu(0, health=False)]
    sick, unlisted = count([make_device("n1", cards)], [holding("a", 7, core=50, ratio=50)]).nodes["n1"]
    assert (sick.minor, sick.total) == (0, {})
    assert (unlisted.minor, unlisted.total, len(unlisted.shares)) == (7, {}, 1)
    assert unlisted.exceeded == []


def test_an_annotation_that_cannot_be_read_is_told() -> None:
    found = count([make_device("n1", 1)], [make_pod("bad", node="n1", annotations={DEVICE_ALLOCATED: "{"})])
    (problem,) = found.problems
    assert problem.startswith("pod default/bad: ")


def test_the_cards_of_a_pod_are_found_by_its_name() -> None:
    found = count([make_device("n1", 3)], [holding("two", 1, 2, core=100, ratio=100, memory=16 * GI)])
    assert list(found.held_by("default/two")) == [1, 2]
    assert found.held_by("default/none") == {}

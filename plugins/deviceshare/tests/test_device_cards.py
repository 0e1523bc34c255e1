"""Which card it is: cards that move, are replaced, go and return, and cards that somebody has without saying which."""

import json

import pytest

from koordpy.testing import gpu, make_device, make_pod
from koordpy_api.koordinator import (
    AMD_GPU,
    DEVICE_ALLOCATED,
    GPU,
    GPU_CORE,
    GPU_MINORS,
    GPU_UUIDS,
    HYGON_DCU,
    NVIDIA_GPU,
)
from koordpy_api.node_info import PodInfo
from koordpy_api.objects import Device
from koordpy_deviceshare.node_book import SOMEBODY

from .deviceshare_stage import HALF, Host, assigned, node_of

WHOLE = {NVIDIA_GPU: 1}


def with_cards(*uuids: str) -> Host:
    host = Host()
    host.list_device(cards(*uuids))
    return host


def cards(*uuids: str) -> Device:
    """A Device whose minors are the places of its cards; "" leaves a minor out."""
    return make_device("node", [gpu(minor, uuid=uuid) for minor, uuid in enumerate(uuids) if uuid])


def used(host: Host) -> dict[str, int]:
    """Core in use, by id."""
    return {card.id: card.used.get(GPU_CORE, 0) for card in host.plugin.books.devices_of("node").gpus}


# ------------------------------------------------------------- which card it is


def test_what_a_pod_holds_follows_its_card_to_another_minor() -> None:
    host = with_cards("A", "B")
    host.bind(make_pod("first", requests=WHOLE))
    host.change_device(cards("A", "B"), cards("B", "A"))
    assert used(host) == {"A": 100, "B": 0}
    next_one = make_pod("second", requests=WHOLE)
    host.bind(next_one)
    assert used(host) == {"A": 100, "B": 100}
    assert host.card(0).held_by == ("default/second",)


def test_a_card_that_replaces_another_is_empty_though_the_pod_of_the_old_one_is_still_there() -> None:
    host = with_cards("A")
    old = host.bind(make_pod("old", requests=WHOLE))
    host.change_device(cards("A"), cards("B"))
    assert used(host) == {"B": 0}
    host.bind(make_pod("new", requests=WHOLE))
    assert host.try_node(make_pod("third", requests=HALF)) is not None
    host.lose(old)
    assert used(host) == {"B": 100}


def test_a_card_that_comes_back_still_belongs_to_its_pod() -> None:
    host = with_cards("A")
    host.bind(make_pod("old", requests=WHOLE))
    host.change_device(cards("A"), cards("B"))
    host.change_device(cards("B"), cards("B", "A"))
    assert used(host) == {"B": 0, "A": 100}


def test_a_minor_that_goes_and_returns_is_as_it_was() -> None:
    host = with_cards("A", "B")
    host.bind(make_pod("first", requests=HALF))
    before = host.plugin.books.devices_of("node")
    host.change_device(cards("A", "B"), cards("", "B"))
    assert host.card(0).held_by == ("default/first",)
    host.change_device(cards("", "B"), cards("A", "B"))
    assert host.plugin.books.devices_of("node") == before


def test_after_a_restart_nobody_knows_what_a_minor_was_before_and_its_pod_keeps_it() -> None:
    host = with_cards("A")
    old = host.bind(make_pod("old", requests=WHOLE))
    again = with_cards("B")
    again.see(old)
    assert used(again) == {"B": 100}
    again.lose(old)
    assert used(again) == {"B": 0}


def test_a_word_without_an_id_is_about_whatever_has_the_minor() -> None:
    host = with_cards("A")
    text = f'{{"gpu":[{{"minor":0,"resources":{{"{GPU_CORE}":"100"}}}}]}}'
    host.see(make_pod("old", node="node", annotations={DEVICE_ALLOCATED: text}))
    host.change_device(cards("A"), cards("B"))
    assert used(host) == {"B": 100}


def test_ids_that_vanish_from_a_device_make_no_card_empty() -> None:
    host = with_cards("A")
    host.bind(make_pod("old", requests=WHOLE))
    host.change_device(cards("A"), make_device("node", [gpu(0) | {"id": ""}]))
    assert used(host) == {"": 100}


def test_an_id_that_two_cards_claim_tells_no_more_than_the_minor() -> None:
    host = Host()
    host.list_device(make_device("node", [gpu(0, uuid="A"), gpu(1, uuid="A")]))
    host.bind(make_pod("first", requests=WHOLE))
    assert [host.card(minor).holders for minor in (0, 1)] == [1, 0]


def test_two_pods_whose_words_name_one_card_in_two_ways_hold_it_together() -> None:
    host = with_cards("A", "B")
    for name, told in (("by-id", '"minor":7,"id":"A"'), ("by-minor", '"minor":0')):
        text = f'{{"gpu":[{{{told},"resources":{{"{GPU_CORE}":"40"}}}}]}}'
        host.see(make_pod(name, node="node", annotations={DEVICE_ALLOCATED: text}))
    assert used(host) == {"A": 80, "B": 0}
    assert host.card(0).held_by == ("default/by-id", "default/by-minor")


# --------------------------------------------- cards that somebody has, unnamed


@pytest.mark.parametrize("name", [NVIDIA_GPU, AMD_GPU, HYGON_DCU])
def test_a_pod_that_got_its_card_from_a_device_plugin_leaves_one_less_to_give(name: str) -> None:
    host = with_cards("A", "B")
    host.see(foreign := make_pod("foreign", node="node", requests={name: 1}))
    assert host.card(1).held_by == (SOMEBODY,)
    host.bind(make_pod("p1", requests=WHOLE))
    assert host.try_node(make_pod("p2", requests=WHOLE)) is not None
    assert host.try_node(make_pod("p3", requests=HALF)) is not None
    host.lose(foreign)
    assert host.try_node(make_pod("p2", requests=WHOLE)) is None


def test_shares_fill_a_card_that_is_shared_already_and_open_no_other_one() -> None:
    host = with_cards("A", "B")
    host.see(make_pod("foreign", node="node", requests=WHOLE))
    for name in ("p1", "p2"):
        host.bind(make_pod(name, requests=HALF))
    assert host.try_node(make_pod("p3", requests=HALF)) is not None
    assert used(host) == {"A": 100, "B": 100}


def test_a_foreign_pod_that_comes_to_say_which_card_it_has_is_believed() -> None:
    host = with_cards("A", "B")
    bare = make_pod("foreign", node="node", requests=WHOLE)
    host.see(bare)
    text = f'{{"gpu":[{{"minor":0,"id":"A","resources":{{"{GPU_CORE}":"100"}}}}]}}'
    host.see_again(bare, assigned(bare, "node", text))
    assert used(host) == {"A": 100, "B": 0}


def test_more_unnamed_cards_than_are_empty_take_those_that_are() -> None:
    host = with_cards("A", "B")
    host.bind(make_pod("ours", requests=HALF))
    host.see(make_pod("foreign", node="node", requests={NVIDIA_GPU: 2}))
    assert used(host) == {"A": 50, "B": 100}
    assert host.try_node(make_pod("next", requests=HALF)) is None


def test_a_pod_in_koordinators_names_that_was_bound_without_a_card_has_none() -> None:
    host = with_cards("A")
    host.see(make_pod("foreign", node="node", requests={GPU: 100}))
    assert used(host) == {"A": 0}


def test_a_finished_foreign_pod_gives_its_card_back() -> None:
    host = with_cards("A")
    host.see(foreign := make_pod("foreign", node="node", requests=WHOLE))
    host.see_again(foreign, assigned(foreign, phase="Succeeded"))
    assert used(host) == {"A": 0}


def test_a_pod_that_we_bound_on_a_node_without_a_device_is_counted_when_one_comes() -> None:
    host, pod = Host(), make_pod("ours", requests=WHOLE)
    host.plugin.pod_added(pod, node_of("node"))
    host.plugin.pod_updated(PodInfo.of(pod, host.plugin.ANNOTATIONS, "node"), assigned(pod), node_of("node"))
    host.list_device(make_device("node", [gpu(0, uuid="A"), gpu(1, uuid="B")]))
    assert used(host) == {"A": 0, "B": 100}


# --------------------------------------------------------- whose node it is


def test_a_node_is_plain_until_a_device_or_a_word_of_ours_was_there() -> None:
    host = Host()
    books = host.plugin.books
    assert books.is_plain("node")
    host.see(make_pod("bare", node="node", requests=WHOLE))
    assert books.is_plain("node")
    text = f'{{"gpu":[{{"minor":0,"resources":{{"{GPU_CORE}":"100"}}}}]}}'
    host.see(ours := make_pod("ours", node="node", annotations={DEVICE_ALLOCATED: text}))
    assert not books.is_plain("node")
    host.lose(ours)
    assert books.is_plain("node")
    host.list_device(device := make_device("node", 1))
    host.delete_device(device)
    assert not books.is_plain("node")


def test_a_device_whose_node_is_gone_is_not_shown() -> None:
    host = with_cards("A")
    assert host.plugin.books.shown() == []
    host.show_node("node")
    assert [shown.node for shown in host.plugin.books.shown()] == ["node"]
    host.hide_node("node")
    assert host.plugin.books.shown() == []


# ------------------------------------------------------------ what is written


def test_the_binding_carries_minors_and_ids_in_one_order_beside_the_allocation() -> None:
    host = with_cards("A", "B", "C")
    pod = make_pod(requests={NVIDIA_GPU: 2})
    host.see(make_pod("first", node="node", annotations={DEVICE_ALLOCATED: '{"gpu":[{"minor":0,"resources":null}]}'}))
    assert host.hold(pod) is None
    plan = host.plugin.pre_bind(host.states[pod.uid], pod, "node")
    assert plan is not None
    assert [each["id"] for each in json.loads(plan.pod.annotations[DEVICE_ALLOCATED])["gpu"]] == ["B", "C"]
    assert (plan.pod.annotations[GPU_MINORS], plan.pod.annotations[GPU_UUIDS]) == ("1,2", "B,C")


def test_the_flat_lists_are_never_read_back() -> None:
    host = with_cards("A")
    host.see(make_pod("odd", node="node", annotations={GPU_MINORS: "0", GPU_UUIDS: "A"}))
    assert used(host) == {"A": 0}


def test_virtual_functions_that_pods_hold_are_known() -> None:
    host = Host()
    texts = [
        f'{{"rdma":[{{"minor":1,"resources":{{}},"extension":{{"vfs":[{{"busID":"{b}"}}]}}}}]}}' for b in ("y", "x")
    ]
    pods = [
        make_pod(name, node="node", annotations={DEVICE_ALLOCATED: text})
        for name, text in zip(("a", "b"), texts, strict=True)
    ]
    for pod in pods:
        host.see(pod)
    host.lose(pods[0])
    (record,) = host.plugin.books.books["node"].records.values()
    assert [vf.bus_id for vf in record.devices["rdma"][0].vfs] == ["x"]

"""Which of the cards that fit: by the profile's arguments, by the Pod's own wish."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from koordpy.testing import gpu, make_device, make_pod
from koordpy_api.koordinator import (
    DEVICE_ALLOCATE_HINT,
    GPU,
    GPU_CORE,
    GPU_MEMORY,
    GPU_MEMORY_RATIO,
    GPU_SHARED,
    NVIDIA_GPU,
    decode_device_allocated,
)
from koordpy_api.objects import Pod
from koordpy_deviceshare.args import ALLOCATORS, DeviceShareArgs

from .deviceshare_stage import Host

Requests = Mapping[str, str | int]
Args = Mapping[str, Any]
QUARTER: Requests = {GPU_CORE: 25, GPU_MEMORY_RATIO: 25}
DEFAULT, BINPACK, SPREAD = ({"allocator": name} for name in ("default", "binpack", "spread"))
LEAST, MOST = (
    {"scoringStrategy": {"type": name, "resources": [{"name": GPU_MEMORY_RATIO, "weight": 1}]}}
    for name in ("LeastAllocated", "MostAllocated")
)


def host_with(args: Args, used: Sequence[Requests], **cards: Any) -> Host:
    """A node whose cards are used so much, minor by minor; {} leaves one empty."""
    host = Host(DeviceShareArgs.model_validate(args))
    host.list_device(make_device("node", [gpu(minor, **cards) for minor in range(len(used))]))
    for minor, amounts in enumerate(used):
        if amounts:
            hold_on(host, minor, amounts)
    return host


def hold_on(host: Host, minor: int, amounts: Requests) -> None:
    resources = {name: str(amount) for name, amount in amounts.items()}
    held = json.dumps({"gpu": [{"minor": minor, "resources": resources}]})
    annotations = {"scheduling.koordinator.sh/device-allocated": held}
    host.see(make_pod(f"on-{minor}", node="node", annotations=annotations))


def percent(*used: int) -> list[Requests]:
    return [{GPU_CORE: each, GPU_MEMORY_RATIO: each} if each else {} for each in used]


def chosen(host: Host, pod: Pod) -> list[int]:
    refusal = host.hold(pod)
    assert refusal is None, refusal
    return [device.minor for device in decode_device_allocated(host.plan(pod))["gpu"]]


@pytest.mark.parametrize(
    ("args", "minors"),
    [
        pytest.param(DEFAULT, (0, 0, 0), id="default: the lowest minor that fits"),
        pytest.param(BINPACK, (0, 3, 1), id="binpack: the fullest that fits"),
        pytest.param(SPREAD, (3, 0, 2), id="spread: the emptiest"),
        pytest.param(LEAST, (3, 0, 2), id="LeastAllocated without an allocator: the emptiest"),
        pytest.param(MOST, (0, 3, 1), id="MostAllocated without an allocator: the fullest that fits"),
        pytest.param({}, (3, 0, 2), id="nothing said: the emptiest, as Koordinator"),
        pytest.param(DEFAULT | MOST, (0, 0, 0), id="the allocator decides about cards, whatever decides about nodes"),
        pytest.param(SPREAD | MOST, (3, 0, 2), id="cards spread on packed nodes"),
        pytest.param(BINPACK | LEAST, (0, 3, 1), id="cards packed on spread nodes"),
    ],
)
def test_the_strategy_says_which_of_four_cards_a_quarter_gets(args: Args, minors: tuple[int, int, int]) -> None:
    tables = (percent(75, 50, 25, 0), percent(0, 25, 50, 75), percent(50, 75, 0, 25))
    assert tuple(chosen(host_with(args, used), make_pod(requests=QUARTER))[0] for used in tables) == minors


@pytest.mark.parametrize(
    ("used", "strategy", "minor"),
    [
        pytest.param(used, strategy, minor, id=f"used {' '.join(map(str, used))}, {strategy}: minor {minor}")
        for used, minors in (((75, 50, 25, 0), (0, 0, 3)), ((0, 25, 50, 75), (0, 3, 0)))
        for strategy, minor in zip(ALLOCATORS, minors, strict=True)
    ],
)
def test_on_the_node_of_article_4_2_a_quarter_gets_this_card(used: tuple[int, ...], strategy: str, minor: int) -> None:
    host = host_with({"allocator": strategy}, percent(*used))
    assert chosen(host, make_pod(requests=QUARTER)) == [minor]


@pytest.mark.parametrize("args", [DEFAULT, BINPACK, SPREAD, LEAST, MOST, {}])
def test_equal_cards_are_taken_by_their_minors(args: Args) -> None:
    host = host_with(args, percent(0, 0, 0))
    assert chosen(host, make_pod(requests=QUARTER)) == [0]


@pytest.mark.parametrize("args", [DEFAULT, BINPACK, SPREAD, LEAST, MOST, {}])
def test_whole_cards_are_the_lowest_free_minors_under_every_strategy(args: Args) -> None:
    host = host_with(args, percent(0, 10, 0, 0), labels={})
    assert chosen(host, make_pod(requests={NVIDIA_GPU: 2})) == [0, 2]


def test_binpack_prefers_the_card_that_the_share_fills_to_the_last_percent() -> None:
    used: list[Requests] = [{GPU_CORE: 40, GPU_MEMORY_RATIO: 75}, {GPU_CORE: 75, GPU_MEMORY_RATIO: 75}]
    assert chosen(host_with(BINPACK, used), make_pod(requests=QUARTER)) == [1]
    assert chosen(host_with(MOST, used), make_pod(requests=QUARTER)) == [0]


def test_binpack_keeps_an_empty_card_whole_though_the_share_would_fill_more_of_it() -> None:
    """8Gi are half of a small card that is empty, and little of a large one that is in use."""

    def node(args: Args) -> Host:
        host = Host(DeviceShareArgs.model_validate(args))
        host.list_device(make_device("node", [gpu(0, memory="16Gi"), gpu(1, memory="80Gi")]))
        hold_on(host, 1, {GPU_CORE: 10, GPU_MEMORY_RATIO: 10})
        return host

    fullest = {"scoringStrategy": {"type": "MostAllocated", "resources": [weight(GPU_MEMORY)]}}
    share = {GPU_CORE: 10, GPU_MEMORY: "8Gi"}
    assert chosen(node(BINPACK), make_pod(requests=share)) == [1]
    assert chosen(node(fullest), make_pod(requests=share)) == [0]


def weight(name: str, amount: int = 1) -> dict[str, str | int]:
    return {"name": name, "weight": amount}


def test_the_weights_say_what_full_means() -> None:
    used: list[Requests] = [{GPU_CORE: 70, GPU_MEMORY_RATIO: 10}, {GPU_CORE: 10, GPU_MEMORY_RATIO: 60}]

    def packs(*resources: Mapping[str, str | int]) -> list[int]:
        strategy = {"scoringStrategy": {"type": "MostAllocated", "resources": list(resources)}}
        return chosen(host_with(strategy, used), make_pod(requests=QUARTER))

    assert packs(weight(GPU_CORE)) == [0]
    assert packs(weight(GPU_MEMORY_RATIO)) == [1]
    assert packs(weight(GPU_CORE, 3), weight(GPU_MEMORY_RATIO)) == [0]
    assert packs(weight(GPU_CORE), weight(GPU_MEMORY_RATIO, 3)) == [1]


@pytest.mark.parametrize(("wish", "minor"), [("default", 0), ("binpack", 1), ("spread", 2)])
@pytest.mark.parametrize("args", [DEFAULT, BINPACK, SPREAD, MOST, {}])
def test_a_pod_may_wish_for_another_strategy_for_itself(args: Args, wish: str, minor: int) -> None:
    hint = json.dumps({"gpu": {"allocateStrategy": wish}})
    pod = make_pod(requests=QUARTER, annotations={DEVICE_ALLOCATE_HINT: hint})
    assert chosen(host_with(args, percent(50, 75, 0, 25)), pod) == [minor]


def test_a_misspelt_strategy_is_refused_and_not_taken_for_none() -> None:
    hint = json.dumps({"gpu": {"allocateStrategy": "binpak"}})
    answer = Host().begin(make_pod(requests=QUARTER, annotations={DEVICE_ALLOCATE_HINT: hint}))
    assert answer is not None
    assert answer.message.startswith("invalid DeviceAllocateHint annotation, err: allocateStrategy binpak is none of ")
    assert "binpack" in answer.message


def test_cards_stand_in_the_annotation_in_the_order_in_which_they_were_chosen() -> None:
    host = host_with(SPREAD, percent(50, 75, 0, 25))
    assert chosen(host, make_pod(requests={GPU_SHARED: 3, GPU_MEMORY_RATIO: 30})) == [2, 3, 0]


@settings(deadline=None)  # 46 binds
@given(st.permutations([25] * 40 + [50] * 6))
def test_packed_shares_fill_their_cards_in_any_order_of_arrival(shares: list[int]) -> None:
    host = host_with(BINPACK, percent(*[0] * 16))
    for i, share in enumerate(shares):
        host.bind(make_pod(f"share-{i}", requests={GPU: share}))
    left = [card.free.get(GPU_CORE, 0) for card in host.plugin.books.devices_of("node").gpus]
    assert sorted(left) == [0] * 13 + [100] * 3

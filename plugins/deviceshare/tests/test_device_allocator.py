"""The pure decision: completion, fit, choice."""

from collections.abc import Mapping
from random import Random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from koordpy_api.koordinator import GPU_CORE, GPU_MEMORY, GPU_MEMORY_RATIO, NPU_CORE
from koordpy_deviceshare.allocator import allocate, fits, most_of, shortage
from koordpy_deviceshare.args import DeviceShareArgs
from koordpy_deviceshare.model import GPU_TYPE, Allocation, Card, Health, NodeDevices, Shortage, complete
from koordpy_deviceshare.request import WHOLE_CARD, DeviceRequest, TypeRequest
from koordpy_deviceshare.scoring import USUAL, Preferences

from .deviceshare_stage import GI

Amounts = Mapping[str, int]


def amounts(core: int = 0, ratio: int = 0, memory: int = 0) -> dict[str, int]:
    named = {GPU_CORE: core, GPU_MEMORY_RATIO: ratio, GPU_MEMORY: memory}
    return {name: amount for name, amount in named.items() if amount}


def ask(per_card: Amounts, count: int = 1) -> DeviceRequest:
    return DeviceRequest({"main": per_card}, per_card, (TypeRequest(GPU_TYPE, per_card, count, per_card),))


def card(minor: int, used: Amounts | None = None, *, memory: int = 16 * GI, held: bool = False) -> Card:
    holders = ("default/holder",) if used or held else ()
    return Card(minor, f"GPU-{minor}", Health.HEALTHY, amounts(100, 100, memory), dict(used or {}), holders)


def node(*cards: Card) -> NodeDevices:
    return NodeDevices.of({GPU_TYPE: cards})


def minors(answer: Allocation | Shortage) -> list[int]:
    assert isinstance(answer, Allocation), answer
    return [device.minor for device in answer.devices[GPU_TYPE]]


small = st.integers(0, 130) | st.sampled_from((20, 50, 100, 1001))  # where percent and bytes meet
strange = st.fixed_dictionaries({}, optional={GPU_CORE: small, GPU_MEMORY_RATIO: small, GPU_MEMORY: small})


@settings(max_examples=500)
@example(amounts(0, 100, 100), amounts(0, 50), GPU_MEMORY, 1)
@example(amounts(0, 100, 20), amounts(0, 0, 11), GPU_MEMORY_RATIO, 1)
@given(
    total=strange, used=strange, name=st.sampled_from((GPU_CORE, GPU_MEMORY_RATIO, GPU_MEMORY)), far=st.integers(-1, 1)
)
def test_the_most_that_a_card_gives_says_what_fits(total: Amounts, used: Amounts, name: str, far: int) -> None:
    each = Card(0, "GPU-0", Health.HEALTHY, total, used)
    most = most_of(each, name, GPU_TYPE)
    amount = max(most + far, 0)
    assert (amount <= most) == (each.has_room(GPU_TYPE) and fits({name: amount}, each))


@pytest.mark.parametrize(
    ("asked", "total", "completed"),
    [
        pytest.param(amounts(50, 50), amounts(100, 100, 32), amounts(50, 50, 16), id="a ratio gets its bytes"),
        pytest.param(amounts(50, 0, 16), amounts(100, 100, 32), amounts(50, 50, 16), id="bytes get their ratio"),
        pytest.param(amounts(50, 60, 16), amounts(100, 100, 32), amounts(50, 60, 16), id="both forms stay"),
        pytest.param(amounts(0, 0, 3), amounts(0, 100, 24), amounts(0, 12, 3), id="an eighth is twelve percent"),
        pytest.param(amounts(0, 0, 29), amounts(0, 100, 100), amounts(0, 29, 29), id="no binary float takes part"),
        pytest.param(amounts(0, 33), amounts(0, 100, 1001), amounts(0, 33, 330), id="bytes are rounded down"),
        pytest.param(amounts(50, 50), {}, amounts(50, 50), id="an unhealthy card cannot tell"),
        pytest.param(amounts(1, 1), {GPU_MEMORY: 0}, amounts(1, 1), id="a card with no bytes cannot tell"),
    ],
)
def test_a_share_of_memory_is_said_in_both_forms(asked: Amounts, total: Amounts, completed: Amounts) -> None:
    assert complete(asked, total) == completed


@pytest.mark.parametrize(
    ("used", "asked", "score"),
    [
        pytest.param({}, amounts(50, 50), 75, id="an empty card, half of its ratio asked"),
        pytest.param(amounts(50, 50, 8 * GI), amounts(50, 50), 25, id="a card half used, the other half asked"),
        pytest.param({}, amounts(50, 0, 4 * GI), 87, id="an empty card, a quarter of its bytes asked"),
        pytest.param(amounts(0, 200, 32 * GI), amounts(50, 50), 0, id="a card that is over-used"),
    ],
)
def test_the_score_of_a_card_is_what_would_be_left_of_its_memory(used: Amounts, asked: Amounts, score: int) -> None:
    emptiest, held = USUAL.nodes, card(0, used)
    assert emptiest.rate(asked, held.total, held.free) == score


def test_a_card_without_memory_has_no_score() -> None:
    assert USUAL.nodes.rate(amounts(50, 50), Card(0).total, Card(0).free) == 0


def test_whole_cards_are_the_lowest_free_minors_in_ascending_order() -> None:
    answer = allocate(ask(WHOLE_CARD, 2), node(card(70), card(3), card(0, amounts(1, 1, 1)), card(5)))
    assert minors(answer) == [3, 5]


def test_a_share_takes_exactly_one_of_the_cards_that_fit() -> None:
    assert minors(allocate(ask(amounts(20, 20)), node(*map(card, range(4))))) == [0]


def test_several_shares_are_on_different_cards() -> None:
    answer = allocate(ask(amounts(20, 20), 2), node(card(0, amounts(50, 50, 8 * GI)), card(1), card(2)))
    assert minors(answer) == [1, 2]


@pytest.mark.parametrize("missing", [GPU_CORE, GPU_MEMORY_RATIO, GPU_MEMORY])
@pytest.mark.parametrize("per_card", [WHOLE_CARD, amounts(50, 50), amounts(50, 0, GI)])
def test_a_dimension_that_a_card_does_not_report_is_not_given(missing: str, per_card: Amounts) -> None:
    total = {name: amount for name, amount in amounts(100, 100, 16 * GI).items() if name != missing}
    assert isinstance(allocate(ask(per_card), node(Card(0, total=total))), Shortage)


def test_a_card_whose_percent_are_left_but_whose_bytes_are_gone_takes_nothing() -> None:
    assert isinstance(allocate(ask(amounts(1, 1)), node(card(0, amounts(10, 50, 16 * GI)))), Shortage)


def test_a_card_that_holds_something_else_is_open_for_shares_and_closed_for_whole() -> None:
    devices = node(card(0, {NPU_CORE: 1}))
    assert minors(allocate(ask(amounts(50, 50)), devices)) == [0]
    assert isinstance(allocate(ask(WHOLE_CARD), devices), Shortage)


def test_a_shortage_says_what_was_asked_of_each_card_in_its_own_bytes() -> None:
    answer = allocate(ask(amounts(60, 60), 2), node(card(0), card(1, amounts(50, 50, 40 * GI), memory=80 * GI)))
    assert isinstance(answer, Shortage)
    (short,) = answer.types
    assert (short.type, short.count) == (GPU_TYPE, 2)
    assert [short.asked_of(each)[GPU_MEMORY] for each in short.cards] == [60 * 16 * GI // 100, 48 * GI]
    assert [each.free[GPU_CORE] for each in short.cards] == [100, 50]


def test_more_cards_than_anybody_has_are_refused_at_once() -> None:
    assert isinstance(allocate(ask(WHOLE_CARD, 2**62), node(card(0))), Shortage)


# ------------------------------------------------------------- for any node

memories = st.sampled_from([1, 99, 101, 10**9, 16 * GI, 24 * GI, 80 * GI])
percents = st.integers(1, 100)


allocators = st.sampled_from([None, "default", "binpack", "spread"])
preferences = st.builds(lambda name: Preferences(DeviceShareArgs(allocator=name)), allocators)


@st.composite
def cards(draw: st.DrawFn) -> list[Card]:
    drawn = []
    for minor in draw(st.lists(st.integers(0, 99), unique=True, max_size=8)):
        memory = draw(memories)
        bytes_used = st.integers(0, memory + memory // 3)
        used = draw(st.none() | st.builds(amounts, st.integers(0, 130), st.integers(0, 130), bytes_used))
        drawn.append(card(minor, used, memory=memory, held=draw(st.booleans())))
    return drawn


@st.composite
def requests(draw: st.DrawFn) -> DeviceRequest:
    share = st.builds(amounts, percents, percents) | st.builds(amounts, percents, st.just(0), st.integers(1, 90 * GI))
    count = draw(st.integers(1, 4))
    return ask(draw(share | st.just(WHOLE_CARD)), count)


@given(cards(), requests(), st.randoms(), preferences)
def test_a_decision_fits_and_does_not_depend_on_the_order_of_cards(
    listed: list[Card], request: DeviceRequest, shuffled: Random, prefer: Preferences
) -> None:
    (gpus,) = request.types
    answer = allocate(request, node(*listed), prefer)
    again = listed.copy()
    shuffled.shuffle(again)
    assert allocate(request, node(*again), prefer) == answer
    assert shortage(request, node(*again)) == (answer if isinstance(answer, Shortage) else None)
    by_minor = {each.minor: each for each in listed}
    if isinstance(answer, Allocation):
        assert len(minors(answer)) == len(set(minors(answer))) == gpus.count
        for device in answer.devices[GPU_TYPE]:
            chosen = by_minor[device.minor]
            assert device.id == chosen.id
            assert device.resources.items() >= gpus.per_device.items()
            ratio, size = device.resources[GPU_MEMORY_RATIO], device.resources[GPU_MEMORY]
            if GPU_MEMORY in gpus.per_device:
                assert ratio == size * 100 // chosen.total[GPU_MEMORY]
            else:
                assert size == ratio * chosen.total[GPU_MEMORY] // 100
            assert set(device.resources) == {GPU_CORE, GPU_MEMORY_RATIO, GPU_MEMORY}
            for name, amount in device.resources.items():
                assert chosen.used.get(name, 0) + amount <= chosen.total[name]
            assert not (gpus.is_whole and chosen.holders)


@given(cards(), requests())
def test_a_shortage_is_no_mistake(listed: list[Card], request: DeviceRequest) -> None:
    """Counted by hand, so many cards would not have been enough."""
    (gpus,) = request.types

    def could(each: Card) -> bool:
        wanted = complete(gpus.per_device, each.total) if each.total.get(GPU_MEMORY) else None
        free = {name: each.total.get(name, 0) - each.used.get(name, 0) for name in each.total}
        fits = wanted is not None and all(free.get(name, 0) >= amount for name, amount in wanted.items())
        some_left = all(free.get(name, 0) > 0 for name in (GPU_MEMORY_RATIO, GPU_MEMORY))
        return fits and some_left and not (gpus.is_whole and each.holders)

    answer = allocate(request, node(*listed))
    assert isinstance(answer, Shortage) == (sum(map(could, listed)) < gpus.count)

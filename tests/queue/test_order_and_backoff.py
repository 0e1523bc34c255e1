"""The order of the active pods, and how long a failed attempt makes a pod wait. N01 and so on: kube-scheduler cases."""

import asyncio

import pytest

from koordpy.queue.backoff import Backoff
from koordpy.testing import make_pod
from koordpy_api.koordinator import PRIORITY
from tests.queue.waiting_room import REFUSED, WaitingRoom, in_virtual_time, now, play


def test_the_most_important_pod_comes_first_and_then_the_oldest() -> None:
    async def scene(room: WaitingRoom) -> None:
        for name, priority in (("late", 0), ("high", 9), ("low", -1), ("high-too", 9)):
            room.queue.add(make_pod(name, priority=priority))
            await asyncio.sleep(1)
        assert [await room.pop_name() for _ in range(4)] == ["high", "high-too", "late", "low"]

    in_virtual_time(scene)


def test_pods_that_came_in_one_moment_keep_the_order_of_arrival() -> None:
    async def scene(room: WaitingRoom) -> None:
        names = [f"p{i}" for i in (3, 1, 2, 9, 0)]
        for name in names:
            room.queue.add(make_pod(name))
        assert [await room.pop_name() for _ in names] == names

    in_virtual_time(scene)


def test_koordinators_priority_orders_pods_of_one_priority_whatever_their_age() -> None:
    async def scene(room: WaitingRoom) -> None:
        for value in ("low", "-5", "", "medium", "high", "9000", "+7", "2147483648", "urgent"):
            name = f"p{value}".replace("+", "plus-").replace("p-", "minus-")
            room.queue.add(make_pod(name, labels={PRIORITY: value} if value else {}))
            await asyncio.sleep(1)
        room.queue.add(make_pod("more-important", priority=1, labels={PRIORITY: "low"}))
        came = [await room.pop_name() for _ in range(10)]
        unreadable_count_as_none = ["p", "pmedium", "p2147483648", "purgent"]
        assert came == [
            "more-important", "p9000", "phigh", "pplus-7", *unreadable_count_as_none, "minus-5", "plow",
        ]  # fmt: skip

    in_virtual_time(scene)


def test_pop_waits_for_the_first_pod() -> None:
    async def scene(room: WaitingRoom) -> None:
        waiting = asyncio.create_task(room.pop_at())
        await asyncio.sleep(7)
        assert not waiting.done()
        room.queue.add(make_pod())
        assert await waiting == 7

    in_virtual_time(scene)


def test_each_error_doubles_the_wait_up_to_ten_seconds_also_when_there_is_nothing_else_to_do() -> None:
    async def scene(room: WaitingRoom) -> None:
        room.queue.add(make_pod())
        waits, before = [], now()
        for _ in range(7):
            at, queued = await room.pop()
            waits.append(at - before)
            before = at
            room.queue.add_back(queued)
        assert waits == [0, 1, 2, 4, 8, 10, 10]

    in_virtual_time(scene)


def test_each_refusal_doubles_the_wait_of_a_pod_that_is_woken_while_others_are_tried() -> None:
    async def scene(room: WaitingRoom) -> None:
        room.queue.add(make_pod())
        waits, before = [], now()
        for _ in range(7):
            at, queued = await room.pop_when_busy()
            waits.append(at - before)
            before = at
            room.queue.add_back(queued, REFUSED)
            room.change()
        assert waits == [0, 1, 2, 4, 8, 10, 10]

    in_virtual_time(scene)


def test_n09_errors_in_a_row_wait_by_themselves_and_do_not_raise_the_count_of_refusals() -> None:
    async def scene(room: WaitingRoom) -> None:
        room.queue.add(make_pod())
        waits = []
        before, queued = await room.pop()
        for refused in (True, True, False, True, False, False, False):
            room.queue.add_back(queued, REFUSED if refused else frozenset())
            room.change()
            at, queued = await room.pop_when_busy()
            waits.append(at - before)
            before = at
        assert waits == [1, 2, 1, 4, 1, 2, 4]
        assert (queued.failures, queued.errors, queued.attempts) == (3, 3, 8)

    in_virtual_time(scene)


def test_n18_a_failed_attempt_starts_the_waiting_anew_but_the_first_time_stays() -> None:
    async def scene(room: WaitingRoom) -> None:
        await asyncio.sleep(10)
        room.queue.add(make_pod("failed"))
        queued = await room.queue.pop()
        await asyncio.sleep(40)
        room.queue.add(make_pod("younger"))
        room.queue.add_back(queued, REFUSED)
        room.change()
        assert (queued.queued_at, queued.first_queued_at, queued.first_attempt_at) == (50, 10, 10)
        await asyncio.sleep(5)
        assert [await room.pop_name() for _ in range(2)] == ["younger", "failed"]

    in_virtual_time(scene)


def test_a_pod_in_back_off_does_not_hold_others_up() -> None:
    async def scene(room: WaitingRoom) -> None:
        room.queue.add(make_pod("failed", priority=9))
        room.queue.add_back(await room.queue.pop())
        room.queue.add(make_pod("other"))
        assert await room.pop_name() == "other"
        assert (await room.pop_name(), now()) == ("failed", 1)

    in_virtual_time(scene)


def test_n15_with_nobody_else_to_try_a_refused_pod_is_tried_before_its_back_off_is_over() -> None:
    async def scene(room: WaitingRoom) -> None:
        for name in ("p", "e"):
            room.queue.add(make_pod(name))
        p, e = [await room.queue.pop() for _ in range(2)]
        p.failures = 3
        room.queue.add_back(p, REFUSED)
        room.queue.add_back(e)
        room.change()
        assert room.queue.sizes()["backoff"] == 2
        assert (await room.pop_name(), now()) == ("p", 0)
        assert room.counts.came["active", "PopFromBackoffQ"] == 1
        assert (await room.pop_name(), now()) == ("e", 1)
        assert room.counts.came["active", "BackoffComplete"] == 1

    in_virtual_time(scene)


def test_n19_back_offs_that_end_within_one_second_end_together_and_the_most_important_pod_comes_first() -> None:
    async def scene(room: WaitingRoom) -> None:
        for name, priority in (("a", 1), ("b", 8)):
            room.queue.add(make_pod(name, priority=priority))
        b, a = [await room.queue.pop() for _ in range(2)]
        await asyncio.sleep(0.25)
        room.queue.add_back(a)
        await asyncio.sleep(0.5)
        room.queue.add_back(b)
        assert (await room.pop_name(), now()) == ("b", 2)
        assert (await room.pop_name(), now()) == ("a", 2)

    in_virtual_time(scene)


def test_of_refused_pods_that_are_tried_early_the_one_whose_back_off_ends_first_comes_first() -> None:
    async def scene(room: WaitingRoom) -> None:
        for name, priority in (("low", 1), ("high", 8)):
            room.queue.add(make_pod(name, priority=priority))
        high, low = [await room.queue.pop() for _ in range(2)]
        high.failures = 1
        room.queue.add_back(low, REFUSED)
        room.queue.add_back(high, REFUSED)
        room.change()
        assert [await room.pop_name() for _ in range(2)] == ["low", "high"]

    in_virtual_time(scene)


@pytest.mark.parametrize(
    ("failures", "initial_s", "max_s", "seconds"),
    [
        pytest.param(0, 1, 10, 0, id="N01 nobody waits before the first failure"),
        pytest.param(1, 1, 10, 1, id="the first failure costs the initial wait"),
        pytest.param(4, 1, 10, 8, id="each further one doubles it"),
        pytest.param(5, 1, 10, 10, id="N04 up to the maximum"),
        pytest.param(60, 1, 10, 10, id="N05 and no further"),
        pytest.param(10**9, 1, 10, 10, id="not even after a billion"),
        pytest.param(7, 1, 0, 0, id="N07 a maximum of zero switches it off"),
        pytest.param(2, 20, 30, 30, id="the maximum need not be a power of the initial wait"),
        pytest.param(-1, 1, 10, 0, id="less than no failure is none"),
    ],
)
def test_the_back_off_in_seconds(failures: int, initial_s: int, max_s: int, seconds: int) -> None:
    assert Backoff(initial_s, max_s).seconds(failures) == seconds


def test_the_configured_back_off_is_the_one_that_counts() -> None:
    async def scene() -> None:
        room = WaitingRoom(Backoff(3, 5))
        room.queue.add(make_pod())
        for _ in range(2):
            room.queue.add_back(await room.queue.pop())
        assert await room.pop_at() == 3 + 5

    play(scene)


def test_queue_sort_sees_the_times_in_nanoseconds_and_the_attempts() -> None:
    async def scene(room: WaitingRoom) -> None:
        await asyncio.sleep(2.5)
        room.queue.add(make_pod())
        queued = await room.queue.pop()
        view = queued.view()
        assert (view.queued_at, view.first_queued_at, view.attempts) == (2_500_000_000, 2_500_000_000, 1)

    in_virtual_time(scene)

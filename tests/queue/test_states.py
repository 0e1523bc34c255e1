"""Waiting for a change, updates and deletions in every state, and who is who."""

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from koordpy.testing import make_pod, pod_manifest, read_object
from koordpy.virtual_time import run
from koordpy_api.objects import Pod
from tests.queue.waiting_room import WaitingRoom, in_virtual_time, now

UID = "uid-default-web"
GONE = {"active": 0, "backoff": 0, "unschedulable": 0, "gated": 0}


def web(**more: Any) -> Pod:
    return make_pod("web", **more)


def with_status(version: str, **status: Any) -> Pod:
    manifest = pod_manifest("web", uid=UID)
    manifest["metadata"]["resourceVersion"] = version
    return read_object(Pod, {**manifest, "status": status})


# -- unschedulable ---------------------------------------------------------------------------------------------------


def test_an_unschedulable_pod_waits_until_something_changes() -> None:
    async def scene(room: WaitingRoom) -> None:
        await room.refuse(web())
        assert await room.is_empty_for(299)
        room.queue.wake_all()
        assert await room.pop_at() == 299

    in_virtual_time(scene)


def test_without_any_change_an_unschedulable_pod_is_tried_again_after_five_minutes() -> None:
    async def scene(room: WaitingRoom) -> None:
        await room.refuse(web())
        assert await room.pop_at() == 300

    in_virtual_time(scene)


@pytest.mark.parametrize(("change_at", "popped_at"), [(0, 1), (0.25, 1), (1, 1), (1.5, 1.5), (200, 200)])
def test_a_change_wakes_a_pod_within_its_back_off(change_at: float, popped_at: float) -> None:
    async def scene(room: WaitingRoom) -> None:
        await room.refuse(web())
        await asyncio.sleep(change_at)
        room.queue.wake_all()
        assert await room.pop_at() == popped_at

    in_virtual_time(scene)


def test_many_changes_wake_a_pod_once() -> None:
    async def scene(room: WaitingRoom) -> None:
        await room.refuse(web())
        for _ in range(5):
            room.queue.wake_all()
            await asyncio.sleep(0.3)
        assert await room.pop_at() == 1.5
        room.queue.done(UID)
        room.queue.wake_all()
        assert await room.is_empty_for(1000)

    in_virtual_time(scene)


def test_a_change_does_not_shorten_the_back_off_of_a_pod_that_failed_otherwise() -> None:
    async def scene(room: WaitingRoom) -> None:
        room.queue.add(web())
        room.queue.add_back(await room.queue.pop(), refused=False, wait_for_change=False)
        room.queue.wake_all()
        assert await room.pop_at() == 1

    in_virtual_time(scene)


def test_a_pod_that_was_woken_and_refused_again_waits_again() -> None:
    async def scene(room: WaitingRoom) -> None:
        await room.refuse(web())
        room.queue.wake_all()
        at, queued = await room.pop()
        room.queue.add_back(queued, refused=True, wait_for_change=True)
        assert at == 1
        assert await room.pop_at() == 1 + 300

    in_virtual_time(scene)


def test_the_sizes_tell_where_pods_wait() -> None:
    async def scene(room: WaitingRoom) -> None:
        await room.refuse(make_pod("stuck"))
        room.queue.add(make_pod("failed"))
        room.queue.add_back(await room.queue.pop(), refused=False, wait_for_change=False)
        room.queue.add(make_pod("flying"))
        await room.queue.pop()
        room.queue.add(make_pod("fresh"))
        assert room.queue.sizes() == {"active": 1, "backoff": 1, "unschedulable": 1, "gated": 0}
        room.queue.wake_all()
        assert room.queue.sizes() == {"active": 1, "backoff": 2, "unschedulable": 0, "gated": 0}

    in_virtual_time(scene)


# -- updates -------------------------------------------------------------------------------------------------------


def test_a_newer_version_of_an_active_pod_takes_its_place_and_its_priority_counts() -> None:
    async def scene(room: WaitingRoom) -> None:
        room.queue.add(make_pod("other", priority=5))
        room.queue.add(web())
        room.queue.add(web(priority=9))
        queued = await room.queue.pop()
        assert (queued.pod.uid, queued.pod.spec.priority, queued.attempts) == (UID, 9, 1)
        assert await room.pop_name() == "other"
        assert await room.is_empty_for(1000)

    in_virtual_time(scene)


def test_a_newer_version_of_an_active_pod_keeps_its_age() -> None:
    async def scene(room: WaitingRoom) -> None:
        room.queue.add(web())
        await asyncio.sleep(1)
        room.queue.add(make_pod("younger"))
        await asyncio.sleep(1)
        room.queue.add(web(labels={"a": "b"}))
        assert [await room.pop_name() for _ in range(2)] == ["web", "younger"]

    in_virtual_time(scene)


def test_a_newer_version_of_a_pod_in_flight_is_what_is_tried_again() -> None:
    async def scene(room: WaitingRoom) -> None:
        room.queue.add(web())
        queued = await room.queue.pop()
        room.queue.add(web(labels={"new": "yes"}))
        assert room.queue.is_in_flight(UID)
        assert room.queue.sizes() == GONE
        room.queue.add_back(queued, refused=False, wait_for_change=False)
        assert (await room.queue.pop()).pod.metadata.labels == {"new": "yes"}

    in_virtual_time(scene)


@pytest.mark.parametrize(
    "newer",
    [
        pytest.param(web(tolerations=[{"operator": "Exists"}]), id="a toleration was added"),
        pytest.param(web(labels={"a": "b"}), id="a label was added"),
        pytest.param(web(annotations={"a": "b"}), id="an annotation was added"),
        pytest.param(web(requests={"cpu": 1}), id="a request was changed"),
    ],
)
def test_an_update_that_may_make_an_unschedulable_pod_fit_wakes_it_within_its_back_off(newer: Pod) -> None:
    async def scene(room: WaitingRoom) -> None:
        await room.refuse(web())
        await asyncio.sleep(0.5)
        room.queue.add(newer)
        at, queued = await room.pop()
        assert (at, queued.pod) == (1, newer)

    in_virtual_time(scene)


@pytest.mark.parametrize(
    "echo",
    [
        pytest.param(
            with_status("2", conditions=[{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]),
            id="our own condition on it",
        ),
        pytest.param(with_status("3", phase="Pending"), id="somebody's status"),
        pytest.param(with_status("4"), id="a new resourceVersion"),
    ],
)
def test_an_update_that_changes_nothing_of_what_a_pod_asks_does_not_wake_it(echo: Pod) -> None:
    async def scene(room: WaitingRoom) -> None:
        await room.refuse(web())
        room.queue.add(echo)
        at, queued = await room.pop()
        assert (at, queued.pod) == (300, echo)

    in_virtual_time(scene)


def test_an_update_does_not_shorten_the_back_off() -> None:
    async def scene(room: WaitingRoom) -> None:
        room.queue.add(web())
        room.queue.add_back(await room.queue.pop(), refused=False, wait_for_change=False)
        room.queue.add(web(labels={"a": "b"}))
        at, queued = await room.pop()
        assert (at, queued.pod.metadata.labels) == (1, {"a": "b"})

    in_virtual_time(scene)


# -- deletions -----------------------------------------------------------------------------------------------------


def test_a_deleted_pod_is_gone_from_every_state() -> None:
    async def scene(room: WaitingRoom) -> None:
        await room.refuse(make_pod("stuck"))
        room.queue.add(make_pod("failed"))
        room.queue.add_back(await room.queue.pop(), refused=False, wait_for_change=False)
        room.queue.add(make_pod("fresh"))
        for name in ("stuck", "failed", "fresh", "nobody"):
            room.queue.delete(f"uid-default-{name}")
        assert room.queue.sizes() == GONE
        room.queue.wake_all()
        assert await room.is_empty_for(1000)

    in_virtual_time(scene)


def test_n16_a_pod_deleted_in_flight_is_not_queued_again() -> None:
    async def scene(room: WaitingRoom) -> None:
        room.queue.add(web())
        queued = await room.queue.pop()
        room.queue.delete(UID)
        assert not room.queue.is_in_flight(UID)
        assert room.queue.add_back(queued, refused=True, wait_for_change=True) is False
        assert await room.is_empty_for(1000)

    in_virtual_time(scene)


def test_a_pod_whose_attempt_is_done_is_forgotten() -> None:
    async def scene(room: WaitingRoom) -> None:
        room.queue.add(web())
        await room.queue.pop()
        room.queue.done(UID)
        room.queue.done(UID)
        assert not room.queue.is_in_flight(UID)
        assert await room.is_empty_for(1000)

    in_virtual_time(scene)


def test_a_pod_that_comes_back_starts_without_a_history() -> None:
    async def scene(room: WaitingRoom) -> None:
        await room.refuse(web())
        room.queue.delete(UID)
        await asyncio.sleep(5)
        room.queue.add(web())
        at, queued = await room.pop()
        assert (at, queued.attempts, queued.failures, queued.first_queued_at) == (5, 1, 0, 5)

    in_virtual_time(scene)


def test_two_pods_of_one_name_are_told_apart_by_their_uid() -> None:
    async def scene(room: WaitingRoom) -> None:
        room.queue.add(web(uid="first"))
        queued = await room.queue.pop()
        room.queue.add(web(uid="second"))
        room.queue.delete("first")
        assert room.queue.add_back(queued, refused=True, wait_for_change=False) is False
        assert (await room.queue.pop()).pod.uid == "second"
        assert await room.is_empty_for(1000)

    in_virtual_time(scene)


# -- any order -------------------------------------------------------------------------------------------------------

STEPS = st.lists(
    st.tuples(st.sampled_from(["add", "delete", "wake", "sleep", "refuse", "break", "done"]), st.integers(0, 3)),
    max_size=60,
)


@settings(deadline=None)
@given(STEPS)
def test_in_any_order_of_events_every_pod_that_lives_comes_out_once_and_nobody_else(
    steps: list[tuple[str, int]],
) -> None:
    async def main() -> None:
        room = WaitingRoom()
        alive: set[str] = set()
        for step, number in steps:
            uid = f"uid-default-p{number}"
            if step == "add":
                room.queue.add(make_pod(f"p{number}", priority=number, labels={"at": str(now()).replace(".", "-")}))
                alive.add(uid)
            elif step == "delete":
                room.queue.delete(uid)
                alive.discard(uid)
            elif step == "wake":
                room.queue.wake_all()
            elif step == "sleep":
                await asyncio.sleep(number)
            elif room.queue.sizes()["active"]:
                queued = await room.queue.pop()
                if step == "done":
                    room.queue.done(queued.pod.uid)
                    alive.discard(queued.pod.uid)
                else:
                    room.queue.add_back(queued, refused=step == "refuse", wait_for_change=step == "refuse")
            assert sum(room.queue.sizes().values()) == len(alive)
            assert min(room.queue.sizes().values()) >= 0
        came = [(await room.queue.pop()).pod.uid for _ in alive]
        assert sorted(came) == sorted(alive)
        assert now() <= sum(number for step, number in steps if step == "sleep") + 301
        assert await room.is_empty_for(1000)

    run(main())

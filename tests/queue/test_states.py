"""Waiting for a change, updates and deletions in every state, and who is who."""

import asyncio
from typing import Any

import pytest

from koordpy.testing import make_pod, pod_manifest, read_object
from koordpy_api.objects import Pod
from tests.queue.waiting_room import PROFILE, REFUSED, WaitingRoom, in_virtual_time, now

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
        room.change()
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
        room.change()
        assert (await room.pop_when_busy())[0] == popped_at

    in_virtual_time(scene)


def test_many_changes_wake_a_pod_once() -> None:
    async def scene(room: WaitingRoom) -> None:
        await room.refuse(web())
        for _ in range(5):
            room.change()
            await asyncio.sleep(0.25)
        assert (await room.pop_when_busy())[0] == 1.25
        room.queue.done(UID)
        room.change()
        assert await room.is_empty_for(1000)

    in_virtual_time(scene)


def test_a_change_does_not_shorten_the_back_off_of_a_pod_that_failed_otherwise() -> None:
    async def scene(room: WaitingRoom) -> None:
        room.queue.add(web())
        room.queue.add_back(await room.queue.pop())
        room.change()
        assert await room.pop_at() == 1

    in_virtual_time(scene)


def test_a_pod_that_was_woken_and_refused_again_waits_again() -> None:
    async def scene(room: WaitingRoom) -> None:
        await room.refuse(web())
        room.change()
        at, queued = await room.pop_when_busy()
        room.queue.add_back(queued, REFUSED)
        assert at == 1
        assert await room.pop_at() == 1 + 300

    in_virtual_time(scene)


def test_the_sizes_tell_where_pods_wait() -> None:
    async def scene(room: WaitingRoom) -> None:
        await room.refuse(make_pod("stuck"))
        room.queue.add(make_pod("failed"))
        room.queue.add_back(await room.queue.pop())
        room.queue.add(make_pod("flying"))
        await room.queue.pop()
        room.queue.add(make_pod("fresh"))
        assert room.queue.sizes() == {"active": 1, "backoff": 1, "unschedulable": 1, "gated": 0}
        room.change()
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
        room.queue.add_back(queued)
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
        at, queued = await room.pop_when_busy()
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
        room.queue.add_back(await room.queue.pop())
        room.queue.add(web(labels={"a": "b"}))
        at, queued = await room.pop()
        assert (at, queued.pod.metadata.labels) == (1, {"a": "b"})

    in_virtual_time(scene)


# -- deletions -----------------------------------------------------------------------------------------------------


def test_a_deleted_pod_is_gone_from_every_state() -> None:
    async def scene(room: WaitingRoom) -> None:
        await room.refuse(make_pod("stuck"))
        room.queue.add(make_pod("failed"))
        room.queue.add_back(await room.queue.pop())
        room.queue.add(make_pod("fresh"))
        for name in ("stuck", "failed", "fresh", "nobody"):
            room.queue.delete(f"uid-default-{name}")
        assert room.queue.sizes() == GONE
        room.change()
        assert await room.is_empty_for(1000)

    in_virtual_time(scene)


def test_n16_a_pod_deleted_in_flight_is_not_queued_again() -> None:
    async def scene(room: WaitingRoom) -> None:
        room.queue.add(web())
        queued = await room.queue.pop()
        room.queue.delete(UID)
        assert not room.queue.is_in_flight(UID)
        assert room.queue.add_back(queued, REFUSED) is False
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
        assert room.queue.add_back(queued, REFUSED) is False
        assert (await room.queue.pop()).pod.uid == "second"
        assert await room.is_empty_for(1000)

    in_virtual_time(scene)


# -- on demand -----------------------------------------------------------------------------------------------------


def test_whoever_is_activated_is_tried_at_once_whatever_he_waits_for() -> None:
    async def scene(room: WaitingRoom) -> None:
        await room.refuse(make_pod("stuck"))
        room.queue.add(make_pod("failed"))
        room.queue.add_back(await room.queue.pop())
        room.queue.activate(["uid-default-stuck", "uid-default-failed", "nobody"])
        assert [await room.pop_name(), await room.pop_name(), now()] == ["stuck", "failed", 0]
        assert room.counts.came["active", "ForceActivate"] == 2

    in_virtual_time(scene)


def test_whoever_is_activated_in_flight_comes_back_to_his_back_off_and_nobody_else_does() -> None:
    async def scene(room: WaitingRoom) -> None:
        for name in ("web", "other"):
            room.queue.add(make_pod(name))
        queued, other = [await room.queue.pop() for _ in range(2)]
        room.queue.activate([UID])
        room.queue.add_back(queued, REFUSED)
        room.queue.add_back(other, REFUSED)
        assert room.queue.sizes() == {**GONE, "backoff": 1, "unschedulable": 1}

    in_virtual_time(scene)


# -- what is counted -----------------------------------------------------------------------------------------------


def test_every_place_and_every_refusal_is_counted_under_upstreams_labels() -> None:
    async def scene(room: WaitingRoom) -> None:
        queued = await room.refuse(web(), by=frozenset({"Fit", "Taints"}))
        assert room.queue.rejected_by() == {("Fit", PROFILE): 1, ("Taints", PROFILE): 1}
        room.change()
        await room.queue.pop()
        assert room.queue.rejected_by() == {}
        room.queue.add_back(queued, REFUSED)
        assert not queued.was_flushed
        assert await room.pop_at() == 300
        assert queued.was_flushed
        assert room.counts.came == {
            ("active", "UnschedulablePodAdd"): 1,
            ("unschedulable", "ScheduleAttemptFailure"): 2,
            ("backoff", "NodeUpdateNodeLabel"): 1,
            ("active", "PopFromBackoffQ"): 1,
            ("active", "UnschedulableTimeout"): 1,
        }

    in_virtual_time(scene)


def test_a_deleted_pod_is_counted_no_longer() -> None:
    async def scene(room: WaitingRoom) -> None:
        await room.refuse(web())
        room.queue.delete(UID)
        assert room.queue.rejected_by() == {}
        assert list(room.queue.pods()) == []

    in_virtual_time(scene)


def test_events_are_kept_for_attempts_under_way_and_no_longer() -> None:
    async def scene(room: WaitingRoom) -> None:
        room.change()
        assert room.queue.inflight_events() == {"PodPopped": 0}
        for name in ("web", "other"):
            room.queue.add(make_pod(name))
        await room.queue.pop()
        room.change()
        await room.queue.pop()
        room.change()
        assert room.queue.inflight_events() == {"PodPopped": 2, "NodeUpdateNodeLabel": 2}
        room.queue.done(UID)
        assert room.queue.inflight_events() == {"PodPopped": 1, "NodeUpdateNodeLabel": 1}
        room.queue.done("uid-default-other")
        assert room.queue.inflight_events() == {"PodPopped": 0}

    in_virtual_time(scene)

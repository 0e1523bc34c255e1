"""PreEnqueue: pods that are held back before anybody tries them."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from koordpy.framework.registrations import Registration
from koordpy.testing import build_profile, make_pod
from koordpy.virtual_time import run
from koordpy_api import ActionType, ClusterEvent, NoArgs, QueueingHint, Status, hookimpl
from koordpy_api.events import NODE, POD
from koordpy_api.objects import Pod
from tests.queue.waiting_room import CHANGE, PROFILE, REFUSED, WaitingRoom

HELD = Status.unschedulable("held").by("Gate")
SELF = ClusterEvent(POD, ActionType.UPDATE)


class GatedRoom(WaitingRoom):
    """Pods with a label `hold` are gated while `closed`."""

    def __init__(self, registered: Sequence[Registration] | None = None) -> None:
        super().__init__(gate=self._gate, registered=registered)
        self.closed = True
        self.asked: list[str] = []

    def _gate(self, pod: Pod, first: str) -> Status | None:
        self.asked.append(pod.metadata.name)
        return HELD if self.closed and "hold" in pod.metadata.labels else None


def play(scene: Callable[[GatedRoom], Awaitable[None]], registered: Sequence[Registration] | None = None) -> None:
    async def main() -> None:
        await scene(GatedRoom(registered))

    run(main())


def held(name: str = "web") -> Pod:
    return make_pod(name, labels={"hold": "yes"})


def test_a_gated_pod_is_not_tried_and_nobody_else_waits_for_it() -> None:
    async def scene(room: GatedRoom) -> None:
        room.queue.add(held())
        room.queue.add(make_pod("free"))
        assert await room.pop_name() == "free"
        assert room.queue.sizes() == {"active": 0, "backoff": 0, "unschedulable": 0, "gated": 1}
        assert room.queue.rejected_by() == {("Gate", PROFILE): 1}
        assert await room.is_empty_for(3600)

    play(scene)


def test_a_change_lets_a_gated_pod_be_asked_again_and_it_is_tried_at_once() -> None:
    async def scene(room: GatedRoom) -> None:
        room.queue.add(held())
        await asyncio.sleep(10)
        room.change()
        assert room.queue.sizes()["gated"] == 1
        room.closed = False
        room.change()
        at, queued = await room.pop()
        assert (at, queued.attempts, queued.first_queued_at, queued.first_attempt_at) == (10, 1, 0, 10)
        assert room.queue.sizes()["gated"] == 0

    play(scene)


def test_only_events_for_which_the_gating_plugin_is_registered_let_it_be_asked() -> None:
    async def scene(room: GatedRoom) -> None:
        room.queue.add(held())
        room.change()
        room.queue.happened(ClusterEvent(NODE, ActionType.ADD), None, None)
        room.queue.add(make_pod("web", labels={"hold": "still"}))
        assert room.asked == ["web", "web"]

    play(
        scene,
        [
            Registration("Gate", SELF),
            Registration("Fit", CHANGE),
            Registration("Gate", ClusterEvent(NODE, ActionType.ADD), lambda pod, old, new: QueueingHint.SKIP),
        ],
    )


def test_an_update_that_takes_away_what_gated_a_pod_lets_it_be_tried() -> None:
    async def scene(room: GatedRoom) -> None:
        room.queue.add(held())
        room.queue.add(make_pod("web"))
        assert await room.pop_at() == 0

    play(scene)


def test_an_update_that_changes_nothing_does_not_ask_again() -> None:
    async def scene(room: GatedRoom) -> None:
        room.queue.add(held())
        room.queue.add(held())
        assert room.asked == ["web"]

    play(scene)


def test_a_gated_pod_that_is_deleted_is_gone() -> None:
    async def scene(room: GatedRoom) -> None:
        room.queue.add(held())
        room.queue.delete(held().uid)
        room.closed = False
        room.change()
        assert await room.is_empty_for(1000)
        assert room.queue.rejected_by() == {}

    play(scene)


def test_a_pod_that_failed_may_be_gated_on_its_way_back() -> None:
    async def scene(room: GatedRoom) -> None:
        room.queue.add(make_pod("web"))
        queued = await room.queue.pop()
        room.queue.add(held())  # while it is in flight
        assert room.queue.add_back(queued)
        assert room.queue.sizes()["gated"] == 1
        await asyncio.sleep(0.25)
        room.closed = False
        room.change()
        assert await room.pop_at() == 1  # its back-off holds all the same

    play(scene)


def test_a_pod_that_a_change_brings_to_its_gate_is_asked_about_once() -> None:
    async def scene(room: GatedRoom) -> None:
        room.closed = False
        await room.refuse(held())
        room.closed = True
        await asyncio.sleep(2)
        room.asked.clear()
        room.change()
        assert room.queue.sizes()["gated"] == 1
        assert room.asked == ["web"]

    play(scene)


def test_an_unschedulable_pod_is_asked_before_it_is_woken_and_after_five_minutes() -> None:
    async def scene(room: GatedRoom) -> None:
        room.closed = False
        await room.refuse(held("first"))
        await room.refuse(held("second"))
        room.closed = True
        room.queue.delete(held("first").uid)
        assert await room.is_empty_for(1000)
        assert room.queue.sizes() == {"active": 0, "backoff": 0, "unschedulable": 0, "gated": 1}

    play(scene)


def test_a_pod_whose_back_off_ends_is_not_asked_a_second_time() -> None:
    async def scene(room: GatedRoom) -> None:
        room.queue.add(make_pod("web"))
        room.queue.add_back(await room.queue.pop())
        assert await room.pop_at() == 1
        assert room.asked == ["web", "web"]

    play(scene)


def test_an_activated_pod_is_asked_unless_it_comes_from_its_back_off() -> None:
    async def scene(room: GatedRoom) -> None:
        room.queue.add(held())
        room.closed = False
        await room.refuse(held("refused"), REFUSED)
        room.queue.add(held("failed"))
        room.queue.add_back(await room.queue.pop())
        room.closed = True
        room.asked.clear()
        room.queue.activate([held(name).uid for name in ("web", "refused", "failed")])
        assert await room.pop_name() == "failed"
        assert room.asked == ["web", "refused"]
        assert room.queue.sizes()["gated"] == 2

    play(scene)


def test_who_gated_a_pod_is_asked_first() -> None:
    asked: list[str] = []

    def gates(name: str) -> type:
        class Gate:
            def __init__(self, args: object, handle: object) -> None: ...

            @hookimpl
            def pre_enqueue(self, pod: Pod) -> Status | None:
                asked.append(name)
                return Status.unschedulable("no") if name == "B" else None

            Args = NoArgs

        return Gate

    profile = build_profile(("PrioritySort", "A", "B", "DefaultBinder"), given={"A": gates("A"), "B": gates("B")})
    refusal = profile.run_pre_enqueue(make_pod())
    assert refusal is not None
    profile.run_pre_enqueue(make_pod(), refusal.plugin)
    assert asked == ["A", "B", "B"]

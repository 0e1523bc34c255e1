"""PreEnqueue: pods that are held back before anybody tries them."""

import asyncio
from collections.abc import Awaitable, Callable

from koordpy.clock import LoopClock
from koordpy.queue.backoff import Backoff
from koordpy.testing import make_pod
from koordpy.virtual_time import run
from koordpy_api import Status
from koordpy_api.objects import Pod
from tests.queue.waiting_room import WaitingRoom

HELD = Status.unschedulable("held").by("Gate")


class GatedRoom(WaitingRoom):
    """Pods with a label `hold` are gated while `closed`."""

    def __init__(self) -> None:
        super().__init__()
        self.closed = True
        self.asked: list[str] = []
        self.queue = type(self.queue)(lambda queued: (queued.queued_at,), LoopClock(), Backoff(), self._gate)

    def _gate(self, pod: Pod) -> Status | None:
        self.asked.append(pod.metadata.name)
        return HELD if self.closed and "hold" in pod.metadata.labels else None


def play(scene: Callable[[GatedRoom], Awaitable[None]]) -> None:
    async def main() -> None:
        await scene(GatedRoom())

    run(main())


def held(name: str = "web") -> Pod:
    return make_pod(name, labels={"hold": "yes"})


def test_a_gated_pod_is_not_tried_and_nobody_else_waits_for_it() -> None:
    async def scene(room: GatedRoom) -> None:
        room.queue.add(held())
        room.queue.add(make_pod("free"))
        assert await room.pop_name() == "free"
        assert room.queue.sizes() == {"active": 0, "backoff": 0, "unschedulable": 0, "gated": 1}
        assert await room.is_empty_for(3600)

    play(scene)


def test_a_change_lets_a_gated_pod_be_asked_again_and_it_is_tried_at_once() -> None:
    async def scene(room: GatedRoom) -> None:
        room.queue.add(held())
        await asyncio.sleep(10)
        room.queue.wake_all()
        assert room.queue.sizes()["gated"] == 1
        room.closed = False
        room.queue.wake_all()
        assert await room.pop_at() == 10
        assert room.queue.sizes()["gated"] == 0

    play(scene)


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
        room.queue.wake_all()
        assert await room.is_empty_for(1000)

    play(scene)


def test_a_pod_that_failed_may_be_gated_on_its_way_back() -> None:
    async def scene(room: GatedRoom) -> None:
        room.queue.add(make_pod("web"))
        queued = await room.queue.pop()
        room.queue.add(held())  # while it is in flight
        assert room.queue.add_back(queued, refused=False, wait_for_change=False)
        assert room.queue.sizes()["gated"] == 1
        await asyncio.sleep(0.25)
        room.closed = False
        room.queue.wake_all()
        assert await room.pop_at() == 1  # its back-off holds all the same

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
        room.queue.add_back(await room.queue.pop(), refused=True, wait_for_change=False)
        assert await room.pop_at() == 1
        assert room.asked == ["web", "web"]  # when it was added, and when it was added back

    play(scene)

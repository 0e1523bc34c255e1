"""A queue in virtual time, and the seconds at which its pods come out."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from itertools import count
from typing import Final, TypeVar

from koordpy.clock import LoopClock
from koordpy.framework.registrations import Registration
from koordpy.queue.backoff import Backoff
from koordpy.queue.hints import Hints
from koordpy.queue.pod_info import QueuedPodInfo
from koordpy.queue.queue import Gate, SchedulingQueue
from koordpy.testing import build_profile, make_pod
from koordpy.virtual_time import run
from koordpy_api import ActionType, ClusterEvent
from koordpy_api.events import NODE
from koordpy_api.objects import Pod

T = TypeVar("T")
PRIORITY_SORT = build_profile(("PrioritySort", "DefaultBinder"))
PROFILE: Final = "koordpy-scheduler"
CHANGE: Final = ClusterEvent(NODE, ActionType.UPDATE_NODE_LABEL)
REFUSED: Final = frozenset({"Fit"})
LOWEST: Final = -(2**31)
TICK_S: Final = 0.25


class Counts:
    """koordpy.queue.hints.QueueMeter."""

    def __init__(self) -> None:
        self.came: Counter[tuple[str, str]] = Counter()
        self.said: Counter[tuple[str, str, str]] = Counter()

    def incoming(self, queue: str, event: str) -> None:
        self.came[queue, event] += 1

    def hint_asked(self, plugin: str, event: str, hint: str, seconds: float) -> None:
        self.said[plugin, event, hint] += 1

    def event_handled(self, event: str, seconds: float) -> None:
        assert seconds >= 0


class WaitingRoom:
    """The queue with the default order and back-off. registered: None wakes everybody after every change."""

    def __init__(
        self,
        backoff: Backoff = Backoff(),
        gate: Gate = lambda pod, first: None,
        registered: Sequence[Registration] | None = None,
    ) -> None:
        self.counts = Counts()
        by_profile = None if registered is None else {PROFILE: registered}
        hints = Hints(by_profile, meter=self.counts)
        self.queue = SchedulingQueue(PRIORITY_SORT.queue_sort, LoopClock(), backoff, gate, hints, self.counts)
        self._fillers = count()

    async def pop(self) -> tuple[float, QueuedPodInfo]:
        """The next pod, and when it came."""
        queued = await self.queue.pop()
        return now(), queued

    async def pop_name(self) -> str:
        return (await self.queue.pop()).pod.metadata.name

    async def pop_at(self) -> float:
        return (await self.pop())[0]

    async def pop_when_busy(self) -> tuple[float, QueuedPodInfo]:
        """As pop, while there is always a pod of no importance to try, so that every back-off is waited for."""
        while True:
            name = f"filler-{next(self._fillers)}"
            self.queue.add(make_pod(name, priority=LOWEST))
            queued = await self.queue.pop()
            if queued.pod.metadata.name != name:
                self.queue.delete(f"uid-default-{name}")
                return now(), queued
            self.queue.done(queued.pod.uid)
            await asyncio.sleep(TICK_S)

    async def refuse(self, pod: Pod, by: frozenset[str] = REFUSED) -> QueuedPodInfo:
        """Add a pod, try it, and leave it unschedulable."""
        self.queue.add(pod)
        queued = await self.queue.pop()
        assert self.queue.add_back(queued, by)
        return queued

    def change(self) -> None:
        """Something that may help whoever waits for such a change."""
        self.queue.happened(CHANGE, None, None)

    async def is_empty_for(self, seconds: float) -> bool:
        """Does nobody come out for so long?"""
        try:
            async with asyncio.timeout(seconds):
                await self.queue.pop()
        except TimeoutError:
            return True
        return False


def now() -> float:
    return asyncio.get_running_loop().time()


def in_virtual_time(scene: Callable[[WaitingRoom], Awaitable[T]]) -> T:
    async def main() -> T:
        return await scene(WaitingRoom())

    return run(main())


def play(scene: Callable[[], Awaitable[None]]) -> None:
    """A scene that brings its own room."""

    async def main() -> None:
        await scene()

    run(main())

"""A queue in virtual time, and the seconds at which its pods come out."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from koordpy.clock import LoopClock
from koordpy.queue.backoff import Backoff
from koordpy.queue.queue import QueuedPodInfo, SchedulingQueue
from koordpy.testing import build_profile
from koordpy.virtual_time import run
from koordpy_api.objects import Pod

T = TypeVar("T")
PRIORITY_SORT = build_profile(("PrioritySort", "DefaultBinder"))


class WaitingRoom:
    """The queue with the default order and back-off."""

    def __init__(self, backoff: Backoff = Backoff()) -> None:
        self.queue = SchedulingQueue(PRIORITY_SORT.queue_sort, LoopClock(), backoff)

    async def pop(self) -> tuple[float, QueuedPodInfo]:
        """The next pod, and when it came."""
        queued = await self.queue.pop()
        return now(), queued

    async def pop_name(self) -> str:
        return (await self.queue.pop()).pod.metadata.name

    async def pop_at(self) -> float:
        return (await self.pop())[0]

    async def refuse(self, pod: Pod) -> QueuedPodInfo:
        """Add a pod, try it, and leave it unschedulable."""
        self.queue.add(pod)
        queued = await self.queue.pop()
        assert self.queue.add_back(queued, refused=True, wait_for_change=True)
        return queued

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

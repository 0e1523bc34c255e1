"""When the objects of one step come."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")


async def arrive(objects: Sequence[T], create: Callable[[T], Awaitable[None]], over_s: float, rng: Random) -> None:
    """At once and in their order; or within `over_s`, until that is over, in an order and at moments drawn from rng."""
    if not over_s:
        for each in objects:
            await create(each)
        return
    loop = asyncio.get_running_loop()
    began = loop.time()
    shuffled = rng.sample(objects, len(objects))
    moments = sorted(rng.uniform(0, over_s) for _ in objects)
    for moment, each in zip(moments, shuffled, strict=True):
        await asyncio.sleep(max(0.0, began + moment - loop.time()))
        await create(each)
    await asyncio.sleep(max(0.0, began + over_s - loop.time()))

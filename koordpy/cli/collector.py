"""Python's garbage collector, set for a process that holds a cluster in memory and must not pause.

Nearly everything here is freed by its reference count, and what a collection looks through again and again, the
objects of the whole cluster, is alive: at 50,000 Pods and 5,000 nodes that took 130 ms each time. So what exists once
the first lists are read is put out of its sight, and looked through only in idle moments.
"""

import asyncio
import gc
from collections.abc import Callable
from typing import Final

THRESHOLDS: Final = (10_000, 10, 10)
"""Young objects are looked through when there are 10,000 more of them instead of 700; that takes a millisecond."""

PAUSE_S: Final = 600.0


async def tend(filled: asyncio.Event, is_idle: Callable[[], bool]) -> None:
    """Never returns; cancel it. filled: everything that exists is in memory. is_idle: is there nothing to do now?"""
    gc.set_threshold(*THRESHOLDS)
    await filled.wait()
    _settle()
    while True:
        await asyncio.sleep(PAUSE_S)
        if is_idle():
            _settle()


def _settle() -> None:
    gc.unfreeze()
    gc.collect()
    gc.freeze()

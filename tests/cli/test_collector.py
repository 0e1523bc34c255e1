"""The garbage collector looks no more at what was there when the first lists had been read."""

import asyncio
import gc
from collections.abc import Iterator

import pytest

from koordpy.cli import collector
from koordpy.virtual_time import run


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    thresholds = gc.get_threshold()
    yield
    gc.set_threshold(*thresholds)
    gc.unfreeze()


def frozen_after(moments_s: list[float], *, is_idle: bool) -> list[bool]:
    """At each moment, does the collector look at what was made two seconds before it?"""

    async def main() -> list[bool]:
        filled = asyncio.Event()
        task = asyncio.create_task(collector.tend(filled, lambda: is_idle))
        seen = []
        loop = asyncio.get_running_loop()
        for moment_s in moments_s:
            await asyncio.sleep(moment_s - 2 - loop.time())
            made: list[object] = [[]]
            filled.set()
            await asyncio.sleep(2)
            seen.append(not any(each is made for each in gc.get_objects()))
        task.cancel()
        return seen

    return run(main())


def test_what_exists_once_all_lists_are_read_is_looked_at_no_more() -> None:
    assert frozen_after([10], is_idle=False) == [True]
    assert gc.get_threshold() == collector.THRESHOLDS


def test_what_came_later_is_put_beside_it_in_an_idle_moment() -> None:
    later = 9 + collector.PAUSE_S
    assert frozen_after([10, 100, later], is_idle=True) == [True, False, True]


def test_in_a_busy_moment_nothing_is_collected() -> None:
    later = 9 + collector.PAUSE_S
    assert frozen_after([10, later], is_idle=False) == [True, False]

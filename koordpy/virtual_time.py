"""An event loop whose time jumps: where everyone would wait, it moves the clock instead.

An hour of back-off takes milliseconds, and two runs take the same steps. For parts that live in one process: a socket
or a thread is only waited for when no timer is left. PacedLoop is for people who watch: it waits, but faster or slower.
"""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, Final, TypeVar

T = TypeVar("T")

# How long to wait, in real seconds, for a socket or a thread when no timer is left.
_PATIENCE_S: Final = 10.0


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """Starts at time zero."""

    def __init__(self) -> None:
        self._now = 0.0
        super().__init__(_JumpingSelector(self))

    def time(self) -> float:
        return self._now

    def jump(self, seconds: float) -> None:
        self._now += seconds


class _JumpingSelector(selectors.SelectSelector):
    def __init__(self, loop: VirtualTimeLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0 if timeout is not None else _PATIENCE_S)
        if not ready and timeout is None:
            raise RuntimeError("everyone waits, and nothing will ever wake them")
        if not ready and timeout:
            self._loop.jump(timeout)
        return ready


class PacedLoop(asyncio.SelectorEventLoop):
    """Starts at time zero; a second of its time lasts 1 / `speed` real ones."""

    def __init__(self, speed: float) -> None:
        self._speed = speed
        super().__init__(_PacedSelector(speed))
        self._began = super().time()

    def time(self) -> float:
        return (super().time() - self._began) * self._speed


class _PacedSelector(selectors.DefaultSelector):
    def __init__(self, speed: float) -> None:
        super().__init__()
        self._speed = speed

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        return super().select(timeout / self._speed if timeout else timeout)


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run `main` to its end in virtual time."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(main)

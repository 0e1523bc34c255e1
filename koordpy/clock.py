"""The only file that reads the time. Everything else is handed a Clock."""

import asyncio
import time
from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    """Two times: one for people, one for measuring."""

    def now(self) -> datetime:
        """The time of day, in UTC; it may jump."""
        ...

    def monotonic(self) -> float:
        """Seconds that never jump or run backwards; only differences mean anything."""
        ...


class SystemClock:
    """The machine's own clocks."""

    monotonic = staticmethod(time.monotonic)  # as it is: it is read some twenty times in an attempt

    def now(self) -> datetime:
        return datetime.now(UTC)


class LoopClock:
    """The running event loop's time; on a virtual-time loop it jumps while everyone waits. It begins at zero."""

    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self._start = start

    def now(self) -> datetime:
        return self._start + timedelta(seconds=self.monotonic())

    def monotonic(self) -> float:
        try:
            return asyncio.get_running_loop().time()
        except RuntimeError:
            return 0.0

"""Watchdog: a scheduler whose loop has stopped is named for what stopped it, fails its probe, and is ended.

A plugin that loops for ever, or waits for something without awaiting it, stops everything: nothing is scheduled, no
watch event is taken, no signal is heard. The lease is not renewed then, so a standby goes on; this process must go.
"""

import asyncio
import logging
import sys
import threading
from collections.abc import Callable
from typing import Final

from koordpy.clock import Clock
from koordpy.framework.whereabouts import Whereabouts, traceback_of, whereabouts
from koordpy.telemetry.logs import fields

logger = logging.getLogger("koordpy.watchdog")

HUNG: Final = 3
"""The exit status of a process whose loop stood still for renewDeadline."""

BEAT_EVERY_S: Final = 0.2
# The first lists of a large cluster are handed to the plugins in one go.
START_FACTOR: Final = 10.0
TICKS: Final = 40
LONGEST_TICK_S: Final = 0.5


class StuckLoop(Exception):
    """Never raised: it carries the stack of a loop that stands still into the log."""


class Heart:
    """Beats while the event loop it runs on gets on; any thread may look."""

    def __init__(self, clock: Clock) -> None:
        self.thread = threading.get_ident()
        self.beats = 0
        self._clock = clock
        self._beaten_s = clock.monotonic()

    async def run(self) -> None:
        """Never returns; cancel it."""
        while True:
            self.beats += 1
            self._beaten_s = self._clock.monotonic()
            await asyncio.sleep(BEAT_EVERY_S)

    def is_young(self, age_s: float) -> bool:
        return self._clock.monotonic() - self._beaten_s < age_s


class Watchdog:
    """A thread that looks after a Heart. Begins to complain at half of patience_s, and ends the process at all of it.

    is_ready: are the first lists taken? Until then it is ten times as patient. end: how the process is ended.
    relieve: called as long as this thread itself gets a turn, for a guard against what stops every thread.
    complaint: what /livez says is wrong, empty if nothing is.
    """

    def __init__(
        self,
        heart: Heart,
        clock: Clock,
        patience_s: float,
        is_ready: Callable[[], bool],
        end: Callable[[int], object],
        relieve: Callable[[], None] = lambda: None,
    ) -> None:
        self.complaint = ""
        self._heart = heart
        self._clock = clock
        self._patience_s = patience_s
        self._is_ready = is_ready
        self._end = end
        self._relieve = relieve
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watchdog", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """It looks no more. May be called twice, and without `start`."""
        self._closed.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        tick_s = min(self._patience_s / TICKS, LONGEST_TICK_S)
        seen, silent_s, last_s = -1, 0.0, self._clock.monotonic()
        while not self._closed.wait(tick_s):
            self._relieve()
            now_s = self._clock.monotonic()
            # If this thread was late, too, then the whole process was stopped, and the loop is not to blame for that.
            silent_s += min(now_s - last_s, 2 * tick_s)
            last_s = now_s
            if self._heart.beats != seen:
                if self.complaint:
                    logger.warning("the scheduler's loop moves again")
                seen, silent_s, self.complaint = self._heart.beats, 0.0, ""
                continue
            patience_s = self._patience_s if self._is_ready() else self._patience_s * START_FACTOR
            if silent_s >= patience_s / 2 and not self.complaint:
                self._complain(silent_s)
            if silent_s >= patience_s:
                self._complain(silent_s)
                logger.error("the process ends", extra=fields(status=HUNG))
                self._end(HUNG)
                return

    def _complain(self, silent_s: float) -> None:
        frame = sys._current_frames().get(self._heart.thread)
        if frame is None:
            self.complaint = "the thread of the scheduler's loop is gone"
            logger.error("the thread of the scheduler's loop is gone")
            return
        try:
            found = whereabouts(frame)
        except Exception:  # noqa: BLE001  a plugin's objects may do anything when they are looked at
            found = Whereabouts("", "", "", "", "a place that cannot be read")
        self.complaint = f"the scheduler's loop has not moved for {silent_s:.1f} s; it is {found}"
        stuck = StuckLoop(str(found))
        logger.error(
            "the scheduler's loop does not move",
            extra=fields(
                seconds=round(silent_s, 1),
                plugin=found.plugin,
                hook=found.hook,
                pod=found.pod,
                node=found.node,
                place=found.place,
            ),
            exc_info=(StuckLoop, stuck, traceback_of(frame)),
        )

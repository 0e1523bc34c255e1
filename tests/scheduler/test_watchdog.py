"""A loop that stands still is named for what stopped it, and the process is ended; one that is only stopped is not."""

import asyncio
import logging
import threading
import time
from collections.abc import Callable

import pytest

from koordpy.clock import SystemClock
from koordpy.scheduler.watchdog import HUNG, Heart, Watchdog
from koordpy.testing import build_profile, make_node, make_pod
from koordpy_api import CycleState
from tests.framework.scripted_plugins import nodes, plugin

PATIENCE_S = 0.6


class Watched:
    """A heart on a loop of its own thread, a watchdog after it, and what came of that."""

    def __init__(self, is_ready: Callable[[], bool] = lambda: True, patience_s: float = PATIENCE_S) -> None:
        self.ended: list[int] = []
        self.relieved = 0
        self._over = threading.Event()
        self._go_on = threading.Event()
        self.loop = asyncio.new_event_loop()
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._live, args=(is_ready, patience_s), daemon=True)
        self._thread.start()
        assert self._started.wait(10)

    def _live(self, is_ready: Callable[[], bool], patience_s: float) -> None:
        clock = SystemClock()
        self.heart = Heart(clock)
        self.watchdog = Watchdog(self.heart, clock, patience_s, is_ready, self._end, self._relieve)

        async def main() -> None:
            self.beating = asyncio.current_task()
            self._started.set()
            await self.heart.run()

        try:
            self.loop.run_until_complete(main())
        except asyncio.CancelledError:
            pass
        finally:
            self.loop.close()

    def _end(self, status: int) -> None:
        self.ended.append(status)
        self._over.set()

    def _relieve(self) -> None:
        self.relieved += 1

    def hang(self) -> None:
        """The loop calls a plugin that waits, without awaiting it, for what comes only at the end."""

        def filter_(state: object, pod: object, node_info: object) -> None:
            self._go_on.wait(20)

        filter_.__name__ = "filter"
        framework = build_profile(
            ("PrioritySort", "Looping", "DefaultBinder"), given={"Looping": plugin(filter=filter_)}
        )
        self.loop.call_soon_threadsafe(framework.run_filter, CycleState(), make_pod("victim"), nodes(make_node("n1")))

    def wait_end(self) -> None:
        assert self._over.wait(20), "the watchdog does not bite"

    def wait_complaint(self, wanted: bool) -> None:
        until = time.monotonic() + 20
        while bool(self.watchdog.complaint) != wanted:
            assert time.monotonic() < until
            threading.Event().wait(0.01)

    def recover(self) -> None:
        self._go_on.set()

    def close(self) -> None:
        self._go_on.set()
        self.watchdog.close()
        assert self.beating is not None
        self.loop.call_soon_threadsafe(self.beating.cancel)
        self._thread.join(10)


@pytest.fixture
def watched() -> Watched:
    return Watched()


def test_a_plugin_that_does_not_come_back_is_named_and_the_process_ended_with_status_3(
    watched: Watched, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR, "koordpy.watchdog"):
        watched.watchdog.start()
        watched.hang()
        watched.wait_end()
        watched.close()
    assert watched.ended == [HUNG] == [3]
    assert "it is in plugin Looping, filter of default/victim on n1, at " in watched.watchdog.complaint
    first, *_, last = caplog.records
    assert first.getMessage() == "the scheduler's loop does not move"
    told = first.fields  # type: ignore[attr-defined]
    named = [told[name] for name in ("plugin", "hook", "pod", "node")]
    assert named == ["Looping", "filter", "default/victim", "n1"]
    assert 0.5 * PATIENCE_S <= told["seconds"] <= PATIENCE_S
    assert first.exc_info is not None
    assert "in filter_" in caplog.text
    assert last.getMessage() == "the process ends"


def test_a_loop_that_comes_back_in_time_is_complained_of_and_lives(
    watched: Watched, caplog: pytest.LogCaptureFixture
) -> None:
    watched.watchdog.start()
    watched.hang()
    watched.wait_complaint(True)
    watched.recover()
    watched.wait_complaint(False)
    watched.close()
    assert watched.ended == []
    assert "moves again" in caplog.text


def test_while_the_first_lists_are_read_it_is_ten_times_as_patient() -> None:
    ready = threading.Event()
    watched = Watched(ready.is_set)
    watched.watchdog.start()
    watched.hang()
    threading.Event().wait(2 * PATIENCE_S)
    assert (watched.ended, watched.watchdog.complaint) == ([], "")
    ready.set()
    watched.wait_end()
    watched.close()


def test_a_loop_that_gets_on_is_left_alone_and_python_itself_is_watched(watched: Watched) -> None:
    watched.watchdog.start()
    threading.Event().wait(2 * PATIENCE_S)
    watched.close()
    assert watched.ended == []
    assert watched.relieved > 10


def test_a_process_that_was_stopped_is_not_taken_for_one_that_hangs() -> None:
    """Its watchdog was stopped, too: what it did not see pass does not count."""

    class Stopped(SystemClock):
        skipped_s = 0.0

        def monotonic(self) -> float:
            return super().monotonic() + self.skipped_s

    clock, ended = Stopped(), list[int]()
    heart = Heart(clock)
    watchdog = Watchdog(heart, clock, 2.0, lambda: True, ended.append)
    watchdog.start()
    for _ in range(4):
        clock.skipped_s += 60.0  # as after SIGCONT, a minute later
        threading.Event().wait(0.1)
    watchdog.close()
    assert ended == []
    assert not heart.is_young(60)

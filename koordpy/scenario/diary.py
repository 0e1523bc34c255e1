"""What a scenario hears: koordpy's log, and what tasks died of that nobody waits for."""

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager

from koordpy.telemetry.logs import TextLines


@contextmanager
def watched() -> Iterator[list[str]]:
    """What tasks died of that nobody waits for."""
    died: list[str] = []
    loop = asyncio.get_running_loop()
    before = loop.get_exception_handler()
    loop.set_exception_handler(lambda _, told: died.append(repr(told.get("exception") or told["message"])))
    try:
        yield died
    finally:
        loop.set_exception_handler(before)


@contextmanager
def logged() -> Iterator[list[str]]:
    """koordpy's log lines from information on, as they come."""
    lines: list[str] = []
    logger, handler = logging.getLogger("koordpy"), _Lines(lines)
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield lines
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


class _Lines(logging.Handler):
    def __init__(self, lines: list[str]) -> None:
        super().__init__()
        self._lines = lines
        self.setFormatter(TextLines(with_time=False))

    def emit(self, record: logging.LogRecord) -> None:
        self._lines.append(self.format(record))

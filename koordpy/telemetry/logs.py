"""One line per log record, on standard error: words that stay the same, and fields to search for.

A record gets its fields by `logger.info("pod bound", extra=fields(pod=…, node=…))`. Never among them: a Pod's
environment, its annotations as a whole, or a request's body.
"""

import json
import logging
import re
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final, Literal

LEVELS: Final = ("debug", "info", "warning", "error")
Format = Literal["text", "json"]
_FIELDS: Final = "fields"
# Letters, digits, and what else a value may have and still be read again without quotes.
_PLAIN: Final = re.compile(r"[\w\-./:+@%,]+")


def fields(**values: str | int | float) -> dict[str, object]:
    """For `extra`. What is empty is left out: plugin="" says nothing."""
    return {_FIELDS: {name: value for name, value in values.items() if value != ""}}


def set_up(level: str, form: Format = "text") -> None:
    """Log koordpy's own records at `level`, everyone else's from warning on."""
    # No line of ours says which thread, process or line of code it comes from; to find out costs more than the rest.
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    logging._srcfile = None  # as Python's own logging HOWTO has it
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if form == "json" else TextLines())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("koordpy").setLevel(level.upper())


class TextLines(logging.Formatter):
    """2026-01-01T00:00:00.000Z INFO koordpy.scheduler pod bound pod=default/web node=n1 attempt=1."""

    def __init__(self, *, with_time: bool = True) -> None:
        super().__init__()
        self._with_time = with_time

    def format(self, record: logging.LogRecord) -> str:
        line = f"{record.levelname} {record.name} {_on_one_line(record.getMessage())}"
        if self._with_time:
            line = f"{_time_of(record)} {line}"
        line = " ".join([line, *(f"{name}={_quoted(value)}" for name, value in _fields_of(record).items())])
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


class JsonLines(logging.Formatter):
    """One object a line: time, level, logger, message, then the record's own fields; exception where there is one."""

    def format(self, record: logging.LogRecord) -> str:
        told: dict[str, object] = {
            "time": _time_of(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        told |= {name: value for name, value in _fields_of(record).items() if name not in told}
        if record.exc_info:
            told["exception"] = self.formatException(record.exc_info)
        return json.dumps(told, ensure_ascii=True, default=str)


def _fields_of(record: logging.LogRecord) -> Mapping[str, str | int | float]:
    return getattr(record, _FIELDS, {})


def _time_of(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")[: -len("+00:00")] + "Z"


def _quoted(value: str | int | float) -> str:
    """As it is if it is one word, else in quotes, so that the next field's beginning cannot be part of it."""
    text = str(value)
    if _PLAIN.fullmatch(text):
        return text
    return json.dumps(text, ensure_ascii=False)


def _on_one_line(text: str) -> str:
    """Parts of some messages were written by users; none of them begins a line of its own."""
    return text.replace("\n", "\\n").replace("\r", "\\r")

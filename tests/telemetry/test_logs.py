"""Log lines: words and fields, as text and as JSON."""

import json
import logging
import sys

import pytest

from koordpy.telemetry.logs import JsonLines, TextLines, fields


def record(message: str = "pod bound", *args: object, exc_info: bool = False, **said: str | int) -> logging.LogRecord:
    extra = fields(**said)
    raised = sys.exc_info() if exc_info else None
    logger = logging.getLogger("koordpy.scheduler")
    made = logger.makeRecord(logger.name, logging.INFO, "file", 1, message, args, raised, extra=extra)
    made.created = 1767225600.25
    return made


@pytest.mark.parametrize(
    ("value", "written"),
    [
        pytest.param("default/web", "default/web", id="one word"),
        pytest.param(3, "3", id="a number"),
        pytest.param("two words", '"two words"', id="two words"),
        pytest.param("a=b", '"a=b"', id="what looks like the next field"),
        pytest.param('a "b"', '"a \\"b\\""', id="quotes"),
        pytest.param("line\nERROR line", '"line\\nERROR line"', id="what would begin a line of its own"),
        pytest.param("Müller", "Müller", id="letters of any language"),
    ],
)
def test_a_field_ends_where_it_seems_to_end(value: str | int, written: str) -> None:
    line = TextLines().format(record(pod=value, node="n1"))
    assert line == f"2026-01-01T00:00:00.250Z INFO koordpy.scheduler pod bound pod={written} node=n1"


def test_a_field_without_a_value_is_left_out() -> None:
    assert TextLines(with_time=False).format(record(pod="a/b", plugin="")) == "INFO koordpy.scheduler pod bound pod=a/b"


def test_a_message_stays_on_one_line() -> None:
    line = TextLines(with_time=False).format(record("node %s", "n1\nERROR forged"))
    assert line == "INFO koordpy.scheduler node n1\\nERROR forged"


def test_a_record_is_one_object_of_json() -> None:
    line = JsonLines().format(record(pod="default/web", attempt=2, why='0/1 "nodes"\n'))
    assert "\n" not in line
    assert json.loads(line) == {
        "time": "2026-01-01T00:00:00.250Z",
        "level": "info",
        "logger": "koordpy.scheduler",
        "message": "pod bound",
        "pod": "default/web",
        "attempt": 2,
        "why": '0/1 "nodes"\n',
    }


@pytest.mark.parametrize("form", [TextLines(), JsonLines()], ids=["text", "json"])
def test_an_exception_comes_with_its_traceback(form: logging.Formatter) -> None:
    try:
        raise RuntimeError("boom")
    except RuntimeError:
        written = form.format(record(exc_info=True))
    assert "RuntimeError: boom" in written
    assert "test_logs.py" in written

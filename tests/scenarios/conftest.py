"""The lines of pytest's summary: how many scenarios ran where, and what came of each kind of case."""

from collections import Counter
from typing import Final

import pytest

from tests.scenarios import tally

OUTCOME: Final = "scenario"
"""The property of a test's report that says what became of its scenario."""
CASE: Final = "scenario of"
"""The property that says (case, outcome), one for each case."""


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Count what became of them."""
    reports = [
        (report, name, value)
        for category in terminalreporter.stats.values()
        for report in category
        for name, value in getattr(report, "user_properties", ())
        if report.when == "call"
    ]
    outcomes = Counter(value for _, name, value in reports if name == OUTCOME)
    if outcomes:
        told = ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items()))
        terminalreporter.write_line(f"scenarios: {told}")
    cases = [
        (case, "wrong" if report.failed else outcome)
        for report, name, value in reports
        if name == CASE
        for case, outcome in value
    ]
    if cases:
        terminalreporter.section("cases that are sentences")
        for line in tally.lines(cases):
            terminalreporter.line(line)

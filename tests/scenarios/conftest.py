"""The lines of pytest's summary that say how many scenarios ran where, and what the others wait for."""

from collections import Counter
from typing import Final

import pytest

OUTCOME: Final = "scenario"
"""The property of a test's report that says what became of its scenario."""


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Count what became of them."""
    reports = (report for category in terminalreporter.stats.values() for report in category)
    outcomes = Counter(
        value
        for report in reports
        for name, value in getattr(report, "user_properties", ())
        if name == OUTCOME and report.when == "call"
    )
    if outcomes:
        told = ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items()))
        terminalreporter.write_line(f"scenarios: {told}")

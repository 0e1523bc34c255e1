"""No case of what is built is left without a scenario or a test."""

from pathlib import Path

from koordpy.scenario.language import load
from tests.scenarios import tally

HERE = Path(__file__).parent


def test_every_case_of_what_is_built_has_a_scenario_or_a_test_of_its_name() -> None:
    played = {case for path in HERE.glob("*.yaml") for case in load(path).case}
    assert sorted(set(tally.kinds_of_cases()) - played - tally.tested()) == []


def test_the_table_counts_each_case_once_and_the_worst_of_its_scenarios() -> None:
    told = [("P01", "right"), ("P01", "wrong"), ("P02", "waiting for plugin X"), ("P02", "right"), ("P03", "different")]
    found = tally.outcomes([*told, ("P04", "waiting for plugin X"), ("no such case", "right")])
    assert [found[f"P0{number}"] for number in range(1, 5)] == [
        ("wrong", ""),
        ("waiting", "plugin X, the rest is right"),
        ("different", ""),
        ("waiting", "plugin X"),
    ]
    assert "no such case" not in found

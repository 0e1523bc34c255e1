"""What became of the cases that are sentences, by file and kind: a scenario, or a test that is named for its case."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final

import yaml

TESTS: Final = Path(__file__).parents[1]
CASES: Final = TESTS / "parity" / "cases"
COLUMNS: Final = ("right", "different", "waiting", "wrong", "as a test", "not run")
BUILT: Final[Mapping[str, frozenset[str]]] = {
    "kube-scheduler": frozenset({"runtime", "queue", "hint", "message", "api", "cache"}),
    "field": frozenset({"queue", "race", "restart-recovery", "client/watch", "leader-election"}),
}
"""File → kinds all of whose cases are played, or wait for something that is named. Of field.yaml the areas."""

_NAMED: Final = re.compile(r"^(?:async )?def test_(\w+)\(", re.MULTILINE)


@cache
def kinds_of_cases() -> Mapping[str, str]:
    """Case → "kube-scheduler queue", for the kinds of BUILT."""
    found: dict[str, str] = {}
    for file, kinds in BUILT.items():
        document = yaml.load((CASES / f"{file}.yaml").read_text(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        for case in document["cases"]:
            kind = case.get("kind") or case["area"]
            if kind in kinds:
                found[case["id"]] = f"{file} {kind}"
    return found


@cache
def tested() -> frozenset[str]:
    """Cases that a test function anywhere in tests is named for: test_p19_…, test_fc_104_…"""
    names = {
        f"{name}_"
        for path in TESTS.rglob("test_*.py")
        if "plugins/broken" not in str(path)
        for name in _NAMED.findall(path.read_text())
    }
    return frozenset(
        case for case in kinds_of_cases() if any(name.startswith(f"{_in_a_name(case)}_") for name in names)
    )


def _in_a_name(case: str) -> str:
    return case.lower().replace("-", "_")


def outcomes(told: Iterable[tuple[str, str]]) -> Mapping[str, tuple[str, str]]:
    """told: (case, "right", "different", "waiting for X" or "wrong") of each scenario → case → (column, for what)."""
    by_case: defaultdict[str, set[str]] = defaultdict(set)
    for case, outcome in told:
        by_case[case].add(outcome)
    return {case: _one(by_case.get(case, set()), case) for case in kinds_of_cases()}


def _one(said: set[str], case: str) -> tuple[str, str]:
    """Of several scenarios on one case the worst counts: one that waits is not right yet."""
    if "wrong" in said:
        return "wrong", ""
    if waiting := sorted(each for each in said if each.startswith("waiting for ")):
        in_part = "" if len(waiting) == len(said) else ", the rest is right"
        return "waiting", waiting[0].removeprefix("waiting for ") + in_part
    for column in ("different", "right"):
        if column in said:
            return column, ""
    return ("as a test" if case in tested() else "not run"), ""


def lines(told: Iterable[tuple[str, str]]) -> Iterator[str]:
    """A table for people."""
    found = outcomes(told)
    counts: Counter[tuple[str, str]] = Counter()
    for case, (column, _) in found.items():
        counts[kinds_of_cases()[case], column] += 1
    kinds = sorted(set(kinds_of_cases().values()))
    width = max(map(len, kinds))
    yield "".join([" " * width, *(f"{column:>11}" for column in COLUMNS)])
    for kind in kinds:
        yield "".join([kind.ljust(width), *(f"{counts[kind, column] or '':>11}" for column in COLUMNS)])
    whole = (sum(counts[kind, column] for kind in kinds) for column in COLUMNS)
    yield "".join(["all".ljust(width), *(f"{number:>11}" for number in whole)])
    yield from _reasons(found)


def _reasons(found: Mapping[str, tuple[str, str]]) -> Sequence[str]:
    waiting = Counter(what for column, what in found.values() if column == "waiting")
    left = [case for case, (column, _) in found.items() if column == "not run"]
    told = [f"waiting for {what}: {number}" for what, number in waiting.most_common()]
    return [*told, f"not run: {', '.join(left)}"] if left else told

"""One run: many cases, one after the other, and the smallest form of what fails."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Final

from koordpy.errors import ConfigError
from tests.differential.comparing import Difference, Meant, cases_of, differences, main_one, text_of
from tests.differential.oracle import Answer, Oracle, OracleError
from tests.differential.ours import Koordpy
from tests.differential.shrinking import smaller
from tests.differential.tally import Tally
from tests.parity.frame import Case

MOST_SHRUNK: Final = 5
"""So many failing cases are shrunk, of different sorts; the others are only counted."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A case that differs and no rule names. cases: it in the form of tests/parity, small."""

    case: Case
    found: tuple[Difference, ...]
    cases: tuple[Case, ...]

    def lines(self) -> list[str]:
        return [f"case {self.case['id']}: {main_one(self.found)}", *map(text_of, self.cases)]


def compare(
    oracle: Oracle, cases: Iterable[Case], tell: Callable[[str], None], given: Mapping[str, type] | None = None
) -> Tally:
    """Ask both about every case; `tell` is given each failure in its smallest form, as text. given: as Koordpy."""
    tally, koordpy, meant = Tally(), Koordpy(given), Meant()
    failing: list[tuple[Case, tuple[Difference, ...]]] = []
    for case, upstream in oracle.answers(cases):
        tally.add(upstream)
        if not (found := differences(upstream, koordpy.answers(case))):
            continue
        rule = meant.rule_for(cases_of(case, upstream, found))
        tally.differ(found, rule)
        if rule is None and len(failing) < MOST_SHRUNK and _is_new(found, failing):
            failing.append((case, tuple(found)))
    for case, differing in failing:
        for line in shrunk(oracle, case, differing, given).lines():
            tell(line)
    return tally


def _is_new(found: Iterable[Difference], failing: Iterable[tuple[Case, tuple[Difference, ...]]]) -> bool:
    known = {each.sort for each in chain.from_iterable(of for _, of in failing)}
    return not {each.sort for each in found} <= known


def shrunk(
    oracle: Oracle, case: Case, found: tuple[Difference, ...], given: Mapping[str, type] | None = None
) -> Failure:
    """Asked alone, without the clusters before it; if it is right then, they are part of the cause."""
    wanted = main_one(found).sort

    def told(candidate: Case) -> tuple[Answer, list[Difference]] | None:
        try:
            upstream = oracle.answer(candidate)
            return upstream, differences(upstream, Koordpy(given).answers(candidate))
        except (OracleError, ConfigError):
            return None

    def shows(candidate: Case) -> bool:
        answer = told(candidate)
        return answer is not None and wanted in {each.sort for each in answer[1]}

    if not shows(case):
        return Failure(case, found, ())
    small = smaller(case, shows)
    answer = told(small)
    assert answer is not None
    upstream, left = answer
    return Failure(case, tuple(left), tuple(cases_of(small, upstream, left)))

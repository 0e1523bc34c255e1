"""What came of all cases, counted, as a table for people."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from tests.parity.frame import Different, Disputed, Outcome, Right, Statement, Waiting, Wrong

COLUMNS: Final[Sequence[type]] = (Right, Disputed, Different, Waiting, Wrong, Statement)


class Tally:
    """Outcomes by file and kind of case."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str, type]] = Counter()
        self._waiting: Counter[str] = Counter()
        self._different: Counter[tuple[str, str]] = Counter()

    def add(self, file: str, kind: str, outcome: Outcome | Statement) -> None:
        self._counts[file, kind, type(outcome)] += 1
        match outcome:
            case Waiting(for_what):
                self._waiting[for_what] += 1
            case Different(rule):
                self._different[rule, f"{file} {kind}"] += 1

    @property
    def is_empty(self) -> bool:
        """Nothing but statements: no case was asked."""
        return not any(self.count(column) for column in COLUMNS if column is not Statement)

    def count(self, outcome: type) -> int:
        return sum(number for (_, _, kind_of_outcome), number in self._counts.items() if kind_of_outcome is outcome)

    def lines(self, rules: Iterable[str]) -> list[str]:
        """rules: the names of all differences; those that matched nothing are told."""
        rows = sorted({(file, kind) for file, kind, _ in self._counts})
        width = max(len(f"{file} {kind}") for file, kind in rows)
        told = ["".join([" " * width, *(f"{column.__name__.lower():>11}" for column in COLUMNS)])]
        for file, kind in rows:
            numbers = (self._counts[file, kind, column] for column in COLUMNS)
            told.append("".join([f"{file} {kind}".ljust(width), *(f"{number or '':>11}" for number in numbers)]))
        told.append("".join(["all".ljust(width), *(f"{self.count(column):>11}" for column in COLUMNS)]))
        told += [f"waiting for {name}: {number}" for name, number in self._waiting.most_common()]
        told += [f"different, {name}: {number} of {row}" for (name, row), number in sorted(self._different.items())]
        used = {name for name, _ in self._different}
        return told + [f"difference that matches no case: {name}" for name in rules if name not in used]

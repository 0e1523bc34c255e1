"""Every case that is data, asked of koordpy."""

import pytest

from tests.parity.frame import Case, CaseFile, Judge, Waiting, Wrong, kind_of
from tests.parity.tally import Tally


def test_koordpy_answers_as_the_case_says(file: CaseFile, case: Case, judge: Judge, tally: Tally) -> None:
    outcome = judge.judge(file, case)
    tally.add(file.stem, kind_of(case), outcome)
    match outcome:
        case Waiting(for_what):
            pytest.skip(f"waits for {for_what}")
        case Wrong(expected, got):
            about = case.get("about", "")
            pytest.fail(f"{about}\nexpected {expected!r}\ngot      {got!r}", pytrace=False)

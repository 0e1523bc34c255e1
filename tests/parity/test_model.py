"""The model of Koordinator: without any difference it says what the real program said."""

from pathlib import Path

import pytest

from tests.parity.frame import Case, CaseFile, kind_of
from tests.parity.model.answers import ANSWERS
from tests.parity.model.differences import ALL, NONE
from tests.parity.readers import RECORDINGS
from tests.parity.readers.koordinator import answers, books
from tests.parity.recordings import read_recording, recordings
from tests.parity.rules import WAITS


def _recorded(case: Case) -> object:
    match kind_of(case):
        case "cache":
            return books.recorded(case["answer"])
        case "validate":
            error = case["answer"].get("error")
            return {"error": answers.upstreams_part(error)} if error else case["answer"]
        case "percard":
            return case["answer"] | {"per_card": books.amounts(case["answer"]["per_card"])}
    return answers.recorded(case["answer"])


def _asked(file: CaseFile) -> list[Case]:
    known = [case for case in file.cases if kind_of(case) in ANSWERS]
    return [case for case in known if not ((waits := WAITS.get(kind_of(case))) and waits(case))]


@pytest.fixture(scope="module")
def cases(pytestconfig: pytest.Config) -> list[Case]:
    given = pytestconfig.getoption("--recorded", default=None)
    files = [read_recording(path, RECORDINGS) for path in ([Path(given)] if given else recordings())]
    return [case for file in files if "koordinator" in file.stem for case in _asked(file)]


def test_without_differences_the_model_answers_as_the_real_program_did(cases: list[Case]) -> None:
    wrong = [case["id"] for case in cases if ANSWERS[kind_of(case)](case, NONE) != _recorded(case)]
    assert not wrong


def test_with_all_differences_the_model_answers_otherwise_somewhere(cases: list[Case]) -> None:
    assert any(ANSWERS[kind_of(case)](case, ALL) != _recorded(case) for case in cases)

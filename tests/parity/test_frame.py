"""The frame itself: what counts as what, which files are read, and what the YAML beside the cases must hold."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.parity.conftest import CASES
from tests.parity.frame import (
    Case,
    CaseFile,
    Different,
    Disputed,
    Judge,
    Outcome,
    Readers,
    Right,
    Rule,
    Statement,
    Waiting,
    Wrong,
    compare,
    kind_of,
    read_folder,
)
from tests.parity.readers import READERS
from tests.parity.readers.short_form import nodes_of, pod_of
from tests.parity.tally import Tally


def doubled(case: Case, legend: Mapping[str, Any]) -> Outcome:
    return compare(case["expect"], 2 * int(case["given"]))


REGISTERED: Mapping[str, Readers] = {"sums": {"double": doubled, "later": Waiting("a Sum plugin"), "said": Statement()}}
FILE = CaseFile("sums", {}, ())
KINDS = frozenset({"double"})
RULE = Rule("odd is rounded up", "sums", KINDS, lambda case: case["given"] % 2 == 1, lambda case: 2 * case["given"])


@pytest.mark.parametrize(
    ("case", "outcome"),
    [
        ({"kind": "double", "given": 2, "expect": 4}, Right()),
        ({"kind": "double", "given": 2, "expect": 5}, Wrong(5, 4)),
        ({"kind": "double", "given": 3, "expect": 8}, Different("odd is rounded up")),
        ({"kind": "double", "given": 3, "expect": 6}, Right()),
        ({"kind": "double", "given": 4, "expect": 9, "id": "X1"}, Disputed()),
        ({"kind": "double", "given": 6, "expect": 9, "id": "X1"}, Wrong(9, 12)),
        ({"kind": "later"}, Waiting("a Sum plugin")),
        ({"kind": "new"}, Waiting("a reader of kind 'new'")),
    ],
    ids=[
        *("as expected", "otherwise", "otherwise where a rule says so", "as expected although a rule says otherwise"),
        *("a disputed case", "a disputed case answered in a third way", "a kind that waits", "a kind without a reader"),
    ],
)
def test_a_case_comes_to(case: Case, outcome: Outcome) -> None:
    assert Judge(REGISTERED, [RULE], {("sums", "X1"): 8}).judge(FILE, case) == outcome


def test_a_rule_whose_answer_is_not_what_koordpy_says_excuses_nothing() -> None:
    rule = Rule("odd is rounded up", "sums", KINDS, lambda case: True, lambda case: 7)
    assert Judge(REGISTERED, [rule], {}).judge(FILE, {"kind": "double", "given": 1, "expect": 3}) == Wrong(3, 2)


def test_a_rule_covers_recordings_of_its_form_too() -> None:
    recording = CaseFile("recorded sums", {}, ())
    judge = Judge({"recorded sums": REGISTERED["sums"]}, [RULE], {})
    assert judge.judge(recording, {"kind": "double", "given": 3, "expect": 8}) == Different("odd is rounded up")


def test_the_table_counts_and_tells_what_waits_and_what_no_case_uses() -> None:
    tally = Tally()
    for outcome in (Right(), Right(), Waiting("a Sum plugin"), Different("odd is rounded up"), Statement()):
        tally.add("sums", "double", outcome)
    lines = tally.lines(["odd is rounded up", "another"])
    assert lines[1].split() == ["sums", "double", "2", "1", "1", "1"]
    assert lines[2].split() == ["all", "2", "0", "1", "1", "0", "1"]
    assert lines[3:] == [
        "waiting for a Sum plugin: 1",
        "different, odd is rounded up: 1 of sums double",
        "difference that matches no case: another",
    ]


def test_a_folder_may_hold_some_forms_only_under_any_name(tmp_path: Path) -> None:
    case = "cases: [{id: new-1, kind: fill}, {id: new-2, kind: percard}]"
    (tmp_path / "anything.yaml").write_text(f"legend: {{a: b}}\n{case}")
    (tmp_path / "koordinator-more.yaml").write_text(case)
    files = read_folder(tmp_path, READERS)
    assert [(file.stem, len(file.cases)) for file in files] == [("koordinator", 2), ("koordinator", 2)]
    assert files[0].legend == {"legend": {"a": "b"}}


def test_every_kind_of_the_cases_has_a_reader_or_says_what_it_waits_for() -> None:
    for file in read_folder(CASES, READERS):
        assert {kind_of(case) for case in file.cases} <= READERS[file.stem].keys()


def test_the_short_form_passes_no_field_over() -> None:
    with pytest.raises(ValueError, match="has no field gpus"):
        nodes_of({"nodes": {"oak": {"gpus": 2}}})
    with pytest.raises(ValueError, match="has no field hostport"):
        pod_of({"pod": {"hostport": 80}})

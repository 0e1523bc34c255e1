"""The YAML beside the cases: what differs or is disputed, and the page that is made of it."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from koordpy_api.koordinator import GPU_MEMORY, GPU_MEMORY_RATIO
from tests.parity.conftest import read_all
from tests.parity.frame import CaseFile, Rule, Statement, kind_of
from tests.parity.meant import CASE_KEYS, DISPUTED_KEYS, HERE, RULE_KEYS, entries, read_disputed, read_rules
from tests.parity.page import PAGE, PROGRAMS, page
from tests.parity.readers import READERS
from tests.parity.recordings import recordings

REPOSITORY = Path(__file__).parents[2]
CARD = {
    "type": "gpu",
    "minor": 0,
    "id": "GPU-0",
    "health": True,
    "resources": {GPU_MEMORY_RATIO: 100, GPU_MEMORY: 1000},
}
RARE: Mapping[str, Mapping[str, Any]] = {
    "percent come from one exact division": {"kind": "fill", "alloc": {GPU_MEMORY: 29}, "total": {GPU_MEMORY: 100}},
    "memory has to fit in percent and in bytes": {
        "kind": "alloc",
        "device": {"devices": [CARD]},
        "used": [{"pod": "d/a", "gpu": {"0": {GPU_MEMORY: 999, GPU_MEMORY_RATIO: 90}}}],
        "pod": {"requests": {GPU_MEMORY_RATIO: 10}},
    },
}
"""Differences that the kept cases do not happen to show."""


@pytest.fixture(scope="module")
def files() -> list[CaseFile]:
    return read_all(recorded=recordings())


@pytest.mark.parametrize("rule", read_rules(), ids=lambda rule: rule.name)
def test_every_difference_with_a_predicate_matches_a_case(rule: Rule, files: list[CaseFile]) -> None:
    if rule.name in RARE:
        assert rule.covers(rule.file, RARE[rule.name])
    else:
        assert any(rule.covers(file.stem, case) for file in files for case in file.cases)


def test_a_difference_says_all_of_where_it_holds_or_nothing(tmp_path: Path) -> None:
    whole = dict.fromkeys((*RULE_KEYS, "kind"), "x")
    (tmp_path / "differences.yaml").write_text(str([whole]))
    with pytest.raises(ValueError, match="answer, where; it has exactly"):
        entries(tmp_path / "differences.yaml", RULE_KEYS, CASE_KEYS)


@pytest.mark.parametrize(
    "entry", entries(HERE / "differences.yaml", RULE_KEYS, CASE_KEYS), ids=lambda each: each["rule"]
)
def test_every_difference_names_a_test_that_exists(entry: Mapping[str, Any]) -> None:
    path, _, test = entry["test"].partition("::")
    assert f"def {test}(" in (REPOSITORY / path).read_text()
    assert entry["file"] in PROGRAMS


def test_the_page_of_differences_says_what_the_yaml_says() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "make it anew: python -m tests.parity.page"


def test_at_most_two_percent_are_disputed_each_with_what_shows_it(files: list[CaseFile]) -> None:
    data = [
        case
        for file in files
        for case in file.cases
        if file.stem in READERS and not isinstance(READERS[file.stem].get(kind_of(case)), Statement)
    ]
    disputed = entries(HERE / "disputed.yaml", DISPUTED_KEYS)
    assert len(read_disputed()) == len(disputed) <= 0.02 * len(data)
    assert all(entry["shown"] for entry in disputed)


def test_no_code_knows_an_id(files: list[CaseFile]) -> None:
    ids = {str(case["id"]) for file in files for case in file.cases if "id" in case}
    for path in [*HERE.glob("*.py"), *HERE.glob("readers/**/*.py"), *HERE.glob("model/*.py")]:
        assert not ids & set(re.findall(r"[A-Za-z0-9-]+", path.read_text())), path

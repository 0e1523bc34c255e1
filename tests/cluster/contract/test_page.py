"""docs/contract.md."""

import re
from collections import Counter

import pytest

from tests.cluster.contract import page


def test_the_page_names_every_behaviour_and_no_other(pytestconfig: pytest.Config) -> None:
    if pytestconfig.getoption("--write-contract", False):
        pytest.skip("this run writes the page")
    rows = re.findall(rf"^\| (.+?) \| [✓{page.NONE}] \|", page.PAGE.read_text(), re.MULTILINE)
    known = [page.sentence(name) for section in page.sections() for name in section.behaviours]
    assert rows == known, "run pytest tests/cluster/contract --write-contract"


def test_every_behaviour_has_a_name_of_its_own() -> None:
    names = Counter(name for section in page.sections() for name in section.behaviours)
    assert [name for name, times in names.items() if times > 1] == []


def test_a_page_is_not_written_from_a_run_of_a_part() -> None:
    assert "is not written" in page.write({("test_x", page.REAL): "passed"})
    assert page.REAL in "\n".join(page.lines({("test_x", page.REAL): "passed"}))

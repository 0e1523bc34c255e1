"""The bugs still are bugs of the code as it is."""

import shutil
from pathlib import Path

import pytest

from tests.mutants.seeds import PACKAGE, SEEDS, Seed


@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: seed.name)
def test_each_bug_changes_one_line_of_todays_code(seed: Seed, tmp_path: Path) -> None:
    shutil.copy(PACKAGE / seed.module, tmp_path)
    seed.apply(tmp_path)
    assert (tmp_path / seed.module).read_text() != (PACKAGE / seed.module).read_text()

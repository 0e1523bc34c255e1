"""docs/configuration.md shows what its commands really print."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "configuration.md"
BLOCKS = re.findall(r"^```console\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
GAP = "…\n"
"""Stands on the page for lines that are not shown."""


@pytest.mark.parametrize("block", BLOCKS)
def test_a_command_prints_what_the_page_shows(block: str, tmp_path: Path) -> None:
    for line, shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE):
        command, *words = line.split(" ")
        if command == "cat":
            (tmp_path / words[0]).write_text(shown, encoding="utf-8")
            continue
        run = subprocess.run(
            [sys.executable, "-m", command, *words], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        pattern = ".*".join(re.escape(part) for part in shown.split(GAP))
        assert re.fullmatch(pattern, run.stderr + run.stdout, re.DOTALL), run.stderr + run.stdout

"""Imports point where .importlinter says, and what must stay small does."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_import_points_the_way_the_contracts_say() -> None:
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=110, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 broken" in done.stdout


def test_the_embedded_cluster_stays_small() -> None:
    """It is a product with a border, not a second API server: what does not fit in is refused with a sentence."""
    sources = (ROOT / "koordpy" / "cluster" / "embedded").rglob("*.py")
    assert sum(len(each.read_text().splitlines()) for each in sources) <= 2_000

"""What is written from the specifications of the hooks says what they say."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.plugins import page, protocols
from tests.plugins.installing import HERE, ROOT


def test_the_page_of_plugins_has_all_points_and_their_rules() -> None:
    assert page.PAGE.read_text() == page.rendered(page.PAGE.read_text()), "run python -m tests.plugins.page"


def test_the_protocols_agree_with_the_specifications() -> None:
    assert protocols.FILE.read_text() == protocols.render(), "run python -m tests.plugins.protocols"


HELD = """
from koordpy_api import protocols
from zone_quota import ZoneQuota

a: type[protocols.FilterPlugin] = ZoneQuota
b: type[protocols.PreFilterPlugin] = ZoneQuota
c: type[protocols.AddPodPlugin] = ZoneQuota
d: type[protocols.PodAddedPlugin] = ZoneQuota
"""


@pytest.mark.parametrize(
    ("more", "clean"),
    [("", True), ("e: type[protocols.ScorePlugin] = ZoneQuota\n", False)],
    ids=["a plugin that keeps the specifications", "a plugin without the hook"],
)
def test_mypy_holds_a_plugin_against_the_protocols(more: str, clean: bool, tmp_path: Path) -> None:
    (tmp_path / "held.py").write_text(HELD + more)
    paths = [ROOT / "plugins/api", HERE / "good/zone-quota", tmp_path]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file=", "--cache-dir", str(ROOT / ".mypy_cache/held"), "-m", "held"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"MYPYPATH": ":".join(map(str, paths)), "PATH": ""},
        check=False,
    )
    assert (done.returncode == 0) is clean, done.stdout + done.stderr

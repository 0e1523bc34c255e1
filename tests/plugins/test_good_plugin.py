"""The plugin that docs/plugins.md writes: installed beside the host, its own tests pass and it is described."""

import re
import shutil
from pathlib import Path

import pytest

from tests.plugins.installing import HERE, ROOT, install, python

SOURCE = HERE / "good/zone-quota"
PAGE = ROOT / "docs/plugins.md"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install([SOURCE], tmp_path_factory.mktemp("good"))


def test_its_authors_tests_pass_where_it_is_installed(site: Path, tmp_path: Path) -> None:
    shutil.copytree(SOURCE / "tests", tmp_path / "tests")
    done = python(
        site, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--rootdir={tmp_path}", str(tmp_path / "tests")
    )
    assert done.returncode == 0, done.stdout
    assert "4 passed" in done.stdout


@pytest.mark.parametrize("name", ["pyproject.toml", "zone_quota.py", "tests/test_zone_quota.py"])
def test_the_page_shows_the_file_that_was_tested(name: str) -> None:
    language = "toml" if name.endswith("toml") else "python"
    blocks = re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    assert (SOURCE / name).read_text() in blocks


def test_the_page_shows_what_is_said_of_it(site: Path) -> None:
    done = python(site, "-m", "koordpy", "plugins", "show", "ZoneQuota")
    assert done.returncode == 0, done.stderr
    place = re.compile(r"\S*zone_quota\.py")
    shown = "\n".join(place.sub("zone_quota.py", line) for line in done.stdout.splitlines())
    (printed,) = re.findall(r"```console\n\$ koordpy plugins show ZoneQuota\n(.*?)\n```", PAGE.read_text(), re.DOTALL)
    assert shown == printed


SWITCHED_ON = """
import sys
from koordpy.config.expand import resolve
from koordpy.config.load import parse
from koordpy.framework.build import build_all
from koordpy.framework.registry import Registry

registry = Registry()
(framework,) = build_all(resolve(parse(sys.stdin.read(), "page"), registry), registry, lambda *said: None)
print([name for name, _ in framework.chains["filter"]][-1], framework.chains["filter"][-1][1].__self__.max_pods)
"""


def test_the_configuration_of_the_page_switches_it_on(site: Path) -> None:
    (block,) = re.findall(r"```yaml no-test\n(.*?)```", PAGE.read_text(), re.DOTALL)
    done = python(site, "-c", SWITCHED_ON, given=block)
    assert done.stdout == "ZoneQuota 20\n", done.stderr

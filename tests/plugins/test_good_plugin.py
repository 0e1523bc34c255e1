"""The plugins that docs/plugins.md writes: installed beside the host, their own tests pass and they are described."""

import re
import shutil
from pathlib import Path

import pytest

from tests.plugins.installing import HERE, ROOT, install, python

SOURCES = {name: HERE / "good" / name for name in ("zone-quota", "quiet-nodes")}
PAGE = ROOT / "docs/plugins.md"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install(list(SOURCES.values()), tmp_path_factory.mktemp("good"))


@pytest.mark.parametrize(("name", "passed"), [("zone-quota", "4 passed"), ("quiet-nodes", "3 passed")])
def test_its_authors_tests_pass_where_it_is_installed(name: str, passed: str, site: Path, tmp_path: Path) -> None:
    shutil.copytree(SOURCES[name] / "tests", tmp_path / "tests")
    done = python(
        site, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--rootdir={tmp_path}", str(tmp_path / "tests")
    )
    assert done.returncode == 0, done.stdout
    assert passed in done.stdout


@pytest.mark.parametrize(
    "name",
    [
        "zone-quota/pyproject.toml",
        "zone-quota/zone_quota.py",
        "zone-quota/tests/test_zone_quota.py",
        "quiet-nodes/quiet_nodes.py",
        "quiet-nodes/tests/test_quiet_nodes.py",
    ],
)
def test_the_page_shows_the_file_that_was_tested(name: str) -> None:
    language = "toml" if name.endswith("toml") else "python"
    blocks = re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    assert (HERE / "good" / name).read_text() in blocks


def test_the_page_shows_what_is_said_of_it(site: Path) -> None:
    done = python(site, "-m", "koordpy", "plugins", "show", "ZoneQuota")
    assert done.returncode == 0, done.stderr
    place = re.compile(r"\S*zone_quota\.py")
    shown = "\n".join(place.sub("zone_quota.py", line) for line in done.stdout.splitlines())
    (printed,) = re.findall(r"```console\n\$ koordpy plugins show ZoneQuota\n(.*?)\n```", PAGE.read_text(), re.DOTALL)
    assert shown == printed


def test_the_list_says_who_is_asked_one_by_one_and_what_that_costs(site: Path) -> None:
    done = python(site, "-m", "koordpy", "plugins", "list")
    assert done.returncode == 0, done.stderr
    assert re.search(r"^QuietNodes +quiet-nodes 1.0 +at once +filter, score$", done.stdout, re.MULTILINE)
    assert re.search(r"^ZoneQuota +zone-quota 1.0 +one by one +preFilter, filter$", done.stdout, re.MULTILINE)
    assert done.stdout.splitlines()[-1].startswith("one by one: about each node that is still in question, ")


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

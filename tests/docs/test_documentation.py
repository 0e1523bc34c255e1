"""Every page: YAML that works, files and functions that exist, output as printed."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from koordpy.config.expand import resolve
from koordpy.config.load import parse
from koordpy.config.validate import check_start
from koordpy.framework.build import build_all
from koordpy.framework.registry import Registry
from koordpy.scheduler.outcome import Placed
from koordpy.testing import CycleHarness, make_device, make_node, read_object
from koordpy_api.objects import Device, Pod

REPOSITORY = Path(__file__).parents[2]
PAGES = sorted([*REPOSITORY.glob("*.md"), *REPOSITORY.glob("docs/**/*.md"), *REPOSITORY.glob("plugins/*/README.md")])
BLOCK = re.compile(r"^ *```yaml\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)


def yaml_documents() -> list[Any]:
    found = []
    for page in PAGES:
        for number, match in enumerate(BLOCK.finditer(page.read_text()), 1):
            name = f"{page.relative_to(REPOSITORY)} block {number}"
            if page.name == "deviceshare.md" and "containers" in match[1]:
                continue  # test_deviceshare_page runs them, on nodes of their own
            found.append(pytest.param(yaml.safe_load(_dedent(match[1])), _dedent(match[1]), id=name))
    for path in sorted([*REPOSITORY.glob("config/*.yaml"), *REPOSITORY.glob("config/profiles/*.yaml")]):
        found.append(pytest.param(yaml.safe_load(path.read_text()), path.read_text(), id=str(path.name)))
    return found


def _dedent(block: str) -> str:
    indent = len(block) - len(block.lstrip(" "))
    return "\n".join(line[indent:] for line in block.splitlines()) + "\n"


@pytest.mark.parametrize(("document", "text"), yaml_documents())
def test_yaml_in_the_documentation_works(
    document: dict[str, Any], text: str, cycle: Callable[..., CycleHarness]
) -> None:
    match document.get("kind"):
        case "KubeSchedulerConfiguration":
            configuration = parse(text, "page")
            check_start(configuration, "page")
            problems: list[object] = []
            assert build_all(resolve(configuration), Registry(), lambda *problem: problems.append(problem))
            assert not problems
        case "Pod":
            _expect_placed(cycle, document)
        case None if "containers" in document.get("spec", {}):
            _expect_placed(cycle, {"metadata": {"name": "part-of-a-pod"}, **document})
        case "Device":
            harness = cycle(read_object(Device, document))
            assert harness.problems.count == 0
        case _ if "pluginConfig" in document:
            profile = {"schedulerName": "x", **document}
            head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
            build_all(
                resolve(parse(yaml.safe_dump(head | {"profiles": [profile]}), "page")), Registry(), lambda *_: None
            )
        case other:
            pytest.fail(f"nothing tests YAML of kind {other}")


def _expect_placed(cycle: Callable[..., CycleHarness], document: dict[str, Any]) -> None:
    document["metadata"]["uid"] = "uid-1"
    harness = cycle(make_node("n1"), make_device("n1", 4))
    assert isinstance(harness.schedule(read_object(Pod, document)), Placed)


def test_the_walk_names_files_and_functions_that_exist() -> None:
    page = (REPOSITORY / "docs" / "architecture.md").read_text()
    sources = "\n".join(path.read_text() for path in [*REPOSITORY.glob("koordpy/**/*.py"), *_plugin_files()])
    for path in re.findall(r"`((?:koordpy|plugins|tests)/[\w/.-]+\.\w+)`", page):
        assert (REPOSITORY / path).is_file(), f"{path} does not exist"
    names = re.findall(r"`(\w+)\.(\w+)`", page)
    assert len(names) > 25
    for owner, function in names:
        if function in ("py", "md"):
            continue
        body = re.search(rf"^class {owner}\b.*?(?=^class |\Z)", sources, re.DOTALL | re.MULTILINE)
        assert body, f"there is no class {owner}"
        assert re.search(rf"^    (?:async )?def {function}\b", body[0], re.MULTILINE), f"{owner} has no {function}"


def _plugin_files() -> list[Path]:
    return [path for path in REPOSITORY.glob("plugins/*/koordpy_*/**/*.py") if "/tests/" not in str(path)]


def test_links_between_pages_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\((?!http|#)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


WRONG = """apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
podInitialBackoffSeconds: 1
podMaxBackoffSecond: 3
profiles:
  - schedulerName: 7
"""
NAMELESS = """apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
"""


@pytest.mark.parametrize(("name", "text"), [("wrong.yaml", WRONG), ("nameless.yaml", NAMELESS)])
def test_a_refused_file_prints_what_the_page_shows(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    command = [sys.executable, "-m", "koordpy", "scheduler", "--config", name]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    page = (REPOSITORY / "docs" / "running.md").read_text()
    (shown,) = re.findall(rf"```console\n\$ koordpy scheduler --config {name}\n(.*?)```", page, re.DOTALL)
    assert run.returncode == 2
    assert run.stderr == shown

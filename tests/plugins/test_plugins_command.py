"""koordpy plugins, where nothing but koordpy's own distributions is installed."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field

from koordpy.framework.describe import arg_fields, type_text
from koordpy.framework.registry import Registry
from koordpy_api import PluginArgs
from tests.plugins.installing import ROOT


def koordpy(*words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "koordpy", "plugins", *words], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_list_names_every_installed_plugin_with_its_distribution_and_points() -> None:
    head, *rows = koordpy("list").splitlines()
    assert head.split() == ["NAME", "DISTRIBUTION", "NODES", "POINTS"]
    assert [row.split()[0] for row in rows] == Registry().names
    assert any(re.fullmatch(r"DefaultBinder +koordpy \S+ +bind", row) for row in rows)


def test_of_our_own_plugins_none_is_asked_about_nodes_one_by_one() -> None:
    text = koordpy("list")
    assert re.search(r"^NodeResourcesFit +koordpy-nodefit \S+ +at once +preFilter, filter", text, re.MULTILINE)
    assert "one by one" not in text


def test_check_is_content_with_our_own() -> None:
    lines = koordpy("check").splitlines()
    assert [line.split()[:2] for line in lines] == [["ok", name] for name in Registry().names]


def test_show_names_points_arguments_distribution_cost_and_the_place_of_each_hook() -> None:
    text = koordpy("show", "DeviceShare")
    assert re.search(r"^  distribution  koordpy-deviceshare \S+$", text, re.MULTILINE)
    assert re.search(r"^  points +preFilter, filter, preScore, score, reserve, preBind", text, re.MULTILINE)
    assert "koordinator.sh/gpu-core" in text
    assert re.search(r"^  allocator +default or binpack or spread or null +.*$", text, re.MULTILINE)
    places = re.findall(r"^  (\w+) +(per .*?|once.*?)  +(\S+\.py):(\d+)$", text, re.MULTILINE)
    assert {hook for hook, *_ in places} == set(Registry().declaration("DeviceShare").hooks)
    assert ("filter", "per node") in [(hook, cost) for hook, cost, *_ in places]
    for hook, _, path, line in places:
        below = (ROOT / path).read_text().splitlines()[int(line) - 1 :]
        assert re.match(rf"\s+def {hook}\(", next(each for each in below if " def " in each))


def test_an_unknown_plugin_ends_with_status_2_and_what_is_installed() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "koordpy", "plugins", "show", "Nope"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.startswith('koordpy: plugin "Nope" does not exist; installed are DefaultBinder, ')


def test_the_commands_do_not_wait_for_what_they_do_not_need() -> None:
    code = (
        "import sys\nfrom koordpy.cli.plugins import app\n"
        "try:\n    app(['show', 'DeviceShare'])\nexcept SystemExit:\n    pass\n"
        "print(*sorted({'kubernetes', 'aiohttp', 'prometheus_client'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == ""


class Inner(PluginArgs):
    weight: int = 1


class Outer(PluginArgs):
    kind: Literal["Least", "Most"] = "Least"
    inner: Inner = Inner(weight=7)
    ratio: Annotated[float, Field(description="percent of a card")]
    names: dict[str, tuple[str, ...]] = {}
    deep_limit: int | None = None


def test_fields_are_said_as_in_yaml() -> None:
    said = [(each.path, each.type, each.default, each.about) for each in arg_fields(Outer)]
    assert said == [
        ("kind", "Least or Most", "Least", ""),
        ("inner.weight", "integer", "7", ""),
        ("ratio", "number", None, "percent of a card"),
        ("names", "map of string to list of string", "{}", ""),
        ("deepLimit", "integer or null", "null", ""),
    ]


@pytest.mark.parametrize(
    ("annotation", "text"),
    [(bool, "true or false"), (Any, "anything"), (list[Inner], "list of {weight}"), (Path, "Path")],
)
def test_types_are_said_in_words(annotation: object, text: str) -> None:
    assert type_text(annotation) == text

"""Plugins are found by entry point, imported only when named, and known to the configuration as a catalogue."""

import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from koordpy.config.catalogue import Catalogue
from koordpy.errors import PluginError
from koordpy.framework.registry import GROUP, Registry
from koordpy_api import NoArgs
from tests.framework.scripted_plugins import plugin


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where a test writes a module `strange`; it is forgotten afterwards."""
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path / "strange.py"
    sys.modules.pop("strange", None)


def point(name: str, value: str) -> EntryPoint:
    return EntryPoint(name, value, GROUP)


@pytest.mark.parametrize(
    ("code", "text"),
    [
        pytest.param("import sys; sys.exit(3)", "SystemExit: 3", id="FC-116 SystemExit"),
        pytest.param("raise ImportError('libfoo.so')", "ImportError: libfoo.so", id="FC-116 ImportError"),
        pytest.param("1 / 0", "ZeroDivisionError: division by zero", id="any other exception"),
        pytest.param("def broken(:", "SyntaxError: invalid syntax", id="no Python"),
    ],
)
def test_whatever_an_import_raises_is_told_of_its_plugin(code: str, text: str, module: Path) -> None:
    module.write_text(code)
    with pytest.raises(PluginError) as refused:
        Registry([point("A", "strange:A")]).load("A")
    told = str(refused.value)
    assert told.startswith('plugin "A" of an unknown distribution cannot be imported from strange:A: ')
    assert text in told
    assert told.endswith("Mend or uninstall it, or take it out of the profile")


def test_nothing_is_imported_before_somebody_asks(module: Path) -> None:
    module.write_text("raise AssertionError")
    registry = Registry([point("A", "strange:A")])
    assert registry.names == ["A"]
    assert "A" in registry
    assert registry.warnings(used=[]) == []
    assert "strange" not in sys.modules


@pytest.mark.parametrize(
    "again",
    [
        pytest.param("strange:A", id="the same entry point twice"),
        pytest.param("strange:AlsoA", id="FC-119 the same class by another way"),
    ],
)
def test_the_same_plugin_found_twice_is_one_plugin(again: str, module: Path) -> None:
    module.write_text("class A: ...\nAlsoA = A\n")
    assert Registry([point("A", "strange:A"), point("A", again)]).load("A").__name__ == "A"


def test_fc119_two_plugins_of_one_name_are_told_with_both_sources(module: Path) -> None:
    module.write_text("class A: ...\nclass B: ...\n")
    with pytest.raises(PluginError) as refused:
        Registry([point("A", "strange:A"), point("A", "strange:B")]).load("A")
    assert "(strange:A)" in str(refused.value)
    assert "(strange:B)" in str(refused.value)


def test_what_is_broken_and_unused_is_warned_about_as_far_as_no_import_is_needed() -> None:
    points = [
        point("Clash", "strange:A"),
        point("Clash", "strange:B"),
        point("Gone", "koordpy_nothing.deep:Gone"),
        point("Malformed", "not a reference"),
        point("Fine", "koordpy.clock:SystemClock"),
    ]
    warnings = Registry(points).warnings(used=["Fine"])
    assert [text for text in warnings if '"Clash"' in text and "no profile names it" in text]
    assert (
        'plugin "Gone" of an unknown distribution is broken (koordpy_nothing.deep:Gone: no module named '
        "'koordpy_nothing'); no profile names it" in warnings
    )
    assert [text for text in warnings if '"Malformed"' in text and "is not of the form module:Class" in text]
    assert Registry(points).warnings(used=["Fine", "Clash", "Gone", "Malformed"]) == []


def test_a_registry_is_the_configurations_catalogue() -> None:
    mine = plugin(pre_filter=lambda: None, post_bind=lambda: None)
    catalogue: Catalogue = Registry(given={"Mine": mine})
    assert catalogue.points_of("Mine") == frozenset({"preFilter", "postBind"})
    assert catalogue.args_model("Mine") is NoArgs
    assert (catalogue.points_of("Nope"), catalogue.args_model("Nope")) == (None, None)


def test_upstreams_plugins_are_known_although_they_are_not_built() -> None:
    registry = Registry([])
    assert registry.points_of("DefaultPreemption") == frozenset({"preEnqueue", "postFilter"})
    assert registry.args_model("PodTopologySpread") is not None
    assert "DefaultPreemption" not in registry


def test_a_plugin_of_upstreams_may_be_named_wherever_upstreams_is() -> None:
    named = Registry().points_of("NodeResourcesFit")
    assert named == frozenset({"preFilter", "filter", "preScore", "score"})
    assert Registry().declaration("NodeResourcesFit").points < named


def test_a_broken_plugin_is_told_when_the_configuration_asks_for_it() -> None:
    registry = Registry(given={"Broken": plugin(API_VERSION=2)})
    with pytest.raises(PluginError, match="is written for plugin API 2"):
        registry.points_of("Broken")

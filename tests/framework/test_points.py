"""A hook is called of exactly the plugins that the profile has at its point."""

import inspect
import logging
import re
from typing import Any

import pytest

from koordpy.config.defaults import POINTS as CONFIG_POINTS
from koordpy.config.expand import ResolvedProfile
from koordpy.errors import PluginError
from koordpy.framework.build import build, build_all
from koordpy.framework.declaration import SPEC_MODULES, spec_of
from koordpy.framework.points import ALL_HOOKS, POINTS
from koordpy.framework.registry import Registry
from koordpy.framework.runner import Framework
from koordpy.testing import make_node, make_pod
from koordpy_api import CycleState, PluginArgs
from tests.framework.scripted_plugins import nodes, plugin

NOTHING: dict[str, Any] = {}
BASE = {"queueSort": ("PrioritySort",), "bind": ("DefaultBinder",)}


def resolved(points: dict[str, tuple[str, ...]], *, named: frozenset[str] | None = None) -> ResolvedProfile:
    every = {**BASE, **points}
    names = frozenset(name for some in every.values() for name in some)
    return ResolvedProfile("p", every, {}, {}, None, names if named is None else named)


def compiled(points: dict[str, tuple[str, ...]], **given: type) -> Framework:
    return build(resolved(points), Registry(given=given), lambda *said: None, {})


def test_a_plugin_is_asked_only_where_the_profile_has_it() -> None:
    asked: list[str] = []
    busy = plugin(
        pre_filter=lambda: asked.append("pre_filter"),
        filter=lambda: asked.append("filter"),
        reserve=lambda: asked.append("reserve"),
        unreserve=lambda: asked.append("unreserve"),
    )
    framework = compiled({"filter": ("A",)}, A=busy)
    framework.run_pre_filter(CycleState(), make_pod(), [])
    framework.run_filter(CycleState(), make_pod(), nodes(make_node("n1")))
    framework.run_reserve(CycleState(), make_pod(), "n1")
    framework.run_unreserve(CycleState(), make_pod(), "n1")
    assert asked == ["filter"]


def test_each_point_has_an_order_of_its_own() -> None:
    asked: list[str] = []

    def noting(name: str) -> type:
        return plugin(pre_filter=lambda: asked.append(f"pre {name}"), filter=lambda: asked.append(name))

    framework = compiled({"preFilter": ("A", "B"), "filter": ("B", "A")}, A=noting("A"), B=noting("B"))
    framework.run_pre_filter(CycleState(), make_pod(), [])
    framework.run_filter(CycleState(), make_pod(), nodes(make_node("n1")))
    assert asked == ["pre A", "pre B", "B", "A"]


def test_events_reach_every_plugin_of_the_profile_also_one_that_only_listens() -> None:
    told: list[str] = []
    framework = compiled(
        {"filter": ("A",), "multiPoint": ("B",)},
        A=plugin(filter=lambda: None, pod_added=lambda: told.append("A")),
        B=plugin(pod_added=lambda: told.append("B")),
    )
    framework.pod_added(make_pod(), nodes(make_node("n1"))[0])
    assert told == ["A", "B"]


def test_fc118_a_plugin_at_a_point_where_it_has_no_hook_is_refused() -> None:
    with pytest.raises(PluginError) as refused:
        compiled({"filter": ("A",)}, A=plugin(score=lambda: 1))
    assert str(refused.value) == (
        'plugin "A" is enabled at filter, but implements no hook there; its hooks are those of score. Take it out of '
        "filter, or mark its filter with @hookimpl"
    )


def test_a_plugin_of_upstreams_may_stand_where_ours_has_nothing_to_do() -> None:
    framework = compiled({"preFilter": ("NodeResourcesFit",), "preScore": ("NodeResourcesFit",)})
    assert [name for name, _ in framework.chains["pre_filter"]] == ["NodeResourcesFit"]
    assert framework.chains["pre_score"] == ()


def test_what_only_the_default_set_names_and_nobody_has_built_is_left_out_with_one_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    points = {"preFilter": ("VolumeBinding",), "filter": ("NodeName", "VolumeBinding", "VolumeZone")}
    profiles = [resolved(points, named=frozenset()) for _ in range(2)]
    with caplog.at_level(logging.WARNING):
        first, _ = build_all(profiles, Registry(), lambda *said: None)
    assert [name for name, _ in first.chains["filter"]] == ["NodeName"]
    assert [record.getMessage() for record in caplog.records] == [
        "left out of the default set, because this version has them not yet: VolumeBinding, VolumeZone"
    ]


def test_what_the_file_names_and_nobody_offers_is_refused() -> None:
    with pytest.raises(PluginError, match=r'^plugin "NodePort" does not exist; installed are DefaultBinder, '):
        compiled({"filter": ("NodePort",)})


def test_what_kube_scheduler_has_and_we_do_not_yet_is_refused_in_other_words() -> None:
    with pytest.raises(PluginError, match=r"^plugin \"VolumeZone\" is one of kube-scheduler's, but"):
        compiled({"filter": ("VolumeZone",)})


class HalfArgs(PluginArgs):
    depth: int = 1

    def not_in_effect(self) -> list[str]:
        return ["depth: everything is one deep"] if self.depth != 1 else []


@pytest.mark.parametrize(("args", "count"), [({}, 0), ({"depth": 3}, 1)])
def test_arguments_that_have_no_effect_yet_are_said_once(
    args: dict[str, int], count: int, caplog: pytest.LogCaptureFixture
) -> None:
    profile = ResolvedProfile("p", {**BASE, "filter": ("A",)}, {}, {"A": args}, None, frozenset())
    build(profile, Registry(given={"A": plugin(Args=HalfArgs, filter=lambda: None)}), lambda *said: None, {})
    texts = [record.getMessage() for record in caplog.records]
    assert (
        texts
        == ["profile p: pluginConfig of A sets what this version does not do yet: depth: everything is one deep"]
        * count
    )


def test_a_constructor_that_exits_is_a_broken_plugin_and_no_end_of_the_process() -> None:
    def construct(self: object, args: object, handle: object) -> None:
        raise SystemExit(3)

    with pytest.raises(PluginError, match=r'^initializing plugin "A": SystemExit: 3$'):
        compiled({"filter": ("A",)}, A=plugin(__init__=construct, filter=lambda: None))


# -- the table -------------------------------------------------------------------------------------------------------


def test_every_hook_of_the_api_is_in_the_table_and_no_other() -> None:
    specified = {
        name for module in SPEC_MODULES for name, each in vars(module).items() if hasattr(each, "koordpy_spec")
    }
    assert sorted(ALL_HOOKS) == sorted(specified)


def test_the_points_have_the_configurations_names_in_its_order() -> None:
    built = [point.name for point in POINTS]
    assert built == [name for name in CONFIG_POINTS if not name.startswith("placement")]


@pytest.mark.parametrize("hook", ALL_HOOKS)
def test_every_specification_reads_in_the_five_fixed_lines(hook: str) -> None:
    text = inspect.getdoc(spec_of(hook)) or ""
    question, _, rest = text.partition("\n\n")
    assert question.count("\n") == 0
    words = re.findall(r"^(Called  |Returns |Raises  |Must not|Source  ) \S", rest, re.MULTILINE)
    assert words == ["Called  ", "Returns ", "Raises  ", "Must not", "Source  "]

"""Which plugins a profile comes to, at which point, in which order, with which weight; and what is refused."""

from typing import Any

import pytest

from koordpy.config.catalogue import UpstreamCatalogue
from koordpy.config.defaults import DEFAULT_MULTI_POINT, POINTS, POINTS_OF
from koordpy.config.expand import ResolvedProfile, default_configuration, merge, resolve
from koordpy.config.load import Loaded, parse_whole
from koordpy.errors import ConfigError, PluginError
from koordpy.framework.registry import Registry
from koordpy_api import NoArgs, PluginArgs

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
DEFAULT_FILTERS = [
    *("NodeUnschedulable", "NodeName", "TaintToleration", "NodeAffinity", "NodePorts", "NodeResourcesFit"),
    *("DeviceShare", "VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone", "PodTopologySpread"),
    *("InterPodAffinity", "DynamicResources", "NodeDeclaredFeatures"),
]


class Invented:
    """Upstream's plugins, and some more."""

    EXTRA = {"Sorter": "queueSort", "Scorer": "score", "Listener": "", "Binder": "bind"}

    def __init__(self, *broken: str) -> None:
        self.broken = ("Broken", *broken)

    def points_of(self, name: str) -> frozenset[str] | None:
        if name in self.broken:
            raise PluginError('plugin "Broken" of acme 1.0 cannot be imported')  # whatever its name
        if name in self.EXTRA:
            return frozenset(self.EXTRA[name].split())
        return UpstreamCatalogue().points_of(name)

    def args_model(self, name: str) -> type[PluginArgs] | None:
        return NoArgs if name in self.EXTRA else UpstreamCatalogue().args_model(name)


def row(name: str, *values: Any) -> Any:
    return pytest.param(*values, id=name)


def loaded(plugins: str) -> Loaded:
    return parse_whole(f"{HEAD}profiles:\n- schedulerName: a\n  plugins: {plugins}\n", "conf.yaml", Invented())


def profile(plugins: str) -> ResolvedProfile:
    return loaded(plugins).profiles[0]


def refused(plugins: str) -> list[str]:
    with pytest.raises(ConfigError) as error:
        loaded(plugins)
    return [line.partition(": profiles[0].plugins")[2] for line in str(error.value).splitlines()]


# -- the default profile -----------------------------------------------------------------------------------------------


def test_the_default_profile_is_upstreams_and_device_share() -> None:
    (ours,) = resolve(default_configuration())
    assert list(ours.points) == list(POINTS)
    assert ours.points["preEnqueue"] == ("SchedulingGates", "DynamicResources", "DefaultPreemption")
    assert ours.points["queueSort"] == ("PrioritySort",)
    assert list(ours.points["filter"]) == DEFAULT_FILTERS
    assert ours.points["postFilter"] == ("DynamicResources", "DefaultPreemption")
    assert ours.points["reserve"] == ours.points["preBind"] == ("DeviceShare", "VolumeBinding", "DynamicResources")
    assert ours.points["bind"] == ("DefaultBinder",)
    assert ours.points["permit"] == ours.points["postBind"] == ()
    assert ours.weights == {
        "TaintToleration": 3,
        "NodeAffinity": 2,
        "NodeResourcesFit": 1,
        "DeviceShare": 1,
        "VolumeBinding": 1,
        "PodTopologySpread": 2,
        "InterPodAffinity": 2,
        "DynamicResources": 2,
        "NodeResourcesBalancedAllocation": 1,
        "ImageLocality": 1,
    }
    assert set(ours.plugins) == {name for name, _ in DEFAULT_MULTI_POINT} == set(POINTS_OF)
    assert ours.named_by_file == frozenset()


def test_every_installed_plugin_of_the_default_set_implements_points_that_the_data_knows() -> None:
    registry = Registry()
    for name in POINTS_OF.keys() & {*registry.names}:
        assert registry.declaration(name).points <= POINTS_OF[name], name


# -- merging and order -------------------------------------------------------------------------------------------------


def test_what_a_point_names_comes_first_then_multi_point_then_the_rest() -> None:
    points = profile("{score: {enabled: [{name: Scorer}, {name: ImageLocality}, {name: NodeAffinity}]}}").points
    assert points["score"][:3] == ("ImageLocality", "NodeAffinity", "TaintToleration")
    assert points["score"][-1] == "Scorer"


def test_a_default_that_is_enabled_again_stays_in_its_place_and_loses_its_weight() -> None:
    said = loaded("{multiPoint: {enabled: [{name: TaintToleration}]}}")
    assert said.profiles[0].points["score"][0] == "TaintToleration"
    assert said.profiles[0].weights["TaintToleration"] == 1
    (warning,) = said.warnings
    assert (
        "'TaintToleration': enabled without a weight, it counts 1 at score; without this entry it would be 3" in warning
    )


def test_a_default_that_is_disabled_and_enabled_comes_last() -> None:
    said = loaded("{multiPoint: {disabled: [{name: ImageLocality}], enabled: [{name: ImageLocality, weight: 4}]}}")
    assert merge(said.configuration.profiles[0].plugins)[-1].name == "ImageLocality"
    assert said.profiles[0].weights["ImageLocality"] == 4


def test_fc_079_a_point_overrides_multi_point_and_the_plugin_is_there_once() -> None:
    ours = profile("{multiPoint: {enabled: [{name: DeviceShare}]}, score: {enabled: [{name: DeviceShare, weight: 5}]}}")
    assert ours.points["score"].count("DeviceShare") == 1
    assert ours.weights["DeviceShare"] == 5
    assert all("DeviceShare" in ours.points[point] for point in ("preFilter", "filter", "reserve", "preBind"))


def test_a_star_at_a_point_switches_off_what_multi_point_brings_there() -> None:
    ours = profile("{score: {disabled: [{name: '*'}], enabled: [{name: DeviceShare}]}}")
    assert ours.points["score"] == ("DeviceShare",)
    assert "DeviceShare" in ours.points["filter"]


def test_a_star_in_multi_point_switches_all_defaults_off() -> None:
    ours = profile(
        "{multiPoint: {disabled: [{name: '*'}], "
        "enabled: [{name: PrioritySort}, {name: DeviceShare}, {name: DefaultBinder}]}}"
    )
    assert ours.plugins == ("PrioritySort", "DeviceShare", "DefaultBinder")
    assert ours.named_by_file == {"PrioritySort", "DeviceShare", "DefaultBinder"}


def test_a_plugin_without_points_is_kept_for_what_it_listens_to() -> None:
    ours = profile("{multiPoint: {enabled: [{name: Listener}]}}")
    assert ours.points["multiPoint"] == ("Listener",)
    assert "Listener" in ours.plugins


@pytest.mark.parametrize("weight", ["0", "null"])
def test_fc_080_no_weight_means_one_and_that_is_said_once(weight: str) -> None:
    said = loaded(f"{{score: {{enabled: [{{name: NodeResourcesFit, weight: {weight}}}]}}}}")
    assert said.profiles[0].weights["NodeResourcesFit"] == 1
    (warning,) = said.warnings
    assert warning == (
        "conf.yaml:5: profiles[0].plugins is 'NodeResourcesFit': weight 0 means 1, as upstream; "
        "`disabled` switches a plugin off"
    )


def test_the_largest_weight_does_not_wrap_around() -> None:
    weights = profile("{score: {enabled: [{name: DeviceShare, weight: 2147483647}]}}").weights
    assert sum(weights.values()) * 100 < 2**63


# -- DeviceShare, the default that upstream does not have --------------------------------------------------------------


def test_a_file_that_enables_device_share_at_filter_runs_it_only_where_it_says() -> None:
    ours = profile(
        "{preFilter: {enabled: [{name: DeviceShare}]}, filter: {enabled: [{name: DeviceShare}]}, "
        "reserve: {enabled: [{name: DeviceShare}]}, preBind: {enabled: [{name: DeviceShare}]}}"
    )
    at = {point for point, names in ours.points.items() if "DeviceShare" in names}
    assert at == {"preFilter", "filter", "reserve", "preBind"}


def test_a_file_that_only_weighs_device_share_keeps_it_everywhere() -> None:
    ours = profile("{score: {enabled: [{name: DeviceShare, weight: 3}]}}")
    assert ours.weights["DeviceShare"] == 3
    assert "DeviceShare" in ours.points["filter"]


def test_device_share_can_be_switched_off() -> None:
    assert "DeviceShare" not in profile("{multiPoint: {disabled: [{name: DeviceShare}]}}").plugins


# -- what is refused ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("plugins", "complaint"),
    [
        row(
            "an unknown plugin",
            "{filter: {enabled: [{name: DeviceShar}]}}",
            ".filter.enabled[0] is 'DeviceShar': FilterPlugin \"DeviceShar\" does not exist (profile a); "
            "did you mean DeviceShare?",
        ),
        row(
            "an unknown plugin in multiPoint",
            "{multiPoint: {enabled: [{name: NodeResourcesFit2}]}}",
            ".multiPoint.enabled[0] is 'NodeResourcesFit2': plugin \"NodeResourcesFit2\" does not exist (profile a); "
            "did you mean NodeResourcesFit?",
        ),
        row(
            "a plugin at a point that it does not implement",
            "{filter: {enabled: [{name: DefaultBinder}]}}",
            ".filter.enabled[0] is 'DefaultBinder': plugin \"DefaultBinder\" does not extend FilterPlugin plugin "
            "(profile a); its points are bind",
        ),
        row(
            "a plugin twice at one point",
            "{score: {enabled: [{name: Scorer, weight: 2}, {name: Scorer, weight: 3}]}}",
            '.score.enabled[1] is \'Scorer\': plugin "Scorer" already registered as "ScorePlugin"',
        ),
        row(
            "a plugin twice in multiPoint",
            "{multiPoint: {enabled: [{name: Scorer}, {name: Scorer}]}}",
            ".multiPoint.enabled[1] is 'Scorer': plugin \"Scorer\" already registered",
        ),
        row(
            "a star among the enabled",
            "{filter: {enabled: [{name: '*'}]}}",
            ".filter.enabled[0] is '*': FilterPlugin \"*\" does not exist (profile a); * may stand in disabled only",
        ),
        row(
            "no bind plugin",
            "{bind: {disabled: [{name: '*'}]}}",
            '.bind: at least one bind plugin is needed for profile with scheduler name "a"',
        ),
        row(
            "no queue sort plugin",
            "{queueSort: {disabled: [{name: '*'}]}}",
            '.queueSort: only one queue sort plugin required for profile with scheduler name "a", but got 0',
        ),
        row(
            "two queue sort plugins",
            "{queueSort: {enabled: [{name: Sorter}]}}",
            '.queueSort: only one queue sort plugin required for profile with scheduler name "a", but got 2: '
            "PrioritySort, Sorter; disable all but one at queueSort",
        ),
        row(
            "two queue sort plugins in the list itself",
            "{queueSort: {enabled: [{name: Sorter}, {name: PrioritySort}]}}",
            ".queueSort.enabled is 'Sorter, PrioritySort': only one queue sort plugin can be enabled",
        ),
        row(
            "a negative weight",
            "{score: {enabled: [{name: Scorer, weight: -1}]}}",
            ".score.enabled[0].weight is '-1': must not be negative",
        ),
        row(
            "a weight that is a text",
            "{score: {enabled: [{name: Scorer, weight: '3'}]}}",
            ".score.enabled[0].weight is '3': must be a whole number, not a text",
        ),
        row(
            "a weight that is a fraction",
            "{score: {enabled: [{name: Scorer, weight: 3.5}]}}",
            ".score.enabled[0].weight is '3.5': must be a whole number",
        ),
        row(
            "a plugin that Kubernetes removed",
            "{filter: {enabled: [{name: EBSLimits}]}}",
            ".filter.enabled[0] is 'EBSLimits': was invalid in version \"v1\" (KubeSchedulerConfiguration is version "
            '"kubescheduler.config.k8s.io/v1")',
        ),
        row(
            "a plugin that Kubernetes removed, in multiPoint",
            "{multiPoint: {enabled: [{name: EBSLimits}]}}",
            ".multiPoint.enabled[0] is 'EBSLimits': plugin \"EBSLimits\" does not exist (profile a); "
            "Kubernetes has removed it",
        ),
        row(
            "a plugin that cannot be imported",
            "{filter: {enabled: [{name: Broken}]}}",
            ".filter.enabled[0] is 'Broken': plugin \"Broken\" of acme 1.0 cannot be imported",
        ),
    ],
)
def test_a_list_of_plugins_that_cannot_be_meant_is_refused(plugins: str, complaint: str) -> None:
    assert refused(plugins)[0].startswith(complaint)


def test_all_plugins_that_do_not_exist_are_told_and_nothing_that_only_follows_from_it() -> None:
    told = refused("{queueSort: {enabled: [{name: Sortr}], disabled: [{name: '*'}]}, score: {enabled: [{name: X}]}}")
    assert [line.partition(" ")[0] for line in told] == [".queueSort.enabled[0]", ".score.enabled[0]"]


def test_a_default_plugin_that_is_broken_is_told_and_one_that_no_profile_runs_is_not() -> None:
    config = "pluginConfig: [{name: Broken, args: {}}], plugins: {filter: {disabled: [{name: Broken}]}}"
    with pytest.raises(ConfigError) as error:
        parse_whole(f"{HEAD}profiles: [{{schedulerName: a, {config}}}]\n", "conf.yaml", Invented("NodePorts"))
    (told,) = str(error.value).splitlines()
    assert "profiles[0].plugins.multiPoint is 'NodePorts': plugin \"Broken\" of acme 1.0 cannot be imported" in told


def test_fc_082_an_unknown_name_that_is_disabled_is_only_a_warning() -> None:
    (warning,) = loaded("{filter: {disabled: [{name: NodeAfinity}]}}").warnings
    assert warning == (
        "conf.yaml:5: profiles[0].plugins.filter.disabled[0] is 'NodeAfinity': no plugin has this name, "
        "so nothing is switched off; did you mean NodeAffinity?"
    )


# -- several profiles --------------------------------------------------------------------------------------------------


def two(first: str, second: str) -> str:
    return f"{HEAD}profiles:\n- {{schedulerName: a, {first}}}\n- {{schedulerName: b, {second}}}\n"


@pytest.mark.parametrize(
    ("first", "second", "complaint"),
    [
        row(
            "different lists at queueSort",
            "",
            "plugins: {queueSort: {enabled: [{name: Sorter}], disabled: [{name: '*'}]}}",
            "conf.yaml:5: profiles[1].plugins.queueSort is 'Sorter': must be the same for all profiles",
        ),
        row(
            "different orders by multiPoint",
            "",
            "plugins: {multiPoint: {enabled: [{name: Sorter}], disabled: [{name: PrioritySort}]}}",
            'conf.yaml:5: profiles[1].plugins: different queue sort plugins for profile "b": "Sorter", first: "Pri',
        ),
        row(
            "different arguments of the order",
            "",
            "pluginConfig: [{name: PrioritySort, args: {x: 1}}]",
            'conf.yaml:5: profiles[1].pluginConfig: different queue sort plugin args for profile "b"',
        ),
    ],
)
def test_profiles_that_do_not_agree_on_the_order_of_the_queue_are_refused(
    first: str, second: str, complaint: str
) -> None:
    with pytest.raises(ConfigError) as error:
        parse_whole(two(first, second), "conf.yaml", Invented())
    assert str(error.value).startswith(complaint)


def test_nothing_of_one_profile_leaks_into_another() -> None:
    text = two(
        "percentageOfNodesToScore: 7, plugins: {score: {disabled: [{name: '*'}]}}, "
        "pluginConfig: [{name: X, args: {k: 1}}]",
        "",
    )
    one, other = parse_whole(text, "conf.yaml", Invented()).profiles
    assert (one.points["score"], one.weights, one.args, one.percentage_of_nodes_to_score) == (
        (),
        {},
        {"X": {"k": 1}},
        7,
    )
    assert (other.args, other.percentage_of_nodes_to_score) == ({}, None)
    assert other.weights == resolve(default_configuration())[0].weights


@pytest.mark.parametrize(
    ("whole", "own", "counts"), [("", "", None), ("30", "", 30), ("30", "50", 50), ("30", "0", 0), ("0", "", None)]
)
def test_the_percentage_of_a_file_is_that_of_every_profile_without_its_own(
    whole: str, own: str, counts: int | None
) -> None:
    def said(percentage: str) -> str:
        return f"percentageOfNodesToScore: {percentage}" if percentage else ""

    text = two(said(own), "") + said(whole) + "\n"
    assert parse_whole(text, "conf.yaml", Invented()).profiles[0].percentage_of_nodes_to_score == counts

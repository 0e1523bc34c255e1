"""A configuration → one ResolvedProfile per schedulerName: nothing left to default or look up.

Source: pkg/scheduler/apis/config/v1 (default_plugins.go, mergePlugins), framework/runtime (expandMultiPointPlugins).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from koordpy.config.catalogue import Catalogue, UpstreamCatalogue
from koordpy.config.defaults import (
    DEFAULT_MULTI_POINT,
    DEFAULT_SCHEDULER_NAME,
    OURS,
    POINTS,
)
from koordpy.config.findings import Findings
from koordpy.config.models import (
    API_VERSION,
    KIND,
    STAR,
    UPSTREAM_SCHEDULER_NAME,
    EnabledPlugin,
    KubeSchedulerConfiguration,
    Plugins,
    Profile,
)
from koordpy.config.names import MULTI_POINT, Names
from koordpy.config.plugin_args import args_of

MAX_NODE_SCORE: Final = 100
MAX_TOTAL_SCORE: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class ResolvedProfile:
    """What one profile comes to.

    points: point, named as in YAML → its plugins in calling order. Under multiPoint stand plugins that implement no
    point (they only listen), if there are any.
    weights: plugin → weight at score, at least 1, of exactly the plugins there.
    args: plugin → what pluginConfig says, without apiVersion and kind, for its own model.
    named_by_file: plugins that the file itself enables somewhere.
    """

    scheduler_name: str
    points: Mapping[str, tuple[str, ...]]
    weights: Mapping[str, int]
    args: Mapping[str, Mapping[str, Any]]
    percentage_of_nodes_to_score: int | None = None
    named_by_file: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls,
        scheduler_name: str,
        plugins: Sequence[str],
        catalogue: Catalogue,
        weights: Mapping[str, int] | None = None,
        args: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> "ResolvedProfile":
        """These plugins and no others, in this order at every point that they implement. Weights not given are 1."""
        known = {name: catalogue.points_of(name) or frozenset() for name in plugins}
        points = {point: tuple(name for name in plugins if point in known[name]) for point in POINTS}
        if listening := tuple(name for name in plugins if not known[name]):
            points[MULTI_POINT] = listening
        weighed = {name: max((weights or {}).get(name, 1), 1) for name in points["score"]}
        return cls(scheduler_name, points, weighed, args or {}, None, frozenset(plugins))

    @property
    def plugins(self) -> tuple[str, ...]:
        """All names, in the order in which the points first mention them."""
        return tuple(dict.fromkeys(name for names in self.points.values() for name in names))


def default_configuration() -> KubeSchedulerConfiguration:
    """What holds without a file: upstream's defaults, and a schedulerName that is not kube-scheduler's."""
    return KubeSchedulerConfiguration(
        api_version=API_VERSION, kind=KIND, profiles=(Profile(scheduler_name=DEFAULT_SCHEDULER_NAME),)
    )


def resolve(configuration: KubeSchedulerConfiguration, catalogue: Catalogue | None = None) -> list[ResolvedProfile]:
    """One per profile, in the file's order.

    Raises: ConfigError with all mistakes of all profiles.
    """
    findings = Findings()
    profiles = expand(configuration, catalogue or UpstreamCatalogue(), findings)
    findings.raise_mistakes(configuration.written)
    return profiles


def expand(
    configuration: KubeSchedulerConfiguration, catalogue: Catalogue, findings: Findings
) -> list[ResolvedProfile]:
    """The same, with the mistakes and what needs saying put into findings."""
    profiles = [
        _Expansion(configuration, index, catalogue, findings).run() for index in range(len(configuration.profiles))
    ]
    _compare_queue_sorts(configuration, profiles, findings)
    return profiles


def merge(plugins: Plugins) -> list[EnabledPlugin]:
    """The profile's multiPoint list merged into the default one."""
    said, off = plugins.multi_point, plugins.multi_point.disabled_names
    wanted = {plugin.name: plugin for plugin in said.enabled}
    merged: list[EnabledPlugin] = []
    for name, weight in () if STAR in off else DEFAULT_MULTI_POINT:
        if name in off or (name not in wanted and _is_spelt_out(name, plugins)):
            continue
        merged.append(wanted.get(name) or _default(name, weight))
    placed = {plugin.name for plugin in merged}
    return [*merged, *(plugin for plugin in said.enabled if plugin.name not in placed)]


def _default(name: str, weight: int) -> EnabledPlugin:
    return EnabledPlugin(name=name, weight=weight) if weight else EnabledPlugin(name=name)


def _is_spelt_out(name: str, plugins: Plugins) -> bool:
    """A default of ours that a profile enables at filter runs only where the profile says: a file made for upstream
    or Koordinator, which lack this default, names every point."""
    return name in OURS and name in plugins.filter.enabled_names


class _Expansion:
    """One profile on its way."""

    def __init__(
        self, configuration: KubeSchedulerConfiguration, index: int, catalogue: Catalogue, findings: Findings
    ) -> None:
        self._configuration = configuration
        self._index = index
        self._profile = configuration.profiles[index]
        self._name = self._profile.scheduler_name or UPSTREAM_SCHEDULER_NAME
        self._path = f"profiles[{index}].plugins"
        self._catalogue = catalogue
        self._findings = findings
        self._names = Names(self._name, catalogue, findings)

    def run(self) -> ResolvedProfile:
        plugins, names = self._profile.plugins, self._names
        names.check_lists(plugins, self._path)
        multi = [entry for entry in merge(plugins) if names.is_known(entry.name)]
        points = {point: self._names_at(point, plugins, multi) for point in POINTS}
        self._check_whole(points)
        if listening := tuple(entry.name for entry in multi if not names.points_of(entry.name)):
            names.check_defaults(listening, plugins, self._path)
            points[MULTI_POINT] = listening
        running = {name for some in points.values() for name in some}
        names.check_configs(self._profile, running, f"profiles[{self._index}].pluginConfig")
        return ResolvedProfile(
            self._name,
            points,
            self._weights(points["score"], plugins, multi),
            args_of(self._configuration, self._index, self._catalogue, self._findings),
            self._percentage(),
            frozenset(name for point in (*POINTS, MULTI_POINT) for name in plugins.at(point).enabled_names),
        )

    def _percentage(self) -> int | None:
        """The profile's own counts, be it 0; else the file's, where 0 is as if it said nothing."""
        own = self._profile.percentage_of_nodes_to_score
        return own if own is not None else self._configuration.percentage_of_nodes_to_score or None

    def _names_at(self, point: str, plugins: Plugins, multi: Sequence[EnabledPlugin]) -> tuple[str, ...]:
        """Named here and in multiPoint, in this list's order; then multiPoint's; then the others named here."""
        said = plugins.at(point)
        named = [name for name in dict.fromkeys(said.enabled_names) if point in self._names.points_of(name)]
        candidates = [
            entry.name
            for entry in multi
            if point in self._names.points_of(entry.name) and not {STAR, entry.name} & said.disabled_names
        ]
        first = [name for name in named if name in candidates]
        then = [name for name in dict.fromkeys(candidates) if name not in named]
        return (*first, *then, *(name for name in named if name not in first))

    def _weights(self, scoring: Sequence[str], plugins: Plugins, multi: Sequence[EnabledPlugin]) -> dict[str, int]:
        specific = {plugin.name: plugin for plugin in plugins.score.enabled}
        general = {plugin.name: plugin for plugin in multi}
        chosen = {name: specific.get(name) or general[name] for name in scoring}
        weights = {name: max(plugin.weight, 1) for name, plugin in chosen.items()}
        self._say_what_weights_mean(chosen, general)
        if sum(weights.values()) * MAX_NODE_SCORE > MAX_TOTAL_SCORE:
            self._findings.wrong(f"{self._path}.score", "", "total score of Score plugins could overflow")
        return weights

    def _say_what_weights_mean(self, chosen: Mapping[str, EnabledPlugin], general: Mapping[str, EnabledPlugin]) -> None:
        zero = [name for name, plugin in chosen.items() if plugin.weight == 0 and _is_written(plugin)]
        if zero:
            what = "weight 0 means 1, as upstream; `disabled` switches a plugin off"
            self._findings.say(self._path, ", ".join(zero), what)
        usual = dict(DEFAULT_MULTI_POINT)
        for name, plugin in chosen.items():
            before = max(usual.get(name, 0), general[name].weight if name in general else 0)
            if plugin.weight == 0 and not _is_written(plugin) and before > 1:
                what = f"enabled without a weight, it counts 1 at score; without this entry it would be {before}"
                self._findings.say(self._path, name, what)

    def _check_whole(self, points: Mapping[str, Sequence[str]]) -> None:
        """A profile needs one order of the queue and someone who binds."""
        named = f'profile with scheduler name "{self._name}"'
        sorters, binders, generators = (points[point] for point in ("queueSort", "bind", "placementGenerate"))
        if len(sorters) != 1 and not self._names.doubtful & {"queueSort", MULTI_POINT}:
            listed = f": {', '.join(sorters)}; disable all but one at queueSort" if sorters else ""
            text = f"only one queue sort plugin required for {named}, but got {len(sorters)}{listed}"
            self._findings.wrong(f"{self._path}.queueSort", "", text)
        if not binders and not self._names.doubtful & {"bind", MULTI_POINT}:
            self._findings.wrong(f"{self._path}.bind", "", f"at least one bind plugin is needed for {named}")
        if len(generators) > 1:
            text = f"at most one placement generate plugin is allowed for {named}"
            self._findings.wrong(f"{self._path}.placementGenerate", ", ".join(generators), text)


def _is_written(plugin: EnabledPlugin) -> bool:
    return "weight" in plugin.model_fields_set


def _compare_queue_sorts(
    configuration: KubeSchedulerConfiguration, profiles: Sequence[ResolvedProfile], findings: Findings
) -> None:
    """One queue serves all profiles, so they must agree on its order. The lists themselves are compared at load."""
    first, says = profiles[0], configuration.profiles[0].plugins.queue_sort
    for index, profile in enumerate(profiles[1:], 1):
        ours, theirs = profile.points["queueSort"], first.points["queueSort"]
        if configuration.profiles[index].plugins.queue_sort != says or len(ours) != 1 or len(theirs) != 1:
            continue  # told already
        if ours != theirs:
            text = f'different queue sort plugins for profile "{profile.scheduler_name}"'
            findings.wrong(f"profiles[{index}].plugins", "", f'{text}: "{ours[0]}", first: "{theirs[0]}"')
        elif (profile.args.get(ours[0]) or {}) != (first.args.get(ours[0]) or {}):
            text = (
                "queueSort must be the same for all profiles"
                if ours[0] in says.enabled_names
                else f'different queue sort plugin args for profile "{profile.scheduler_name}"'
            )
            findings.wrong(f"profiles[{index}].pluginConfig", "", text)

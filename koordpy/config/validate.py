"""What the fields of a configuration must be, alone and together, in upstream's words; and what a start needs besides.

Source: pkg/scheduler/apis/config/validation.
"""

from collections.abc import Callable, Iterator
from typing import Final

from koordpy.config.complaints import show
from koordpy.config.defaults import DEFAULT_SCHEDULER_NAME, POINTS, REMOVED
from koordpy.config.models import (
    API_VERSION,
    UPSTREAM_SCHEDULER_NAME,
    KubeSchedulerConfiguration,
    Profile,
)
from koordpy.config.validate_election import check_election, check_lease_is_ours
from koordpy.config.validate_extenders import check_extenders
from koordpy.errors import ConfigError
from koordpy_api import Problem

MAX_PERCENT: Final = 100
_PERCENT: Final = "not in valid range [0-100]"
_UNCHECKED_POINTS: Final = frozenset({"placementGenerate", "placementScore"})

IsUnknown = Callable[[str], bool]
"""Is what stands at this path unreadable? Then nothing can be said of it beside others."""


def check_together(
    configuration: KubeSchedulerConfiguration, is_unknown: IsUnknown = lambda path: False
) -> list[Problem]:
    """All mistakes, in no order."""
    rules = (
        *_numbers(configuration, is_unknown),
        *check_election(configuration.leader_election, is_unknown),
        *_names(configuration),
        *(problem for index, profile in enumerate(configuration.profiles) for problem in _profile(index, profile)),
        *_queue_sorts(configuration),
        *check_extenders(configuration.extenders),
    )
    return [problem for problem in rules if not is_unknown(problem.path)]


def _numbers(configuration: KubeSchedulerConfiguration, is_unknown: IsUnknown) -> Iterator[Problem]:
    initial, longest = configuration.pod_initial_backoff_seconds, configuration.pod_max_backoff_seconds
    if configuration.parallelism <= 0:
        right = "should be an integer value greater than zero"
        yield Problem("parallelism", str(configuration.parallelism), right)
    if not 0 <= configuration.percentage_of_nodes_to_score <= MAX_PERCENT:
        yield Problem("percentageOfNodesToScore", str(configuration.percentage_of_nodes_to_score), _PERCENT)
    if initial <= 0:
        yield Problem("podInitialBackoffSeconds", str(initial), "must be greater than 0")
    if longest < initial and not is_unknown("podInitialBackoffSeconds"):
        right = "must be greater than or equal to PodInitialBackoffSeconds"
        yield Problem("podMaxBackoffSeconds", str(longest), f"{right}, which is {initial}")
    if configuration.client_connection.burst < 0:
        yield Problem("clientConnection.burst", str(configuration.client_connection.burst), "must be non-negative")


def _names(configuration: KubeSchedulerConfiguration) -> Iterator[Problem]:
    seen: set[str] = set()
    for index, profile in enumerate(configuration.profiles):
        path, name = f"profiles[{index}].schedulerName", profile.scheduler_name
        if name is None and len(configuration.profiles) > 1:
            yield Problem(path, "", "Required: with several profiles each needs a name")
        elif name == "":
            yield Problem(path, '""', "Required: Pods name it in spec.schedulerName")
        elif name in seen:
            yield Problem(path, str(name), "Duplicate: an earlier profile has this name")
        seen.add(name or "")


def _profile(index: int, profile: Profile) -> Iterator[Problem]:
    path = f"profiles[{index}]"
    percentage = profile.percentage_of_nodes_to_score
    if percentage is not None and not 0 <= percentage <= MAX_PERCENT:
        yield Problem(f"{path}.percentageOfNodesToScore", str(percentage), _PERCENT)
    for point in (*POINTS, "multiPoint"):
        for position, plugin in enumerate(profile.plugins.at(point).enabled):
            place = f"{path}.plugins.{point}.enabled[{position}]"
            if plugin.weight < 0:
                right = "must not be negative; 0, or none, means 1, and `disabled` switches a plugin off"
                yield Problem(f"{place}.weight", str(plugin.weight), right)
            if plugin.name in REMOVED and point in POINTS and point not in _UNCHECKED_POINTS:
                yield _removed(place, plugin.name)
    seen: set[str] = set()
    for position, config in enumerate(profile.plugin_config):
        place = f"{path}.pluginConfig[{position}]"
        if not config.name:
            yield Problem(f"{place}.name", "", "Required: the plugin that these arguments are for")
        elif config.name in seen:
            yield Problem(place, config.name, "Duplicate: an earlier entry has this name")
        if config.name in REMOVED:
            yield _removed(place, config.name)
        seen.add(config.name)


def _removed(path: str, name: str) -> Problem:
    right = f'was invalid in version "v1" (KubeSchedulerConfiguration is version "{API_VERSION}")'
    return Problem(path, name, f"{right}; NodeVolumeLimits does its work")


def _queue_sorts(configuration: KubeSchedulerConfiguration) -> Iterator[Problem]:
    """One queue serves all profiles."""
    first = configuration.profiles[0].plugins.queue_sort
    if len(first.enabled) > 1:
        listed = ", ".join(first.enabled_names)
        yield Problem("profiles[0].plugins.queueSort.enabled", listed, "only one queue sort plugin can be enabled")
    for index, profile in enumerate(configuration.profiles[1:], 1):
        said = profile.plugins.queue_sort
        if said != first:
            path = f"profiles[{index}].plugins.queueSort"
            shown = show(", ".join(said.enabled_names) or "")
            yield Problem(path, shown if said.enabled else "", "must be the same for all profiles")


# -- before a start ---------------------------------------------------------------------------------------------------


def check_start(configuration: KubeSchedulerConfiguration, source: str) -> list[str]:
    """The warnings to print at start.

    Raises: ConfigError where starting would do what the file never said, or leave out what it says.
    """
    problems = [
        *_nameless(configuration),
        *_extenders(configuration),
        *check_lease_is_ours(configuration.leader_election),
    ]
    if problems:
        raise ConfigError(source, problems, configuration.written.lines)
    return [*configuration.converted, *(f"{source}: {warning}" for warning in _warnings(configuration))]


def _warnings(configuration: KubeSchedulerConfiguration) -> Iterator[str]:
    if any(profile.scheduler_name == UPSTREAM_SCHEDULER_NAME for profile in configuration.profiles):
        yield (
            f"schedulerName {UPSTREAM_SCHEDULER_NAME} is kube-scheduler's own; unless that is switched off, "
            "two schedulers now race for the same Pods"
        )
    if unused := _not_in_effect(configuration):
        yield f"read, but without effect in this version: {', '.join(unused)}"


def _not_in_effect(configuration: KubeSchedulerConfiguration) -> list[str]:
    """Keys that the file sets to something else than the default, and that nothing reads."""
    defaults = KubeSchedulerConfiguration(api_version=configuration.api_version, kind=configuration.kind)
    connection, usual = configuration.client_connection, defaults.client_connection
    return [
        key
        for key, ours, default in (
            ("parallelism", configuration.parallelism, defaults.parallelism),
            ("enableProfiling", configuration.enable_profiling, defaults.enable_profiling),
            (
                "enableContentionProfiling",
                configuration.enable_contention_profiling,
                defaults.enable_contention_profiling,
            ),
            ("delayCacheUntilActive", configuration.delay_cache_until_active, False),
            ("clientConnection.acceptContentTypes", connection.accept_content_types, usual.accept_content_types),
            ("clientConnection.qps", connection.qps, usual.qps),
            ("clientConnection.burst", connection.burst, usual.burst),
        )
        if ours != default
    ]


def _nameless(configuration: KubeSchedulerConfiguration) -> Iterator[Problem]:
    right = (
        f"read as {UPSTREAM_SCHEDULER_NAME}, kube-scheduler's own name, as upstream reads it; koordpy does not take "
        f"its Pods unasked. Add the line `schedulerName: {DEFAULT_SCHEDULER_NAME}` to this profile, or "
        f"`schedulerName: {UPSTREAM_SCHEDULER_NAME}` if you mean to replace kube-scheduler"
    )
    for index, profile in enumerate(configuration.profiles):
        if profile.scheduler_name is None:
            yield Problem(f"profiles[{index}].schedulerName", "", right)


def _extenders(configuration: KubeSchedulerConfiguration) -> Iterator[Problem]:
    right = (
        "koordpy does not call extenders: its scheduling cycle never awaits, and an HTTP call in it would hold up "
        "every other Pod. Make it a plugin, in Python; one that binds: the `bind` hook of a plugin, which may await"
    )
    for index, extender in enumerate(configuration.extenders):
        yield Problem(f"extenders[{index}]", extender.url_prefix or '""', right)

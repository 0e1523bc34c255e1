"""A configuration → one ResolvedProfile per schedulerName: nothing left to default or look up."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from koordpy.config.defaults import DEFAULT_PLUGINS, DEFAULT_SCHEDULER_NAME
from koordpy.config.models import API_VERSION, KIND, UPSTREAM_SCHEDULER_NAME, KubeSchedulerConfiguration, Profile


@dataclass(frozen=True, slots=True)
class ResolvedProfile:
    """What one profile comes to.

    plugins: names in the order in which every extension point calls them.
    weights: plugin → weight at Score. args: plugin → its pluginConfig, unread.
    """

    scheduler_name: str
    plugins: tuple[str, ...]
    weights: Mapping[str, int]
    args: Mapping[str, Mapping[str, Any]]


def default_configuration() -> KubeSchedulerConfiguration:
    """What holds without a file: upstream's defaults, and a schedulerName that is not kube-scheduler's."""
    return KubeSchedulerConfiguration(
        api_version=API_VERSION, kind=KIND, profiles=(Profile(scheduler_name=DEFAULT_SCHEDULER_NAME),)
    )


def resolve(configuration: KubeSchedulerConfiguration) -> list[ResolvedProfile]:
    """One per profile, in the file's order."""
    return [
        ResolvedProfile(
            scheduler_name=profile.scheduler_name or UPSTREAM_SCHEDULER_NAME,
            plugins=tuple(name for name, _ in DEFAULT_PLUGINS),
            weights={name: weight for name, weight in DEFAULT_PLUGINS if weight},
            args={config.name: config.args for config in profile.plugin_config},
        )
        for profile in configuration.profiles
    ]

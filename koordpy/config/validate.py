"""What a readable configuration must still satisfy before a scheduler may start on it."""

from koordpy.config.defaults import DEFAULT_SCHEDULER_NAME
from koordpy.config.models import UPSTREAM_SCHEDULER_NAME, KubeSchedulerConfiguration
from koordpy.errors import ConfigError
from koordpy_api import Problem


def check_start(configuration: KubeSchedulerConfiguration, source: str) -> list[str]:
    """The warnings to print at start.

    Raises: ConfigError where starting would do what the file never said, with the line to add.
    """
    for index, profile in enumerate(configuration.profiles):
        if profile.scheduler_name is None:
            raise ConfigError(source, [_nameless(index)])
    warnings = []
    if any(profile.scheduler_name == UPSTREAM_SCHEDULER_NAME for profile in configuration.profiles):
        warnings.append(
            f"{source}: schedulerName {UPSTREAM_SCHEDULER_NAME} is kube-scheduler's own; unless that is switched off, "
            "two schedulers now race for the same Pods"
        )
    if configuration.leader_election.leader_elect:
        warnings.append(
            f"{source}: leaderElection.leaderElect is true, but this version has no leader election; run one replica"
        )
    return warnings


def _nameless(index: int) -> Problem:
    right = (
        f"read as {UPSTREAM_SCHEDULER_NAME}, kube-scheduler's own name, as upstream reads it; koordpy does not take "
        f"its Pods unasked. Add the line `schedulerName: {DEFAULT_SCHEDULER_NAME}` to this profile, or "
        f"`schedulerName: {UPSTREAM_SCHEDULER_NAME}` if you mean to replace kube-scheduler"
    )
    return Problem(f"profiles[{index}].schedulerName", "", right)

"""What the fields of a configuration must satisfy together, and what it needs before a scheduler may start on it."""

from koordpy.config.defaults import DEFAULT_SCHEDULER_NAME
from koordpy.config.models import UPSTREAM_SCHEDULER_NAME, KubeSchedulerConfiguration
from koordpy.errors import ConfigError
from koordpy_api import Problem


def check_together(configuration: KubeSchedulerConfiguration) -> list[Problem]:
    """Mistakes that no field has alone. Source: kube-scheduler's apis/config/validation."""
    problems = []
    if configuration.pod_max_backoff_seconds < configuration.pod_initial_backoff_seconds:
        shown = str(configuration.pod_max_backoff_seconds)
        right = "must be greater than or equal to PodInitialBackoffSeconds"
        problems.append(Problem("podMaxBackoffSeconds", shown, right))
    if not configuration.profiles:
        right = "at least one is required; leave the key out for upstream's default"
        problems.append(Problem("profiles", "[]", right))
    seen: set[str] = set()
    for index, profile in enumerate(configuration.profiles):
        path, name = f"profiles[{index}].schedulerName", profile.scheduler_name
        if name is None and len(configuration.profiles) > 1:
            problems.append(Problem(path, "", "Required: with several profiles each needs a name"))
        elif name in seen:
            problems.append(Problem(path, str(name), "Duplicate: an earlier profile has this name"))
        seen.add(name or "")
    return problems


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

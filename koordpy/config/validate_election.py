"""What an election must be, in upstream's words where it has any; and what ours needs besides.

Source: component-base's leader election, client-go's leaderelection; apimachinery's pkg/util/validation for names.
"""

import re
from collections.abc import Callable, Iterator
from typing import Final

from koordpy.config.complaints import show
from koordpy.config.durations import NANOSECONDS, SECOND, format_duration
from koordpy.config.models import LeaderElection
from koordpy_api import Problem
from koordpy_api.selectors import SUBDOMAIN, SUBDOMAIN_TEXT

KUBE_SCHEDULERS_LEASE: Final = "kube-system/kube-scheduler"
# The elector renews every retryPeriod, stretched by a random part of it, and must get two tries into a renewDeadline.
_JITTER_TENTHS: Final = 12
# Key, the shortest that works, and why. A leaseDuration that is written as one second says: given back.
_SHORTEST: Final = (
    ("leaseDuration", 2 * SECOND, "a lease of one second counts as given back"),
    ("renewDeadline", SECOND, "a scheduler whose loop is busy for half of it would be taken for one that hangs"),
    ("retryPeriod", 100 * NANOSECONDS["ms"], "each of them is a request to the API server"),
)
_NAME_LENGTH: Final = 253
_LABEL_LENGTH: Final = 63
_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", re.ASCII)
_LABEL_TEXT: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name')"
)


def check_election(election: LeaderElection, is_unknown: Callable[[str], bool]) -> Iterator[Problem]:
    """Nothing is asked of an election that does not take place. Zero is refused: none of the three can be zero."""
    if not election.leader_elect:
        return
    shown = election.model_dump(by_alias=True)
    lease, renew, retry = election.lease_duration_ns, election.renew_deadline_ns, election.retry_period_ns
    for (key, shortest, why), duration in zip(_SHORTEST, (lease, renew, retry), strict=True):
        if duration <= 0:
            yield Problem(f"leaderElection.{key}", shown[key], "must be greater than zero")
        elif duration < shortest:
            right = f"must be at least {format_duration(shortest)}: {why}"
            yield Problem(f"leaderElection.{key}", shown[key], right)
    if 0 < lease <= renew and not is_unknown("leaderElection.renewDeadline"):
        right = f"must be greater than `RenewDeadline`, which is {shown['renewDeadline']}"
        yield Problem("leaderElection.leaseDuration", shown["leaseDuration"], right)
    if renew > 0 and renew * 10 <= retry * _JITTER_TENTHS and not is_unknown("leaderElection.retryPeriod"):
        right = f"must be greater than 1.2 times `RetryPeriod`, which is {shown['retryPeriod']}"
        yield Problem("leaderElection.renewDeadline", shown["renewDeadline"], right)
    if election.resource_lock != "leases":
        right = 'resourceLock value must be "leases"'
        yield Problem("leaderElection.resourceLock", election.resource_lock, right)
    yield from _names(election)


def _names(election: LeaderElection) -> Iterator[Problem]:
    """The API server's rules for what a Lease and a namespace may be called."""
    name, namespace = election.resource_name, election.resource_namespace
    if not SUBDOMAIN.fullmatch(name):
        yield Problem("leaderElection.resourceName", show(name), SUBDOMAIN_TEXT)
    elif len(name) > _NAME_LENGTH:
        yield Problem("leaderElection.resourceName", name, f"must be no more than {_NAME_LENGTH} bytes")
    if not _LABEL.fullmatch(namespace):
        yield Problem("leaderElection.resourceNamespace", show(namespace), _LABEL_TEXT)
    elif len(namespace) > _LABEL_LENGTH:
        yield Problem("leaderElection.resourceNamespace", namespace, f"must be no more than {_LABEL_LENGTH} bytes")


def check_lease_is_ours(election: LeaderElection) -> Iterator[Problem]:
    """Whoever holds kube-scheduler's keeps it from scheduling anything at all."""
    name = f"{election.resource_namespace}/{election.resource_name}"
    if election.leader_elect and name == KUBE_SCHEDULERS_LEASE:
        ours = LeaderElection()
        right = (
            f"with resourceNamespace {election.resource_namespace} this is kube-scheduler's own lease, and of the two "
            f"only one would schedule. Leave both keys out: {ours.resource_namespace}/{ours.resource_name}"
        )
        yield Problem("leaderElection.resourceName", election.resource_name, right)

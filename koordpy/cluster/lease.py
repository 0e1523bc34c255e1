"""LeaseView: what a candidate has seen of the Lease, from when on it may take it, and what it writes.

Whoever holds a Lease is waited for, from when its last sign was seen, by our own monotonic clock; the times that are
written in it are for people. That it is gone, or that its holder was emptied by hand, is such a sign, and no more: the
holder hears of it only at its next renewal. Only one that was given back is free at once.
Source: k8s.io/client-go/tools/leaderelection (leaderelection.go, resourcelock/leaselock.go).
"""

import math
from typing import Any, Final

import msgspec

from koordpy.clock import Clock
from koordpy.cluster.kinds import LEASE
from koordpy.cluster.tenure import LeaseTerms
from koordpy.errors import ClusterError

# How a Lease that is given back is told from one whose holder was emptied by hand, upstream's and ours alike. A
# configuration of a leaseDuration that would be written like this is refused.
GIVEN_BACK_S: Final = 1


class LeaseSpec(msgspec.Struct, frozen=True, rename="camel"):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class LeaseView:
    """document: the Lease as the server had it last, None if there was none. identity: ours."""

    def __init__(self, identity: str, terms: LeaseTerms, clock: Clock) -> None:
        self.document: dict[str, Any] | None = None
        self._identity = identity
        self._terms = terms
        self._clock = clock
        self._spec = LeaseSpec()
        self._free_from_s = -math.inf
        # Was it ever held, by whom we know of, or by what it says itself? Was the last holder ourselves?
        self._was_held = False
        self._was_ours = False
        self._duration_s = terms.duration_s

    @property
    def holder(self) -> str:
        return self._spec.holder_identity or ""

    @property
    def waits_s(self) -> float:
        """So long from now somebody else may still act by it; not positive if it is free, or ours."""
        return self._free_from_s - self._clock.monotonic()

    def saw(self, document: dict[str, Any] | None) -> None:
        """Raises: ClusterError if it cannot be read."""
        try:
            spec = msgspec.convert((document or {}).get("spec") or {}, LeaseSpec)
        except msgspec.ValidationError as error:
            raise ClusterError(f"the lease cannot be read: {error}") from error
        if spec != self._spec:
            self._judge(spec)
        self.document, self._spec = document, spec

    def _judge(self, spec: LeaseSpec) -> None:
        """Whom a change leaves us to wait for. Whom we waited for already is not forgotten over it."""
        if spec.holder_identity == self._identity:
            self._was_held = self._was_ours = True
            return
        if spec.holder_identity:
            # By the duration that its holder wrote, who may have been told another one than we were.
            self._duration_s = float(spec.lease_duration_seconds or self._terms.duration_s)
            self._was_held, self._was_ours = True, False
            self._wait(self._duration_s)
        elif spec.lease_duration_seconds == GIVEN_BACK_S:
            self._was_held, self._was_ours = True, False
            self._free_from_s = -math.inf
        elif (self._was_held or spec.renew_time) and not self._was_ours:
            # From now, not from the last renewal that we saw: there may have been another one since.
            self._was_held = True
            self._wait(max(self._duration_s, float(spec.lease_duration_seconds or 0)))

    def _wait(self, duration_s: float) -> None:
        self._free_from_s = max(self._free_from_s, self._clock.monotonic() + duration_s)

    def body(self, holder: str) -> dict[str, Any]:
        """The Lease as held by us from now on, or given back if holder is empty."""
        now = self._clock.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        old, document = self._spec, self.document
        begins = old.holder_identity != holder
        spec = dict((document or {}).get("spec") or {})
        # Whole seconds on the wire, and at least what we count with.
        spec["leaseDurationSeconds"] = math.ceil(self._terms.duration_s) if holder else GIVEN_BACK_S
        spec["holderIdentity"] = holder
        spec["renewTime"] = now
        spec["acquireTime"] = now if begins or not old.acquire_time else old.acquire_time
        spec["leaseTransitions"] = (old.lease_transitions or 0) + (1 if begins and holder and document else 0)
        meta = dict(document["metadata"]) if document else {"name": self._terms.name}
        return {
            "apiVersion": LEASE.api_version,
            "kind": LEASE.name,
            "metadata": {**meta, "namespace": self._terms.namespace},
            "spec": spec,
        }

"""Elector: one of many replicas leads, by a Lease that it renews.

When a Lease may be taken over is in lease.py. Every write names the resourceVersion that it is based on, so of two
that are based on the same one only the first is accepted; and of two that make it anew.
Source: k8s.io/client-go/tools/leaderelection (leaderelection.go).
"""

import asyncio
import logging
import math
from collections.abc import Callable
from random import Random
from typing import Final

import msgspec

from koordpy.clock import Clock
from koordpy.cluster.kinds import EVENT, LEASE
from koordpy.cluster.lease import LeaseView
from koordpy.cluster.protocol import Cluster
from koordpy.cluster.tenure import LeaseTerms, Tenure
from koordpy.errors import ClusterError, Conflict, NotFound
from koordpy.telemetry.logs import fields

logger = logging.getLogger("koordpy.leader")

# A pause is this part of retryPeriod at least, and all of it at most: others see a change within one retryPeriod.
SHORTEST_PAUSE: Final = 0.8
SHORTEST_WAIT_S: Final = 0.01
# So many tries fit into a renewDeadline, whatever becomes of the connection that one of them hangs on.
TRIES: Final = 3
RELEASE_PATIENCE_S: Final = 2.0
_COMPLAIN_AGAIN_S: Final = 30.0


class Elector:
    """A candidate for one Lease: `acquire`, then `keep`, and `release` at the end. On whatever event loop it is run.

    identity: of this life of the process; a new one waits for its predecessor's Lease to run out, as anybody would,
    because what that one sent may still be on its way. may_lead: is there a scheduler that works?
    """

    def __init__(
        self, cluster: Cluster, identity: str, tenure: Tenure, terms: LeaseTerms, clock: Clock, rng: Random
    ) -> None:
        self.identity = identity
        self.tenure = tenure
        self._cluster = cluster
        self._terms = terms
        self._clock = clock
        self._rng = rng
        self._view = LeaseView(identity, terms, clock)
        # Is what the server has now not known? May the Lease be ours, whether we know it or not?
        self._must_look = True
        self._may_hold = False
        # Since the last renewal: why the first try after it failed.
        self._first_problem = ""
        self._told_leader: str | None = None
        self._complained_s = -math.inf

    # -- life --------------------------------------------------------------------------------------------------------

    async def acquire(self, may_lead: Callable[[], bool]) -> None:
        """Returns as soon as we lead."""
        while True:
            self._must_look = True
            await self._try(self._terms.renew_deadline_s / TRIES, may_lead)
            if self.tenure.leads:
                logger.info("lease acquired", extra=fields(lease=self._terms.key, identity=self.identity))
                return
            self._tell_who_leads()
            await asyncio.sleep(self._pause_s())

    async def keep(self, may_lead: Callable[[], bool]) -> str:
        """Returns when we do not lead any more, and why. While may_lead says no, nothing is renewed.

        What was sent while we led may still be answered, for as long as the tenure says.
        """
        tenure = self.tenure
        while (left_s := tenure.acts_for_s) > 0:
            await asyncio.sleep(max(min(self._retry_s(), left_s), SHORTEST_WAIT_S))
            if may_lead() and tenure.leads:
                await self._try(min(self._terms.renew_deadline_s / TRIES, tenure.acts_for_s), may_lead)
        if tenure.holder not in ("", self.identity):
            return f"the lease {self._terms.key} is {tenure.holder}'s now"
        why = self._first_problem or ("the scheduler's loop does not move" if not may_lead() else "out of time")
        return f"the lease {self._terms.key} was not renewed for {self._terms.renew_deadline_s:g} s: {why}"

    async def release(self) -> None:
        """Let another lead at once, if the Lease is ours. Nothing that we sent may be on its way any more."""
        self.tenure.end()
        if not self._may_hold:
            return
        try:
            async with asyncio.timeout(RELEASE_PATIENCE_S):
                while True:
                    await self._look()  # a renewal that was given up may have been accepted all the same
                    if self.tenure.holder != self.identity:
                        return
                    try:
                        await self._write("")
                    except Conflict:
                        await asyncio.sleep(SHORTEST_WAIT_S)
                        continue
                    logger.info("lease given back", extra=fields(lease=self._terms.key))
                    return
        except (ClusterError, TimeoutError) as error:
            told = fields(lease=self._terms.key, why=str(error) or "no answer")
            logger.warning("lease left to run out", extra=told)

    async def announce(self) -> None:
        """An Event on the Lease, as kube-scheduler writes one. Nothing depends on it."""
        now, meta = self._clock.now(), (self._view.document or {}).get("metadata", {})
        regarding = {"apiVersion": LEASE.api_version, "kind": LEASE.name, "namespace": self._terms.namespace}
        body = {
            "apiVersion": EVENT.api_version,
            "kind": EVENT.name,
            "metadata": {
                "namespace": self._terms.namespace,
                "name": f"{self._terms.name}.{int(now.timestamp() * 1_000_000):016x}",
            },
            "eventTime": now.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "reportingController": self._terms.name,
            "reportingInstance": self.identity[:128],
            "regarding": {**regarding, "name": self._terms.name, "uid": meta.get("uid", "")},
            "type": "Normal",
            "reason": "LeaderElection",
            "action": "Leading",
            "note": f"{self.identity} became leader",
        }
        try:
            async with asyncio.timeout(self._terms.retry_period_s):
                await self._cluster.create(EVENT, self._terms.namespace, body)
        except (ClusterError, TimeoutError) as error:
            logger.info("Event on the lease not written", extra=fields(why=str(error) or "no answer"))

    # -- one try -----------------------------------------------------------------------------------------------------

    async def _try(self, patience_s: float, may_lead: Callable[[], bool]) -> None:
        """What came of it is in the tenure."""
        try:
            async with asyncio.timeout(patience_s):
                await self._take_or_renew(may_lead)
        except TimeoutError:
            # What is left of a tenure cuts its last try short. That is not why the tries before it failed.
            if not self.tenure.problem or patience_s >= self._terms.renew_deadline_s / TRIES:
                self._failed(f"no answer within {patience_s:.1f} s")
        except ClusterError as error:
            self._failed(str(error))
        else:
            self.tenure.problem = self._first_problem = ""

    async def _take_or_renew(self, may_lead: Callable[[], bool]) -> None:
        """Once more if it was not as we knew it: another's now, or ours still with a new label, or deleted."""
        for is_last in (False, True):
            if self._must_look:
                await self._look()
            if self._view.waits_s > 0 or not may_lead():
                return
            try:
                await self._write(self.identity)
            except (Conflict, NotFound):
                if is_last:
                    raise
            else:
                return

    async def _look(self) -> None:
        try:
            raw = await self._cluster.get(LEASE, self._terms.namespace, self._terms.name)
        except NotFound:
            self._saw(None)
        else:
            self._saw(raw)

    def _saw(self, raw: msgspec.Raw | None) -> None:
        self._view.saw(None if raw is None else msgspec.json.decode(raw))
        self._must_look = False
        self.tenure.was_seen = True
        self.tenure.holder = self._view.holder
        if self._view.holder not in ("", self.identity):
            self._may_hold = False  # nor will it be by what we have sent, which was based on an older one
            self.tenure.end()

    async def _write(self, holder: str) -> None:
        """Raises: Conflict or NotFound if the Lease is not what we know."""
        body = self._view.body(holder)
        place = self._terms.namespace, self._terms.name
        # If the answer is lost, or we stop waiting for it, nobody knows what is there.
        self._must_look = self._may_hold = True
        sent_s = self._clock.monotonic()
        if self._view.document is None:
            raw = await self._cluster.create(LEASE, self._terms.namespace, body)
        else:
            raw = await self._cluster.update(LEASE, *place, body)
        self._saw(raw)
        if holder:
            self.tenure.renewed(sent_s)

    # -- pauses and complaints ---------------------------------------------------------------------------------------

    def _retry_s(self) -> float:
        return self._terms.retry_period_s * self._rng.uniform(SHORTEST_PAUSE, 1.0)

    def _pause_s(self) -> float:
        """Until the next look, and no longer than another's Lease still runs."""
        pause_s = self._retry_s()
        if (left_s := self._view.waits_s) > 0:
            pause_s = min(pause_s, left_s)
        return max(pause_s, SHORTEST_WAIT_S)

    def _tell_who_leads(self) -> None:
        """Once, and again when that changes."""
        leader, waits_s = self._view.holder, self._view.waits_s
        if self.tenure.problem or leader == self._told_leader or waits_s <= 0:
            return
        self._told_leader = leader
        if leader:
            logger.info("standing by", extra=fields(lease=self._terms.key, leader=leader))
            return
        why = "the lease is gone, or nobody's, and was not given back: whoever had it may still act by it"
        logger.warning("standing by", extra=fields(lease=self._terms.key, seconds=round(waits_s, 1), why=why))

    def _failed(self, why: str) -> None:
        self._first_problem = self._first_problem or why
        now_s = self._clock.monotonic()
        if why != self.tenure.problem or now_s - self._complained_s >= _COMPLAIN_AGAIN_S:
            self._complained_s = now_s
            words = "lease cannot be renewed" if self.tenure.leads else "lease cannot be had"
            logger.warning(words, extra=fields(lease=self._terms.key, why=why))
        self.tenure.problem = why

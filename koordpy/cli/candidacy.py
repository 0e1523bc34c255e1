"""A scheduler's part in an election: it stands when its lists are read, and gives the Lease back when it is done."""

import asyncio
import logging
import socket
import uuid
from collections.abc import Awaitable, Callable
from random import Random

from koordpy.clock import Clock
from koordpy.cluster.leader import Elector
from koordpy.cluster.leader_thread import LeaderThread
from koordpy.cluster.protocol import Cluster
from koordpy.cluster.tenure import LeaseTerms, Tenure
from koordpy.config.durations import SECOND
from koordpy.config.models import LeaderElection
from koordpy.scheduler.scheduler import Scheduler
from koordpy.scheduler.watchdog import Heart
from koordpy.telemetry.logs import fields
from koordpy.telemetry.metrics import Metrics

logger = logging.getLogger("koordpy.leader")


def terms_of(election: LeaderElection) -> LeaseTerms:
    return LeaseTerms(
        namespace=election.resource_namespace,
        name=election.resource_name,
        duration_s=election.lease_duration_ns / SECOND,
        renew_deadline_s=election.renew_deadline_ns / SECOND,
        retry_period_s=election.retry_period_ns / SECOND,
    )


class Candidacy:
    """Made on the scheduler's loop; `stand` before it runs, `retire` when it is to end, `end` after it has ended.

    connect: a connection for the election alone. lost: why the Lease is not ours any more, empty until it is lost.
    """

    def __init__(
        self,
        terms: LeaseTerms,
        connect: Callable[[], Awaitable[Cluster]],
        clock: Clock,
        rng: Random,
        heart: Heart,
        metrics: Metrics,
    ) -> None:
        self.terms = terms
        self.tenure = Tenure(clock, terms)
        self.lost = ""
        self._retires = False
        self._loop = asyncio.get_running_loop()
        self._running: Scheduler | None = None
        self._waiting: asyncio.Task[None] | None = None
        self._leads = metrics.leader.labels(terms.name)
        self._leads.set(0)
        identity = f"{socket.gethostname()}_{uuid.uuid4()}"
        rng = Random(rng.getrandbits(64))  # of the other thread alone
        self._thread = LeaderThread(
            connect,
            lambda cluster: Elector(cluster, identity, self.tenure, terms, clock, rng),
            lambda: heart.is_young(terms.renew_deadline_s / 2),
            lambda: self._call(self._lead),
            lambda why: self._call(lambda: self._lose(why)),
        )

    def stand(self, running: Scheduler) -> None:
        """From when its first lists are read."""
        self._running = running

        async def wait() -> None:
            await running.synced.wait()
            self._thread.start()

        self._waiting = asyncio.create_task(wait())

    def retire(self) -> None:
        """The scheduler ends because somebody wants it to; a lease that is lost from now on is not why."""
        self._retires = True

    async def end(self, *, release: bool) -> None:
        """release: nothing that we sent is without an answer, so another may lead at once."""
        if self._waiting is not None:
            self._waiting.cancel()
        await asyncio.to_thread(self._thread.close, release=release)

    def _lead(self) -> None:
        assert self._running is not None
        self._leads.set(1)
        self._running.lead()

    def _lose(self, why: str) -> None:
        assert self._running is not None
        self._leads.set(0)
        if self._retires:
            logger.warning("lease lost while we end", extra=fields(why=why))
            return
        self.lost = why
        logger.error("we do not lead any more, and end", extra=fields(why=why))
        self._running.stop()

    def _call(self, act: Callable[[], None]) -> None:
        """From the election's thread, on the scheduler's loop."""
        try:
            self._loop.call_soon_threadsafe(act)
        except RuntimeError:  # it has ended, and with it the scheduler
            logger.info("the scheduler has ended before the election")

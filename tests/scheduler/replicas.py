"""Several schedulers beside one embedded cluster, of which the holder of the lease schedules."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from random import Random
from typing import Any

from koordpy.clock import LoopClock
from koordpy.cluster.embedded.cluster import EmbeddedCluster
from koordpy.cluster.embedded.faults import Fault
from koordpy.cluster.kinds import LEASE, NAMESPACE
from koordpy.cluster.leader import Elector
from koordpy.cluster.tenure import LeaseTerms, Tenure
from koordpy.config.expand import default_configuration, resolve
from koordpy.framework.build import build_all
from koordpy.framework.registry import Registry
from koordpy.framework.runner import Framework
from koordpy.queue.backoff import Backoff
from koordpy.scenario.recording import RecordingCluster, Request
from koordpy.scheduler.scheduler import Scheduler, Surroundings
from koordpy.telemetry.metrics import Metrics
from koordpy.telemetry.problems import ProblemLog
from koordpy.virtual_time import run
from tests.scheduler.acted_cluster import ActedCluster, AskedCluster

TERMS = LeaseTerms("koordpy-system", "koordpy-scheduler", 15.0, 10.0, 2.0)


class Replica:
    """One process: a scheduler and an elector, each with a connection of its own.

    cluster: what the scheduler is handed; its faults, and its diary of binds. lease: the elector's connection.
    works: does its loop get on? lost: (when, why).
    """

    def __init__(
        self,
        name: str,
        shared: ActedCluster,
        terms: LeaseTerms,
        frameworks: Callable[[], list[Framework]] | None,
        seed: int,
    ) -> None:
        clock = LoopClock()
        self.name = name
        self.cluster = AskedCluster(clock)
        self.lease = EmbeddedCluster(clock, Random(0))
        self.cluster.store = self.lease.store = shared.asked.store
        self.recorded = RecordingCluster(self.cluster)
        self.metrics = Metrics()
        self.metrics.is_leading = False
        problems = ProblemLog(self.metrics)
        made = (
            frameworks()
            if frameworks
            else build_all(resolve(default_configuration()), Registry(), problems.report, self.metrics.plugins)
        )
        self.tenure = Tenure(clock, terms)
        around = Surroundings(self.recorded, clock, Random(seed), self.metrics, problems, name, tenure=self.tenure)
        self.scheduler = Scheduler(made, Backoff(), around)
        self.elector = Elector(self.lease, name, self.tenure, terms, clock, Random(seed))
        self.works = True
        self.led_at: float | None = None
        self.lost: tuple[float, str] | None = None
        self.error: BaseException | None = None
        self.died = False
        self._running = asyncio.create_task(self._run(), name=f"scheduler of {name}")
        self._campaign = asyncio.create_task(self._elect(), name=f"elector of {name}")

    async def _run(self) -> None:
        try:
            await self.scheduler.run()
        except BaseException as error:
            self.error = error
            self._campaign.cancel()  # with the process, the election's thread is gone, too
            raise

    async def _elect(self) -> None:
        await self.scheduler.synced.wait()
        await self.elector.acquire(lambda: self.works)
        self.led_at = now()
        self.scheduler.lead()
        why = await self.elector.keep(lambda: self.works)
        self.lost = now(), why
        self.scheduler.stop()

    @property
    def leads(self) -> bool:
        return not self.died and self.tenure.leads

    @property
    def requests(self) -> list[Request]:
        return self.recorded.sent

    @property
    def bound(self) -> list[tuple[float, str]]:
        """(when, which Pod) of each Binding that it sent."""
        return [(when, request.name) for when, request in self.cluster.binds]

    def fault(self, *faults: Fault) -> None:
        """Between its scheduler and the API server."""
        for each in faults:
            self.cluster.faults.add(each)

    def fault_of_lease(self, *faults: Fault) -> None:
        for each in faults:
            self.lease.faults.add(each)

    def kill(self) -> None:
        """As by kill -9."""
        self.died = True
        self._running.cancel()
        self._campaign.cancel()

    async def terminate(self) -> None:
        """As by SIGTERM."""
        self.scheduler.stop()
        await self._running
        self.died = True
        self._campaign.cancel()
        if self.scheduler.is_settled:
            await self.elector.release()

    async def ended(self) -> None:
        await asyncio.wait([self._running])

    async def close(self) -> None:
        self.kill()
        await asyncio.gather(self._running, self._campaign, return_exceptions=True)


class Replicas:
    """All of them, and the cluster."""

    def __init__(self, cluster: ActedCluster, frameworks: Callable[[], list[Framework]] | None, seed: int) -> None:
        self.cluster = cluster
        self.all: list[Replica] = []
        self._frameworks = frameworks
        self._rng = Random(seed)
        self._store = cluster.asked.store
        self._store.create(NAMESPACE, "", {"metadata": {"name": TERMS.namespace}})

    def start(self, name: str, terms: LeaseTerms = TERMS) -> Replica:
        made = Replica(name, self.cluster, terms, self._frameworks, self._rng.getrandbits(32))
        self.all.append(made)
        return made

    async def pair(self) -> tuple[Replica, Replica]:
        """A leader, and a standby that has read its lists."""
        first = self.start("a")
        await self.until(lambda: first.leads)
        second = self.start("b")
        await second.scheduler.synced.wait()
        await asyncio.sleep(3)
        return first, second

    @property
    def leader(self) -> Replica | None:
        leading = [each for each in self.all if each.leads]
        assert len(leading) <= 1
        return leading[0] if leading else None

    @property
    def holder(self) -> str:
        return str(self._store.get(LEASE, TERMS.namespace, TERMS.name).document["spec"]["holderIdentity"])

    async def until(self, true: Callable[[], bool], patience_s: float = 120.0) -> float:
        """Returns how long that took."""
        began = now()
        while not true():
            assert now() - began < patience_s, "it does not come true"
            await asyncio.sleep(0.05)
        return now() - began


def now() -> float:
    return asyncio.get_running_loop().time()


def play(
    scene: Callable[[Replicas], Awaitable[None]],
    *manifests: Mapping[str, Any],
    frameworks: Callable[[], list[Framework]] | None = None,
    seed: int = 0,
) -> None:
    async def main() -> None:
        replicas = Replicas(ActedCluster(LoopClock(), *manifests), frameworks, seed)
        try:
            await scene(replicas)
        finally:
            for each in replicas.all:
                await each.close()

    run(main())

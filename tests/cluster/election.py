"""Electors beside one embedded cluster in virtual time: who leads when, and who could still be heard."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise
from random import Random
from typing import Any

import msgspec

from koordpy.clock import LoopClock
from koordpy.cluster.embedded.cluster import EmbeddedCluster
from koordpy.cluster.embedded.faults import Fault
from koordpy.cluster.kinds import LEASE, NAMESPACE
from koordpy.cluster.leader import Elector
from koordpy.cluster.tenure import LeaseTerms, Tenure
from koordpy.virtual_time import run
from koordpy_api.objects import Kind

TERMS = LeaseTerms("koordpy-system", "koordpy-scheduler", 15.0, 10.0, 2.0)
STEP_S = 0.01


class SkewedClock(LoopClock):
    """Another machine's: its time of day is wrong, its seconds are as long as everybody's."""

    def __init__(self, ahead: timedelta) -> None:
        super().__init__()
        self._ahead = ahead

    def now(self) -> datetime:
        return super().now() + self._ahead


class Connection(EmbeddedCluster):
    """answer_takes_s: a Lease is written at once, and the writer hears of it so much later."""

    answer_takes_s = 0.0

    async def update(
        self, kind: Kind, namespace: str, name: str, body: Mapping[str, object], *, subresource: str = ""
    ) -> msgspec.Raw:
        written = await super().update(kind, namespace, name, body, subresource=subresource)
        await asyncio.sleep(self.answer_takes_s)
        return written


@dataclass
class Candidate:
    """One replica: a connection of its own, an elector, and when it led. works: its scheduler's loop gets on."""

    name: str
    cluster: Connection
    elector: Elector
    works: bool = True
    led: list[tuple[float, float]] = field(default_factory=list)
    lost: list[tuple[float, str]] = field(default_factory=list)
    task: asyncio.Task[None] | None = None
    died: bool = False
    gave_back: bool = False
    heard_until: float = 0.0

    @property
    def leads(self) -> bool:
        return not self.died and self.elector.tenure.leads

    def fault(self, fault: Fault) -> None:
        self.cluster.faults.add(fault)

    async def campaign(self) -> None:
        await self.elector.acquire(lambda: self.works)
        await self.elector.announce()
        why = await self.elector.keep(lambda: self.works)
        self.lost.append((now(), why))

    async def give_back(self) -> None:
        """As by SIGTERM, with nothing under way."""
        self.die()
        self.gave_back = True
        await self.elector.release()

    def die(self) -> None:
        """As by kill -9."""
        assert self.task is not None
        self.died = True
        self.task.cancel()


class Election:
    """One Lease, and all who want it."""

    def __init__(self, terms: LeaseTerms = TERMS, seed: int = 0) -> None:
        self.terms = terms
        self._rng = Random(seed)
        self._first = EmbeddedCluster(LoopClock(), self._rng)
        self._first.store.create(NAMESPACE, "", {"metadata": {"name": terms.namespace}})
        self.candidates: list[Candidate] = []

    def stand(self, name: str, ahead: timedelta = timedelta(0), terms: LeaseTerms | None = None) -> Candidate:
        """One more candidate, from now on."""
        clock, terms = SkewedClock(ahead), terms or self.terms
        cluster = Connection(LoopClock(), Random(0))
        cluster.store = self._first.store
        tenure = Tenure(clock, terms)
        elector = Elector(cluster, name, tenure, terms, clock, Random(self._rng.getrandbits(64)))
        made = Candidate(name, cluster, elector)
        made.task = asyncio.create_task(made.campaign())
        self.candidates.append(made)
        return made

    @property
    def lease(self) -> dict[str, Any]:
        return self._first.store.get(LEASE, self.terms.namespace, self.terms.name).document

    @property
    def is_there(self) -> bool:
        """The Lease, whoever has it."""
        return bool(self._first.store.list(LEASE).items)

    def edit(self, change: dict[str, Any]) -> None:
        self._first.store.patch(LEASE, self.terms.namespace, self.terms.name, change)

    def delete(self) -> None:
        """As by `kubectl delete lease`."""
        self._first.store.delete(LEASE, self.terms.namespace, self.terms.name)

    def empty(self) -> None:
        """As somebody does by hand who wants another to lead."""
        self.edit({"spec": {"holderIdentity": ""}})

    def make(self, spec: dict[str, Any]) -> None:
        """As by `kubectl create`."""
        self._first.store.create(LEASE, self.terms.namespace, {"metadata": {"name": self.terms.name}, "spec": spec})

    @property
    def leader(self) -> Candidate | None:
        """Raises: AssertionError if two lead."""
        leading = [each for each in self.candidates if each.leads]
        assert len(leading) <= 1, [each.name for each in leading]
        return leading[0] if leading else None

    async def watch(self, seconds: float) -> None:
        """Let time pass, and look at every hundredth of a second that at most one leads and nobody else is heard."""
        until = now() + seconds
        while now() < until:
            leader = self.leader
            for each in self.candidates:
                if each.leads:
                    each.heard_until = max(each.heard_until, now() + each.elector.tenure.left_s)
                if leader is not None and each is not leader and not each.gave_back:
                    assert each.heard_until <= now(), f"{each.name} may still be heard while {leader.name} leads"
                if each is leader and (not each.led or each.led[-1][1] < now() - 3 * STEP_S):
                    each.led.append((now(), now()))
                elif each is leader:
                    each.led[-1] = (each.led[-1][0], now())
            await asyncio.sleep(STEP_S)

    async def until_led(self, patience_s: float = 60) -> float:
        """How long it takes from now until somebody leads."""
        began = now()
        while self.leader is None:
            assert now() - began < patience_s, "nobody leads"
            await self.watch(STEP_S)
        took_s = now() - began
        await self.watch(2 * STEP_S)
        return took_s


def now() -> float:
    return asyncio.get_running_loop().time()


def play(
    scene: Callable[[Election], Awaitable[None]], terms: LeaseTerms = TERMS, seed: int = 0
) -> list[tuple[float, float, str]]:
    """Returns: (begin, end, name) of every time somebody led, in order; no two overlap."""

    async def main() -> list[tuple[float, float, str]]:
        election = Election(terms, seed)
        await scene(election)
        for each in election.candidates:
            each.die()
        await asyncio.gather(*(each.task for each in election.candidates if each.task), return_exceptions=True)
        spans = sorted((begin, end, each.name) for each in election.candidates for begin, end in each.led)
        assert all(one[1] < other[0] for one, other in pairwise(spans)), spans
        return spans

    return run(main())

"""The election in a thread of its own, over HTTP: leading, losing, giving back, and new credentials in between."""

import asyncio
import queue
import threading
import time
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from aiohttp import web

from koordpy.clock import SystemClock
from koordpy.cluster.embedded.cluster import EmbeddedCluster
from koordpy.cluster.embedded.faults import Fault
from koordpy.cluster.embedded.refusals import refused
from koordpy.cluster.embedded.routes import status_of
from koordpy.cluster.embedded.server import EmbeddedServer
from koordpy.cluster.kinds import LEASE, NAMESPACE
from koordpy.cluster.kube.cluster import KubeCluster
from koordpy.cluster.kube.transport import Transport
from koordpy.cluster.leader import Elector
from koordpy.cluster.leader_thread import LeaderThread
from koordpy.cluster.protocol import Cluster
from koordpy.cluster.tenure import LeaseTerms, Tenure
from koordpy.errors import ConfigError, NotFound
from koordpy_api import Problem
from tests.cluster.test_transport import StubAccess

TERMS = LeaseTerms("koordpy-system", "koordpy-scheduler", 3.0, 2.0, 0.3)
PATIENCE_S = 20.0


class Guarded(EmbeddedServer):
    """Knows one token; refused: how often another one was shown."""

    def __init__(self, cluster: EmbeddedCluster) -> None:
        super().__init__(cluster)
        self.token = "T1"
        self.refused = 0

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.headers.get("Authorization") != f"Bearer {self.token}":
            self.refused += 1
            return status_of(refused(401, "Unauthorized", "Unauthorized"))
        return await super()._handle(request)


class Far:
    """An API server on a thread of its own."""

    def __init__(self) -> None:
        self._ready, self._over = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self._thread.start()
        assert self._ready.wait(PATIENCE_S)

    async def _serve(self) -> None:
        self.cluster = EmbeddedCluster(SystemClock(), Random(0))
        self.cluster.store.create(NAMESPACE, "", {"metadata": {"name": TERMS.namespace}})
        self.server = Guarded(self.cluster)
        await self.server.start()
        self._ready.set()
        await asyncio.to_thread(self._over.wait)
        await self.server.stop()

    @property
    def holder(self) -> Any:
        try:
            return self.cluster.store.get(LEASE, TERMS.namespace, TERMS.name).document["spec"]["holderIdentity"]
        except NotFound:
            return None

    def close(self) -> None:
        self._over.set()
        self._thread.join(PATIENCE_S)


@pytest.fixture
def far() -> Iterator[Far]:
    made = Far()
    yield made
    made.close()


class Standing:
    """One candidate's thread, and what it said. works: does its scheduler's loop get on?"""

    def __init__(self, far: Far, renewed_token: str | None = None) -> None:
        clock = SystemClock()
        self.tenure = Tenure(clock, TERMS)
        self.said = queue.Queue[str]()
        self.works = True

        async def connect() -> Cluster:
            access = StubAccess(far.server.port, "T1", renewed_token)
            return KubeCluster(Transport(access, connections=2))

        self.thread = LeaderThread(
            connect,
            lambda cluster: Elector(cluster, "me", self.tenure, TERMS, clock, Random(0)),
            lambda: self.works,
            lambda: self.said.put("leads"),
            self.said.put,
        )

    def hears(self) -> str:
        return self.said.get(timeout=PATIENCE_S)


def test_it_leads_renews_and_gives_the_lease_back(far: Far) -> None:
    standing = Standing(far)
    standing.thread.start()
    assert standing.hears() == "leads"
    threading.Event().wait(TERMS.duration_s)
    assert standing.tenure.leads
    assert far.holder == "me"
    standing.thread.close(release=True)
    standing.thread.close(release=True)
    assert far.holder == ""
    assert not standing.tenure.leads
    assert standing.said.empty()


def test_it_ends_without_giving_back_if_something_may_still_be_on_its_way(far: Far) -> None:
    standing = Standing(far)
    standing.thread.start()
    assert standing.hears() == "leads"
    standing.thread.close(release=False)
    assert far.holder == "me"


def test_fc_099_new_credentials_do_not_cost_the_lease(far: Far) -> None:
    standing = Standing(far, renewed_token="T2")
    standing.thread.start()
    assert standing.hears() == "leads"
    far.server.token = "T2"
    threading.Event().wait(TERMS.duration_s)
    assert standing.tenure.leads
    assert standing.said.empty()
    assert far.server.refused == 1
    standing.thread.close(release=True)
    assert far.holder == ""


def test_who_cannot_renew_hears_that_it_does_not_lead_any_more(far: Far) -> None:
    standing = Standing(far)
    standing.thread.start()
    assert standing.hears() == "leads"
    far.cluster.faults.add(Fault("update leases", 500, times=None))
    began = time.monotonic()
    assert "was not renewed for 2 s: 500" in standing.hears()
    assert time.monotonic() - began <= TERMS.renew_deadline_s + 5
    assert not standing.tenure.leads
    standing.thread.close(release=False)


def test_a_scheduler_that_computes_without_a_pause_keeps_its_lease(far: Far) -> None:
    standing = Standing(far)
    standing.thread.start()
    assert standing.hears() == "leads"
    until = time.monotonic() + TERMS.duration_s
    while time.monotonic() < until:
        sum(range(1000))
    assert standing.tenure.leads
    assert standing.said.empty()
    standing.thread.close(release=True)


def test_an_election_that_cannot_begin_says_so_and_closing_one_that_has_not_begun_does_nothing(far: Far) -> None:
    async def connect() -> Cluster:
        raise ConfigError("credentials", [Problem("kubeconfig", "gone", "no such file")])

    said = queue.Queue[str]()
    standing = Standing(far)
    standing.thread.close(release=True)
    broken = LeaderThread(connect, lambda cluster: pytest.fail("no"), lambda: True, lambda: None, said.put)
    broken.start()
    assert "the election ended: ConfigError: credentials: kubeconfig is 'gone': no such file" in said.get(timeout=20)
    broken.close(release=True)

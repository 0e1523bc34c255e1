"""The three faces as fixtures, async behaviours as tests, and what ran where in the summary."""

import asyncio
import inspect
import os
import random
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Final

import aiohttp
import pytest

from koordpy.clock import LoopClock, SystemClock
from koordpy.cluster.embedded.cluster import EmbeddedCluster
from koordpy.cluster.embedded.server import EmbeddedServer
from koordpy.cluster.kinds import NAMESPACE
from koordpy.cluster.kube import credentials
from koordpy.cluster.kube.cluster import KubeCluster
from koordpy.cluster.kube.transport import Access, Transport
from koordpy.cluster.protocol import Cluster, Selection
from koordpy.virtual_time import VirtualTimeLoop
from tests.cluster.contract import page
from tests.cluster.contract.face import DEVICE, NODE, POD, Face, Plain, Wire
from tests.controlplane.fixtures import USED
from tests.controlplane.server import ControlPlane
from tests.controlplane.supervisor import wait_until

RAN: Final = "contract"
"""The property of a report that says which behaviour ran on which face."""
DEVICES: Final = "apis/scheduling.koordinator.sh/v1alpha1"


@pytest.fixture(params=page.FACES)
def face(request: pytest.FixtureRequest) -> Iterator[Face]:
    """Each of the three faces, with a namespace of its own."""
    with _in_process() if request.param == page.IN_PROCESS else _wire(request) as made:
        yield made


@pytest.fixture(params=page.FACES[1:])
def wire(request: pytest.FixtureRequest) -> Iterator[Wire]:
    """Each of the two faces that have an address."""
    with _wire(request) as made:
        yield made


@contextmanager
def _in_process() -> Iterator[Face]:
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:

        async def start() -> EmbeddedCluster:
            return EmbeddedCluster(LoopClock(), random.Random(7))

        cluster = runner.run(start())
        runner.run(_create_namespace(cluster, "test"))
        yield Face(runner=runner, cluster=cluster, namespace="test")
        runner.run(cluster.close())


@contextmanager
def _wire(request: pytest.FixtureRequest) -> Iterator[Wire]:
    if request.param == page.REAL:
        request.node.user_properties.append((USED, True))
    connection: Connection = request.getfixturevalue("real_server" if request.param == page.REAL else "http_server")
    made = connection.face(f"{connection.stem}-{next(connection.numbers)}")
    connection.runner.run(_create_namespace(made.cluster, made.namespace))
    yield made
    # Other tests of the session schedule pods to whatever nodes there are.
    connection.runner.run(_clear(made))


@dataclass(frozen=True)
class Connection:
    """A server that many behaviours share, on a loop of its own."""

    runner: asyncio.Runner
    cluster: Cluster
    session: aiohttp.ClientSession
    access: Access
    stem: str = field(default_factory=lambda: f"test-{secrets.token_hex(3)}")
    numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def face(self, namespace: str) -> Wire:
        return Wire(
            runner=self.runner,
            cluster=self.cluster,
            namespace=namespace,
            session=self.session,
            url=self.access.host,
            authorization=self.runner.run(self.access.headers()),
        )


@pytest.fixture(scope="session")
def real_server(control_plane: ControlPlane) -> Iterator[Connection]:
    """The control plane of the session, as admin, once its OpenAPI knows of Devices, which takes a moment."""
    wait_until("Devices in /openapi/v3", lambda: DEVICES in control_plane.request("GET", "/openapi/v3")[1]["paths"])
    with asyncio.Runner() as runner:
        access = runner.run(credentials.load(str(control_plane.kubeconfig()), environ=os.environ))
        with _connected(runner, access) as connection:
            yield connection


@pytest.fixture(scope="session")
def http_server() -> Iterator[Connection]:
    """One embedded cluster, served on loopback."""
    with asyncio.Runner() as runner:
        server = EmbeddedServer(EmbeddedCluster(SystemClock(), random.Random(7)))
        runner.run(server.start())
        with _connected(runner, Plain(f"http://127.0.0.1:{server.port}")) as connection:
            yield connection
        runner.run(server.stop())


@contextmanager
def _connected(runner: asyncio.Runner, access: Access) -> Iterator[Connection]:
    async def connect() -> tuple[KubeCluster, aiohttp.ClientSession]:
        connector = aiohttp.TCPConnector(ssl=access.ssl_context)
        return KubeCluster(Transport(access)), aiohttp.ClientSession(connector=connector)

    cluster, session = runner.run(connect())
    yield Connection(runner, cluster, session, access)

    async def disconnect() -> None:
        await cluster.close()
        await session.close()
        await asyncio.sleep(0.05)  # TLS says good-bye in the loop's next turns

    runner.run(disconnect())


async def _clear(face: Face) -> None:
    mine = Selection(labels=f"test={face.namespace}")
    for kind, selection in ((NODE, mine), (DEVICE, mine), (POD, face.select())):
        names = await face.names(kind, selection)
        await asyncio.gather(*(face.delete(kind, name, grace_s=0) for name in names))


async def _create_namespace(cluster: Cluster, name: str) -> None:
    await cluster.create(NAMESPACE, "", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> object:
    """Run a behaviour, which is a coroutine, on the loop of its face."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    (argument,) = pyfuncitem.funcargs.keys() & {"face", "wire"}
    given = pyfuncitem.funcargs[argument]
    assert isinstance(given, Face)
    pyfuncitem.user_properties.append((RAN, (pyfuncitem.originalname, pyfuncitem.callspec.params[argument])))
    given.run(pyfuncitem.obj(**{argument: given}))
    return True


def pytest_addoption(parser: pytest.Parser) -> None:
    """Known where this folder is named on the command line."""
    parser.addoption("--write-contract", action="store_true", help="write docs/contract.md after a run of everything")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """A line for each face; the table with -s; the page if it was asked for."""
    outcomes = _outcomes(terminalreporter)
    if not outcomes:
        return
    for line in page.lines(outcomes):
        terminalreporter.write_line(line)
    if config.getoption("capture") == "no":
        terminalreporter.write_line(page.table(outcomes))
    if config.getoption("--write-contract", False):
        terminalreporter.write_line(page.write(outcomes))


def _outcomes(reporter: pytest.TerminalReporter) -> dict[tuple[str, str], str]:
    """(behaviour, face) → passed, failed or skipped."""
    found: dict[tuple[str, str], str] = {}
    for reports in reporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport) and report.when == "call":
                found.update({_pair(value): report.outcome for name, value in report.user_properties if name == RAN})
    return found


def _pair(value: object) -> tuple[str, str]:
    """What pytest_pyfunc_call noted; between processes a tuple becomes a list."""
    assert isinstance(value, list | tuple)
    return value[0], value[1]

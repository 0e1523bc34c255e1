"""A scheduler as a process: put together, served to probes, ended by signals.

Apart from the command itself, because importing all this takes seconds that `koordpy version` need not wait.
"""

import asyncio
import logging
import os
import signal
import socket
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

from koordpy.clock import Clock, SystemClock
from koordpy.cluster.kube import credentials
from koordpy.cluster.kube.cluster import KubeCluster
from koordpy.cluster.kube.transport import Transport
from koordpy.cluster.protocol import Cluster
from koordpy.config.load import Loaded
from koordpy.config.settings import Settings
from koordpy.errors import ConfigError
from koordpy.framework.build import build_all
from koordpy.framework.registry import Registry
from koordpy.queue.backoff import Backoff
from koordpy.scheduler.scheduler import Scheduler, Surroundings
from koordpy.telemetry.metrics import CONTENT_TYPE, Metrics
from koordpy.telemetry.problems import ProblemLog
from koordpy.telemetry.server import TEXT, Answer, TelemetryServer
from koordpy_api import Problem

logger = logging.getLogger("koordpy.cli")

# Prometheus gives up on a scrape after 10 s; then rather what was so a moment ago.
FREEZE_PATIENCE_S = 2.0


async def serve(loaded: Loaded, registry: Registry, settings: Settings, rng: Random) -> None:
    """Schedule until SIGTERM or SIGINT. Raises: KoordpyError if it cannot start."""
    metrics = Metrics()
    problems = ProblemLog(metrics)
    configuration = loaded.configuration
    frameworks = build_all(loaded.profiles, registry, problems.report, metrics.plugins)
    clock = SystemClock()
    async with _cluster(settings, configuration.client_connection.kubeconfig, clock, rng) as cluster:
        around = Surroundings(cluster, clock, rng, metrics, problems, socket.gethostname())
        backoff = Backoff(configuration.pod_initial_backoff_seconds, configuration.pod_max_backoff_seconds)
        running = Scheduler(frameworks, backoff, around)
        server = _serve((settings.bind_address, settings.port), running, metrics)
        loop = asyncio.get_running_loop()
        for signum in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(signum, running.stop)
        logger.info("profiles %s; telemetry on port %d", ", ".join(running.frameworks), server.port)
        try:
            await running.run()
        finally:
            server.close()


@asynccontextmanager
async def _cluster(settings: Settings, named_by_file: str, clock: Clock, rng: Random) -> AsyncIterator[Cluster]:
    """The one that was asked for, for as long as the block lasts."""
    if settings.embedded:
        from koordpy.cli.embedded import embedded  # and an HTTP server, which nobody else need wait for

        async with embedded(Path(settings.embedded), settings.serve, clock, rng) as cluster:
            yield cluster
        return
    named = settings.kubeconfig or named_by_file
    real = KubeCluster(Transport(await credentials.load(named, environ=os.environ)))
    try:
        yield real
    finally:
        await real.close()


def _serve(address: tuple[str, int], running: Scheduler, metrics: Metrics) -> TelemetryServer:
    def healthz() -> Answer:
        return 200, TEXT, b"ok\n"

    def readyz() -> Answer:
        return (
            (200, TEXT, b"ok\n") if running.is_ready else (503, TEXT, b"not ready: lists not read yet, or stopping\n")
        )

    loop = asyncio.get_running_loop()

    def exposition() -> Answer:
        """Asked on the server's thread; what plugins know is handed out by the loop, which may be busy for a while."""
        frozen = threading.Event()
        loop.call_soon_threadsafe(metrics.plugins.freeze)
        loop.call_soon_threadsafe(frozen.set)
        frozen.wait(FREEZE_PATIENCE_S)
        return 200, CONTENT_TYPE, metrics.exposition()

    host, port = address
    try:
        return TelemetryServer(host, port, {"/healthz": healthz, "/readyz": readyz, "/metrics": exposition})
    except OSError as error:
        problem = Problem("--bind-address, --port", f"{host}, {port}", f"nobody can listen there: {error.strerror}")
        raise ConfigError("command line", [problem]) from None

"""koordpy scheduler: run until SIGTERM."""

import asyncio
import logging
import os
import signal
import socket
from pathlib import Path
from random import Random, SystemRandom
from typing import Annotated

import typer

from koordpy.clock import SystemClock
from koordpy.cluster.kube import credentials
from koordpy.cluster.kube.cluster import KubeCluster
from koordpy.cluster.kube.transport import Transport
from koordpy.config.expand import default_configuration, resolve
from koordpy.config.load import load
from koordpy.config.models import KubeSchedulerConfiguration
from koordpy.config.validate import check_start
from koordpy.framework.build import build_all
from koordpy.framework.registry import Registry
from koordpy.queue.backoff import Backoff
from koordpy.scheduler.scheduler import Scheduler, Surroundings
from koordpy.telemetry import logs
from koordpy.telemetry.metrics import CONTENT_TYPE, Metrics
from koordpy.telemetry.problems import ProblemLog
from koordpy.telemetry.server import TEXT, Answer, TelemetryServer

logger = logging.getLogger("koordpy.cli")


def scheduler(
    config: Annotated[Path | None, typer.Option(help="A KubeSchedulerConfiguration file.")] = None,
    kubeconfig: Annotated[
        str, typer.Option(help="How to reach the API server; default: the file's, $KUBECONFIG, in-cluster.")
    ] = "",
    bind_address: Annotated[str, typer.Option(help="Where /healthz, /readyz and /metrics listen.")] = "0.0.0.0",  # noqa: S104 - probes come from outside the Pod
    port: Annotated[int, typer.Option(help="Their port; 0 takes a free one.", min=0, max=65535)] = 10251,
    seed: Annotated[int | None, typer.Option(help="Of the choice among equally good nodes; default: random.")] = None,
    log_level: Annotated[str, typer.Option(help="debug, info, warning or error.")] = "info",
) -> None:
    """Schedule the Pods that name one of the profiles, until SIGTERM or SIGINT."""
    if log_level not in logs.LEVELS:
        raise typer.BadParameter(f"{log_level!r}; one of {', '.join(logs.LEVELS)}", param_hint="--log-level")
    logs.set_up(log_level)
    configuration = load(config) if config else default_configuration()
    for warning in check_start(configuration, str(config or "default configuration")):
        logger.warning("%s", warning)
    rng = Random(SystemRandom().getrandbits(64) if seed is None else seed)
    asyncio.run(_run(configuration, kubeconfig, (bind_address, port), rng))


async def _run(
    configuration: KubeSchedulerConfiguration, kubeconfig: str, address: tuple[str, int], rng: Random
) -> None:
    metrics = Metrics()
    problems = ProblemLog(metrics)
    frameworks = build_all(resolve(configuration), Registry(), problems.report)
    named = kubeconfig or configuration.client_connection.kubeconfig
    cluster = KubeCluster(Transport(await credentials.load(named, environ=os.environ)))
    try:
        around = Surroundings(cluster, SystemClock(), rng, metrics, problems, socket.gethostname())
        backoff = Backoff(configuration.pod_initial_backoff_seconds, configuration.pod_max_backoff_seconds)
        running = Scheduler(frameworks, backoff, around)
        server = _serve(address, running, metrics)
        loop = asyncio.get_running_loop()
        for signum in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(signum, running.stop)
        logger.info("profiles %s; telemetry on port %d", ", ".join(running.frameworks), server.port)
        try:
            await running.run()
        finally:
            server.close()
    finally:
        await cluster.close()


def _serve(address: tuple[str, int], running: Scheduler, metrics: Metrics) -> TelemetryServer:
    def healthz() -> Answer:
        return 200, TEXT, b"ok\n"

    def readyz() -> Answer:
        return (
            (200, TEXT, b"ok\n") if running.is_ready else (503, TEXT, b"not ready: lists not read yet, or stopping\n")
        )

    def exposition() -> Answer:
        return 200, CONTENT_TYPE, metrics.exposition()

    host, port = address
    return TelemetryServer(host, port, {"/healthz": healthz, "/readyz": readyz, "/metrics": exposition})

"""A scheduler as a process: put together, served to probes, ended by signals or by the loss of its lease.

Apart from the command itself, because importing all this takes seconds that `koordpy version` need not wait.
"""

import asyncio
import faulthandler
import logging
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Final

from koordpy.cli import collector
from koordpy.cli.candidacy import Candidacy, terms_of
from koordpy.cli.probes import answer_probes
from koordpy.clock import Clock, SystemClock
from koordpy.cluster.kube import credentials
from koordpy.cluster.kube.cluster import KubeCluster
from koordpy.cluster.kube.transport import Transport
from koordpy.cluster.protocol import Cluster
from koordpy.cluster.tenure import FOREVER
from koordpy.config.load import Loaded
from koordpy.config.models import KubeSchedulerConfiguration
from koordpy.config.settings import Settings
from koordpy.framework.build import build_all
from koordpy.framework.registry import Registry
from koordpy.queue.backoff import Backoff
from koordpy.scheduler.scheduler import Scheduler, Surroundings
from koordpy.scheduler.watchdog import Heart, Watchdog
from koordpy.telemetry.metrics import Metrics
from koordpy.telemetry.problems import ProblemLog

logger = logging.getLogger("koordpy.cli")

CHECK_EVERY_S: Final = 60.0
ENDING: Final = (signal.SIGTERM, signal.SIGINT)
# How long the loop may stand still where no renewDeadline says it.
ALONE_PATIENCE_S: Final = 10.0
LOST: Final = 1
"""The exit status of who does not lead any more, as upstream's; and of who is told twice to end."""


async def serve(loaded: Loaded, registry: Registry, settings: Settings, rng: Random) -> int:
    """Schedule until SIGTERM, SIGINT, or the lease is lost. Returns: the exit status.

    Raises: KoordpyError if it cannot start.
    """
    metrics = Metrics()
    problems = ProblemLog(metrics)
    configuration = loaded.configuration
    frameworks = build_all(loaded.profiles, registry, problems.report, metrics.plugins)
    clock = SystemClock()
    heart = Heart(clock)
    candidacy = _candidacy(configuration, settings, clock, rng, heart, metrics)
    async with _cluster(settings, configuration.client_connection.kubeconfig, clock, rng) as cluster:
        around = Surroundings(
            cluster,
            clock,
            rng,
            metrics,
            problems,
            socket.gethostname(),
            check_every_s=CHECK_EVERY_S if settings.check_invariants else None,
            tenure=candidacy.tenure if candidacy else FOREVER,
            heart=heart,
        )
        backoff = Backoff(configuration.pod_initial_backoff_seconds, configuration.pod_max_backoff_seconds)
        running = Scheduler(frameworks, backoff, around)
        # Without an election nobody has looked at the file's renewDeadline, nor need it be one.
        patience_s = candidacy.terms.renew_deadline_s if candidacy else ALONE_PATIENCE_S
        watchdog = _watchdog(patience_s, settings, running, heart, clock)
        address, tenure = (settings.bind_address, settings.port), candidacy.tenure if candidacy else None
        server = answer_probes(address, running, metrics, tenure, lambda: watchdog.complaint)
        _end_by_signals(running, candidacy)
        logger.info("profiles %s; telemetry on port %d", ", ".join(running.frameworks), server.port)
        watchdog.start()
        if candidacy:
            candidacy.stand(running)
        collecting = asyncio.create_task(collector.tend(running.synced, lambda: running.is_idle))
        try:
            await running.run()
        finally:
            # First: with the scheduler its heart has stopped, and a silent API server is given up only after seconds.
            watchdog.close()
            faulthandler.cancel_dump_traceback_later()
            collecting.cancel()
            if candidacy:
                await candidacy.end(release=running.is_settled)
            server.close()
    return LOST if candidacy and candidacy.lost else 0


def _candidacy(
    configuration: KubeSchedulerConfiguration,
    settings: Settings,
    clock: Clock,
    rng: Random,
    heart: Heart,
    metrics: Metrics,
) -> Candidacy | None:
    """None if nobody else could lead: the cluster of this process, or a file that says so."""
    election = configuration.leader_election
    if settings.embedded or not election.leader_elect:
        return None

    async def connect() -> Cluster:
        named = settings.kubeconfig or configuration.client_connection.kubeconfig
        return KubeCluster(Transport(await credentials.load(named, environ=os.environ), connections=2))

    return Candidacy(terms_of(election), connect, clock, rng, heart, metrics)


def _watchdog(patience_s: float, settings: Settings, running: Scheduler, heart: Heart, clock: Clock) -> Watchdog:
    def relieve() -> None:
        """Python's own watchdog, which needs no turn of Python: for code in C that holds every thread up."""
        faulthandler.dump_traceback_later(2 * patience_s, exit=True)

    # Not where people stop it by Ctrl-Z, and go on; nor where there is nothing to write the stack to.
    guarded = not settings.embedded and sys.stderr is not None
    return Watchdog(heart, clock, patience_s, running.synced.is_set, os._exit, relieve if guarded else lambda: None)


def _end_by_signals(running: Scheduler, candidacy: Candidacy | None) -> None:
    """The first lets it finish what is under way, the second does not."""
    loop = asyncio.get_running_loop()

    def stop() -> None:
        for signum in ENDING:
            loop.add_signal_handler(signum, lambda: os._exit(LOST))
        if candidacy:
            candidacy.retire()
        running.stop()

    for signum in ENDING:
        loop.add_signal_handler(signum, stop)


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

"""What a running scheduler answers over HTTP. Every function here is called on the server's threads."""

import asyncio
import threading
from collections.abc import Callable
from typing import Final

from koordpy.cluster.tenure import Tenure
from koordpy.errors import ConfigError
from koordpy.scheduler.scheduler import Scheduler
from koordpy.telemetry.metrics import CONTENT_TYPE, Metrics
from koordpy.telemetry.server import TEXT, Answer, Route, TelemetryServer
from koordpy_api import Problem

# Prometheus gives up on a scrape after 10 s; then rather what was so a moment ago.
FREEZE_PATIENCE_S: Final = 2.0
CHECK_PATIENCE_S: Final = 30.0


def answer_probes(
    address: tuple[str, int], running: Scheduler, metrics: Metrics, tenure: Tenure | None, complaint: Callable[[], str]
) -> TelemetryServer:
    """complaint: what the watchdog says is wrong. tenure: None without an election.

    Raises: ConfigError if nobody can listen there.
    """
    loop = asyncio.get_running_loop()
    livez = _livez(complaint)
    routes = {
        "/livez": livez,
        "/healthz": livez,
        "/readyz": _readyz(running, tenure),
        "/metrics": _exposition(metrics, loop),
    }
    host, port = address
    try:
        return TelemetryServer(host, port, routes, {"/debug/check": _check(running, loop)})
    except OSError as error:
        problem = Problem("--bind-address, --port", f"{host}, {port}", f"nobody can listen there: {error.strerror}")
        raise ConfigError("command line", [problem]) from None


def _livez(complaint: Callable[[], str]) -> Route:
    def answer() -> Answer:
        wrong = complaint()
        return (500, TEXT, f"{wrong}\n".encode()) if wrong else (200, TEXT, b"ok\n")

    return answer


def _readyz(running: Scheduler, tenure: Tenure | None) -> Route:
    """A standby is ready: it would schedule at once. One that never saw its Lease is not, and says why."""

    def answer() -> Answer:
        if not running.is_ready:
            return 503, TEXT, b"not ready: lists not read yet, or stopping\n"
        if tenure is None or tenure.leads:
            return 200, TEXT, b"ok\n"
        if not tenure.was_seen:
            return 503, TEXT, f"not ready: the lease cannot be had: {tenure.problem or 'not asked yet'}\n".encode()
        return 200, TEXT, f"ok: standby; {tenure.holder or 'nobody'} leads\n".encode()

    return answer


def _exposition(metrics: Metrics, loop: asyncio.AbstractEventLoop) -> Route:
    """What plugins know is handed out by the loop, which may be busy for a while."""

    def answer() -> Answer:
        frozen = threading.Event()
        loop.call_soon_threadsafe(metrics.plugins.freeze)
        loop.call_soon_threadsafe(frozen.set)
        frozen.wait(FREEZE_PATIENCE_S)
        return 200, CONTENT_TYPE, metrics.exposition()

    return answer


def _check(running: Scheduler, loop: asyncio.AbstractEventLoop) -> Route:
    """Count again what it believes: on its loop, between two cycles, and for one who asks at a time."""
    under_way = threading.Lock()

    async def look() -> list[str]:
        return running.invariants.differences()

    def answer() -> Answer:
        if not under_way.acquire(blocking=False):
            return 429, TEXT, b"somebody else asks already\n"
        try:
            wrong = asyncio.run_coroutine_threadsafe(look(), loop).result(CHECK_PATIENCE_S)
        except TimeoutError:
            return 503, TEXT, b"the scheduler is busy\n"
        finally:
            under_way.release()
        counted = ", ".join(f"{number} {what}" for what, number in running.cache.sizes().items())
        lines = [*wrong, f"{len(wrong)} differences; counted again: {counted}"]
        return (500 if wrong else 200), TEXT, "".join(f"{line}\n" for line in lines).encode()

    return answer

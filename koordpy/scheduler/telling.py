"""What people read of each attempt: one log line, one Event, the counts; and gauges, brought up to date each second.

Refusals are told by failure.py.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from koordpy.cache.cache import Cache
from koordpy.clock import Clock
from koordpy.cluster.recorder import Recorder
from koordpy.framework.runner import PLANNED_BY, Framework
from koordpy.queue.queue import SchedulingQueue
from koordpy.scheduler.outcome import NotPlaced, Placed
from koordpy.telemetry.logs import fields
from koordpy.telemetry.metrics import Metrics

logger = logging.getLogger("koordpy.scheduler")

OBSERVE_EVERY_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class Teller:
    """silences: kind → for how long its watch has said nothing."""

    metrics: Metrics
    clock: Clock
    recorder: Recorder
    silences: Callable[[], Mapping[str, float]]

    def held(self, started: float) -> None:
        """A node was found and is held."""
        self.metrics.algorithm_duration.observe(self.clock.monotonic() - started)

    def bound(self, framework: Framework, placed: Placed, started: float) -> None:
        pod, node_name, queued = placed.pod, placed.node_name, placed.queued
        self._ended("scheduled", framework, started)
        since = started if queued.first_attempt_at is None else queued.first_attempt_at
        self.metrics.bound(queued.attempts, self.clock.monotonic() - since)
        if queued.was_flushed:
            self.metrics.scheduled_after_flush.inc()
        key = pod.key
        if logger.isEnabledFor(logging.INFO):
            planned_by = placed.state.get(PLANNED_BY)
            decided = ",".join(planned_by or ())
            said = fields(pod=key, node=node_name, attempt=queued.attempts, plugin=decided, profile=framework.profile)
            logger.info("pod bound", extra=said)
        note = f"Successfully assigned {key} to {node_name}"
        self.recorder.record(pod, "Normal", "Scheduled", "Binding", note)

    def failed(self, framework: Framework, failed: NotPlaced, started: float) -> None:
        self._ended("unschedulable" if failed.status.is_rejected else "error", framework, started)

    def taken(self, framework: Framework, started: float) -> None:
        self._ended("error", framework, started)

    def _ended(self, result: str, framework: Framework, started: float) -> None:
        self.metrics.schedule_attempts.labels(result, framework.profile).inc()
        self.metrics.attempt_duration.labels(result, framework.profile).observe(self.clock.monotonic() - started)

    async def observe(self, queue: SchedulingQueue, cache: Cache, binds: Callable[[], int]) -> None:
        """Bring the gauges up to date, now and then rather than at every change. Never returns; cancel it."""
        metrics, recorder = self.metrics, self.recorder
        written = dropped = 0
        while True:
            metrics.events.labels("written").inc(recorder.written - written)
            metrics.events.labels("dropped").inc(recorder.dropped - dropped)
            written, dropped = recorder.written, recorder.dropped
            metrics.events_waiting.set(recorder.waiting)
            metrics.tasks.labels("binding").set(binds())
            for name, size in queue.sizes().items():
                metrics.pending_pods.labels(name).set(size)
            metrics.unschedulable_pods.replace(queue.rejected_by().items())
            metrics.inflight_events.replace(((event,), number) for event, number in queue.inflight_events().items())
            for what, size in cache.sizes().items():
                metrics.cache_size.labels(what).set(size)
            for kind, seconds in self.silences().items():
                metrics.watch_silence.labels(kind).set(seconds)
            await asyncio.sleep(OBSERVE_EVERY_S)

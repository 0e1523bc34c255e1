"""Scheduler: wires the rooms together, and the loop that pops one Pod after the other."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from koordpy.cache.cache import Cache
from koordpy.clock import Clock
from koordpy.cluster.informer import Informer
from koordpy.cluster.protocol import EVERYTHING, Cluster, Selection
from koordpy.cluster.recorder import Recorder
from koordpy.framework.runner import Framework
from koordpy.queue.backoff import Backoff
from koordpy.queue.queue import QueuedPodInfo, SchedulingQueue
from koordpy.scheduler.binding_cycle import BindingCycle
from koordpy.scheduler.event_handlers import NodeEvents, PodEvents, WakeUp
from koordpy.scheduler.failure import FailureExit
from koordpy.scheduler.outcome import NotPlaced, Placed, Taken
from koordpy.scheduler.scheduling_cycle import SchedulingCycle
from koordpy.telemetry.metrics import Metrics
from koordpy.telemetry.problems import ProblemLog
from koordpy_api import ObjectHandler, Status
from koordpy_api.objects import KubeObject, Node, Pod

logger = logging.getLogger("koordpy.scheduler")

# The API server leaves finished Pods out, so one that finishes arrives as deleted.
UNFINISHED_PODS: Final = Selection(fields="status.phase!=Succeeded,status.phase!=Failed")
DRAIN_S: Final = 15.0
EVENTS_DRAIN_S: Final = 5.0
OBSERVE_EVERY_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a scheduler is handed instead of reaching for it. Equal `rng`s and equal events: equal decisions."""

    cluster: Cluster
    clock: Clock
    rng: Random
    metrics: Metrics
    problems: ProblemLog
    hostname: str = "localhost"


class Scheduler:
    """One process' scheduler: all profiles over one cache and one queue.

    Construct it inside a running event loop; `run` returns after `stop` was called and what was under way is done.
    """

    def __init__(self, frameworks: Iterable[Framework], backoff: Backoff, around: Surroundings) -> None:
        self.frameworks: Mapping[str, Framework] = {framework.profile: framework for framework in frameworks}
        profiles = list(self.frameworks.values())
        prefixes = tuple(dict.fromkeys(prefix for profile in profiles for prefix in profile.annotation_prefixes))
        self.around = around
        self.cache = Cache(profiles, prefixes)
        self.queue = SchedulingQueue(profiles[0].queue_sort, around.clock, backoff, self._gate)
        self.recorder = Recorder(around.cluster, around.clock, around.hostname)
        self.is_ready = False
        self._stop = asyncio.Event()
        # Apart, because jitter is drawn whenever something goes wrong, and decisions must not hang on that.
        self._decisions = Random(around.rng.getrandbits(64))
        self._jitter = Random(around.rng.getrandbits(64))
        self._scheduling = SchedulingCycle(self.cache, self._decisions)
        self._binds: set[asyncio.Task[None]] = set()
        self._failure = FailureExit(self.cache, self.queue, around.cluster, self.recorder, around.clock)
        self._binding = BindingCycle(around.cluster, self.cache, self._failure, around.metrics, self._jitter)
        self._informers = [self._informer(kind, handlers) for kind, handlers in self._handlers().items()]

    # -- life --------------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Schedule until `stop`. Raises what a background task died of."""
        async with asyncio.TaskGroup() as group:
            background = [group.create_task(informer.run()) for informer in self._informers]
            background.append(group.create_task(self.recorder.run()))
            background.append(group.create_task(self._observe()))
            loop = group.create_task(self._loop(group))
            await self._stop.wait()
            self.is_ready = False
            loop.cancel()
            await self._drain()
            for task in background:
                task.cancel()

    def stop(self) -> None:
        """Finish what is under way, then let `run` return. May be called twice."""
        self._stop.set()

    async def _loop(self, group: asyncio.TaskGroup) -> None:
        for informer in self._informers:
            await informer.synced.wait()
        logger.info("ready: %s", ", ".join(f"{count} {what}" for what, count in self.cache.sizes().items()))
        self.is_ready = True
        while True:
            queued = await self.queue.pop()
            self._attempt(group, queued)
            await asyncio.sleep(0)  # watch events and binds get their turn between two cycles

    async def _drain(self) -> None:
        """Binds first: what they hold is settled only when their answers are in. Who waits at Permit waits no more."""
        for framework in self.frameworks.values():
            for waiting in framework.waiting.all():
                waiting.reject("", "the scheduler is stopping")
        await _end(self._binds, DRAIN_S)
        await _end(self._failure.conditions.values(), EVENTS_DRAIN_S)
        await self.recorder.drain(EVENTS_DRAIN_S)

    # -- one Pod -----------------------------------------------------------------------------------------------------

    def _attempt(self, group: asyncio.TaskGroup, queued: QueuedPodInfo) -> None:
        pod = queued.pod
        framework = self.frameworks[pod.spec.scheduler_name]
        if self.cache.pod(pod.uid) is not None:
            self.queue.done(pod.uid)  # bound, or about to be
            return
        started = self.around.clock.monotonic()
        match self._scheduling.schedule(framework, queued):
            case Placed() as placed:
                task = group.create_task(self._bind(framework, placed, started), name=f"bind of pod {pod.key}")
                self._binds.add(task)
                task.add_done_callback(self._binds.discard)
            case NotPlaced() as failed:
                self._fail(framework, failed, started)

    async def _bind(self, framework: Framework, placed: Placed, started: float) -> None:
        match await self._binding.bind(framework, placed):
            case NotPlaced() as failed:
                self._fail(framework, failed, started)
            case Taken() as taken:
                self._failure.give_way(framework, taken)
                self._count("error", framework, started)
            case None:
                self._bound(framework, placed, started)
                await framework.run_post_bind(placed.state, placed.pod, placed.node_name)

    def _bound(self, framework: Framework, placed: Placed, started: float) -> None:
        pod, node_name = placed.pod, placed.node_name
        self.queue.done(pod.uid)
        self._failure.nominated.pop(pod.uid, None)  # the bind took it off the Pod
        self._count("scheduled", framework, started)
        logger.info("pod %s bound to %s", pod.key, node_name)
        note = f"Successfully assigned {pod.key} to {node_name}"
        self.recorder.record(pod, "Normal", "Scheduled", "Binding", note)

    def _fail(self, framework: Framework, failed: NotPlaced, started: float) -> None:
        self._failure.leave(framework, failed)
        self._count("unschedulable" if failed.status.is_rejected else "error", framework, started)

    def _gate(self, pod: Pod) -> Status | None:
        """Does a plugin of the Pod's profile keep it from being tried?"""
        return self.frameworks[pod.spec.scheduler_name].run_pre_enqueue(pod)

    def _release(self, uid: str) -> None:
        """The Pod is going: nobody need wait for it at Permit."""
        for framework in self.frameworks.values():
            framework.waiting.reject(uid, "removed")

    # -- wiring ------------------------------------------------------------------------------------------------------

    def _handlers(self) -> dict[type[KubeObject], list[ObjectHandler[Any]]]:
        """Who is told of which kind. Plugins come before the wake-up of the queue."""
        report = self.around.problems.report
        handlers: dict[type[KubeObject], list[ObjectHandler[Any]]] = defaultdict(list)
        for framework in self.frameworks.values():
            for subscription in framework.subscriptions:
                handlers[subscription.kind].append(subscription.handler)
        for kind in handlers:
            handlers[kind].append(WakeUp(self.queue))
        handlers[Node].append(NodeEvents(self.cache, self.queue, report))
        handlers[Pod].append(PodEvents(self.cache, self.queue, self.frameworks.__contains__, report, self._release))
        for told in handlers.values():
            told.append(self.around.problems)
        return handlers

    def _informer(self, kind: type[KubeObject], handlers: list[ObjectHandler[Any]]) -> Informer[Any]:
        selection = UNFINISHED_PODS if kind is Pod else EVERYTHING
        around = self.around
        informer = Informer(around.cluster, kind, around.problems.report, self._jitter, selection)
        for handler in handlers:
            informer.add_handler(handler)
        return informer

    # -- telling -----------------------------------------------------------------------------------------------------

    def _count(self, result: str, framework: Framework, started: float) -> None:
        metrics = self.around.metrics
        metrics.schedule_attempts.labels(result, framework.profile).inc()
        metrics.attempt_duration.labels(result, framework.profile).observe(self.around.clock.monotonic() - started)

    async def _observe(self) -> None:
        """Bring the gauges up to date, now and then rather than at every change."""
        metrics, recorder = self.around.metrics, self.recorder
        written = dropped = 0
        while True:
            metrics.events.labels("written").inc(recorder.written - written)
            metrics.events.labels("dropped").inc(recorder.dropped - dropped)
            written, dropped = recorder.written, recorder.dropped
            for queue, size in self.queue.sizes().items():
                metrics.pending_pods.labels(queue).set(size)
            for what, size in self.cache.sizes().items():
                metrics.cache_size.labels(what).set(size)
            await asyncio.sleep(OBSERVE_EVERY_S)


async def _end(tasks: Iterable[asyncio.Task[None]], patience_s: float) -> None:
    """Wait for them, and give up on those that do not end in time."""
    if not (waiting := set(tasks)):
        return
    _, late = await asyncio.wait(waiting, timeout=patience_s)
    for task in late:
        logger.warning("%s did not end within %s s", task.get_name(), patience_s)
        task.cancel()

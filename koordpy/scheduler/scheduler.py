"""Scheduler: wires the rooms together, and the loop that pops one Pod after the other."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Any, Final

from koordpy.cache.cache import Cache
from koordpy.clock import Clock
from koordpy.cluster.informer import Informer
from koordpy.cluster.protocol import EVERYTHING, Cluster, Selection
from koordpy.cluster.recorder import Recorder
from koordpy.cluster.slimming import SlimPods
from koordpy.cluster.tenure import FOREVER, Term, patience_s
from koordpy.framework.measuring import SAMPLED_ATTEMPTS, Meter
from koordpy.framework.runner import Framework
from koordpy.queue.backoff import Backoff
from koordpy.queue.hints import Hints
from koordpy.queue.pod_info import QueuedPodInfo
from koordpy.queue.queue import SchedulingQueue
from koordpy.scheduler.binding_cycle import MAX_BINDS_ON_THE_WIRE, BindingCycle
from koordpy.scheduler.event_handlers import HANDLED_APART, NodeEvents, PodEvents, WakeUp
from koordpy.scheduler.failure import FailureExit
from koordpy.scheduler.invariants import Invariants, report_start
from koordpy.scheduler.outcome import Dropped, NotPlaced, Placed, Taken
from koordpy.scheduler.overcommit import Overcommit
from koordpy.scheduler.scheduling_cycle import SchedulingCycle
from koordpy.scheduler.telling import Teller
from koordpy.scheduler.watchdog import Heart
from koordpy.telemetry.logs import fields
from koordpy.telemetry.metrics import Metrics
from koordpy.telemetry.problems import ProblemLog
from koordpy_api import Code, ObjectHandler, Problem, Status
from koordpy_api.koordinator import read_priority
from koordpy_api.objects import KubeObject, Node, Pod

logger = logging.getLogger("koordpy.scheduler")

# The API server leaves finished Pods out, so one that finishes arrives as deleted.
UNFINISHED_PODS: Final = Selection(fields="status.phase!=Succeeded,status.phase!=Failed")
DRAIN_S: Final = 15.0
EVENTS_DRAIN_S: Final = 5.0
EVENTS_ON_THE_WIRE: Final = 4
"""So many at least, however many binds there are."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a scheduler is handed instead of reaching for it. Equal `rng`s and equal events: equal decisions.

    check_every_s: how often it counts again what it believes, and logs each difference; None: only when asked.
    tenure: FOREVER, or it is a standby until `lead` is called. heart: beats while its loop gets on.
    """

    cluster: Cluster
    clock: Clock
    rng: Random
    metrics: Metrics
    problems: ProblemLog
    hostname: str = "localhost"
    check_every_s: float | None = None
    tenure: Term = FOREVER
    heart: Heart | None = None


class Scheduler:
    """One process' scheduler: all profiles over one cache and one queue.

    Construct it inside a running event loop; `run` returns after `stop` was called and what was under way is done.
    synced: its first lists are read. is_settled: it has stopped, and nothing that it sent is without an answer.
    """

    def __init__(self, frameworks: Iterable[Framework], backoff: Backoff, around: Surroundings) -> None:
        self.frameworks: Mapping[str, Framework] = {each.profile: measured(each, around) for each in frameworks}
        # The same with every hook timed; the waiting Pods, and all that plugins know, are theirs in common.
        self._timed = {profile: timed_twin(framework) for profile, framework in self.frameworks.items()}
        profiles = list(self.frameworks.values())
        prefixes = tuple(dict.fromkeys(prefix for profile in profiles for prefix in profile.annotation_prefixes))
        self.around = around
        self.cache = Cache([*profiles, Overcommit(around.metrics)], prefixes)
        for profile in profiles:
            profile.nodes.find = self.cache.node
        self.queue = self._queue(profiles, backoff)
        self.recorder = Recorder(around.cluster, around.clock, around.hostname, self._room_for_events)
        self._teller = Teller(around.metrics, around.clock, self.recorder, self._silences)
        self.is_ready = False
        self.is_settled = False
        self.synced = asyncio.Event()
        self._stop = asyncio.Event()
        self._leads = asyncio.Event()
        around.metrics.is_leading = False
        if around.tenure is FOREVER:
            self.lead()
        # Apart, because jitter is drawn whenever something goes wrong, and decisions must not hang on that.
        self._decisions = Random(around.rng.getrandbits(64))
        self._jitter = Random(around.rng.getrandbits(64))
        self._samples = Random(around.rng.getrandbits(64))
        self._scheduling = SchedulingCycle(self.cache, self._decisions)
        self._binds: set[asyncio.Task[None]] = set()
        self._failure = FailureExit(self.cache, self.queue, around.cluster, self.recorder, around.clock, around.tenure)
        self._binding = BindingCycle(
            around.cluster, self.cache, self._failure, around.metrics, self._jitter, around.tenure
        )
        informers = {kind: self._informer(kind, handlers) for kind, handlers in self._handlers().items()}
        self._informers = list(informers.values())
        self._pods = informers[Pod]
        self.invariants = Invariants(self.cache, self.queue, self.frameworks, informers, around.clock)

    # -- life --------------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Schedule until `stop`. Raises what a background task died of."""
        async with asyncio.TaskGroup() as group:
            background = [group.create_task(informer.run()) for informer in self._informers]
            background.append(group.create_task(self.recorder.run()))
            background.append(group.create_task(self._observe()))
            if self.around.heart is not None:
                background.append(group.create_task(self.around.heart.run()))
            if (pause_s := self.around.check_every_s) is not None:
                background.append(group.create_task(self.invariants.run(pause_s, self.around.metrics)))
            loop = group.create_task(self._loop(group))
            await self._stop.wait()
            self.is_ready = False
            loop.cancel()
            await self._drain()
            for task in background:
                task.cancel()

    @property
    def is_idle(self) -> bool:
        """Is there nobody to be tried or bound at this moment?"""
        return not self._binds and not self.queue.sizes()["active"]

    def lead(self) -> None:
        """Schedule from now on; until then it only watches. May be called twice."""
        self.around.metrics.is_leading = True
        self._leads.set()

    def stop(self) -> None:
        """Finish what is under way, then let `run` return. May be called twice."""
        self._stop.set()

    async def _loop(self, group: asyncio.TaskGroup) -> None:
        for informer in self._informers:
            await informer.synced.wait()
        logger.info("ready: %s", ", ".join(f"{count} {what}" for what, count in self.cache.sizes().items()))
        report_start(self.frameworks.values(), self.cache.update_snapshot().nodes)
        self.is_ready = True
        self.synced.set()
        if not self._leads.is_set():
            await self._leads.wait()
            # What the one before us bound a moment ago may not have come by the watch yet, and never will if the
            # watch has died without a word; its cards would be given once more.
            await self._pods.confirm()
            logger.info("leading", extra=fields(**self.cache.sizes()))
        while True:
            await self._binding.room()
            queued = await self.queue.pop()
            if not self.around.tenure.leads:
                return  # somebody is about to stop us
            self._attempt(group, queued)
            await asyncio.sleep(0)  # watch events and binds get their turn between two cycles

    async def _drain(self) -> None:
        """Binds first: what they hold is settled only when their answers are in. Who waits at Permit waits no more."""
        for framework in self.frameworks.values():
            for waiting in framework.waiting.all():
                waiting.reject("", "the scheduler is stopping")
        left_s = patience_s(self.around.tenure)
        self.is_settled = await _end(self._binds, DRAIN_S if left_s is None else min(DRAIN_S, left_s))
        self.is_settled &= await _end(self._failure.conditions.values(), EVENTS_DRAIN_S)
        await self.recorder.drain(EVENTS_DRAIN_S)

    # -- one Pod -----------------------------------------------------------------------------------------------------

    def _attempt(self, group: asyncio.TaskGroup, queued: QueuedPodInfo) -> None:
        pod = queued.pod
        framework = self._framework_of(pod)
        if self.cache.pod(pod.uid) is not None:
            self.queue.done(pod.uid)  # bound, or about to be
            return
        if pod.metadata.deletion_timestamp:
            self._failure.skip_deleted(pod)
            return
        self._warn(queued)
        started = self.around.clock.monotonic()
        match self._scheduling.schedule(framework, queued):
            case Placed() as placed:
                self._teller.held(started)
                task = group.create_task(self._bind(framework, placed, started), name=f"bind of pod {pod.key}")
                self._binds.add(task)
                task.add_done_callback(self._binds.discard)
            case NotPlaced() as failed:
                self._fail(framework, failed, started)

    async def _bind(self, framework: Framework, placed: Placed, started: float) -> None:
        match await self._binding.bind(framework, placed):
            case NotPlaced() as failed:
                self._fail(framework, failed, started, was_seen=True)
            case Taken() as taken:
                self._failure.give_way(framework, taken)
                self._teller.taken(framework, started)
            case Dropped() as dropped:
                self._failure.drop(framework, dropped)
            case None:
                self._bound(framework, placed, started)
                await framework.run_post_bind(placed.state, placed.pod, placed.node_name)

    def _bound(self, framework: Framework, placed: Placed, started: float) -> None:
        self.queue.done(placed.pod.uid)
        self._failure.nominated.pop(placed.pod.uid, None)  # the bind took it off the Pod
        self._teller.bound(framework, placed, started)

    def _fail(self, framework: Framework, failed: NotPlaced, started: float, *, was_seen: bool = False) -> None:
        self._failure.leave(framework, failed, was_seen=was_seen)
        self._teller.failed(framework, failed, started)

    def _framework_of(self, pod: Pod) -> Framework:
        """Its profile's; in one attempt of ten the one that times each plugin."""
        frameworks = self._timed if self._samples.random() < SAMPLED_ATTEMPTS else self.frameworks
        return frameworks[pod.spec.scheduler_name]

    def _warn(self, queued: QueuedPodInfo) -> None:
        """Once a Pod, of what in it counts for nothing because it cannot be read."""
        if queued.was_warned:
            return
        problem = read_priority(queued.pod.metadata.labels)
        if isinstance(problem, Problem):
            queued.was_warned = True
            self.recorder.record(queued.pod, "Warning", "InvalidPriority", "Scheduling", str(problem))

    def _gate(self, pod: Pod, first: str) -> Status | None:
        """Does a plugin of the Pod's profile keep it from being tried?"""
        framework = self.frameworks[pod.spec.scheduler_name]
        answer = framework.run_pre_enqueue(pod, first)
        if answer is not None and answer.code is Code.ERROR and self._leads.is_set():
            self._failure.not_tried(framework, pod, answer)
        return answer

    def _release(self, uid: str) -> None:
        """The Pod is going: nobody need wait for it at Permit."""
        for framework in self.frameworks.values():
            framework.waiting.reject(uid, "removed")

    # -- wiring ------------------------------------------------------------------------------------------------------

    def _queue(self, profiles: Iterable[Framework], backoff: Backoff) -> SchedulingQueue:
        clock, metrics = self.around.clock, self.around.metrics
        registered = {each.profile: each.registrations for each in profiles}
        hints = Hints(registered, clock.monotonic, metrics)
        sort_key = next(iter(self.frameworks.values())).queue_sort
        return SchedulingQueue(sort_key, clock, backoff, self._gate, hints, metrics)

    def _handlers(self) -> dict[type[KubeObject], list[ObjectHandler[Any]]]:
        """Who is told of which kind. Plugins come before the wake-up of the queue."""
        report = self.around.problems.report
        handlers: dict[type[KubeObject], list[ObjectHandler[Any]]] = defaultdict(list)
        for framework in self.frameworks.values():
            for subscription in framework.subscriptions:
                handlers[subscription.kind].append(subscription.handler)
        for kind in [each for each in handlers if each not in HANDLED_APART]:
            handlers[kind].append(WakeUp(self.queue))
        handlers[Node].append(NodeEvents(self.cache, self.queue, report))
        handlers[Pod].append(PodEvents(self.cache, self.queue, self.frameworks.__contains__, report, self._release))
        for told in handlers.values():
            told.append(self.around.problems)
        return handlers

    def _informer(self, kind: type[KubeObject], handlers: list[ObjectHandler[Any]]) -> Informer[Any]:
        selection = UNFINISHED_PODS if kind is Pod else EVERYTHING
        around = self.around
        slim = SlimPods(self.cache.annotation_prefixes) if kind is Pod else None
        informer: Informer[Any] = Informer(around.cluster, kind, around.problems.report, self._jitter, selection, slim)
        for handler in handlers:
            informer.add_handler(handler)
        return informer

    def _room_for_events(self) -> int:
        """An Event costs the API server as much as a bind, and binds come first; but Events must get on, too."""
        return max(MAX_BINDS_ON_THE_WIRE - self._binding.wanting, EVENTS_ON_THE_WIRE)

    def _silences(self) -> Mapping[str, float]:
        return {kind.KIND.plural: informer.silent_s for kind, informer in self.invariants.informers.items()}

    async def _observe(self) -> None:
        """A standby has nothing to show."""
        await self._leads.wait()
        await self._teller.observe(self.queue, self.cache, lambda: len(self._binds))


def measured(framework: Framework, around: Surroundings) -> Framework:
    """The same, with somebody who measures."""
    return replace(framework, meter=Meter(framework.profile, around.metrics, around.clock.monotonic))


def timed_twin(framework: Framework) -> Framework:
    assert framework.meter is not None
    return replace(framework, chains=framework.meter.timed(framework.chains))


async def _end(tasks: Iterable[asyncio.Task[None]], timeout_s: float) -> bool:
    """Wait for them, and give up on those that do not end in time. Returns: whether all did."""
    if not (waiting := set(tasks)):
        return True
    _, late = await asyncio.wait(waiting, timeout=timeout_s)
    for task in late:
        logger.warning("%s did not end in time", task.get_name(), extra=fields(seconds=timeout_s))
        task.cancel()
    return not late

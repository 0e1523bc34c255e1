"""A scheduler at work beside an embedded cluster, and what a scene may ask of both."""

import asyncio
import json
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from random import Random
from typing import Any

from koordpy.clock import LoopClock
from koordpy.config.expand import default_configuration, resolve
from koordpy.framework.build import build_all
from koordpy.framework.registry import Registry
from koordpy.framework.runner import Framework
from koordpy.queue.backoff import Backoff
from koordpy.scheduler.scheduler import Scheduler, Surroundings
from koordpy.telemetry.metrics import Metrics
from koordpy.telemetry.problems import ProblemLog
from koordpy.virtual_time import run
from koordpy_api.koordinator import DEVICE_ALLOCATED
from tests.scheduler.acted_cluster import ActedCluster


class Stage:
    """`perform` builds it; a scene acts on `cluster` and lets seconds pass."""

    def __init__(self, cluster: ActedCluster, frameworks: Sequence[Framework] | None, seed: int) -> None:
        self.cluster = cluster
        self.metrics = Metrics()
        problems = ProblemLog(self.metrics)
        frameworks = frameworks or build_all(
            resolve(default_configuration()), Registry(), problems.report, self.metrics.plugins
        )
        around = Surroundings(cluster.asked, LoopClock(), Random(seed), self.metrics, problems, "stage")
        self.scheduler = Scheduler(frameworks, Backoff(), around)
        self.running = asyncio.create_task(self.scheduler.run())

    def check(self) -> None:
        """What it believes is what the objects say."""
        assert self.scheduler.invariants.differences() == []

    async def stop(self) -> float:
        """Stop the scheduler; how many seconds that took."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        self.scheduler.stop()
        await self.running
        return loop.time() - began

    def attempts(self, result: str, profile: str = "koordpy-scheduler") -> float:
        """scheduler_schedule_attempts_total."""
        labels = {"result": result, "profile": profile}
        return self.metrics.registry.get_sample_value("scheduler_schedule_attempts_total", labels) or 0.0

    def believes(self) -> dict[str, int]:
        """Sizes of the cache and the queue; everything that is not zero."""
        sizes = {**self.scheduler.cache.sizes(), **self.scheduler.queue.sizes()}
        return {what: size for what, size in sizes.items() if size}

    def minors(self, name: str) -> list[int]:
        """The GPUs that a Pod's annotation gives it."""
        return [each["minor"] for each in allocated(self.cluster.pod(name))]

    def card_books(self) -> Mapping[tuple[str, int], int]:
        """(node, minor) → percent of it that bound Pods hold, counted from their annotations."""
        books: defaultdict[tuple[str, int], int] = defaultdict(int)
        for pod in self.cluster.pods():
            for each in allocated(pod) if pod["spec"].get("nodeName") else ():
                ratio = int(each["resources"]["koordinator.sh/gpu-memory-ratio"])
                books[pod["spec"]["nodeName"], each["minor"]] += ratio
        return books


async def _check_often(stage: Stage | None) -> None:
    """Two times a second; its first complaint is told at the end."""
    while stage is not None and not stage.running.done():
        stage.check()
        await asyncio.sleep(0.5)


def allocated(pod: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    text = pod["metadata"].get("annotations", {}).get(DEVICE_ALLOCATED)
    gpus: Sequence[Mapping[str, Any]] = json.loads(text)["gpu"] if text else []
    return gpus


def perform(
    scene: Callable[[Stage], Awaitable[None]],
    *manifests: Mapping[str, Any],
    frameworks: Sequence[Framework] | None = None,
    seed: int = 0,
    check: bool = True,
) -> None:
    """Start the scheduler beside these objects, play the scene, wait a minute until nothing is assumed, and stop.

    check: all along, what it believes is what the objects say.
    """

    async def main() -> None:
        stage = Stage(ActedCluster(LoopClock(), *manifests), frameworks, seed)
        await asyncio.sleep(0.5)
        assert stage.scheduler.is_ready
        checking = asyncio.create_task(_check_often(stage if check else None))
        await scene(stage)
        if not stage.running.done():
            await asyncio.sleep(60)
            if checking.done():
                checking.result()
            checking.cancel()
            assert "assumed_pods" not in stage.believes()
            await stage.stop()

    run(main())

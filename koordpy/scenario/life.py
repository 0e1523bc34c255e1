"""One life of a scheduler: built as `koordpy scheduler` builds it, on the cluster and clock that it is handed."""

import asyncio
import contextlib
import logging
from collections.abc import Mapping
from random import Random
from typing import Final

from koordpy.config.defaults import DEFAULT_SCHEDULER_NAME
from koordpy.config.load import Loaded, parse_whole
from koordpy.config.models import API_VERSION, KIND
from koordpy.config.validate import check_start
from koordpy.framework.build import build_all
from koordpy.framework.registry import Registry
from koordpy.queue.backoff import Backoff
from koordpy.scenario.language import Scenario, file_text
from koordpy.scenario.parts import Document
from koordpy.scenario.recording import RecordingCluster
from koordpy.scenario.standins import CallBook, stand_in
from koordpy.scenario.world import World
from koordpy.scheduler.scheduler import Scheduler, Surroundings
from koordpy.telemetry.metrics import Metrics
from koordpy.telemetry.problems import ProblemLog

logger = logging.getLogger("koordpy.scenario")

CONFIG: Final = "config.yaml"
POLL_S: Final = 0.02


class BooksAreWrong(AssertionError):
    """The scheduler believes something that the objects do not say; the text tells all of it."""


class Life:
    """scheduler: it itself, for who wants to look.

    Raises: KoordpyError if the configuration or a plugin does not let it start.
    """

    def __init__(self, scenario: Scenario, world: World, cluster: RecordingCluster, book: CallBook, seed: int) -> None:
        registry = Registry(given={name: stand_in(name, hooks, book) for name, hooks in scenario.plugins.items()})
        loaded = configured(scenario, registry)
        configuration = loaded.configuration
        for warning in [*loaded.warnings, *check_start(configuration, CONFIG)]:
            logger.warning("%s", warning)
        self._metrics = Metrics()
        problems = ProblemLog(self._metrics)
        frameworks = build_all(loaded.profiles, registry, problems.report, self._metrics.plugins)
        around = Surroundings(cluster, world.clock, Random(seed), self._metrics, problems, "scenario")
        backoff = Backoff(configuration.pod_initial_backoff_seconds, configuration.pod_max_backoff_seconds)
        self.scheduler = Scheduler(frameworks, backoff, around)
        self._running = asyncio.get_running_loop().create_task(self.scheduler.run())

    async def ready(self) -> None:
        """Returns once it schedules. Raises: what it died of."""
        while not self.scheduler.is_ready:
            self.check()
            await asyncio.sleep(POLL_S)

    def check(self) -> None:
        """Raises: what it died of, if it did; BooksAreWrong."""
        if self._running.done():
            self._running.result()
        elif wrong := self.scheduler.invariants.differences():
            raise BooksAreWrong("\n".join(["the books are wrong:", *wrong]))

    async def stop(self) -> None:
        """As SIGTERM does: what is under way ends."""
        self.scheduler.stop()
        await self._running

    async def crash(self) -> None:
        """As SIGKILL does: nothing is finished."""
        self._running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._running

    def metrics(self) -> Mapping[str, float]:
        """name{label="value",…} → value, as /metrics has them."""
        self._metrics.plugins.freeze()
        lines = (line.rpartition(" ") for line in self._metrics.exposition().decode().splitlines() if line[:1] != "#")
        return {name: float(value) for name, _, value in lines}


def configured(scenario: Scenario, registry: Registry) -> Loaded:
    """What the scenario says; else its stand-ins in their order, between PrioritySort and DefaultBinder; else nothing.

    Raises: ConfigError.
    """
    return parse_whole(file_text(scenario.config or _generated(scenario)), CONFIG, registry)


def _generated(scenario: Scenario) -> Document:
    names = ["PrioritySort", *scenario.plugins, "DefaultBinder"]
    every_point = {"enabled": [{"name": name} for name in names], "disabled": [{"name": "*"}]}
    plugins = {"plugins": {"multiPoint": every_point}} if scenario.plugins else {}
    profile = {"schedulerName": DEFAULT_SCHEDULER_NAME, **plugins}
    alone = {"leaderElect": False}
    return {"apiVersion": API_VERSION, "kind": KIND, "leaderElection": alone, "profiles": [profile]}

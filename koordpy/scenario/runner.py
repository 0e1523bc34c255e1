"""A scenario → a real scheduler beside a cluster, step by step.

The runner is handed the cluster (in a World) and runs on whatever event loop it finds, so its seconds are virtual where
the cluster lives in this process, and real where it does not.
"""

import asyncio
import contextlib
import shlex
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Final, Protocol

from koordpy.cluster.kinds import EVENT
from koordpy.cluster.protocol import BindRequest
from koordpy.errors import ApiError, KoordpyError
from koordpy.scenario.arrivals import arrive
from koordpy.scenario.comparison import mismatches
from koordpy.scenario.diary import logged, watched
from koordpy.scenario.expectations import Expect
from koordpy.scenario.files import Manifest, files_of_steps
from koordpy.scenario.language import PATIENCE_S, Scenario, Step, file_text
from koordpy.scenario.life import CONFIG, Life
from koordpy.scenario.manifests import KINDS, kind_and_name
from koordpy.scenario.observed import Observed
from koordpy.scenario.recording import RecordingCluster
from koordpy.scenario.standins import CallBook
from koordpy.scenario.world import Finished, World
from koordpy.scheduler.scheduler import Scheduler
from koordpy_api import WaitingPod
from koordpy_api.objects import Kind, Pod

POLL_S: Final = 0.05
STEADY_S: Final = 1.0
REFUSED: Final = 2
LOG_TAIL: Final = 15


class ScenarioFailed(AssertionError):
    """An expectation did not come true; the text says which, what was seen instead, and the end of the log."""


def needs(scenario: Scenario, world: World) -> list[str]:
    """What the scenario waits for before it can be played in this world; empty if it can."""
    kinds = dict.fromkeys(step.kind for step in scenario.steps)
    kinds |= {} if scenario.kubelet is None else {"kubelet": None}
    return [*scenario.waits_for, *(f"{kind}: {world.cannot[kind]}" for kind in kinds if kind in world.cannot)]


class Onlooker(Protocol):
    """Who plays a scenario to show it. Everything else is in the World that it hands in, and `life.configured`."""

    async def step(self, number: int, step: Step) -> None:
        """It begins now; counted from 1."""
        ...

    async def end(self, scheduler: Scheduler | None) -> None:
        """Everything came true, and the scheduler still runs, if one does."""
        ...


async def play(scenario: Scenario, world: World, folder: Path, seed: int = 0, onlooker: Onlooker | None = None) -> None:
    """Play it to its end. folder: the scenario's own, where its `files` and `distributions` are.

    Equal seeds: equal arrivals and, in virtual time, equal decisions. The objects that it made stay; they are the
    world's owner's to remove.
    Raises: ScenarioFailed; KoordpyError, before anything happens, if its files cannot be read.
    """
    with logged() as log, watched() as died:
        stage = _Stage(scenario, world, folder, log, seed, onlooker)
        try:
            await stage.play()
        finally:
            await stage.end()
    if died:
        raise ScenarioFailed(f"{scenario.title}\nand in the background: {', '.join(died)}")


class _Stage:
    """One performance."""

    def __init__(
        self, scenario: Scenario, world: World, folder: Path, log: list[str], seed: int, onlooker: Onlooker | None
    ) -> None:
        self._scenario, self._world, self._folder, self._log, self._seed = scenario, world, folder, log, seed
        self._onlooker = onlooker
        self._cluster = RecordingCluster(world.cluster)
        self._book = CallBook()
        self._life: Life | None = None
        self._kubelet: asyncio.Task[None] | None = None
        self._finished: Finished | None = None
        self._step = 0
        files = [step.files for step in scenario.steps]
        self._written = files_of_steps(folder, files, scenario.source, scenario.lines)

    async def play(self) -> None:
        for form in self._scenario.objects:
            await self._arrive([Manifest(each) for each in form.expand()])
        if self._scenario.kubelet is not None:
            rng = Random(f"kubelet {self._seed}")
            self._kubelet = asyncio.create_task(self._world.kubelet(self._scenario.kubelet, rng))
        if self._scenario.runs_a_scheduler:
            await self._start()
        for number, step in enumerate(self._scenario.steps, 1):
            self._step = number
            if self._onlooker:
                await self._onlooker.step(number, step)
            if step.kind != "expect":
                await self._acts[step.kind](self, step)
            if step.expect is not None:
                await self._expect(step.expect, f"step {number}, {step.kind}")
        if self._scenario.expect is not None:
            await self._expect(self._scenario.expect, "the end")
        if self._onlooker:
            await self._onlooker.end(self._life.scheduler if self._life else None)

    async def end(self) -> None:
        if self._life is not None:
            await self._life.crash()
        if self._kubelet is not None:
            self._kubelet.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._kubelet

    # -- steps -------------------------------------------------------------------------------------------------------

    async def _apply(self, step: Step) -> None:
        await self._arrive([Manifest(each) for form in step.apply for each in form.expand()], step.over)

    async def _files(self, step: Step) -> None:
        await self._arrive(self._written[self._step - 1], step.over)

    async def _patch(self, step: Step) -> None:
        for ref, body in step.patch.items():
            await self._world.patch(*kind_and_name(ref), body)

    async def _delete(self, step: Step) -> None:
        for ref in step.delete:
            await self._world.delete(*kind_and_name(ref), grace_s=int(step.grace))

    async def _bind_by_other(self, step: Step) -> None:
        uids = {each["metadata"]["name"]: each["metadata"]["uid"] for each in await self._world.read(Pod.KIND)}
        for name, bind in step.bind_by_other.items():
            request = BindRequest(self._world.namespace, name, uids.get(name, ""), bind.node, bind.annotations)
            await self._world.cluster.bind(request)

    async def _allow(self, step: Step) -> None:
        for name, plugin in step.allow.items():
            (await self._waiting(name, plugin)).allow(plugin)

    async def _reject(self, step: Step) -> None:
        for name, plugin in step.reject.items():
            (await self._waiting(name, plugin)).reject(plugin, "on purpose")

    async def _crash(self, step: Step) -> None:
        if self._life is not None:
            await self._life.crash()
            self._life = None

    async def _restart(self, step: Step) -> None:
        if self._life is not None:
            await self._life.stop()
        await self._start()

    async def _fault(self, step: Step) -> None:
        assert step.fault
        self._world.fault(step.fault)

    async def _advance(self, step: Step) -> None:
        await asyncio.sleep(step.advance)

    async def _run(self, step: Step) -> None:
        scenario = self._scenario
        files = {name: file_text(content) for name, content in scenario.files.items()}
        if scenario.config is not None:
            files[CONFIG] = file_text(scenario.config)
        distributions = [self._folder / each for each in scenario.distributions]
        self._finished = self._world.run(shlex.split(step.run), files, distributions)

    _acts: Final[Mapping[str, Callable[["_Stage", Step], Awaitable[None]]]] = {
        "apply": _apply,
        "files": _files,
        "patch": _patch,
        "delete": _delete,
        "bindByOther": _bind_by_other,
        "allow": _allow,
        "reject": _reject,
        "crash": _crash,
        "restart": _restart,
        "advance": _advance,
        "fault": _fault,
        "run": _run,
    }

    # -- inside ------------------------------------------------------------------------------------------------------

    async def _start(self) -> None:
        """A start that is refused ends as a command does, with its exit code and its words."""
        self._life, self._finished = None, None
        try:
            self._life = Life(self._scenario, self._world, self._cluster, self._book, self._seed)
        except KoordpyError as error:
            self._finished = Finished(REFUSED, f"koordpy: {error}")
        else:
            await self._life.ready()

    async def _arrive(self, objects: Sequence[Manifest], over_s: float = 0.0) -> None:
        rng = Random(f"arrivals {self._seed} {self._step}")
        await arrive(objects, self._create, over_s, rng)

    async def _create(self, manifest: Manifest) -> None:
        try:
            await self._world.apply(manifest.placed(self._world.namespace))
        except ApiError as error:
            raise manifest.refused(error) from None

    async def _waiting(self, name: str, plugin: str) -> WaitingPod:
        """The Pod that Permit holds, as the stand-in finds it."""
        loop = asyncio.get_running_loop()
        until = loop.time() + PATIENCE_S
        while plugin in self._book.handles and loop.time() < until:
            for held in self._book.handles[plugin].waiting_pods():
                if held.pod.metadata.name == name and plugin in held.pending_plugins:
                    return held
            await asyncio.sleep(POLL_S)
        raise self._failure("Permit", [f"pod {name} does not wait for a stand-in {plugin}"])

    # -- expectations ------------------------------------------------------------------------------------------------

    async def _expect(self, expect: Expect, place: str) -> None:
        loop = asyncio.get_running_loop()
        until = loop.time() + expect.within
        while wrong := mismatches(expect, await self._look(expect)):
            if loop.time() >= until or self._life is None:
                raise self._failure(place, wrong)
            self._life.check()
            await asyncio.sleep(POLL_S)
        if self._life is not None:
            await asyncio.sleep(STEADY_S)
            if wrong := mismatches(expect, await self._look(expect)):
                raise self._failure(f"{place}, a second later", wrong)
            self._life.check()

    def _failure(self, place: str, wrong: list[str]) -> ScenarioFailed:
        tail = ["the log ends with", *self._log[-LOG_TAIL:]] if self._log else ["the log is empty"]
        if self._life is None and self._finished is not None:
            tail = [f"it ended with {self._finished.exit_code}, and said", *self._finished.output.splitlines()]
        return ScenarioFailed("\n  ".join([f"{self._scenario.title}\nat {place}:", *wrong, *tail]))

    async def _look(self, expect: Expect) -> Observed:
        """What there is to see; metrics, which take long to write out, only if they are asked for."""
        objects = {}
        for kind in self._kinds():
            for each in await self._world.read(kind):
                objects[f"{kind.name.lower()}/{each['metadata']['name']}"] = each
        return Observed(
            objects=objects,
            events=await self._world.read(EVENT) if self._scenario.runs_a_scheduler else (),
            requests=self._cluster.sent,
            log=self._log,
            metrics=self._life.metrics() if self._life and expect.metrics else {},
            book=self._book,
            finished=self._finished,
        )

    def _kinds(self) -> list[Kind]:
        return list(KINDS.values()) if self._scenario.runs_a_scheduler else []

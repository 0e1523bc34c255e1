"""A scenario played to be watched: put together, drawn from a watch of the API meanwhile, judged at its end."""

import asyncio
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from rich.console import Console, Group, OverflowMethod
from rich.live import Live
from rich.table import Table
from rich.text import Text

from koordpy.cli import cards, report
from koordpy.cli.board import Board
from koordpy.clock import LoopClock
from koordpy.errors import ConfigError, KoordpyError
from koordpy.framework.registry import Registry
from koordpy.scenario.embedded import EmbeddedWorld
from koordpy.scenario.files import SCENARIO, Manifest, repeated
from koordpy.scenario.language import Scenario, Step, load
from koordpy.scenario.life import configured
from koordpy.scenario.rehearsal import make_namespaces, rehearse
from koordpy.scenario.runner import ScenarioFailed, needs, play
from koordpy.scenario.standins import CallBook, stand_in
from koordpy.scheduler.scheduler import Scheduler
from koordpy.virtual_time import PacedLoop, VirtualTimeLoop, run
from koordpy.whatif.explain import Belief
from koordpy_api import Problem

FRAME_S: Final = 0.1
PATIENCE_S: Final = 5.0
SLOWEST, FASTEST = 0.01, 1000.0
ENDED_BY: Final = (signal.SIGTERM, signal.SIGHUP)
"""Beside SIGINT, which is asyncio's."""


class Interrupted(KoordpyError):
    """Somebody ended it; the terminal is as it was before, and shows what had come about."""

    def __init__(self, number: int) -> None:
        super().__init__("interrupted")
        self.number = number


def perform(folder: Path, seed: int, speed: float) -> bool:
    """Did all come true, and do the books agree? speed: 0 is virtual time.

    Raises: KoordpyError, before anything is shown, if anything is wrong with the scenario or its files; Interrupted.
    """
    if speed and not SLOWEST <= speed <= FASTEST:
        right = f"0, which does not wait at all, or a number from {SLOWEST:g} to {FASTEST:g}"
        raise ConfigError("command line", [Problem("--speed", f"{speed:g}", right)])
    path = folder / SCENARIO
    if not path.is_file():
        right = f"no {SCENARIO} there; a checkout of koordpy has one in config/demo: pass that folder, or one of yours"
        raise ConfigError("command line", [Problem("--folder", str(folder), right)])
    scenario = load(path)
    written = run(_rehearse(scenario, folder))
    console = cards.console()
    console.print(f"{scenario.title}\nseed {seed}\n", style="bold")
    for line in repeated(written):
        console.print(f"warning: {line}", style="yellow", soft_wrap=True)
    show = _Show(scenario, folder, seed, console, speed)
    try:
        with asyncio.Runner(loop_factory=lambda: PacedLoop(speed) if speed else VirtualTimeLoop()) as runner:
            return runner.run(show.perform(written))
    except (KeyboardInterrupt, asyncio.CancelledError):
        raise Interrupted(show.ended_by) from None


async def _rehearse(scenario: Scenario, folder: Path) -> list[Manifest]:
    runs = [(f"steps[{number}].run", step.run) for number, step in enumerate(scenario.steps) if step.run]
    right = "a demo shows a cluster, and runs no commands; take the step out"
    if wrong := [Problem(path, command, right) for path, command in runs]:
        raise ConfigError(scenario.source, wrong, scenario.lines)
    world = EmbeddedWorld(LoopClock())
    if missing := needs(scenario, world):
        raise KoordpyError(f"{scenario.source}: this cannot be shown; it waits for {', '.join(missing)}")
    return await rehearse(scenario, world, folder)


@dataclass
class _Show:
    """One performance. ended_by: the signal that ended it early, if one did."""

    scenario: Scenario
    folder: Path
    seed: int
    console: Console
    speed: float
    ended_by: int = signal.SIGINT

    async def perform(self, written: Sequence[Manifest]) -> bool:
        world = EmbeddedWorld(LoopClock(), self.seed)
        await make_namespaces(world, written)
        # A terminal shows the table as it is now; everywhere else each change is a line.
        is_live = self.console.is_terminal and not self.console.is_dumb_terminal and self.speed > 0
        tell = (lambda line: None) if is_live else partial(self.console.print, soft_wrap=True)
        onlooker = _Onlooker(Board(world.without_faults(), tell), self.console)
        failure = ""
        try:
            with self._heeding_signals(), onlooker.live(FRAME_S * self.speed) if is_live else nullcontext():
                failure = await self._played(world, onlooker)
        except asyncio.CancelledError:
            cards.show(self.console, onlooker.table())
            raise
        plugins = self.scenario.plugins
        registry = Registry(given={name: stand_in(name, hooks, CallBook()) for name, hooks in plugins.items()})
        belief = await Belief.of(world.without_faults(), configured(self.scenario, registry), registry)
        agrees = report.tell(self.console, onlooker.board, belief, onlooker.scheduler)
        if failure:
            self.console.print(f"\n{failure}", style="red", soft_wrap=True)
        return agrees and not failure

    async def _played(self, world: EmbeddedWorld, onlooker: "_Onlooker") -> str:
        """What failed; empty if nothing did."""
        failure = ""
        await onlooker.board.open()
        try:
            try:
                await play(self.scenario, world, self.folder, self.seed, onlooker)
            except ScenarioFailed as error:
                failure = str(error)
            for _ in range(int(PATIENCE_S / FRAME_S)):
                if await onlooker.board.caught_up():
                    break
                await asyncio.sleep(FRAME_S)
        finally:
            await onlooker.close()
        return failure

    @contextmanager
    def _heeding_signals(self) -> Iterator[None]:
        """Whoever ends the process this way gets the terminal back as it was."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task

        def end(number: int) -> None:
            self.ended_by = number
            task.cancel()

        here = ENDED_BY if threading.current_thread() is threading.main_thread() else ()  # elsewhere Python allows none
        for number in here:
            loop.add_signal_handler(number, end, number)
        try:
            yield
        finally:
            for number in here:
                loop.remove_signal_handler(number)


class _Onlooker:
    """koordpy.scenario.runner.Onlooker: keeps the board, and the scheduler that was seen last."""

    def __init__(self, board: Board, console: Console) -> None:
        self.board = board
        self.scheduler: Scheduler | None = None
        self._console = console
        self._doing = ""
        self._live: Live | None = None
        self._drawing: asyncio.Task[None] | None = None

    def live(self, frame_s: float) -> AbstractContextManager[Live]:
        """A table that is drawn anew every frame_s, for as long as the block lasts."""
        self._live = Live(console=self._console, auto_refresh=False, transient=True)
        self._drawing = asyncio.create_task(self._draw(self._live, frame_s))
        return self._live

    async def close(self) -> None:
        if self._drawing is not None:
            self._drawing.cancel()
        await self.board.close()

    async def step(self, number: int, step: Step) -> None:
        what = ", ".join(step.files) if step.files else step.kind
        self._doing = f"step {number}: {what}"

    async def end(self, scheduler: Scheduler | None) -> None:
        """Wait until nothing is under way, so that books and annotations speak of the same moment."""
        self.scheduler = scheduler
        until = asyncio.get_running_loop().time() + PATIENCE_S
        while scheduler is not None and asyncio.get_running_loop().time() < until:
            if not scheduler.cache.sizes()["assumed_pods"] and not scheduler.queue.sizes()["active"]:
                break
            await asyncio.sleep(FRAME_S)

    async def _draw(self, live: Live, frame_s: float) -> None:
        while True:
            live.update(self._picture(), refresh=True)
            await asyncio.sleep(frame_s)

    def table(self, height: int | None = None) -> Table:
        """height: cropped to so many lines."""
        is_ascii = self._console.options.ascii_only
        return cards.table(self.board.cards(), self.board.without_cards(), is_ascii, height)

    def _picture(self) -> Group:
        """No higher than the screen, and none of its lines longer."""
        waiting = [cards.name_of(pod.key) for pod in self.board.pods() if not pod.spec.node_name]
        below = [
            f"{asyncio.get_running_loop().time():.1f}s  {self._doing}",
            f"placed {len(self.board.placed)}, waiting {len(waiting)}{': ' if waiting else ''}{cards.several(waiting)}",
        ]
        overflow: OverflowMethod = "crop" if self._console.options.ascii_only else "ellipsis"
        text = Text("\n".join(below), no_wrap=True, overflow=overflow)
        height = self._console.height - len(below) - 2  # an empty line above, and the cursor's below
        return Group(self.table(height), "", text) if height > 1 else Group(text)

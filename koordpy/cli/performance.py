"""A scenario played to be watched: put together, drawn from a watch of the API meanwhile, judged at its end."""

import asyncio
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import Final

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from koordpy.cli import cards
from koordpy.cli.board import Board
from koordpy.cli.embedded import make_namespaces, manifests_of
from koordpy.clock import LoopClock
from koordpy.errors import ConfigError, KoordpyError
from koordpy.framework.registry import Registry
from koordpy.scenario.embedded import EmbeddedWorld
from koordpy.scenario.files import SCENARIO
from koordpy.scenario.language import Scenario, Step, load
from koordpy.scenario.life import configured
from koordpy.scenario.runner import ScenarioFailed, needs, play
from koordpy.scenario.standins import CallBook, stand_in
from koordpy.scheduler.scheduler import Scheduler
from koordpy.virtual_time import PacedLoop, VirtualTimeLoop
from koordpy.whatif.cards import Count
from koordpy.whatif.explain import Belief
from koordpy.whatif.recount import cards_believed, differences
from koordpy_api import Problem
from koordpy_api.objects import Pod

FRAME_S: Final = 0.1
PATIENCE_S: Final = 5.0


def perform(folder: Path, seed: int, speed: float) -> bool:
    """Did all come true, and do the books agree? speed: 0 is virtual time. Raises: KoordpyError."""
    path = folder / SCENARIO
    if not path.is_file():
        right = f"no {SCENARIO} there; a checkout of koordpy has one in config/demo: pass that folder, or one of yours"
        raise ConfigError("command line", [Problem("--folder", str(folder), right)])
    scenario = load(path)
    with asyncio.Runner(loop_factory=lambda: PacedLoop(speed) if speed else VirtualTimeLoop()) as runner:
        return runner.run(_perform(scenario, folder, seed, cards.console(), speed))


async def _perform(scenario: Scenario, folder: Path, seed: int, console: Console, speed: float) -> bool:
    world = EmbeddedWorld(LoopClock(), seed)
    if missing := needs(scenario, world):
        raise KoordpyError(f"{folder / SCENARIO}: this cannot be shown; it waits for {', '.join(missing)}")
    await make_namespaces(world, manifests_of(folder))
    console.print(f"{scenario.title}\nseed {seed}\n", style="bold")
    # A terminal shows the table as it is now; everywhere else each change is a line.
    is_live = console.is_terminal and not console.is_dumb_terminal and speed > 0
    tell = (lambda line: None) if is_live else partial(console.print, soft_wrap=True)
    onlooker = _Onlooker(Board(world.without_faults(), tell), console)
    failure = ""
    with onlooker.live(FRAME_S * speed) if is_live else nullcontext():
        await onlooker.board.open()
        try:
            await play(scenario, world, folder, seed, onlooker)
        except ScenarioFailed as error:
            failure = str(error)
        finally:
            await onlooker.close()
    registry = Registry(given={name: stand_in(name, hooks, CallBook()) for name, hooks in scenario.plugins.items()})
    belief = await Belief.of(world.without_faults(), configured(scenario, registry), registry)
    agrees = _report(console, onlooker, belief)
    if failure:
        console.print(f"\n{failure}", style="red")
    return agrees and not failure


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

    def _picture(self) -> Group:
        waiting = [cards.name_of(pod.key) for pod in self.board.pods() if not pod.spec.node_name]
        below = [
            f"{asyncio.get_running_loop().time():.1f}s  {self._doing}",
            f"placed {len(self.board.placed)}, waiting {len(waiting)}{': ' if waiting else ''}{', '.join(waiting)}",
        ]
        return Group(cards.table(self.board.cards(), self.board.without_cards()), Text("\n".join(["", *below])))


def _report(console: Console, onlooker: _Onlooker, belief: Belief) -> bool:
    """What was placed where, why the others were not, and whether the books agree."""
    board = onlooker.board
    count = board.cards()
    console.print()
    cards.show(console, cards.table(count, board.without_cards()))
    pods = {pod.key: pod for pod in board.pods()}
    console.print(f"\nPlaced: {len(board.placed)}", style="bold")
    for key in sorted(board.placed.keys() & pods):
        what = cards.holding(count.held_by(key)) or pods[key].status.phase
        console.print(f"  {cards.name_of(key):<16} {pods[key].spec.node_name:<12} {what}")
    waiting = [pod for pod in pods.values() if not pod.spec.node_name]
    console.print(f"\nWaiting: {len(waiting)}", style="bold")
    for pod in waiting:
        explanation = belief.explain(pod)
        first, *others = cards.why(explanation, count) if explanation else [_not_ours(pod, belief)]
        console.print(f"  {cards.name_of(pod.key)}: {first}", soft_wrap=True)
        for line in others:
            console.print(f"    {line}", soft_wrap=True)
    return _recount(console, onlooker.scheduler, count)


def _not_ours(pod: Pod, belief: Belief) -> str:
    ours = ", ".join(framework.profile for framework in belief.frameworks)
    return f"its spec.schedulerName is {pod.spec.scheduler_name}, and nobody of that name is here; write {ours}"


def _recount(console: Console, scheduler: Scheduler | None, count: Count) -> bool:
    believed = {}
    if scheduler is not None:
        believed = cards_believed(scheduler.frameworks.values(), scheduler.cache.update_snapshot().nodes)
    wrong = differences(count, believed)
    number = sum(map(len, count.nodes.values()))
    holders = len({share.pod for cards_ in count.nodes.values() for card in cards_ for share in card.shares})
    console.print(
        f"\nRecount from the annotations: {number} cards, {holders} pods that hold some of them", style="bold"
    )
    for line in wrong:
        console.print(f"  {line}", style="red", soft_wrap=True)
    if not wrong:
        books = "the scheduler's own books say the same" if believed else "no plugin of the profile keeps books"
        console.print(f"  no card gives more than it has; {books}")
    return not wrong

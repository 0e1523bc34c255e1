"""koordpy demo articles: how many cards the articles' pods take, counted beside what the articles say.

The real scheduler places them on a cluster in this process, in virtual time; cards are counted from annotations.
"""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import Field
from rich.console import Console
from rich.table import Table

from koordpy.cli import cards
from koordpy.clock import LoopClock
from koordpy.config.load import load_whole
from koordpy.errors import ConfigError
from koordpy.framework.registry import Registry
from koordpy.scenario.embedded import EmbeddedWorld
from koordpy.scenario.language import Scenario, Step, read
from koordpy.scenario.life import configured
from koordpy.scenario.manifests import Manifests
from koordpy.scenario.parts import Part
from koordpy.scenario.runner import play
from koordpy.scheduler.scheduler import Scheduler
from koordpy.virtual_time import VirtualTimeLoop
from koordpy.whatif.cards import Count, count
from koordpy.whatif.explain import Belief, Explanation, devices_asked, listed
from koordpy.whatif.recount import cards_believed, differences
from koordpy_api import Problem
from koordpy_api.objects import Device, Pod

ARRIVE_S: Final = 60.0
SETTLE_S: Final = 10.0
MILLION: Final = 1_000_000


class Group(Part):
    """Pods that come together. cards: what the article says that they need; note: what a reader should know."""

    title: str
    pods: Manifests
    cards: int | None = None
    note: str = ""

    @property
    def names(self) -> frozenset[str]:
        return frozenset(each["metadata"]["name"] for form in self.pods for each in form.expand())


class Run(Part):
    """A cluster of its own, and its groups one after the other. article: the section."""

    article: str
    title: str
    objects: Manifests
    groups: tuple[Group, ...] = Field(strict=False)


class Runs(Part):
    """The whole file. price: of one card and year."""

    price: int
    runs: tuple[Run, ...] = Field(strict=False)


@dataclass(frozen=True, slots=True)
class Row:
    """What became of a group. asked: cards that the pods which wait ask for."""

    run: Run
    group: Group
    running: int
    waiting: int
    in_use: int
    asked: int

    @property
    def needed(self) -> int:
        return self.in_use + self.asked


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a run. reasons: what its waiting pods are told → how many are; wrong: where books disagree."""

    rows: tuple[Row, ...]
    reasons: Mapping[str, int]
    example: tuple[str, ...]
    wrong: tuple[str, ...]


def count_articles(file: Path, config: Path, seed: int) -> bool:
    """Play and print all runs. Returns: do books and annotations agree in each? Raises: KoordpyError."""
    if not file.is_file():
        right = "no such file; a checkout of koordpy has config/demo-articles/runs.yaml: pass that, or one of yours"
        raise ConfigError("command line", [Problem("--file", str(file), right)])
    written = read(Runs, file.read_text(encoding="utf-8"), str(file))
    load_whole(config, Registry())  # its mistakes are told under its own name, before anything is played
    text = config.read_text(encoding="utf-8")
    console = cards.console()
    console.print(f"Cards that the articles' pods take\nseed {seed}, profile {config}\n", style="bold")
    outcomes = []
    for run in written.runs:
        with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
            outcomes.append(runner.run(_play(run, text, seed)))
    _report(console, outcomes, written.price)
    return not any(outcome.wrong for outcome in outcomes)


# -- played ------------------------------------------------------------------------------------------------------------


class _Onlooker:
    """koordpy.scenario.runner.Onlooker: keeps the scheduler, whose books are looked at when it has ended."""

    def __init__(self) -> None:
        self.scheduler: Scheduler | None = None

    async def step(self, number: int, step: Step) -> None:
        pass

    async def end(self, scheduler: Scheduler | None) -> None:
        self.scheduler = scheduler


async def _play(run: Run, config: str, seed: int) -> Outcome:
    """config: its text."""
    world, onlooker = EmbeddedWorld(LoopClock(), seed), _Onlooker()
    scenario = _scenario(run, config)
    await play(scenario, world, Path(), seed, onlooker)
    cluster = world.without_faults()
    pods = await listed(cluster, Pod, _unread)
    counted = count(await listed(cluster, Device, _unread), pods)
    belief = await Belief.of(cluster, configured(scenario, Registry()), Registry())
    waiting = {pod.metadata.name: belief.explain(pod) for pod in pods if not pod.spec.node_name}
    reasons = Counter(_reason(pod) for pod in pods if not pod.spec.node_name)
    scheduler = onlooker.scheduler
    assert scheduler is not None, "there are objects, so there was one"
    believed = cards_believed(scheduler.frameworks.values(), scheduler.cache.update_snapshot().nodes)
    rows = tuple(_row(run, group, pods, waiting, counted) for group in run.groups)
    return Outcome(rows, reasons, _example(waiting, counted), tuple(differences(counted, believed)))


def _scenario(run: Run, config: str) -> Scenario:
    steps: list[Step] = []
    for group in run.groups:
        steps.append(Step.model_construct(apply=group.pods, over=ARRIVE_S))
        steps.append(Step.model_construct(advance=SETTLE_S))
    return Scenario.model_construct(title=run.title, objects=run.objects, kubelet=(), config=config, steps=tuple(steps))


def _row(run: Run, group: Group, pods: Sequence[Pod], waiting: Mapping[str, Explanation | None], counted: Count) -> Row:
    names = group.names
    keys = {pod.key for pod in pods if pod.metadata.name in names}
    in_use = sum(
        any(share.pod in keys for share in card.shares) for on_node in counted.nodes.values() for card in on_node
    )
    return Row(
        run,
        group,
        running=sum(pod.key in keys and pod.status.phase == "Running" for pod in pods),
        waiting=len(waiting.keys() & names),
        in_use=in_use,
        asked=sum(_asked(explained) for name, explained in waiting.items() if name in names),
    )


def _asked(explained: Explanation | None) -> int:
    """How many cards: as the refusals say it."""
    refusals = explained.nodes.values() if explained else ()
    return max((devices_asked(each).get("gpu", 0) for each in refusals if each is not None), default=0)


def _reason(pod: Pod) -> str:
    said = (each.message for each in pod.status.conditions if each.type == "PodScheduled" and each.status == "False")
    return next(said, f"nothing; its schedulerName is {pod.spec.scheduler_name}")


def _example(waiting: Mapping[str, Explanation | None], counted: Count) -> tuple[str, ...]:
    """The first Pod that waits, with the first node's cards."""
    for name, explained in waiting.items():
        if explained is not None and (node := next(iter(explained.nodes), "")):
            alone = Explanation(explained.pod, explained.settled, {node: explained.nodes[node]})
            first, *others = cards.why(alone, counted)[1:]
            return f"{name}, {first}", *others
    return ()


def _unread(kind: str, name: str, problem: Problem) -> None:
    """Nothing that was applied strictly is unreadable."""


# -- printed -----------------------------------------------------------------------------------------------------------


def _report(console: Console, outcomes: Sequence[Outcome], price: int) -> None:
    rows = [row for outcome in outcomes for row in outcome.rows]
    cards.show(console, _table(rows, price))
    console.print()
    for row in rows:
        if row.group.note:
            console.print(f"{row.run.article}, {row.group.title}: {row.group.note}", soft_wrap=True)
    for outcome in outcomes:
        for reason, number in outcome.reasons.items():
            title = outcome.rows[0].run.title
            console.print(f"\n{title}: {number} pods wait, and each is told", style="bold", soft_wrap=True)
            console.print(f"  {reason}", soft_wrap=True)
        for line in outcome.example:
            console.print(f"  {line}", soft_wrap=True)
    wrong = [line for outcome in outcomes for line in outcome.wrong]
    console.print("\nRecount from the annotations, after each run", style="bold")
    for line in wrong:
        console.print(f"  {line}", style="red", soft_wrap=True)
    if not wrong:
        console.print("  no card gives more than it has; the scheduler's own books say the same")


def _table(rows: Sequence[Row], price: int) -> Table:
    """One line per group. A year's price is that of all cards that are needed."""
    drawn = Table(box=None, pad_edge=False, header_style="bold", collapse_padding=True)
    heads = (
        "",
        "PODS ASK FOR",
        "RUN",
        "WAIT",
        "CARDS:\nARTICLE",
        "\nIN USE",
        "\nASKED",
        "MILLION/YEAR:\nARTICLE",
        "\nHERE",
    )
    for head in heads:
        drawn.add_column(head, no_wrap=True, justify="left" if head in heads[:2] else "right")
    previous = ""
    for row in rows:
        said = row.group.cards
        drawn.add_row(
            "" if row.run.article == previous else row.run.article,
            row.group.title,
            str(row.running),
            str(row.waiting),
            "" if said is None else str(said),
            str(row.in_use),
            str(row.asked) if row.asked else "",
            "" if said is None else _millions(said * price),
            _millions(row.needed * price),
        )
        previous = row.run.article
    return drawn


def _millions(amount: int) -> str:
    return f"{amount / MILLION:.2f}"

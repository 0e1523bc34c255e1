"""What is told when a scenario has been played: who was placed, why the others wait, and whether the books agree."""

from collections.abc import Sequence

from rich.console import Console

from koordpy.cli import cards
from koordpy.cli.board import Board
from koordpy.scheduler.scheduler import Scheduler
from koordpy.whatif.cards import Count, unknown_holders
from koordpy.whatif.explain import Belief
from koordpy.whatif.recount import cards_believed, differences
from koordpy_api.objects import Pod


def tell(console: Console, board: Board, belief: Belief, scheduler: Scheduler | None) -> bool:
    """Do the books agree? scheduler: whose books; None if none runs any more."""
    count = board.cards()
    console.print()
    cards.show(console, cards.table(count, board.without_cards(), console.options.ascii_only))
    pods = {pod.key: pod for pod in board.pods()}
    console.print(f"\nPlaced: {len(board.placed)}", style="bold")
    for key in sorted(board.placed.keys() & pods):
        what = cards.holding(count.held_by(key)) or pods[key].status.phase
        console.print(f"  {cards.name_of(key):<16} {pods[key].spec.node_name:<12} {what}", soft_wrap=True)
    _tell_waiting(console, [pod for pod in pods.values() if not pod.spec.node_name], belief, count)
    _tell_unknown(console, list(pods.values()), belief, count)
    return _recount(console, scheduler, count)


def _tell_waiting(console: Console, waiting: Sequence[Pod], belief: Belief, count: Count) -> None:
    """Pods of which the same is to be said are told together."""
    console.print(f"\nWaiting: {len(waiting)}", style="bold")
    alike: dict[tuple[str, ...], list[str]] = {}
    for pod in waiting:
        explanation = belief.explain(pod)
        why = cards.why(explanation, count) if explanation else [_not_ours(pod, belief)]
        alike.setdefault(tuple(why), []).append(cards.name_of(pod.key))
    for (first, *others), names in alike.items():
        console.print(f"  {cards.several(names)}: {first}", soft_wrap=True)
        for line in others:
            console.print(f"    {line}", soft_wrap=True)


def _not_ours(pod: Pod, belief: Belief) -> str:
    ours = ", ".join(framework.profile for framework in belief.frameworks)
    return f"its spec.schedulerName is {pod.spec.scheduler_name}, and nobody of that name is here; write {ours}"


def _tell_unknown(console: Console, pods: Sequence[Pod], belief: Belief, count: Count) -> None:
    """What the scheduler could not read, and who holds what nobody can count."""
    if belief.problems:
        console.print("\nNot as it should be:", style="bold")
    for kind, name, problem in dict.fromkeys(belief.problems):
        console.print(f"  {kind} {cards.name_of(name)}: {problem}", style="yellow", soft_wrap=True)
    if holders := unknown_holders(count, pods):
        console.print(f"\nHold cards nobody knows: {len(holders)}", style="bold")
        for pod in holders:
            told = "asks for cards, but no annotation says which it has; nobody counts them"
            console.print(f"  {cards.name_of(pod.key)} on {pod.spec.node_name} {told}", style="yellow", soft_wrap=True)


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
    if scheduler is None:
        books = "no scheduler runs at the end, whose books could be held against that"
    else:
        books = "the scheduler's own books say the same" if believed else "no plugin of the profile tells of cards"
    if not wrong:
        console.print(f"  no card gives more than it has; {books}")
    return not wrong

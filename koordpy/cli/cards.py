"""How cards look in a terminal: a table of who holds what, and the lines that tell why a Pod got none."""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from koordpy.whatif.cards import DIMENSIONS, CardUse, Count
from koordpy.whatif.explain import Explanation, cards_of
from koordpy_api import Status
from koordpy_api.koordinator import GPU_CORE, GPU_MEMORY, GPU_MEMORY_RATIO
from koordpy_api.quantity import format_binary

BAR: Final = 10
PLAIN_WIDTH: Final = 120
_SHORT: Final = {GPU_CORE: "core", GPU_MEMORY_RATIO: "ratio", GPU_MEMORY: "memory"}
_FULL, _IN_USE, _SICK = "red", "yellow", "dim"


def console() -> Console:
    """Colours and the terminal's own width where there is a terminal; else plain lines of a fixed width."""
    here = Console(highlight=False, markup=False, emoji=False)
    if here.is_terminal:
        return here
    return Console(highlight=False, markup=False, emoji=False, width=PLAIN_WIDTH, color_system=None)


def show(console: Console, drawn: Table) -> None:
    """Without the spaces that fill the last column where it is not a terminal that draws them."""
    if console.is_terminal:
        console.print(drawn)
        return
    with console.capture() as captured:
        console.print(drawn)
    for line in captured.get().splitlines():
        console.print(line.rstrip(), soft_wrap=True)


def table(count: Count, without_cards: Mapping[str, Sequence[str]]) -> Table:
    """A row per card; one more per node that has none. without_cards: such a node → the pods on it."""
    drawn = Table(box=None, pad_edge=False, header_style="bold")
    for head in ("NODE", "CARD", "CORE", "", "MEMORY", "HELD BY"):
        drawn.add_column(head, no_wrap=head != "HELD BY", overflow="ellipsis")
    for node, cards in count.nodes.items():
        for place, card in enumerate(cards):
            holders = ", ".join(f"{name_of(share.pod)} {_core(share.amounts)}" for share in card.shares)
            drawn.add_row("" if place else node, str(card.minor), *_gauges(card), holders)
    for node, pods in without_cards.items():
        drawn.add_row(node, "-", "", "", "", ", ".join(map(name_of, pods)))
    return drawn


def holding(held: Mapping[int, Mapping[str, int]]) -> str:
    """cards 4 5: core 100, 80Gi each; empty if it holds none."""
    if not held:
        return ""
    amounts = next(iter(held.values()))
    share = f"core {_core(amounts)}, {format_binary(amounts.get(GPU_MEMORY, 0))}"
    several = len(held) > 1
    return f"card{'s' if several else ''} {' '.join(map(str, sorted(held)))}: {share}{' each' if several else ''}"


def name_of(key: str) -> str:
    """Without the namespace that nearly everything is in."""
    return key.removeprefix("default/")


def why(explanation: Explanation, holders: Count) -> list[str]:
    """The scheduler's sentence, then the refusal of each node, with its cards where it speaks of some."""
    lines = [explanation.message or f"it fits on {', '.join(explanation.fits)} now"]
    if explanation.settled is not None:
        return [*lines, _said(explanation.settled)]
    for node, refusal in explanation.nodes.items():
        if refusal is None:
            lines.append(f"{node}: it fits there")
            continue
        lines.append(f"{node}: {_said(refusal)}")
        held = {card.minor: card for card in holders.nodes.get(node, ())}
        lines += [f"  {line}" for line in _of_cards(refusal, held)]
    return lines


def _of_cards(refusal: Status, held: Mapping[int, CardUse]) -> list[str]:
    rows = []
    for card in cards_of(refusal):
        if card.why:
            verdict = card.why
        elif short := card.short_of:
            verdict = f"too little {', '.join(_SHORT.get(name, name) for name in _told(short))}"
        else:
            verdict = "this one would do"
        use = held.get(card.minor)
        pods = ", ".join(name_of(share.pod) for share in use.shares) if use else ""
        by = f"; held by {pods or card.holders}" if card.holders else ""
        names = _told(card.asked)
        asked, free = _amounts(names, card.asked), _amounts(names, card.free)
        rows.append((f"card {card.minor}", f"asked {asked}", f"free {free}", f"{verdict}{by}"))
    return _aligned(rows)


def _said(refusal: Status) -> str:
    """plugin: reasons (what its details tell beside cards)"""
    others = [f"{key.replace('.', ' ')} {value}" for key, value in refusal.details.items() if "[" not in key]
    told = f"{refusal.message} ({', '.join(others)})" if others else refusal.message
    return f"{refusal.plugin}: {told}" if refusal.plugin else told


def _told(names: Collection[str]) -> list[str]:
    """Cards' own first. Memory is told once: in bytes where they are known, else in percent."""
    known = [each for each in DIMENSIONS if each in names and (each != GPU_MEMORY_RATIO or GPU_MEMORY not in names)]
    return [*known, *sorted(each for each in names if each not in DIMENSIONS)]


def _amounts(names: Sequence[str], amounts: Mapping[str, int]) -> str:
    return ", ".join(f"{_SHORT.get(name, name)} {_amount(name, amounts.get(name, 0))}" for name in names)


def _amount(name: str, amount: int) -> str:
    return format_binary(amount) if name == GPU_MEMORY else str(amount)


def _core(amounts: Mapping[str, int]) -> int:
    return amounts.get(GPU_CORE, 0)


def _gauges(card: CardUse) -> tuple[Text, str, str]:
    if not card.total:
        return Text("not usable", _SICK), "", ""
    used, total = card.used, card.total
    percent = _core(used) * 100 // (_core(total) or 100)
    filled = min(BAR, (percent * BAR + 99) // 100)
    style = _FULL if percent >= 100 else _IN_USE if percent else ""
    memory = f"{format_binary(used.get(GPU_MEMORY, 0))} of {format_binary(total.get(GPU_MEMORY, 0))}"
    return Text("█" * filled + "░" * (BAR - filled), style), f"{percent:3d} %", memory


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))] if rows else []
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]

"""How cards look in a terminal: a table of who holds what, and the lines that tell why a Pod got none."""

import io
import sys
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from rich.console import Console, OverflowMethod
from rich.table import Table
from rich.text import Text

from koordpy.whatif.cards import DIMENSIONS, CardUse, Count
from koordpy.whatif.explain import Explanation, cards_of, devices_asked
from koordpy_api import Status
from koordpy_api.koordinator import GPU_CORE, GPU_MEMORY, GPU_MEMORY_RATIO
from koordpy_api.quantity import format_binary

BAR: Final = 10
PLAIN_WIDTH: Final = 120
NARROWEST: Final = 72
"""Below that a terminal breaks the lines of the final table itself."""

_SHORT: Final = {GPU_CORE: "core", GPU_MEMORY_RATIO: "ratio", GPU_MEMORY: "memory"}
_FULL, _IN_USE, _SICK = "red", "yellow", "dim"


def console() -> Console:
    """Colours and the terminal's own width where there is a terminal; else plain lines of a fixed width.

    What its encoding has no character for becomes a question mark.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    here = Console(highlight=False, markup=False, emoji=False)
    if here.is_terminal:
        return here
    return Console(highlight=False, markup=False, emoji=False, width=PLAIN_WIDTH, color_system=None)


def show(console: Console, drawn: Table) -> None:
    """The whole of it; without the spaces that fill the last column where it is not a terminal that draws them."""
    if console.is_terminal:
        console.width = max(console.width, NARROWEST)
        console.print(drawn)
        return
    with console.capture() as captured:
        console.print(drawn)
    for line in captured.get().splitlines():
        console.print(line.rstrip(), soft_wrap=True)


def table(
    count: Count, without_cards: Mapping[str, Sequence[str]], is_ascii: bool = False, height: int | None = None
) -> Table:
    """A row per card; one more per node that has none.

    without_cards: such a node → the pods on it. height: no more lines than that, each of them cropped.
    """
    rows: list[tuple[str | Text, ...]] = [
        ("" if place else node, str(card.minor), *_gauges(card, is_ascii), _holders(card))
        for node, cards in count.nodes.items()
        for place, card in enumerate(cards)
    ]
    rows += [(node, "-", "", "", "", ", ".join(map(name_of, pods))) for node, pods in without_cards.items()]
    drawn = Table(box=None, pad_edge=False, header_style="bold")
    overflow: OverflowMethod = "crop" if is_ascii else "ellipsis"
    for head in ("NODE", "CARD", "CORE", "", "MEMORY", "HELD BY"):
        drawn.add_column(head, no_wrap=head != "HELD BY", overflow=overflow)  # where it is narrow, that one shrinks
    fit = len(rows) if height is None or len(rows) < height else max(height - 2, 0)
    for *gauges, holders in rows[:fit]:
        drawn.add_row(*gauges, holders if height is None else Text(str(holders), no_wrap=True, overflow=overflow))
    if left := len(rows) - fit:
        drawn.caption, drawn.caption_justify = f"and {left:,} more rows", "left"
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
        use = held.get(card.minor, CardUse(card.minor))
        pods = card.held_by or [share.pod for share in use.shares]
        by = f"; held by {', '.join(map(name_of, pods)) or card.holders}" if card.holders else ""
        names = _told(card.asked)
        asked, free = _amounts(names, card.asked), _amounts(names, card.free)
        rows.append((f"card {card.minor}", f"asks {asked}", f"free {free}", f"{verdict}{by}"))
    return _aligned(rows)


def _said(refusal: Status) -> str:
    """plugin: reasons (what its details tell beside cards)"""
    asked = devices_asked(refusal)
    told_already = {f"{kind}.asked.count" for kind in asked}
    others = [f"asks {', '.join(f'{number} {kind}' for kind, number in asked.items())}"] if asked else []
    for key, value in refusal.details.items():
        if "[" not in key and key not in told_already:
            others.append(f"{key.replace('.', ' ')} {value}")
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


def several(names: Sequence[str], most: int = 3) -> str:
    """a, b, c and 4,996 more"""
    if len(names) <= most + 1:  # one more name is as short as saying that there is one
        return ", ".join(names)
    return f"{', '.join(names[:most])} and {len(names) - most:,} more"


def _holders(card: CardUse) -> str:
    return ", ".join(f"{name_of(share.pod)} {_core(share.amounts)}" for share in card.shares)


def _core(amounts: Mapping[str, int]) -> int:
    return amounts.get(GPU_CORE, 0)


def _gauges(card: CardUse, is_ascii: bool) -> tuple[Text, str, str]:
    if not card.total:
        return Text("not usable", _SICK), "", ""
    used, total = card.used, card.total
    percent = _core(used) * 100 // (_core(total) or 100)
    filled = min(BAR, (percent * BAR + 99) // 100)
    style = _FULL if percent >= 100 else _IN_USE if percent else ""
    memory = f"{format_binary(used.get(GPU_MEMORY, 0))} of {format_binary(total.get(GPU_MEMORY, 0))}"
    full, empty = "#." if is_ascii else "█░"
    return Text(full * filled + empty * (BAR - filled), style), f"{percent:3d} %", memory


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))] if rows else []
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]

"""Filter: which nodes a Pod can run on, asked of each node or of all at once; the same answer either way.

Where a plugin has no vector shape, it is asked about each node that is still undecided. A node whose amounts no column
can hold is always asked about by itself.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from koordpy.cache.columns import Columns
from koordpy.cache.snapshot import NodeRows
from koordpy.framework.calls import PLUGIN_FAULTS, attribute, blame, illegal
from koordpy.framework.vector import Merged, checked_verdicts, without
from koordpy.framework.verdicts import Filtered, Refusals
from koordpy.telemetry.instruments import CounterCell
from koordpy_api import Code, CycleState, NodeInfo, Status
from koordpy_api.columns import Verdicts
from koordpy_api.objects import Pod


@dataclass(frozen=True, slots=True)
class FilterHooks:
    """One plugin's. at_once: None if it has no vector shape. asked: counts the nodes that it was asked about."""

    plugin: str
    each: Callable[..., Any]
    at_once: Callable[..., Any] | None
    asked: CounterCell


def filter_each(
    hooks: Sequence[FilterHooks],
    state: CycleState,
    pod: Pod,
    nodes: Sequence[NodeInfo],
    enough: int | None,
) -> Filtered | Status:
    """Each node is asked about until one plugin refuses it, and no more once `enough` fit."""
    chain = [(each.plugin, each.each) for each in hooks]
    feasible: list[NodeInfo] = []
    refusals: dict[str, Status] = {}
    plugin = ""
    try:
        for node in nodes:
            for plugin, hook in chain:  # noqa: B007 - the name of the last one asked is for the except clause
                if (answer := hook(state, pod, node)) is not None:
                    break
            else:
                feasible.append(node)
                if len(feasible) == enough:
                    break
                continue
            if not isinstance(answer, Status) or not answer.is_rejected:
                return _broken(plugin, answer)
            refusals[node.name] = answer.by(plugin)
    except PLUGIN_FAULTS as error:
        return blame(plugin, _doing(plugin), error)
    asked, refused = len(feasible) + len(refusals), Counter(status.plugin for status in refusals.values())
    for each in hooks:
        each.asked.value += asked
        asked -= refused[each.plugin]
    return Filtered(feasible, refusals)


def filter_at_once(
    hooks: Sequence[FilterHooks],
    state: CycleState,
    pod: Pod,
    nodes: NodeRows,
    enough: int | None,
) -> Filtered | Status:
    """Each plugin is asked about all nodes, until nobody is left; the first `enough` that fit are taken."""
    columns, merged, left = nodes.columns, Merged(nodes), len(nodes)
    for each in hooks:
        plugin, hook = each.plugin, each.at_once
        each.asked.value += left
        try:
            if hook is None:
                answer = _ask_each(each, state, pod, merged.feasible())
            else:
                answer = hook(state, pod, columns)
                if answer is not None and not isinstance(answer, Status):
                    answer = checked_verdicts(answer, columns)
                if columns.odd and not isinstance(answer, Status):
                    answer = _with_irregular(each, state, pod, columns, answer)
        except PLUGIN_FAULTS as error:
            return blame(plugin, _doing(plugin), error)
        if answer is None:
            continue
        if not isinstance(answer, Verdicts):
            return _broken(plugin, answer)
        merged.add(plugin, answer)
        left = merged.left
        if not left:
            break
    feasible = merged.feasible()
    if left:
        return Filtered(feasible, merged.refusals(nodes)) if enough is None else _first(enough, nodes, merged)
    refusals = merged.refusals(nodes)
    return _told(refusals) or Filtered(feasible, refusals)


def _ask_each(each: FilterHooks, state: CycleState, pod: Pod, nodes: NodeRows) -> Any:
    """Verdicts from one answer after the other; the answer itself if it is none that Filter knows."""
    hook = each.each
    codes = np.zeros(len(nodes.columns), dtype=np.uint16)
    numbers: dict[tuple[Code, tuple[str, ...]], int] = {}
    for row, node in zip(nodes.rows.tolist(), nodes, strict=True):
        if (answer := hook(state, pod, node)) is not None:
            if not isinstance(answer, Status) or not answer.is_rejected:
                return answer
            codes[row] = numbers.setdefault((answer.code, answer.reasons), len(numbers) + 1)
    return Verdicts(codes, [Status(*said) for said in numbers]) if numbers else None


def _with_irregular(each: FilterHooks, state: CycleState, pod: Pod, columns: Columns, verdicts: Verdicts | None) -> Any:
    """The same, and for the nodes that no column can hold what they are refused for one by one."""
    rows = columns.irregular
    alone = _ask_each(each, state, pod, NodeRows(columns, rows))
    if verdicts is None or (alone is not None and not isinstance(alone, Verdicts)):
        return alone
    merged = Merged(NodeRows(columns))
    merged.add("", Verdicts(without(verdicts.codes, rows), verdicts.reasons))
    if alone is not None:
        merged.add("", alone)
    return merged.verdicts()


def _first(enough: int, nodes: NodeRows, merged: Merged) -> Filtered:
    """Where fewer nodes are wanted: as if none had been looked at after the last of them."""
    columns, rows = nodes.columns, merged.feasible().rows[:enough]
    if len(rows) == enough:
        nodes = NodeRows(columns, nodes.rows[: int(np.flatnonzero(nodes.rows == rows[-1])[0]) + 1])
    return Filtered(NodeRows(columns, np.sort(rows)), merged.refusals(nodes))


def _told(refusals: Refusals) -> Status | None:
    """Every reason that counts is made, and is a refusal; or what broke."""
    plugin = ""
    try:
        for plugin, code, _ in refusals.speakers():
            status = refusals.status(code)
            if not status.is_rejected:
                return _broken(plugin, status)
    except PLUGIN_FAULTS as error:
        return blame(plugin, _doing(plugin), error)
    return None


def _broken(plugin: str, answer: Any) -> Status:
    if isinstance(answer, Status) and answer.code is Code.ERROR:
        broken: Status = attribute(plugin, _doing(plugin), answer)
        return broken
    return illegal(plugin, "Filter", answer)


def _doing(plugin: str) -> str:
    return f'running "{plugin}" filter plugin'

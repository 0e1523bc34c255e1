"""Score: how good the nodes are that fit, asked of each node or of all at once; the same answer either way."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import index
from typing import Any, Final

import numpy as np

from koordpy.cache.snapshot import NodeRows
from koordpy.framework.calls import PLUGIN_FAULTS, attribute, blame, illegal
from koordpy.framework.vector import Scores, checked_scores, places_of
from koordpy.telemetry.instruments import CounterCell
from koordpy_api import Code, CycleState, NodeInfo, Status
from koordpy_api.objects import Pod

MAX_SCORE: Final = 100
_UNSIGNED: Final = np.dtype(np.uint64)


@dataclass(frozen=True, slots=True)
class ScoreHooks:
    """One plugin's. at_once: None if it has no vector shape; normalize: None if its scores are right as they are.

    asked: counts the nodes that it was asked about.
    """

    plugin: str
    each: Callable[..., Any]
    at_once: Callable[..., Any] | None
    normalize: Callable[..., Any] | None
    weight: int
    asked: CounterCell


def score(hooks: Sequence[ScoreHooks], state: CycleState, pod: Pod, nodes: Sequence[NodeInfo]) -> Scores | Status:
    """The weighted total of every node. A Status means that a plugin broke."""
    totals: Scores | None = None
    for_all, count = 0, len(nodes)  # what is the same for all nodes is added once
    for each in hooks:
        plugin, hook, doing = each.plugin, each.normalize, "Score"
        try:
            scores = _raw(each, state, pod, nodes, count)
            if hook is not None:
                doing = "Normalize on Score"
                if (answer := hook(state, pod, scores)) is not None:
                    return not_in_place(plugin, answer)
        except PLUGIN_FAULTS as error:
            return blame(plugin, _doing(plugin, doing), error)
        highest = scores.item(scores.view(_UNSIGNED).argmax())  # as such a negative one is the highest of all
        if not 0 <= highest <= MAX_SCORE:
            return _out_of_range(plugin, scores)
        each.asked.value += count
        if scores.item(0) == highest and scores.item(scores.argmin()) == highest:
            for_all += highest * each.weight
            continue
        if each.weight != 1:
            scores *= each.weight
        if totals is None:
            totals = scores
        else:
            totals += scores
    if totals is None:
        return np.full(count, for_all, dtype=np.int64)
    if for_all:
        totals += for_all
    return totals


def _raw(each: ScoreHooks, state: CycleState, pod: Pod, nodes: Sequence[NodeInfo], count: int) -> Scores:
    """Before they are normalised. An array that may be changed."""
    if each.at_once is None or not isinstance(nodes, NodeRows):
        hook = each.each
        return np.fromiter((index(hook(state, pod, node)) for node in nodes), dtype=np.int64, count=count)
    hook, columns = each.at_once, nodes.columns
    scores = checked_scores(hook(state, pod, columns, nodes.rows), count)
    if columns.odd:
        hook = each.each
        for place, row in places_of(columns.irregular, nodes.rows):
            scores[place] = index(hook(state, pod, columns.nodes[row]))
    return scores


def not_in_place(plugin: str, answer: object) -> Status:
    """normalize_scores says something: an error of its own, as upstream's may, or scores that nobody would look at."""
    if isinstance(answer, Status) and answer.code is Code.ERROR:
        broken: Status = attribute(plugin, _doing(plugin, "Normalize on Score"), answer)
        return broken
    status = illegal(plugin, "NormalizeScore", answer)
    return Status.error(f"{status.message}: it changes scores in place (scores[:] = ...) and returns None").by(plugin)


def _doing(plugin: str, doing: str) -> str:
    return f'running {doing} plugins: plugin "{plugin}" failed with'


def _out_of_range(plugin: str, scores: Scores) -> Status:
    lowest, highest = int(scores.min()), int(scores.max())
    wrong = lowest if lowest < 0 else highest
    return Status.error(
        f'applying score defaultWeights on Score plugins: plugin "{plugin}" returns an invalid score '
        f"{wrong}, it should in the range of [0, {MAX_SCORE}] after normalizing"
    ).by(plugin)

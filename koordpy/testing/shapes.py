"""Do both shapes of a plugin say the same? Asked of each plugin of a profile, for one Pod and the nodes of columns.

`filter` and `score` decide; `filter_nodes` and `score_nodes` must follow, verdict by verdict, reason by reason, score
by score, also when they are asked again after a few nodes have changed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from koordpy.cache.columns import Columns
from koordpy.cache.snapshot import NodeRows
from koordpy.framework.calls import text_of
from koordpy.framework.runner import Framework
from koordpy.framework.vector import Scores, asks_too_much
from koordpy.framework.verdicts import Filtered
from koordpy.testing.answers import judged, legal_at, normalize, prepared, scored, scored_at_once
from koordpy_api import Code, CycleState, NodeInfo, Status
from koordpy_api.columns import Rows, Verdicts
from koordpy_api.objects import Pod

Said = tuple[Code, tuple[str, ...]] | None
"""What a refusal comes to, without its details; None: it fits."""

RAISED: Final[Said] = (Code.ERROR, ())
"""An error, whatever it says: it ends the attempt either way."""


@dataclass(frozen=True, slots=True)
class Failed:
    """filter_nodes ends the attempt: what the host would say, and what was raised, if it was."""

    why: str
    error: Exception | None = None


def check_shapes(framework: Framework, pod: Pod, columns: Columns) -> None:
    """Every plugin by itself, then the profile as the scheduling cycle asks it.

    Raises: AssertionError that names the plugin, the hook, the node and both answers.
    """
    for plugin in dict.fromkeys(name for hook in ("filter", "score") for name, _ in framework.chains[hook]):
        check_shapes_of(plugin, framework, pod, columns)
    _check_whole(framework, pod, columns)


def check_shapes_of(plugin: str, framework: Framework, pod: Pod, columns: Columns) -> None:
    """One plugin, if it has both shapes; where it refuses the Pod at PreFilter there is nothing to compare."""
    _Shapes(plugin, framework, pod, columns).check()


class _Shapes:
    def __init__(self, plugin: str, framework: Framework, pod: Pod, columns: Columns) -> None:
        self._plugin, self._framework = plugin, framework
        self._pod, self._columns, self._state = pod, columns, CycleState()

    def check(self) -> None:
        pre_filter = self._hook("pre_filter")
        answer = pre_filter(self._state, self._pod, self._columns.nodes) if pre_filter is not None else None
        answer = prepared(self._plugin, answer)
        if isinstance(answer, Status) and answer.code is not Code.SKIP:
            return
        said: list[Said] = [None] * len(self._columns)
        if not isinstance(answer, Status):
            said = self._check_filter()
        if RAISED not in said:
            rows = [row for row, each in enumerate(said) if each is None]
            self._check_score(rows)
            self._check_score(rows[::2])

    def _check_filter(self) -> list[Said]:
        each, at_once = self._hook("filter"), self._hook("filter_nodes")
        if each is None:
            return [None] * len(self._columns)
        is_asked = at_once is not None and not asks_too_much(self._pod)
        first = self._all_said(at_once) if at_once is not None and is_asked else []
        said = [self._said(each, node) for node in self._columns.nodes]
        if at_once is not None and is_asked:
            self._compare_said(first, said, "")
            self._compare_said(self._all_said(at_once), said, " the second time")
        return said

    def _compare_said(self, vector: list[Said] | Failed, said: list[Said], time: str) -> None:
        if isinstance(vector, Failed):
            if RAISED not in said:
                what = f"{self._plugin}: filter_nodes fails{time}, where filter does not: {vector.why}"
                raise AssertionError(what) from vector.error
            return
        for row in self._regular():
            name = self._columns.nodes[row].name
            assert vector[row] == said[row], (
                f"{self._plugin}: of node {name} filter_nodes says {vector[row]}{time}, and filter {said[row]}"
            )

    def _all_said(self, at_once: Callable[..., Any]) -> list[Said] | Failed:
        try:
            answer = at_once(self._state, self._pod, self._columns)
        except Exception as error:  # noqa: BLE001 - whatever it is, `filter` has to raise, too
            return Failed(text_of(error), error)
        verdicts = judged(self._plugin, answer, self._columns)
        if isinstance(verdicts, Status):
            return Failed(verdicts.message)
        return [None] * len(self._columns) if verdicts is None else self._told(verdicts)

    def _told(self, verdicts: Verdicts) -> list[Said] | Failed:
        used: dict[int, Status] = {}
        try:
            for code in np.unique(verdicts.codes).tolist():
                if code:
                    used[code] = verdicts.reasons[code - 1]
        except Exception as error:  # noqa: BLE001 - a reason may be made when it is asked for
            return Failed(text_of(error), error)
        for status in used.values():
            assert isinstance(status, Status) and status.is_rejected, (
                f"{self._plugin}: {status!r} among the reasons of filter_nodes is no refusal"
            )
        return [(used[code].code, used[code].reasons) if code else None for code in verdicts.codes.tolist()]

    def _said(self, each: Callable[..., Any], node: NodeInfo) -> Said:
        try:
            answer = each(self._state, self._pod, node)
        except Exception:  # noqa: BLE001 - it ends the attempt, whatever it is
            return RAISED
        status = legal_at(self._plugin, "Filter", answer)
        if status is None:
            return None
        return (status.code, status.reasons) if status.code is not Code.ERROR else RAISED

    def _check_score(self, places: Sequence[int]) -> None:
        each, at_once = self._hook("score"), self._hook("score_nodes")
        if each is None or at_once is None or not places or asks_too_much(self._pod):
            return
        rows = np.array(places, dtype=np.intp)
        rows.flags.writeable = False
        nodes, pre_score = NodeRows(self._columns, rows), self._hook("pre_score")
        if pre_score is not None and pre_score(self._state, self._pod, nodes) is not None:
            return
        one_by_one = scored(self._plugin, each, self._state, self._pod, nodes)
        self._compare("score", places, self._raw(at_once, rows), one_by_one)
        vector = self._raw(at_once, rows)
        for scores in (one_by_one, vector):
            self._normalize(scores)
        self._compare("score, normalised,", places, vector, one_by_one)
        again = self._raw(at_once, rows)  # a plugin that hands out what it keeps has let somebody write into it
        self._normalize(again)
        self._compare("score, normalised before,", places, again, one_by_one)

    def _raw(self, at_once: Callable[..., Any], rows: Rows) -> Scores:
        return scored_at_once(self._plugin, at_once(self._state, self._pod, self._columns, rows), len(rows))

    def _normalize(self, scores: Scores) -> None:
        normalize(self._plugin, self._hook("normalize_scores"), self._state, self._pod, scores)

    def _compare(self, what: str, places: Sequence[int], vector: Scores, one_by_one: Scores) -> None:
        regular = set(self._regular())
        for place, row in enumerate(places):
            name = self._columns.nodes[row].name
            assert row not in regular or vector[place] == one_by_one[place], (
                f"{self._plugin}: the {what} of node {name} is {vector[place]} by score_nodes, "
                f"{one_by_one[place]} by score"
            )

    def _regular(self) -> list[int]:
        """The host asks about the others one by one."""
        return sorted(set(range(len(self._columns))) - set(self._columns.irregular.tolist()))

    def _hook(self, hook: str) -> Callable[..., Any] | None:
        return dict(self._framework.chains[hook]).get(self._plugin)


def _check_whole(framework: Framework, pod: Pod, columns: Columns) -> None:
    """All plugins together, as the cycle asks them."""
    outcomes = [_outcome(framework, pod, nodes) for nodes in (list(columns.nodes), NodeRows(columns))]
    assert outcomes[0] == outcomes[1], f"asked one by one {outcomes[0]}, all at once {outcomes[1]}"


def _outcome(framework: Framework, pod: Pod, nodes: Sequence[NodeInfo]) -> object:
    state = CycleState()
    candidates = framework.run_pre_filter(state, pod, nodes)
    if isinstance(candidates, Status):
        return candidates
    filtered = framework.run_filter(state, pod, candidates.nodes)
    if not isinstance(filtered, Filtered):
        return filtered.code
    refusals = {name: (status.code, status.reasons, status.plugin) for name, status in filtered.refusals.items()}
    names = [node.name for node in filtered.feasible]
    if not names:
        return names, refusals
    totals = framework.run_score(state, pod, filtered.feasible)
    return names, refusals, totals.code if isinstance(totals, Status) else totals.tolist()

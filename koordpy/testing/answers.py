"""What the host would make of a plugin's answer: where that is an error, it fails here, in the host's words."""

from collections.abc import Callable, Sequence
from operator import index
from typing import Any

import numpy as np

from koordpy.framework.calls import illegal, is_refusal_or_error
from koordpy.framework.scoring import not_in_place
from koordpy.framework.vector import BadAnswer, Scores, checked_scores, checked_verdicts
from koordpy_api import Code, CycleState, NodeInfo, PreFilterResult, Status
from koordpy_api.columns import Verdicts
from koordpy_api.objects import Pod


def legal_at(plugin: str, point: str, answer: object) -> Status | None:
    """Where a plugin accepts with None and otherwise refuses, or says what is broken. Raises: AssertionError."""
    if answer is None:
        return None
    if not isinstance(answer, Status) or not is_refusal_or_error(answer):
        raise AssertionError(illegal(plugin, point, answer).message)
    return answer


def prepared(plugin: str, answer: object) -> PreFilterResult | Status | None:
    """At PreFilter. Raises: AssertionError."""
    match answer:
        case PreFilterResult(frozenset() | set()) | Status(code=Code.SKIP):
            return answer
    return legal_at(plugin, "PreFilter", answer)


def judged(plugin: str, answer: object, columns: Any) -> Verdicts | Status | None:
    """By filter_nodes; a Status says what is broken. Raises: AssertionError."""
    if isinstance(answer, Status):
        if answer.code is not Code.ERROR:
            raise AssertionError(illegal(plugin, "Filter", answer).message)
        return answer
    try:
        return checked_verdicts(answer, columns)
    except BadAnswer as error:
        raise AssertionError(f"{plugin}: {error}") from error


def scored(plugin: str, hook: Callable[..., Any], state: CycleState, pod: Pod, nodes: Sequence[NodeInfo]) -> Scores:
    """By score, of each. Raises: AssertionError, or what the hook raises."""
    return np.array([_score(plugin, node, hook(state, pod, node)) for node in nodes], dtype=np.int64)


def scored_at_once(plugin: str, answer: object, count: int) -> Scores:
    """By score_nodes. Raises: AssertionError."""
    try:
        return checked_scores(answer, count)
    except BadAnswer as error:
        raise AssertionError(f"{plugin}: {error}") from error


def normalize(plugin: str, hook: Callable[..., Any] | None, state: CycleState, pod: Pod, scores: Scores) -> None:
    """In place, if the plugin wants to. Raises: AssertionError, or what the hook raises."""
    answer = None if hook is None else hook(state, pod, scores)
    if answer is not None:
        raise AssertionError(not_in_place(plugin, answer).message)


def _score(plugin: str, node: NodeInfo, answer: object) -> int:
    try:
        return index(answer)  # type: ignore[arg-type]  # which is what is asked here
    except TypeError as error:
        raise AssertionError(
            f"{plugin}: score answers {answer!r} of node {node.name}; an integer is wanted, not {type(answer).__name__}"
        ) from error

"""The extension points as data: their names in YAML, the hook behind each, and whether it may await."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Point:
    """One extension point.

    name: as in YAML. hook: the hook it calls. companion: a hook that only means something beside it.
    """

    name: str
    hook: str
    companion: str = ""
    may_await: bool = False


POINTS: Final = (
    Point("queueSort", "queue_sort"),
    Point("preFilter", "pre_filter"),
    Point("filter", "filter"),
    Point("preScore", "pre_score"),
    Point("score", "score", companion="normalize_scores"),
    Point("reserve", "reserve", companion="unreserve"),
    Point("preBind", "pre_bind", may_await=True),
    Point("bind", "bind", may_await=True),
)

EVENT_HOOKS: Final = ("pod_added", "pod_updated", "pod_removed", "node_updated")
"""Hooks that tell a plugin something and ask nothing; no profile orders or disables them by point."""

ALL_HOOKS: Final = (
    *(point.hook for point in POINTS),
    *(point.companion for point in POINTS if point.companion),
    *EVENT_HOOKS,
)
AWAITABLE_HOOKS: Final = frozenset(point.hook for point in POINTS if point.may_await)

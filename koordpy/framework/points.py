"""The extension points as data: their names in YAML, the hook behind each, how often it is asked, whether it may await.

The one table of points: the build, the command line and docs/plugins.md read it.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Point:
    """One extension point.

    name: as in YAML. hook: the hook it calls. companions: hooks that only mean something beside it.
    other: a hook that a plugin may have here instead. per_node: is it called once per node, or once a Pod?
    at_once: the companion that is asked of all nodes instead of it.
    """

    name: str
    hook: str
    companions: tuple[str, ...] = ()
    other: str = ""
    per_node: bool = False
    may_await: bool = False
    at_once: str = ""

    @property
    def hooks(self) -> tuple[str, ...]:
        return tuple(filter(None, (self.hook, self.at_once, *self.companions, self.other)))


POINTS: Final = (
    Point("preEnqueue", "pre_enqueue"),
    Point("queueSort", "queue_sort"),
    Point("preFilter", "pre_filter", companions=("add_pod", "remove_pod")),
    Point("filter", "filter", per_node=True, at_once="filter_nodes"),
    Point("postFilter", "post_filter"),
    Point("preScore", "pre_score"),
    Point("score", "score", companions=("normalize_scores",), per_node=True, at_once="score_nodes"),
    Point("reserve", "reserve", other="unreserve"),
    Point("permit", "permit"),
    Point("preBind", "pre_bind", may_await=True),
    Point("bind", "bind", may_await=True),
    Point("postBind", "post_bind", may_await=True),
)
"""In the order in which a Pod meets them."""

EVENT_HOOKS: Final = ("pod_refused", "pod_added", "pod_updated", "pod_removed", "node_updated")
"""Hooks that tell a plugin something and ask nothing; no profile orders or disables them by point."""

REGISTRATION_HOOK: Final = "events_to_register"
"""Asked once, while the profile is built."""

OBJECT_HOOKS: Final = ("check", "audit", "recount")
"""Asked of every plugin about objects, outside of any attempt."""

ALL_HOOKS: Final = (
    *(hook for point in POINTS for hook in point.hooks),
    *EVENT_HOOKS,
    *OBJECT_HOOKS,
    REGISTRATION_HOOK,
)
AWAITABLE_HOOKS: Final = frozenset(point.hook for point in POINTS if point.may_await)
REFUSING_POINTS: Final = ("preEnqueue", "preFilter", "filter", "reserve", "permit")
"""Where a plugin can refuse a Pod that an event may help later."""

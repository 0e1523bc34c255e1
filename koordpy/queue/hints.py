"""Which cluster event may help which refused pod. Source: pkg/scheduler/backend/queue (isPodWorthRequeuing)."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final, Protocol

from koordpy.errors import PLUGIN_FAULTS
from koordpy.queue.pod_info import QueuedPodInfo
from koordpy_api import ClusterEvent, QueueingHint
from koordpy_api.events import HintFunction
from koordpy_api.objects import KubeObject

logger = logging.getLogger("koordpy.queue")


class Registered(Protocol):
    """After `event`, a pod that `plugin` refused may be worth another attempt. Without a hint, it always is."""

    @property
    def plugin(self) -> str: ...

    @property
    def event(self) -> ClusterEvent: ...

    @property
    def hint(self) -> HintFunction | None: ...


class QueueMeter(Protocol):
    """What the queue counts, for whoever shows it."""

    def incoming(self, queue: str, event: str) -> None:
        """A pod came to one of active, backoff, unschedulable, because of this."""
        ...

    def hint_asked(self, plugin: str, event: str, hint: str, seconds: float) -> None:
        """A hint answered Queue, QueueSkip or Error."""
        ...

    def event_handled(self, event: str, seconds: float) -> None:
        """So long it took to find whom an event may help."""
        ...


class NoMeter:
    """Nobody counts."""

    def incoming(self, queue: str, event: str) -> None:
        pass

    def hint_asked(self, plugin: str, event: str, hint: str, seconds: float) -> None:
        pass

    def event_handled(self, event: str, seconds: float) -> None:
        pass


class Worth(Enum):
    """Is another attempt worth while?"""

    NO = auto()
    AFTER_BACKOFF = auto()
    AT_ONCE = auto()


Asked = tuple[tuple[str, HintFunction | None], ...]


@dataclass(frozen=True, slots=True)
class Concern:
    """What one event means. asked: profile → (plugin, hint) of the registrations that match. plugins: profile → who."""

    label: str
    asked: Mapping[str, Asked]
    plugins: Mapping[str, frozenset[str]]


_NOBODY: Final = frozenset[str]()


class Hints:
    """by_profile: what the plugins of each profile are registered for; a profile that is not there is always woken.

    now: seconds, for how long a hint took.
    """

    def __init__(
        self,
        by_profile: Mapping[str, Sequence[Registered]] | None = None,
        now: Callable[[], float] = lambda: 0.0,
        meter: QueueMeter = NoMeter(),
    ) -> None:
        self._by_profile = by_profile
        self._now = now
        self._meter = meter
        self._concerns: dict[ClusterEvent, Concern | None] = {}
        self._complained: set[str] = set()

    def concern(self, event: ClusterEvent) -> Concern | None:
        """Who wants to hear of it; None if nobody does."""
        if event not in self._concerns:
            self._concerns[event] = self._find(event)
        return self._concerns[event]

    def may_help(self, queued: QueuedPodInfo, concern: Concern) -> bool:
        """A quick answer for most pods: is anybody of those that refused it registered for the event?"""
        if self._by_profile is None:
            return True
        plugins = concern.plugins.get(queued.profile, _NOBODY)
        return queued.gated_by in plugins if queued.gated_by else not plugins.isdisjoint(queued.refused_by)

    def worth(self, queued: QueuedPodInfo, concern: Concern, old: KubeObject | None, new: KubeObject | None) -> Worth:
        """Ask the hints of the plugins that refused the pod, until the answer is settled."""
        if self._by_profile is None or not queued.refused_by:
            return Worth.AFTER_BACKOFF
        refused_by = frozenset((queued.gated_by,)) if queued.gated_by else queued.refused_by
        found = Worth.NO
        for plugin, hint in concern.asked.get(queued.profile, ()):
            is_pending = plugin in queued.pending
            if plugin not in refused_by or (found is Worth.AFTER_BACKOFF and not is_pending):
                continue
            if hint is None or self._ask(plugin, hint, queued, concern, old, new):
                if is_pending:
                    return Worth.AT_ONCE
                if not queued.pending:
                    return Worth.AFTER_BACKOFF
                found = Worth.AFTER_BACKOFF
        return found

    def _ask(
        self,
        plugin: str,
        hint: HintFunction,
        queued: QueuedPodInfo,
        concern: Concern,
        old: KubeObject | None,
        new: KubeObject | None,
    ) -> bool:
        """A hint that breaks, or answers anything else, says nothing against an attempt."""
        began = self._now()
        try:
            answer = hint(queued.pod, old, new)
            if not isinstance(answer, QueueingHint):
                raise TypeError(f"{answer!r} is no QueueingHint")
            said = "Queue" if answer is QueueingHint.QUEUE else "QueueSkip"
        except PLUGIN_FAULTS:
            first = plugin not in self._complained
            self._complained.add(plugin)
            logger.error("plugin %s failed in its hint for %s", plugin, concern.label, exc_info=first)
            said = "Error"
        self._meter.hint_asked(plugin, concern.label, said, self._now() - began)
        return said != "QueueSkip"

    def _find(self, event: ClusterEvent) -> Concern | None:
        asked = {
            profile: tuple((each.plugin, each.hint) for each in registered if each.event.covers(event))
            for profile, registered in (self._by_profile or {}).items()
        }
        if self._by_profile is not None and not any(asked.values()):
            return None
        plugins = {profile: frozenset(plugin for plugin, _ in some) for profile, some in asked.items()}
        return Concern(str(event), asked, plugins)

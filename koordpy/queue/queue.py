"""SchedulingQueue: who is tried next.

    add ──▶ active ──pop──▶ in flight ──done──▶ (gone)
              ▲                │
              │ time is up     ├──add_back──▶ backing off  ◀──┐ something happened that may help,
              └────────────────│──────────────────┘           │ or five minutes passed
                               └──add_back──▶ unschedulable ──┘

On each way to active a plugin may gate the pod: it then waits aside until something happens for which that plugin is
registered, and is asked again. What happens while a pod is in flight counts for it when it comes back.
Source: pkg/scheduler/backend/queue (scheduling_queue.go).
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Final

from koordpy.clock import Clock
from koordpy.queue.backoff import Backoff, BackoffQueue
from koordpy.queue.changes import pod_events
from koordpy.queue.heap import PodHeap
from koordpy.queue.hints import Hints, NoMeter, QueueMeter, Worth
from koordpy.queue.inflight import Happening, InFlight
from koordpy.queue.pod_info import NOBODY, QueuedPodInfo
from koordpy_api import ClusterEvent, Code, QueuedPod, SortKey, Status
from koordpy_api.objects import KubeObject, Pod

MAX_IN_UNSCHEDULABLE_S: Final = 300.0

# Why a pod moves, beside the cluster's events; upstream's labels.
ADDED: Final = "UnschedulablePodAdd"
BACKOFF_OVER: Final = "BackoffComplete"
POPPED_EARLY: Final = "PopFromBackoffQ"
FLUSHED: Final = "UnschedulableTimeout"
ACTIVATED: Final = "ForceActivate"
FAILED: Final = "ScheduleAttemptFailure"

Gate = Callable[[Pod, str], Status | None]
"""Why this pod must not be tried now, if there is a reason. The plugin of the second argument is asked first."""


class SchedulingQueue:
    """One per scheduler; all pods of its profiles."""

    def __init__(
        self,
        sort_key: Callable[[QueuedPod], SortKey],
        clock: Clock,
        backoff: Backoff,
        gate: Gate = lambda pod, first: None,
        hints: Hints | None = None,
        meter: QueueMeter = NoMeter(),
    ) -> None:
        self._sort_key = sort_key
        self._clock = clock
        self._gate = gate
        self._hints = hints or Hints()
        self._meter = meter
        self._work = asyncio.Event()
        self._active = PodHeap()
        self._backoff = BackoffQueue(backoff, sort_key)
        self._unschedulable: dict[str, QueuedPodInfo] = {}  # in the order of their queued_at
        self._gated: dict[str, QueuedPodInfo] = {}
        self._in_flight = InFlight()
        self._refusals: Counter[tuple[str, str]] = Counter()

    # -- reading -----------------------------------------------------------------------------------------------------

    def sizes(self) -> dict[str, int]:
        """By the names of scheduler_pending_pods."""
        return {
            "active": len(self._active),
            "backoff": len(self._backoff),
            "unschedulable": len(self._unschedulable),
            "gated": len(self._gated),
        }

    def is_in_flight(self, uid: str) -> bool:
        return self._in_flight.get(uid) is not None

    def pods(self) -> Iterator[tuple[str, Pod]]:
        """(place, pod) of every pod, for whoever checks that none is in two places."""
        places: Mapping[str, Iterable[QueuedPodInfo]] = {
            "active": self._active,
            "backoff": self._backoff,
            "unschedulable": self._unschedulable.values(),
            "gated": self._gated.values(),
            "in flight": self._in_flight,
        }
        return ((place, queued.pod) for place, some in places.items() for queued in some)

    def inflight_events(self) -> Mapping[str, int]:
        """By the labels of scheduler_inflight_events."""
        return self._in_flight.counts()

    def rejected_by(self) -> Mapping[tuple[str, str], int]:
        """(plugin, profile) → how many pods that are not in flight it refused or gates."""
        return self._refusals

    # -- what the informers say --------------------------------------------------------------------------------------

    def add(self, pod: Pod) -> None:
        """A pod that nobody has tried yet, or a newer version of one that waits."""
        uid = pod.uid
        if (queued := self._in_flight.get(uid)) is not None:
            before, queued.pod = queued.pod, pod
            for event in pod_events(before, pod):
                self._record(event, before, pod)
        elif (queued := self._active.get(uid)) is not None:
            queued.pod = pod
            self._active.push(self._sort_key(queued.view()), queued)
        elif (queued := self._backoff.get(uid)) is not None:
            queued.pod = pod
            self._backoff.add(queued)
        elif (queued := self._unschedulable.get(uid) or self._gated.get(uid)) is not None:
            before, queued.pod = queued.pod, pod
            self._updated(queued, before)
        else:
            now = self._clock.monotonic()
            self._activate(QueuedPodInfo(pod, now, now), ADDED)

    def delete(self, uid: str) -> None:
        """The pod is gone, or no longer ours to schedule. One in flight will not be queued again."""
        removed = self._active.remove(uid) or self._backoff.remove(uid)
        removed = removed or self._unschedulable.pop(uid, None) or self._gated.pop(uid, None)
        if removed is not None:
            self._blame(removed, NOBODY)
        self._in_flight.end(uid)

    def happened(
        self,
        event: ClusterEvent,
        old: KubeObject | None,
        new: KubeObject | None,
        allow: Callable[[Pod], bool] | None = None,
    ) -> None:
        """Something changed in the cluster: whom it may help is tried again, within his back-off.

        old, new: the object before and after it. allow: the pods for which it counts; all if it is None.
        """
        if (concern := self._hints.concern(event)) is None:
            return
        began = self._clock.monotonic()
        # All before any is moved: one that is gated now has been asked about.
        waiting = chain(self._unschedulable.values(), self._gated.values())
        for queued in [each for each in waiting if self._hints.may_help(each, concern)]:
            if allow is None or allow(queued.pod):
                self._requeue(queued, self._hints.worth(queued, concern, old, new), concern.label)
        self._in_flight.record(Happening(concern, concern.label, old, new))
        self._meter.event_handled(concern.label, self._clock.monotonic() - began)

    def activate(self, uids: Iterable[str]) -> None:
        """These pods are to be tried now, whatever their back-off; one in flight as soon as it is back."""
        for uid in uids:
            if (queued := self._backoff.remove(uid)) is not None:
                self._push_active(queued, ACTIVATED)
            elif (queued := self._unschedulable.get(uid) or self._gated.get(uid)) is not None:
                self._activate(queued, ACTIVATED)
            elif self.is_in_flight(uid):
                self._in_flight.record(Happening(None, ACTIVATED, only=uid))

    # -- the loop ----------------------------------------------------------------------------------------------------

    async def pop(self) -> QueuedPodInfo:
        """The next pod, as soon as there is one. It is in flight until done or add_back."""
        while True:
            wait_s = self._move_ready()
            if (queued := self._active.pop()) is None and (queued := self._backoff.pop_early()) is not None:
                self._meter.incoming("active", POPPED_EARLY)
            if queued is not None:
                queued.attempts += 1
                self._blame(queued, NOBODY)
                queued.pending = NOBODY
                self._in_flight.begin(queued)
                return queued
            self._work.clear()
            try:
                async with asyncio.timeout(wait_s):
                    await self._work.wait()
            except TimeoutError:
                pass

    def done(self, uid: str) -> None:
        """The attempt ended and the pod need not be queued again."""
        self._in_flight.end(uid)

    def add_back(
        self, queued: QueuedPodInfo, refused_by: frozenset[str] = NOBODY, pending: frozenset[str] = NOBODY
    ) -> bool:
        """After a failed attempt. refused_by: the plugins that said no; nobody if something broke.

        pending: those of them that will wake the pod themselves.
        Returns whether it was queued: not if it was deleted or bound meanwhile.
        """
        if (missed := self._in_flight.end(queued.pod.uid)) is None:
            return False
        queued.queued_at = self._clock.monotonic()
        queued.was_flushed = False
        if refused_by:
            queued.failures, queued.errors = queued.failures + 1, 0
        else:
            queued.errors += 1
        self._blame(queued, refused_by)
        queued.pending = pending
        worth = self._worth_after(queued, missed)
        if worth is Worth.NO:
            self._unschedulable[queued.pod.uid] = queued
            self._meter.incoming("unschedulable", FAILED)
        else:
            self._requeue(queued, worth, FAILED)
        return True

    # -- inside ------------------------------------------------------------------------------------------------------

    def _record(self, event: ClusterEvent, old: Pod, new: Pod) -> None:
        if (concern := self._hints.concern(event)) is not None:
            self._in_flight.record(Happening(concern, concern.label, old, new))

    def _updated(self, queued: QueuedPodInfo, before: Pod) -> None:
        """A pod that waits for something to happen changed itself; that may be it."""
        for event in pod_events(before, queued.pod):
            concern = self._hints.concern(event)
            if concern is not None and self._hints.may_help(queued, concern):
                self._requeue(queued, self._hints.worth(queued, concern, before, queued.pod), concern.label)
            if queued.pod.uid not in self._unschedulable and queued.pod.uid not in self._gated:
                return

    def _worth_after(self, queued: QueuedPodInfo, missed: Iterable[Happening]) -> Worth:
        """Is another attempt worth while, after what happened during the last one?

        Of several events, each may say that it alone was not what helped, and together they may have been.
        """
        if not queued.refused_by:
            return Worth.AFTER_BACKOFF
        found, asked = Worth.NO, 0
        for each in missed:
            if each.concern is None:
                worth = Worth.AFTER_BACKOFF if each.only == queued.pod.uid else Worth.NO
            elif self._hints.may_help(queued, each.concern):
                worth, asked = self._hints.worth(queued, each.concern, each.old, each.new), asked + 1
            else:
                continue
            if worth is Worth.AT_ONCE:
                return worth
            found = worth if found is Worth.NO else found
            if found is Worth.AFTER_BACKOFF and not queued.pending:
                return found
        return Worth.AFTER_BACKOFF if asked > 1 else found

    def _requeue(self, queued: QueuedPodInfo, worth: Worth, label: str) -> None:
        if worth is Worth.NO:
            return
        if worth is Worth.AT_ONCE or self._backoff.ready_at(queued) <= self._clock.monotonic():
            self._activate(queued, label)
        elif not self._is_gated(queued, label):
            self._backoff.add(queued)
            self._meter.incoming("backoff", label)
            self._work.set()

    def _activate(self, queued: QueuedPodInfo, label: str) -> None:
        """To the active pods, unless it is gated."""
        if not self._is_gated(queued, label):
            self._push_active(queued, label)

    def _is_gated(self, queued: QueuedPodInfo, label: str) -> bool:
        """Ask; one that is gated is nowhere else, and one that is not waits for nothing any more."""
        uid = queued.pod.uid
        answer = self._gate(queued.pod, queued.gated_by)
        self._unschedulable.pop(uid, None)
        if answer is None:
            self._gated.pop(uid, None)
            queued.gated_by = ""
            return False
        queued.gated_by = answer.plugin
        self._blame(queued, queued.refused_by | {answer.plugin})
        if answer.code is Code.ERROR:  # no event may ever mend a plugin that breaks: ask again in five minutes
            self._gated.pop(uid, None)
            queued.queued_at = self._clock.monotonic()
            self._unschedulable[uid] = queued
            self._work.set()
        elif uid not in self._gated:
            self._gated[uid] = queued
        else:
            return True
        self._meter.incoming("unschedulable", label)
        return True

    def _push_active(self, queued: QueuedPodInfo, label: str) -> None:
        if queued.first_attempt_at is None:
            queued.first_attempt_at = self._clock.monotonic()
        self._active.push(self._sort_key(queued.view()), queued)
        self._meter.incoming("active", label)
        self._work.set()

    def _blame(self, queued: QueuedPodInfo, refused_by: frozenset[str]) -> None:
        """Count who refused it now, instead of who did before."""
        for plugin in queued.refused_by - refused_by:
            key = plugin, queued.profile
            self._refusals[key] -= 1
            if not self._refusals[key]:
                del self._refusals[key]
        for plugin in refused_by - queued.refused_by:
            self._refusals[plugin, queued.profile] += 1
        queued.refused_by = refused_by

    def _move_ready(self) -> float | None:
        """Move every pod whose time has come to the active ones; how long until the next one, if any."""
        now = self._clock.monotonic()
        while (queued := self._backoff.pop_ready(now)) is not None:
            self._push_active(queued, BACKOFF_OVER)
        while (leftover := next(iter(self._unschedulable.values()), None)) is not None:
            if leftover.queued_at + MAX_IN_UNSCHEDULABLE_S > now:
                break
            leftover.was_flushed = True
            self._requeue(leftover, Worth.AFTER_BACKOFF, FLUSHED)
        times = [] if (ready_at := self._backoff.next_ready()) is None else [ready_at]
        if leftover is not None:
            times.append(leftover.queued_at + MAX_IN_UNSCHEDULABLE_S)
        return max(min(times) - now, 0.0) if times else None

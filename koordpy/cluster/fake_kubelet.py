"""The kubelets of all nodes, as far as the API server sees them: bound Pods run, end, and go when they are deleted.

A client of any Cluster. How long a Pod runs its annotations say, or a Rule; else it runs until it is deleted.
Nothing is started, so nothing is restarted either: restartPolicy makes no difference.
"""

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from random import Random
from typing import Any, Final

import msgspec

from koordpy.clock import Clock
from koordpy.cluster.informer import Informer
from koordpy.cluster.protocol import Cluster, Selection
from koordpy.cluster.reflector import Backoff
from koordpy.errors import ApiError, Unreachable
from koordpy_api.objects import Node, Pod
from koordpy_api.objects.pod import PodStatus
from koordpy_api.selectors import parse_label_selector, selects

logger = logging.getLogger("koordpy.cluster")
Document = dict[str, Any]
_report: Final = partial(logger.warning, "fake kubelet: %s %s: %s")

# Annotations, as 30s or 1h30m: until it has succeeded, until it has failed, and for how long it stops when deleted.
# One that is no such time, or a very long one, counts as absent, and a warning says so.
RUNS_FOR: Final = "koordpy.dev/runs-for"
FAILS_AFTER: Final = "koordpy.dev/fails-after"
STOPS_IN: Final = "koordpy.dev/stops-in"
_LENGTH: Final = re.compile(r"(\d+(?:\.\d*)?)(ms|h|m|s)")
_LONGEST_S: Final = 100 * 365 * 24 * 3600.0
_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass(frozen=True, slots=True)
class Rule:
    """What becomes of Pods that a label selector selects. The first that fits counts, and annotations before all."""

    labels: str = ""
    runs_for_s: float | None = None
    fails_after_s: float | None = None
    stops_in_s: float | None = None


class _Status(PodStatus, frozen=True):
    start_time: str = ""


class _Pod(Pod, frozen=True):
    status: _Status = msgspec.field(default_factory=_Status)


class FakeKubelet:
    """`run` is the kubelet of every node that exists; a Pod whose node is gone stays as it is."""

    def __init__(self, cluster: Cluster, clock: Clock, rng: Random, rules: Sequence[Rule] = ()) -> None:
        self._cluster, self._clock, self._rng = cluster, clock, rng
        self._rules = [(parse_label_selector(rule.labels), rule) for rule in rules]
        self._nodes = Informer(cluster, Node, _report, rng)
        self._pods = Informer(cluster, _Pod, _report, rng, Selection(fields="spec.nodeName!="))
        self._nodes.add_handler(self)
        self._pods.add_handler(self)
        # UID → the reason for what is being done about a Pod, and the doing.
        self._doing: dict[str, tuple[Rule | str, asyncio.Task[None]]] = {}
        self._addresses: dict[str, str] = {}
        self._warned: dict[str, set[tuple[str, str]]] = {}

    async def run(self) -> None:
        """Never returns; cancel it. Once for each FakeKubelet."""
        async with asyncio.TaskGroup() as self._group:
            self._group.create_task(self._nodes.run())
            await self._nodes.synced.wait()
            await self._pods.run()

    def added(self, obj: Node | _Pod) -> None:
        """The informers', as the two below."""
        if isinstance(obj, Node):
            for pod in [each for each in self._pods.objects.values() if each.spec.node_name == obj.metadata.name]:
                self.added(pod)
        elif self._nodes.get(obj.spec.node_name) is not None:
            plan = self._plan(obj)
            if deleted := obj.metadata.deletion_timestamp:
                self._do(obj, deleted, partial(self._stop, obj, plan.stops_in_s or 0.0))
            elif not obj.is_terminated:
                self._do(obj, plan, partial(self._live, obj, plan))

    def updated(self, old: Node | _Pod, new: Node | _Pod) -> None:
        if not isinstance(new, Node):
            self.added(new)

    def deleted(self, obj: Node | _Pod) -> None:
        """That a node is gone is found out when something is to be done about one of its Pods."""
        self._warned.pop(obj.metadata.uid, None)
        self._leave(obj.metadata.uid)

    def _do(self, pod: _Pod, why: Rule | str, act: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Instead of what was done about it before, unless that had the same reason."""
        if pod.uid not in self._doing or self._doing[pod.uid][0] != why:
            self._leave(pod.uid)
            self._doing[pod.uid] = why, self._group.create_task(_alone(pod, act), name=f"pod {pod.key}")

    def _leave(self, uid: str) -> None:
        if doing := self._doing.pop(uid, None):
            doing[1].cancel()

    def _plan(self, pod: _Pod) -> Rule:
        labels = pod.metadata.labels
        rule = next((rule for selector, rule in self._rules if selects(selector, labels)), Rule())
        runs, fails, stops = (self._seconds(pod, each) for each in (RUNS_FOR, FAILS_AFTER, STOPS_IN))
        rule = rule if runs is fails is None else replace(rule, runs_for_s=runs, fails_after_s=fails)
        return rule if stops is None else replace(rule, stops_in_s=stops)

    def _seconds(self, pod: _Pod, annotation: str) -> float | None:
        text = pod.metadata.annotations.get(annotation, "")
        seconds = _length_s(text)
        if text and seconds is None and (annotation, text) not in (said := self._warned.setdefault(pod.uid, set())):
            said.add((annotation, text))
            _report("pod", pod.key, f"{annotation} is {text[:64]!r}; write 30s, 5m or 1h30m, up to 100 years")
        return seconds

    async def _live(self, pod: _Pod, plan: Rule) -> None:
        started = datetime.fromisoformat(pod.status.start_time) if pod.status.start_time else self._clock.now()
        if pod.status.phase != "Running":
            ip, host = self._address(pod.uid, "10.244"), self._address(pod.spec.node_name, "10.0")
            where = {"startTime": _text(started), "hostIP": host, "podIP": ip, "podIPs": [{"ip": ip}]}
            await self._write(pod, where | _status(pod, "Running", started, {"startedAt": _text(started)}))
        fails = plan.runs_for_s is None
        after_s = plan.fails_after_s if fails else plan.runs_for_s
        if after_s is not None and await self._still_there(pod, started + _span(after_s)):
            ended, reason = self._clock.now(), "Error" if fails else "Completed"
            state = {"startedAt": _text(started), "finishedAt": _text(ended), "exitCode": int(fails), "reason": reason}
            await self._write(pod, _status(pod, "Failed" if fails else "Succeeded", ended, state))

    async def _stop(self, pod: _Pod, stops_in_s: float) -> None:
        latest = datetime.fromisoformat(pod.metadata.deletion_timestamp)
        if await self._still_there(pod, min(latest, self._clock.now() + _span(stops_in_s))):
            delete = partial(self._cluster.delete, Pod.KIND, pod.metadata.namespace, pod.metadata.name)
            await self._insist(pod, partial(delete, grace_s=0, uid=pod.uid))

    async def _still_there(self, pod: _Pod, when: datetime) -> bool:
        """Is its node there when the time has come? If not, all this begins again when it comes back."""
        await asyncio.sleep(max(0.0, (when - self._clock.now()).total_seconds()))
        if not (is_there := self._nodes.get(pod.spec.node_name) is not None):
            del self._doing[pod.uid]
        return is_there

    async def _write(self, pod: _Pod, status: Document) -> None:
        patch = partial(self._cluster.patch, Pod.KIND, pod.metadata.namespace, pod.metadata.name, strategic=True)
        body = {"metadata": {"uid": pod.uid}, "status": status}
        await self._insist(pod, partial(patch, body, subresource="status"))

    async def _insist(self, pod: _Pod, request: Callable[[], Awaitable[object]]) -> None:
        """Until it is done, perhaps a second time, or the Pod is not there any more."""
        backoff = Backoff(self._rng)
        while (now := self._pods.get(pod.key)) is not None and now.uid == pod.uid:
            try:
                await request()
                return
            except Unreachable:
                await asyncio.sleep(backoff.next_s())
            except ApiError as error:
                if error.status < 500 and error.status not in (404, 409, 429):
                    _report("pod", pod.key, error)
                    return
                await asyncio.sleep(backoff.next_s(error.retry_after_s))

    def _address(self, whose: str, network: str) -> str:
        """Of a Pod, or of a node: numbered as they come."""
        third, fourth = divmod(len(self._addresses) + 1, 250)
        return self._addresses.setdefault(whose, f"{network}.{third % 250}.{fourth + 1}")


async def _alone(pod: _Pod, act: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """What goes wrong about one Pod stops nothing else."""
    try:
        await act()
    except Exception as error:  # a Pod may hold anything, such as a startTime that is none
        logger.error("fake kubelet: pod %s is left as it is: %r", pod.key, error, exc_info=error)


def _status(pod: _Pod, phase: str, since: datetime, state: Document) -> Document:
    runs, reasons = phase == "Running", {"Succeeded": {"reason": "PodCompleted"}, "Failed": {"reason": "PodFailed"}}
    ready = {"status": str(runs), "lastTransitionTime": _text(since)} | reasons.get(phase, {})
    types = (*(("Initialized",) if runs else ()), "Ready", "ContainersReady")
    known = {"image": "", "imageID": "", "restartCount": 0, "ready": runs, "started": runs}
    known["state"] = {"running" if runs else "terminated": state}
    ids = {each.name: f"fake://{pod.uid}/{each.name}" for each in pod.spec.containers}
    containers = [{"name": name, "containerID": each} | known for name, each in ids.items()]
    return {"phase": phase, "conditions": [{"type": each} | ready for each in types], "containerStatuses": containers}


def _length_s(text: str) -> float | None:
    """None if it is none."""
    if not re.fullmatch(f"(?:{_LENGTH.pattern})+", text):
        return None
    seconds = sum(float(number) * _UNITS[unit] for number, unit in _LENGTH.findall(text))
    return seconds if seconds <= _LONGEST_S else None


def _span(seconds: float) -> timedelta:
    """At most what may be added to any date."""
    return timedelta(seconds=min(seconds, _LONGEST_S))


def _text(time: datetime) -> str:
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

"""The one exit for what fails: let go, queue again, tell the user.

Source: pkg/scheduler (schedule_one.go, handleSchedulingFailure).
"""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from koordpy.cache.cache import Cache
from koordpy.clock import Clock
from koordpy.cluster.protocol import Cluster
from koordpy.cluster.recorder import Recorder
from koordpy.cluster.tenure import FOREVER, Term, patience_s
from koordpy.errors import ApiError, ClusterError, Conflict, TooManyRequests, Unreachable
from koordpy.framework.runner import Framework
from koordpy.queue.changes import POD_DELETED, on_node
from koordpy.queue.pod_info import NOBODY
from koordpy.queue.queue import SchedulingQueue
from koordpy.scheduler.outcome import Dropped, NotPlaced, Taken
from koordpy.telemetry.logs import fields
from koordpy_api import Status
from koordpy_api.objects import Pod, PodCondition

logger = logging.getLogger("koordpy.scheduler")

POD_SCHEDULED: Final = "PodScheduled"
MAX_CONDITIONS_ON_THE_WIRE: Final = 16
# Deleted meanwhile, or another Pod has its name now: 404, 409, and 422 for the UID.
_POD_IS_GONE: Final = (404, 409, 422)
# How long upstream's client waits before it writes a status again.
STATUS_PAUSES_S: Final = (0.01, 0.05, 0.25)
LONGEST_PAUSE_S: Final = 5.0
UNSCHEDULABLE: Final = "Unschedulable"
SCHEDULER_ERROR: Final = "SchedulerError"


@dataclass(frozen=True, slots=True)
class FailureExit:
    """What every failure needs.

    conditions: Pod UID → what is being written on its status. nominated: Pod UID → the node that we wrote there, until
    its Pod is bound or leaves by this exit. tenure: once we do not lead any more, nobody is told anything.
    """

    cache: Cache
    queue: SchedulingQueue
    cluster: Cluster
    recorder: Recorder
    clock: Clock
    tenure: Term = FOREVER
    conditions: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    nominated: dict[str, str] = field(default_factory=dict)
    wire: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MAX_CONDITIONS_ON_THE_WIRE))

    def leave(self, framework: Framework, failed: NotPlaced, *, was_seen: bool = False) -> None:
        """Undo what `held` says was held, then queue the Pod again and tell the user why. Never awaits.

        was_seen: other Pods may have been refused because of what was held.
        """
        self._leave(framework, failed)
        if failed.held and was_seen:
            self._has_let_go(failed.pod, failed.held)

    def _has_let_go(self, pod: Pod, node_name: str) -> None:
        """What was let go of may be what another one waits for; not what this one does, which has just had it."""
        self.queue.happened(POD_DELETED, on_node(pod, node_name), None, lambda other: other.uid != pod.uid)

    def _leave(self, framework: Framework, failed: NotPlaced) -> None:
        pod = failed.pod
        if failed.held:
            framework.run_unreserve(failed.state, pod, failed.held)
            self.cache.forget(pod.uid)
        refused = failed.status.is_rejected
        if (diagnosis := failed.diagnosis) is not None:
            framework.pod_refused(pod, lambda: diagnosis.plugins)
        if failed.queued.pod.metadata.deletion_timestamp and self.queue.is_in_flight(pod.uid):
            self.skip_deleted(pod)  # its bind was refused for that, or something else ended the attempt
            return
        # "No nodes available" is a refusal by nobody; as upstream, it backs off like an error.
        refused_by, pending = (diagnosis.plugins, diagnosis.pending) if diagnosis else (NOBODY, NOBODY)
        queued_again = self.queue.add_back(failed.queued, refused_by, pending)
        message = failed.status.message
        reason = UNSCHEDULABLE if refused else SCHEDULER_ERROR
        decided = ",".join(sorted(refused_by)) or failed.status.plugin
        logger.info(
            "pod not placed",
            extra=fields(
                pod=pod.key,
                attempt=failed.queued.attempts,
                plugin=decided,
                node=failed.held,
                reason=reason,
                why=message,
                profile=framework.profile,
            ),
        )
        nominated = self.nominated.pop(pod.uid, None)
        if not queued_again:
            return  # deleted, or bound by somebody else: nobody is left to tell
        if not self.tenure.leads:
            return  # who leads now may have bound it already
        self.recorder.record(pod, "Warning", "FailedScheduling", "Scheduling", message)
        before = failed.queued.pod.status.nominated_node_name if nominated is None else nominated
        changed = failed.nominated if failed.nominated not in (None, before) else None
        self._set_condition(failed.queued.pod, reason, message, changed)

    def not_tried(self, framework: Framework, pod: Pod, broken: Status) -> None:
        """A plugin broke when it was asked whether the Pod may be tried at all. Never awaits.

        Upstream only logs it, and the Pod waits without a word.
        """
        said = fields(pod=pod.key, plugin=broken.plugin, reason=SCHEDULER_ERROR, why=broken.message)
        logger.info("pod not tried", extra=said | fields(profile=framework.profile))
        if self.tenure.leads:
            self.recorder.record(pod, "Warning", "FailedScheduling", "Scheduling", broken.message)
            self._set_condition(pod, SCHEDULER_ERROR, broken.message, None)

    def skip_deleted(self, pod: Pod) -> None:
        """It is being deleted: no attempt is made, and nothing more comes of it. Never awaits."""
        self.queue.done(pod.uid)
        self.nominated.pop(pod.uid, None)
        if self.tenure.leads:
            note = f"skip schedule deleting pod: {pod.key}"
            self.recorder.record(pod, "Warning", "FailedScheduling", "Scheduling", note)

    def nominate(self, pod: Pod, node_name: str) -> None:
        """Say on the Pod where it will be bound, if that takes a while. Nothing depends on it. Never awaits."""
        if pod.status.nominated_node_name != node_name:
            self.nominated[pod.uid] = node_name
            self._write(pod, {"nominatedNodeName": node_name})

    def give_way(self, framework: Framework, taken: Taken) -> None:
        """Somebody else bound the Pod: let go of what was held for it, and say nothing on it. Never awaits."""
        pod, node_name = taken.placed.pod, taken.placed.node_name
        framework.run_unreserve(taken.placed.state, pod, node_name)
        self.cache.forget(pod.uid)
        self.nominated.pop(pod.uid, None)
        self.queue.done(pod.uid)
        self._has_let_go(pod, node_name)
        logger.info(
            "pod bound by somebody else",
            extra=fields(pod=pod.key, node=node_name, attempt=taken.placed.queued.attempts, why=taken.why),
        )

    def drop(self, framework: Framework, dropped: Dropped) -> None:
        """Somebody else leads: let go of what was held, unless its bind may have come through. Never awaits."""
        pod, node_name = dropped.placed.pod, dropped.placed.node_name
        logger.warning(
            "bind dropped, the lease is not ours any more",
            extra=fields(pod=pod.key, node=node_name, sent=str(dropped.may_be_written).lower()),
        )
        if not dropped.may_be_written:
            framework.run_unreserve(dropped.placed.state, pod, node_name)
            self.cache.forget(pod.uid)
            self.queue.done(pod.uid)

    def _set_condition(self, pod: Pod, reason: str, message: str, nominated: str | None) -> None:
        """nominated: the node to nominate, "" for none, None if that stays as it is."""
        wanted = PodCondition(POD_SCHEDULED, "False", reason, message, pod.metadata.generation)
        status: dict[str, object] = {}
        if wanted not in pod.status.conditions:
            status["conditions"] = [self._condition(pod, wanted)]
        if nominated is not None:
            status["nominatedNodeName"] = nominated or None
        if status:
            self._write(pod, status)

    def _condition(self, pod: Pod, wanted: PodCondition) -> dict[str, object]:
        condition: dict[str, object] = {
            "type": wanted.type,
            "status": wanted.status,
            "reason": wanted.reason,
            "message": wanted.message,
            "observedGeneration": wanted.observed_generation,
        }
        before = next((each for each in pod.status.conditions if each.type == wanted.type), None)
        if before is None or before.status != wanted.status:
            condition["lastTransitionTime"] = self.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
        return condition

    async def told(self, uid: str) -> None:
        """Returns once nothing is being written on this Pod's status; a late write would be written over its bind."""
        while task := self.conditions.get(uid):
            await asyncio.wait([task])

    def _write(self, pod: Pod, status: Mapping[str, object]) -> None:
        """In a task; what is written on one Pod is written in the order of the calls."""
        uid, earlier = pod.uid, self.conditions.get(pod.uid)
        task = asyncio.get_running_loop().create_task(self._patch(pod, status, earlier))
        self.conditions[uid] = task
        task.add_done_callback(
            lambda done: self.conditions.pop(uid, None) if self.conditions.get(uid) is done else None
        )

    async def _patch(self, pod: Pod, status: Mapping[str, object], earlier: asyncio.Task[None] | None) -> None:
        if earlier is not None:
            await asyncio.wait([earlier])
        # The UID keeps a new Pod of the same name from getting its predecessor's condition.
        body = {"metadata": {"uid": pod.uid}, "status": status}
        for pause_s in (*STATUS_PAUSES_S, None):
            try:
                async with self.wire, asyncio.timeout(patience_s(self.tenure)):
                    if self.tenure.leads:  # else it would be written over what the next leader says
                        meta = pod.metadata
                        await self.cluster.patch(
                            Pod.KIND, meta.namespace, meta.name, body, subresource="status", strategic=True
                        )
                return
            except TimeoutError:
                return
            except ClusterError as error:
                failure = error
            if pause_s is None or not _may_pass(failure):
                break
            asked_for_s = failure.retry_after_s if isinstance(failure, TooManyRequests) else None
            # A bind of this Pod waits until its status is written.
            await asyncio.sleep(max(pause_s, min(asked_for_s or 0.0, LONGEST_PAUSE_S)))
        if not (isinstance(failure, ApiError) and failure.status in _POD_IS_GONE):
            # The next attempt says it again; nothing is decided by it.
            logger.warning("status not written", extra=fields(pod=pod.key, why=str(failure)))


def _may_pass(error: ClusterError) -> bool:
    """A conflict may be one of others' writes on the Pod, as well as a Pod that is gone."""
    return isinstance(error, Unreachable | TooManyRequests | Conflict) or (
        isinstance(error, ApiError) and error.status >= 500
    )

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
from koordpy.errors import ApiError, ClusterError
from koordpy.framework.runner import Framework
from koordpy.queue.queue import SchedulingQueue
from koordpy.scheduler.outcome import NotPlaced, Taken
from koordpy_api.objects import Pod, PodCondition

logger = logging.getLogger("koordpy.scheduler")

POD_SCHEDULED: Final = "PodScheduled"
MAX_CONDITIONS_ON_THE_WIRE: Final = 16
# Deleted meanwhile, or another Pod has its name now: 404, 409, and 422 for the UID.
_POD_IS_GONE: Final = (404, 409, 422)
UNSCHEDULABLE: Final = "Unschedulable"
SCHEDULER_ERROR: Final = "SchedulerError"


@dataclass(frozen=True, slots=True)
class FailureExit:
    """What every failure needs.

    conditions: Pod UID → what is being written on its status. nominated: Pod UID → the node that we wrote there, until
    its Pod is bound or leaves by this exit.
    """

    cache: Cache
    queue: SchedulingQueue
    cluster: Cluster
    recorder: Recorder
    clock: Clock
    conditions: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    nominated: dict[str, str] = field(default_factory=dict)
    wire: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MAX_CONDITIONS_ON_THE_WIRE))

    def leave(self, framework: Framework, failed: NotPlaced) -> None:
        """Undo what `held` says was held, then queue the Pod again and tell the user why. Never awaits."""
        pod = failed.pod
        if failed.held:
            framework.run_unreserve(failed.state, pod, failed.held)
            self.cache.forget(pod.uid)
            self.queue.wake_all()  # what was let go of may be what another one waits for
        refused = failed.status.is_rejected
        if (diagnosis := failed.diagnosis) is not None:
            framework.pod_refused(pod, lambda: diagnosis.plugins)
        # "No nodes available" is a refusal by nobody; as upstream, it backs off like an error.
        by_plugins = diagnosis is not None
        queued_again = self.queue.add_back(failed.queued, refused=by_plugins, wait_for_change=failed.wait_for_change)
        message = failed.status.message
        reason = UNSCHEDULABLE if refused else SCHEDULER_ERROR
        logger.info("pod %s not placed (%s): %s", pod.key, reason, message)
        nominated = self.nominated.pop(pod.uid, None)
        if not queued_again:
            return  # deleted, or bound by somebody else: nobody is left to tell
        self.recorder.record(pod, "Warning", "FailedScheduling", "Scheduling", message)
        before = failed.queued.pod.status.nominated_node_name if nominated is None else nominated
        changed = failed.nominated if failed.nominated not in (None, before) else None
        self._set_condition(failed.queued.pod, reason, message, changed)

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
        self.queue.wake_all()
        logger.info("pod %s was bound by somebody else: %s", pod.key, taken.why)

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
        try:
            meta = pod.metadata
            async with self.wire:
                await self.cluster.patch(
                    Pod.KIND, meta.namespace, meta.name, body, subresource="status", strategic=True
                )
        except ClusterError as error:
            if isinstance(error, ApiError) and error.status in _POD_IS_GONE:
                return
            # The next attempt says it again; nothing is decided by it.
            logger.warning("status of pod %s could not be written: %s", pod.key, error)

"""The one exit for what fails: let go, queue again, tell the user.

Source: pkg/scheduler (schedule_one.go, handleSchedulingFailure).
"""

import asyncio
import logging
from dataclasses import dataclass
from typing import Final

from koordpy.cache.cache import Cache
from koordpy.clock import Clock
from koordpy.cluster.protocol import Cluster
from koordpy.cluster.recorder import Recorder
from koordpy.errors import ClusterError, NotFound
from koordpy.framework.runner import Framework
from koordpy.queue.queue import SchedulingQueue
from koordpy.scheduler.outcome import NotPlaced
from koordpy_api.objects import Pod, PodCondition

logger = logging.getLogger("koordpy.scheduler")

POD_SCHEDULED: Final = "PodScheduled"
UNSCHEDULABLE: Final = "Unschedulable"
SCHEDULER_ERROR: Final = "SchedulerError"


@dataclass(frozen=True, slots=True)
class FailureExit:
    """What every failure needs."""

    cache: Cache
    queue: SchedulingQueue
    cluster: Cluster
    recorder: Recorder
    clock: Clock
    patches: "set[asyncio.Task[None]]"

    def leave(self, framework: Framework, failed: NotPlaced) -> None:
        """Undo what `held` says was held, then queue the Pod again and tell the user why. Never awaits."""
        pod = failed.pod
        if failed.held:
            framework.run_unreserve(failed.state, pod, failed.held)
            self.cache.forget(pod.uid)
            self.queue.wake_all()  # what was let go of may be what another one waits for
        refused = failed.status.is_rejected
        queued_again = self.queue.add_back(failed.queued, refused=refused, wait_for_change=failed.wait_for_change)
        message = failed.status.message
        reason = UNSCHEDULABLE if refused else SCHEDULER_ERROR
        logger.info("pod %s not placed (%s): %s", pod.key, reason, message)
        if not queued_again:
            return  # deleted, or bound by somebody else: nobody is left to tell
        self.recorder.record(pod, "Warning", "FailedScheduling", "Scheduling", message)
        self._set_condition(failed.queued.pod, reason, message)

    def _set_condition(self, pod: Pod, reason: str, message: str) -> None:
        wanted = PodCondition(POD_SCHEDULED, "False", reason, message)
        if wanted in pod.status.conditions:
            return
        task = asyncio.get_running_loop().create_task(self._patch_condition(pod, wanted))
        self.patches.add(task)  # a task that nobody holds may be collected before it ran
        task.add_done_callback(self.patches.discard)

    async def _patch_condition(self, pod: Pod, wanted: PodCondition) -> None:
        condition: dict[str, object] = {
            "type": wanted.type,
            "status": wanted.status,
            "reason": wanted.reason,
            "message": wanted.message,
            "observedGeneration": pod.metadata.generation,
        }
        status: dict[str, object] = {"conditions": [condition]}
        before = next((each for each in pod.status.conditions if each.type == wanted.type), None)
        if before is None or before.status != wanted.status:
            condition["lastTransitionTime"] = self.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
        # The UID keeps a new Pod of the same name from getting its predecessor's condition.
        body = {"metadata": {"uid": pod.uid}, "status": status}
        try:
            meta = pod.metadata
            await self.cluster.patch(Pod.KIND, meta.namespace, meta.name, body, subresource="status", strategic=True)
        except NotFound:
            pass
        except ClusterError as error:
            # The next attempt says it again; nothing is decided by this condition.
            logger.warning("condition of pod %s could not be written: %s", pod.key, error)

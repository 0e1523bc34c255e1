"""The second half of a placement: wait for Permit, ask the plugins, write the Binding, settle what became of it.

A task per Pod, so binds overlap; at most MAX_BINDS_ON_THE_WIRE requests are under way at once. What was booked for a
Pod stays booked until the API server's answer is known: a request without an answer is sent again, which is safe, since
the Pod's UID is a precondition and a Pod is bound only once.

Nothing is sent that another leader could meet: a Binding is sent only while we lead, and is given up, by us and by the
API server, before anybody else can lead.
"""

import asyncio
import logging
from collections.abc import Mapping
from random import Random
from typing import Final

import msgspec

from koordpy.cache.cache import Cache
from koordpy.cluster.protocol import BindRequest, Cluster
from koordpy.cluster.tenure import Term, patience_s
from koordpy.errors import ApiError, ClusterError, Conflict, NotFound, TooManyRequests, Unreachable
from koordpy.framework.runner import Framework
from koordpy.scheduler.failure import FailureExit
from koordpy.scheduler.outcome import Dropped, NotPlaced, Placed, Taken
from koordpy.telemetry.logs import fields
from koordpy.telemetry.metrics import Metrics
from koordpy_api import Binding, Code, PreBindPlan, Status
from koordpy_api.objects import ObjectMeta, Pod

logger = logging.getLogger("koordpy.scheduler")

MAX_BINDS_ON_THE_WIRE: Final = 32
MOST_WANTING: Final = 1000
"""A second of work for the API server. Further Pods are not tried: they would wait here, out of their order."""

FIRST_RETRY_S: Final = 0.2
LAST_RETRY_S: Final = 10.0
_BOUND: Final = Status(Code.SUCCESS)


class _BoundMeta(msgspec.Struct):
    uid: str = ""
    annotations: dict[str, str] | None = None


class _BoundSpec(msgspec.Struct, rename="camel"):
    node_name: str | None = None


class _BoundPod(msgspec.Struct):
    """Of a Pod, only what says who bound it; null means absent."""

    metadata: _BoundMeta
    spec: _BoundSpec


class BindingCycle:
    """Holds what every bind needs, and nothing of any bind. wanting: so many are on the wire, or wait for it."""

    def __init__(
        self, cluster: Cluster, cache: Cache, failure: FailureExit, metrics: Metrics, rng: Random, tenure: Term
    ) -> None:
        self._cluster = cluster
        self._tenure = tenure
        self._failure = failure
        self._cache = cache
        self._metrics = metrics
        self._rng = rng
        self._wire = asyncio.Semaphore(MAX_BINDS_ON_THE_WIRE)
        self.wanting = 0
        self._has_room = asyncio.Event()

    async def room(self) -> None:
        """Returns once the wire keeps up with what was decided."""
        while self.wanting >= MOST_WANTING:
            self._has_room.clear()
            await self._has_room.wait()

    async def bind(self, framework: Framework, placed: Placed) -> NotPlaced | Taken | Dropped | None:
        """Bind a Pod to the node that is held for it; None if it is bound."""
        pod, state, node_name = placed.pod, placed.state, placed.node_name
        if framework.waiting.get(pod.uid) is not None:
            self._failure.nominate(pod, node_name)  # whoever looks at the cluster meanwhile should count it there
        if (refusal := await framework.wait_on_permit(pod)) is not None:
            return NotPlaced.on_node(placed, refusal)
        plan = await framework.run_pre_bind(state, pod, node_name)
        if isinstance(plan, Status):
            return NotPlaced.on_node(placed, plan)
        await self._failure.told(pod.uid)
        if not self._tenure.leads:
            return Dropped(placed, may_be_written=False)
        answer = await framework.run_bind(state, pod, node_name)
        status = await self._write(placed, answer, plan) if isinstance(answer, Binding) else answer
        if isinstance(status, Dropped):
            return status
        if isinstance(status, ApiError):
            return Taken(placed, str(status))
        return None if status.code is Code.SUCCESS else NotPlaced.on_node(placed, status)

    async def _write(self, placed: Placed, binding: Binding, plan: PreBindPlan) -> Status | ApiError | Dropped:
        pod = placed.pod
        wait_s, may_be_written = FIRST_RETRY_S, False
        while True:
            self.wanting += 1
            try:
                async with self._wire:
                    if not self._tenure.leads:
                        return Dropped(placed, may_be_written)
                    # The API server would accept a node that does not exist.
                    if not may_be_written and not self._cache.has_node(binding.node_name):
                        return Status.error(f"node {binding.node_name} is gone")
                    return await self._send(pod.metadata, binding.node_name, plan.pod.annotations)
            except (Unreachable, TooManyRequests) as error:
                may_be_written = may_be_written or isinstance(error, Unreachable)
                asked_for = error.retry_after_s if isinstance(error, TooManyRequests) else None
                self._metrics.bind_retries.inc()
                logger.warning("bind goes again", extra=fields(pod=pod.key, node=binding.node_name, why=str(error)))
            finally:
                self.wanting -= 1
                self._has_room.set()
            await asyncio.sleep(max(asked_for or 0.0, wait_s * self._rng.uniform(0.5, 1.0)))
            wait_s = min(wait_s * 2, LAST_RETRY_S)

    async def _send(self, meta: ObjectMeta, node_name: str, annotations: Mapping[str, str]) -> Status | ApiError:
        """What became of it; the server's own words if the race is lost: somebody else bound the Pod, or it is gone.

        Raises: Unreachable or TooManyRequests if the same request should be sent again.
        """
        within_s = patience_s(self._tenure)
        request = BindRequest(meta.namespace, meta.name, meta.uid, node_name, annotations, within_s)
        try:
            async with asyncio.timeout(within_s):
                await self._cluster.bind(request)
        except TimeoutError:
            raise Unreachable("our lease runs out, and there is no answer yet") from None
        except TooManyRequests:
            raise
        except (Conflict, NotFound) as error:
            return await self._settle(request, error)
        except ApiError as error:
            if error.status >= 500:
                raise Unreachable(str(error)) from error  # it may have been carried out all the same
            return Status.error(f"binding rejected: {error}")
        return _BOUND

    async def _settle(self, request: BindRequest, refusal: ApiError) -> Status | ApiError:
        """409 or 404: an earlier try of ours may have come through without its answer; the Pod itself knows."""
        try:
            raw = await self._cluster.get(Pod.KIND, request.namespace, request.name)
        except NotFound:
            return refusal
        except ClusterError as error:
            raise Unreachable(str(error)) from error
        try:
            now = msgspec.json.decode(raw, type=_BoundPod)
        except msgspec.DecodeError as error:
            raise Unreachable(f"what was read is no Pod: {error}") from error
        if now.metadata.uid == request.uid and now.spec.node_name == request.node_name:
            wanted = request.annotations.items()
            if all((now.metadata.annotations or {}).get(key) == text for key, text in wanted):
                return _BOUND
        if now.metadata.uid != request.uid or now.spec.node_name:
            return refusal
        return Status.error(f"binding rejected: {refusal}")

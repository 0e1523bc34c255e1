"""Is what cache, queue and plugins believe what the objects say? Counted again between two attempts.

A difference is a bug of koordpy. Nothing is mended here: a scheduler whose books are wrong should be restarted, and
reads them anew.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from koordpy.cache.cache import Cache
from koordpy.cache.recount import recount
from koordpy.clock import Clock
from koordpy.cluster.informer import Informer
from koordpy.framework.runner import Framework
from koordpy.queue.queue import SchedulingQueue
from koordpy.telemetry.metrics import Metrics
from koordpy_api import Finding, NodeInfo
from koordpy_api.objects import KubeObject, Node, Pod

logger = logging.getLogger("koordpy.scheduler")

MOST_TOLD: Final = 50
LONGEST_WATCH_S: Final = 360.0
"""A watch that has gone silent is given up before that; then there is a list."""


@dataclass(frozen=True, slots=True)
class Invariants:
    """Reads, and remembers only since when a Pod is neither on a node nor queued.

    informers: of every kind that somebody here looks at.
    """

    cache: Cache
    queue: SchedulingQueue
    frameworks: Mapping[str, Framework]
    informers: Mapping[type[KubeObject], Informer[Any]]
    clock: Clock
    elsewhere_since: dict[str, float] = field(default_factory=dict)

    def differences(self) -> list[str]:
        """Sentences; none if all is well. Never awaits, so that nothing moves meanwhile."""
        nodes: Iterable[Node] = self.informers[Node].objects.values()
        pods: Sequence[Pod] = list(self.informers[Pod].objects.values())
        found = [*recount(self.cache, nodes, pods), *self._of_queue(pods)]
        objects = self._known_to_plugins(pods)
        assumed = frozenset(info.uid for info in self.cache.pods() if self.cache.is_assumed(info.uid))
        found += [told for framework in self.frameworks.values() for told in framework.run_recount(objects, assumed)]
        return list(dict.fromkeys(found))  # what profiles share is told by each

    async def run(self, every_s: float, metrics: Metrics) -> None:
        """Look again and again, and log what is wrong. Never returns."""
        while True:
            await asyncio.sleep(every_s)
            for difference in (found := self.differences())[:MOST_TOLD]:
                logger.error("the books are wrong: %s", difference)
            metrics.differences.inc(len(found))

    def _known_to_plugins(self, pods: Iterable[Pod]) -> list[KubeObject]:
        others = (informer.objects.values() for kind, informer in self.informers.items() if kind is not Pod)
        on_nodes = [pod for pod in pods if self.cache.pod(pod.uid) and not self.cache.is_assumed(pod.uid)]
        return [*(obj for objects in others for obj in objects), *on_nodes]

    def _of_queue(self, pods: Iterable[Pod]) -> Iterator[str]:
        exist = {pod.uid: pod for pod in pods}
        places = Counter(pod.uid for _, pod in self.queue.pods())
        for place, queued in self.queue.pods():
            if places[queued.uid] > 1:
                yield f"pod {queued.key} is {place}, and in another place of the queue too"
            if (pod := exist.get(queued.uid)) is None:
                yield f"pod {queued.key} does not exist, and is {place}"
            elif pod.spec.node_name or pod.is_terminated:
                yield f"pod {queued.key} is on a node or has finished, and is {place}"
            elif place != "in flight" and self.cache.is_assumed(pod.uid):
                yield f"pod {pod.key} is held on a node, and is {place}"
        yield from self._of_elsewhere([pod for pod in pods if self._wants_a_place(pod) and pod.uid not in places])

    def _of_elsewhere(self, pods: Sequence[Pod]) -> Iterator[str]:
        """Pods on no node and not in the queue: bound, which the watch has yet to say, by us or by somebody else."""
        now = self.clock.monotonic()
        for uid in self.elsewhere_since.keys() - {pod.uid for pod in pods}:
            del self.elsewhere_since[uid]
        for pod in pods:
            since = self.elsewhere_since.setdefault(pod.uid, now)
            if now - since > LONGEST_WATCH_S:
                what = "is held on a node" if self.cache.is_assumed(pod.uid) else "wants a node"
                yield f"pod {pod.key} {what}, and nobody tries it"

    def _wants_a_place(self, pod: Pod) -> bool:
        """Gates and deletions are the event handlers' to judge."""
        if pod.spec.node_name or pod.is_terminated or pod.spec.scheduler_name not in self.frameworks:
            return False
        return not (pod.metadata.deletion_timestamp or pod.spec.scheduling_gates)


def findings(frameworks: Iterable[Framework], nodes: Sequence[NodeInfo]) -> list[Finding]:
    """What the plugins of all profiles find wrong with the cluster that they were told of, each thing once."""
    return list(dict.fromkeys(found for framework in frameworks for found in framework.run_audit(nodes)))


def report_start(frameworks: Iterable[Framework], nodes: Sequence[NodeInfo]) -> None:
    """Say in the log what a scheduler finds wrong before it places anything."""
    found = findings(frameworks, nodes)
    for each in found[:MOST_TOLD]:
        logger.warning("found at the start: %s", each)
    if len(found) > MOST_TOLD:
        logger.warning("found at the start: %d more; koordpy fsck tells all of them", len(found) - MOST_TOLD)

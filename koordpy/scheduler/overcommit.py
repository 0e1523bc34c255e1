"""Nodes whose pods ask for more than there is: how one learns of races that no API server refuses.

Two schedulers that see the same last room take it both; the kubelet then turns a Pod away. A binding is never wrong for
that reason alone, so all that can be done is to say it, when the other one's Pod is seen.
"""

import logging
from collections.abc import Iterator, Mapping

from koordpy.telemetry.logs import fields
from koordpy.telemetry.metrics import Metrics
from koordpy_api import NodeInfo, PodInfo
from koordpy_api.objects import Pod
from koordpy_api.resources import CPU, EPHEMERAL_STORAGE, MEMORY, PODS

logger = logging.getLogger("koordpy.scheduler")


class Overcommit:
    """A koordpy.cache.cache.CacheListener; tells each node once, until it has room again."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._over: set[str] = set()

    def pod_added(self, pod: Pod, node_info: NodeInfo) -> None:
        self._look(node_info, pod.key)

    def pod_updated(self, old: PodInfo, new: Pod, node_info: NodeInfo) -> None:
        if old.requests != node_info.pods[new.uid].requests:
            self._look(node_info, new.key)

    def pod_removed(self, pod: PodInfo, node_info: NodeInfo) -> None:
        if node_info.name in self._over:
            self._look(node_info, "")

    def node_updated(self, old: NodeInfo, new: NodeInfo) -> None:
        self._look(new, "")

    def _look(self, node: NodeInfo, pod: str) -> None:
        over = None if node.node is None else ", ".join(_over(node.allocatable, node.requested, len(node.pods)))
        if over and node.name not in self._over:
            self._over.add(node.name)
            logger.warning("node over-committed", extra=fields(node=node.name, pod=pod, why=over))
        elif not over:
            self._over.discard(node.name)
        self._metrics.overcommitted_nodes.set(len(self._over))


def _over(allocatable: Mapping[str, int], requested: Mapping[str, int], pods: int) -> Iterator[str]:
    """Of what every node has; a plugin knows better of all else."""
    for name in (CPU, MEMORY, EPHEMERAL_STORAGE):
        if (asked := requested.get(name, 0)) > (has := allocatable.get(name, 0)):
            unit = "m" if name == CPU else ""
            yield f"{name} {asked}{unit} of {has}{unit}"
    if pods > (has := allocatable.get(PODS, 0)):
        yield f"pods {pods} of {has}"

"""ZoneQuota: at most so many Pods in a zone."""

from collections import Counter
from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from koordpy_api import CycleState, Handle, NodeInfo, PluginArgs, PodInfo, StateKey, Status, hookimpl
from koordpy_api.objects import Pod

PODS_BY_ZONE: StateKey[Counter[str]] = StateKey("ZoneQuota", clone=Counter.copy)


def zone_of(node_info: NodeInfo) -> str:
    return node_info.labels.get("topology.kubernetes.io/zone", "")


class ZoneQuotaArgs(PluginArgs):
    """max_pods: how many Pods a zone may run."""

    max_pods: Annotated[int, Field(ge=1)] = 100


class ZoneQuota:
    """Refuse zones that already run max_pods Pods."""

    Args = ZoneQuotaArgs

    def __init__(self, args: ZoneQuotaArgs, handle: Handle) -> None:
        self.max_pods = args.max_pods
        self.pods_by_zone: Counter[str] = Counter()

    # The plugin's own count. Pods that are only assumed arrive here too, and leave again if their bind fails.

    @hookimpl
    def pod_added(self, pod: Pod, node_info: NodeInfo) -> None:
        self.pods_by_zone[zone_of(node_info)] += 1

    @hookimpl
    def pod_removed(self, pod: PodInfo, node_info: NodeInfo) -> None:
        self.pods_by_zone[zone_of(node_info)] -= 1

    @hookimpl
    def node_updated(self, old: NodeInfo, new: NodeInfo) -> None:
        self.pods_by_zone[zone_of(old)] -= len(old.pods)
        self.pods_by_zone[zone_of(new)] += len(new.pods)

    # A copy for one attempt; a dry run clones it and moves Pods in the clone.

    @hookimpl
    def pre_filter(self, state: CycleState, pod: Pod, nodes: Sequence[NodeInfo]) -> None:
        state.write(PODS_BY_ZONE, self.pods_by_zone.copy())

    @hookimpl
    def add_pod(self, state: CycleState, pod: Pod, added: PodInfo, node_info: NodeInfo) -> None:
        state.read(PODS_BY_ZONE)[zone_of(node_info)] += 1

    @hookimpl
    def remove_pod(self, state: CycleState, pod: Pod, removed: PodInfo, node_info: NodeInfo) -> None:
        state.read(PODS_BY_ZONE)[zone_of(node_info)] -= 1

    @hookimpl
    def filter(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> Status | None:
        zone = zone_of(node_info)
        if state.read(PODS_BY_ZONE)[zone] < self.max_pods:
            return None
        return Status.unschedulable(f"zone {zone} is full", details={"capacity": self.max_pods})

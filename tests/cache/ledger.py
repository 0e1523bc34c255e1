"""A listener that keeps books of its own, and complains when the cache's story does not add up."""

from koordpy_api import NodeInfo, PodInfo
from koordpy_api.objects import Pod


class Ledger:
    """pods: UID → the node that the listener was told it counts on. nodes: those with a Node object."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.pods: dict[str, str] = {}
        self.nodes: set[str] = set()

    def pod_added(self, pod: Pod, node_info: NodeInfo) -> None:
        assert pod.uid not in self.pods, f"{pod.uid} was added twice"
        assert pod.uid in node_info.pods
        self.pods[pod.uid] = node_info.name
        self.lines.append(f"added {pod.metadata.name} on {node_info.name}")

    def pod_updated(self, old: PodInfo, new: Pod, node_info: NodeInfo) -> None:
        assert self.pods[new.uid] == node_info.name == old.node_name
        assert new.uid in node_info.pods
        self.lines.append(f"updated {new.metadata.name} on {node_info.name}")

    def pod_removed(self, pod: PodInfo, node_info: NodeInfo) -> None:
        assert self.pods.pop(pod.uid) == node_info.name == pod.node_name
        assert pod.uid not in node_info.pods
        self.lines.append(f"removed {pod.name} from {node_info.name}")

    def node_updated(self, old: NodeInfo, new: NodeInfo) -> None:
        assert (old.node is not None) == (old.name in self.nodes)
        self.nodes.discard(new.name)
        if new.node is not None:
            self.nodes.add(new.name)
        self.lines.append(f"node {new.name} {'known' if new.node else 'unknown'}")

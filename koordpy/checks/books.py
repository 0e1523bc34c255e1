"""What is wrong with a cluster's books: unreadable objects, what is given away twice, what is held and not there.

The objects are listed, and plugins are told of them as in a scheduler that starts; each says what cannot be right.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from koordpy.cluster.protocol import Cluster
from koordpy.config.load import Loaded
from koordpy.framework.registry import Registry
from koordpy.scheduler.invariants import findings
from koordpy.whatif.explain import Belief
from koordpy_api import Finding, NodeInfo, Problem


@dataclass(frozen=True, slots=True)
class Books:
    """Each finding once. nodes, pods: how many were looked at; pods are those on a node."""

    findings: Sequence[Finding]
    nodes: int
    pods: int


async def audit(cluster: Cluster, loaded: Loaded, registry: Registry) -> Books:
    """Reads, and writes nothing. Raises: ClusterError, PluginError or ConfigError."""
    belief = await Belief.of(cluster, loaded, registry)
    nodes, ghosts = belief.nodes, belief.ghosts
    unreadable = [Finding(kind, name, problem) for kind, name, problem in belief.problems]
    found = [*unreadable, *findings(belief.frameworks, nodes), *_homeless(ghosts)]
    return Books(list(dict.fromkeys(found)), len(nodes), sum(len(node.pods) for node in [*nodes, *ghosts]))


def _homeless(ghosts: Sequence[NodeInfo]) -> Iterator[Finding]:
    for node in ghosts:
        for pod in node.pods.values():
            yield Finding("Pod", pod.key, Problem("spec.nodeName", node.name, "there is no such Node"))

"""Outside of any attempt: what is wrong with a cluster as a whole, and with what a plugin itself believes of it."""

from collections.abc import Sequence

from koordpy_api.errors import Finding
from koordpy_api.markers import hookspec
from koordpy_api.node_info import NodeInfo
from koordpy_api.objects import KubeObject


@hookspec
def audit(nodes: Sequence[NodeInfo]) -> Sequence[Finding]:  # type: ignore[empty-body]
    """What of what this plugin keeps account of cannot be right, whoever wrote it?

    Called   once when a scheduler has read the cluster, before it places anything, and by `koordpy fsck`; the plugin
             was told of every object before.
    Returns  a finding for each: given away twice, held of something that is not there, not to be read.
    Raises   any exception is blamed on this plugin; the others are still asked.
    Must not await, do I/O, or change anything.
    Source   koordpy.
    """


@hookspec
def recount(objects: Sequence[KubeObject], assumed: frozenset[str]) -> Sequence[str]:  # type: ignore[empty-body]
    """Where do this plugin's own books differ from these objects? Each difference is a bug.

    Called   between two attempts, by tests, `--check-invariants` and `koordpy debug check`. objects: everything that
             exists of the kinds that the plugin watches, and all pods that count on a node and are not merely assumed.
             assumed: UIDs of those that are.
    Returns  a sentence for each difference; none from a plugin that keeps no books.
    Raises   any exception is told as a difference.
    Must not await, do I/O, or change anything.
    Source   koordpy.
    """

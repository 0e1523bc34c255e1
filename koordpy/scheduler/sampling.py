"""How many nodes that fit are enough. Source: pkg/scheduler (schedule_one.go, numFeasibleNodesToFind)."""

from typing import Final

LEAST_NODES: Final = 100


def nodes_to_find(nodes: int, percentage: int | None) -> int:
    """All of them, unless a file sets percentageOfNodesToScore; then never fewer than 100.

    Upstream samples also where nobody asked it to, since looking at a node costs it more.
    """
    if not percentage or nodes < LEAST_NODES:
        return nodes
    return max(nodes * percentage // 100, LEAST_NODES)

"""How good one node is by how full it would be.

Source: kube-scheduler's noderesources (least_allocated.go, most_allocated.go, requested_to_capacity_ratio.go).
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Final

from koordpy_api import NodeInfo
from koordpy_api.args import ResourceSpec
from koordpy_api.resources import CPU, MEMORY
from koordpy_nodefit.args import MAX_SHAPE_SCORE, RATIO, ScoringStrategy, ShapePoint
from koordpy_nodefit.asked import Scored

MAX_SCORE: Final = 100
WITH_DEFAULTS: Final = frozenset({CPU, MEMORY})
"""Pods that do not ask for these count as if they asked for a little."""

Rating = Callable[[NodeInfo, Scored], int]
"""(node, what the Pod asks) → 0 to 100."""


def rating(strategy: ScoringStrategy) -> Rating:
    """The function behind a strategy."""
    resources = strategy.resources
    if strategy.type == RATIO:
        assert strategy.requested_to_capacity_ratio is not None
        shape = strategy.requested_to_capacity_ratio.shape
        return lambda node, asked: _by_shape(shape, _fillings(node, asked, resources))
    scale = least_allocated if strategy.type == "LeastAllocated" else most_allocated
    return lambda node, asked: _mean(scale, _fillings(node, asked, resources))


def least_allocated(asked: int, capacity: int) -> int:
    """100: nothing would be used. 0: nothing would be left."""
    return (capacity - asked) * MAX_SCORE // capacity if asked <= capacity else 0


def most_allocated(asked: int, capacity: int) -> int:
    """100: all would be used; more than all counts as all, for cpu and memory may be asked for by default."""
    return min(asked, capacity) * MAX_SCORE // capacity


def at(shape: Sequence[ShapePoint], utilization: int) -> int:
    """The broken line through the points, 0 to 100; constant outside of them."""
    scale = MAX_SCORE // MAX_SHAPE_SCORE
    if utilization <= shape[0].utilization:
        return shape[0].score * scale
    for left, right in pairwise(shape):
        if utilization <= right.utilization:
            rise = (right.score - left.score) * scale * (utilization - left.utilization)
            return left.score * scale + _truncated(rise, right.utilization - left.utilization)
    return shape[-1].score * scale


def _fillings(node: NodeInfo, asked: Scored, resources: Sequence[ResourceSpec]) -> Iterator[tuple[int, int, int]]:
    """(asked of the node with this Pod, its capacity, weight) of each resource that counts."""
    for spec, amount in zip(resources, asked, strict=True):
        capacity = node.allocatable.get(spec.name, 0)
        if amount is not None and capacity:
            given = node.non_zero_requested if spec.name in WITH_DEFAULTS else node.requested
            yield given.get(spec.name, 0) + amount, capacity, spec.weight


def _mean(scale: Callable[[int, int], int], fillings: Iterator[tuple[int, int, int]]) -> int:
    total = weights = 0
    for asked, capacity, weight in fillings:
        total += weight * scale(asked, capacity)
        weights += weight
    return total // weights if weights else 0


def _by_shape(shape: Sequence[ShapePoint], fillings: Iterator[tuple[int, int, int]]) -> int:
    """A resource that scores 0 does not count at all, and the mean is rounded, unlike the other strategies'."""
    total = weights = 0
    for asked, capacity, weight in fillings:
        score = at(shape, most_allocated(asked, capacity))
        if score > 0:
            total += weight * score
            weights += weight
    return (2 * total + weights) // (2 * weights) if weights else 0


def _truncated(dividend: int, divisor: int) -> int:
    """Towards zero, as Go divides."""
    return dividend // divisor if dividend >= 0 else -(-dividend // divisor)

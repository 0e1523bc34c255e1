"""The same answers for all nodes at once, as arrays: `filter` and `score` say what they must be.

What follows from the nodes alone is followed (`Followed`); scores, with their divisions, are worth keeping for other
Pods that ask for the same (`Kept`, in plugin.py).
"""

from collections.abc import Sequence
from math import gcd
from typing import Any, Final, overload

import numpy as np
import numpy.typing as npt

from koordpy_api import NodeColumns, NodeInfo, Status, Verdicts
from koordpy_api.columns import LIMIT, Amounts, Flags, Selection
from koordpy_api.followed import Followed
from koordpy_nodefit.args import RATIO, ScoringStrategy
from koordpy_nodefit.asked import Compared, Scored
from koordpy_nodefit.scoring import MAX_SCORE, WITH_DEFAULTS, at

TOO_MANY_PODS: Final = "Too many pods"
MOST: Final = 14
"""So many resources can be compared: with the Pods' number and `hopeless` they are the bits of a code."""

THE_POD: Final = ("", False)
"""What every Pod takes besides: one of the pods that the node allows."""

FEW: Final = 8
"""So many nodes are looked at sooner one by one."""

_NARROW: Final = 2**15 // MAX_SCORE

Floats = npt.NDArray[np.float64]
Scores = npt.NDArray[np.signedinteger[Any]]
"""As narrow as they can be: many are kept, and the less memory that takes, the more of it is near."""


class Room:
    """Which nodes have room for a Pod."""

    def __init__(self) -> None:
        self._free = Followed(_free, _free_on)

    def verdicts(self, compared: Sequence[Compared], columns: NodeColumns) -> Verdicts | None:
        """All that is missing on every node, not only the first."""
        missing: list[tuple[str, Flags]] = []
        hopeless: Flags | None = None
        if not self._free.all_reach(THE_POD, columns, 1):
            missing.append((TOO_MANY_PODS, self._free.of(THE_POD, columns) < 1))
        for name, amount, is_accounted in compared:
            if self._free.all_reach((name, is_accounted), columns, amount):
                continue
            short = self._free.of((name, is_accounted), columns) < amount
            missing.append((f"Insufficient {name}", short))
            never = short & (columns.allocatable(name) < amount)
            hopeless = never if hopeless is None else hopeless | never
        if not missing:
            return None
        codes = np.zeros(len(columns), np.uint16) if hopeless is None else hopeless.astype(np.uint16)
        for bit, (_, short) in enumerate(missing, 1):
            codes |= short.astype(np.uint16) << bit
        return Verdicts(codes, Combinations([reason for reason, _ in missing]))


def _free(resource: tuple[str, bool], columns: NodeColumns) -> Amounts:
    """What every node has left; as good as endless where another plugin decides."""
    if resource is THE_POD:
        return columns.allowed_pods - columns.pods
    name, is_accounted = resource
    free = columns.allocatable(name) - columns.requested(name)
    if is_accounted:
        free[~columns.names_resource(name)] = LIMIT
    return free


def _free_on(resource: tuple[str, bool], node: NodeInfo) -> int:
    if resource is THE_POD:
        return node.allowed_pods - len(node.pods)
    name, is_accounted = resource
    capacity = node.allocatable.get(name)
    if capacity is None and is_accounted:
        return LIMIT
    return max(-LIMIT, min(LIMIT, (capacity or 0) - node.requested.get(name, 0)))


class Combinations(Sequence[Status]):
    """The refusal behind every code that `verdicts` gives, made only when somebody reads it.

    The lowest bit of a code says whether even the empty node would not do, the others which of the reasons hold.
    """

    def __init__(self, reasons: Sequence[str]) -> None:
        self._reasons = reasons

    def __len__(self) -> int:
        return (2 << len(self._reasons)) - 1

    @overload
    def __getitem__(self, index: int) -> Status: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Status]: ...
    def __getitem__(self, index: int | slice) -> Status | Sequence[Status]:
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(len(self)))]
        code = range(1, len(self) + 1)[index]
        why = [reason for bit, reason in enumerate(self._reasons, 1) if code >> bit & 1]
        return Status.unresolvable(*why) if code & 1 else Status.unschedulable(*why)


class Ratings:
    """What scoring.py says of one node, for many.

    In float64, where no amount is beyond SMALL: a hundredfold is exact then, and no quotient is rounded to an integer
    that it is not. What follows from the nodes alone is at hand, so that a Pod that was never seen costs little more
    than its divisions.
    """

    def __init__(self, strategy: ScoringStrategy) -> None:
        self._names = [spec.name for spec in strategy.resources]
        weights = [spec.weight for spec in strategy.resources]
        self._weights = [weight // gcd(*weights) for weight in weights]  # mostly 1 each: a multiplication less
        self._dtype = np.dtype(np.int16 if sum(self._weights) < _NARROW else np.int64)
        self._is_least = strategy.type == "LeastAllocated"
        self._table = _table(strategy, self._dtype) if strategy.type == RATIO else None
        self._hundredfolds = Followed(self._hundredfolds_of, self._hundredfold_of)
        self._capacities = Followed(_capacities, lambda name, node: node.allocatable.get(name, 0), whatever_runs=True)

    def of(self, asked: Scored, columns: NodeColumns, rows: Selection) -> Scores | None:
        """0 to 100 each; None if an amount is too large for this."""
        total = np.zeros(len(columns) if isinstance(rows, slice) else len(rows), self._dtype)
        weights: Scores | int = 0
        for name, weight, amount in zip(self._names, self._weights, asked, strict=True):
            if amount is None:
                continue
            scores, counts = self._scores(name, amount, columns, rows)
            if not columns.is_small(name):
                return None
            total += scores if weight == 1 else scores * weight
            weights = weights + weight * counts
        if isinstance(weights, int):
            return total // weights if weights > 1 else total
        rounded = 0.0 if self._table is None else 0.5  # only this mean is rounded
        return (total / np.maximum(weights, 1) + rounded).astype(self._dtype)

    def _scores(self, name: str, amount: int, columns: NodeColumns, rows: Selection) -> tuple[Scores, Flags | int]:
        """By one resource; and where it counts, or 1 if everywhere."""
        hundredfold, capacity = self._hundredfolds.of(name, columns)[rows], self._capacities.of(name, columns)[rows]
        counts: Flags | int = 1
        if not self._capacities.all_reach(name, columns, 1):
            counts = capacity > 0
            capacity = np.where(counts, capacity, np.inf)
        if self._is_least:
            percent = hundredfold - MAX_SCORE * amount
            percent /= capacity
            return np.maximum(percent, 0, out=percent).astype(self._dtype), counts
        percent = hundredfold + MAX_SCORE * amount
        percent /= capacity
        scores = np.minimum(percent, MAX_SCORE, out=percent).astype(self._dtype)
        if self._table is None:
            return scores, counts
        scores = self._table[scores] * counts
        return scores, scores > 0  # what scores 0 does not count at all

    def _hundredfolds_of(self, name: str, columns: NodeColumns) -> Floats:
        """A hundred times what is given away; or what is left, for LeastAllocated."""
        given = columns.non_zero_requested(name) if name in WITH_DEFAULTS else columns.requested(name)
        hundredfold = (columns.allocatable(name) - given if self._is_least else given).astype(np.float64)
        hundredfold *= MAX_SCORE
        return hundredfold

    def _hundredfold_of(self, name: str, node: NodeInfo) -> int:
        given = (node.non_zero_requested if name in WITH_DEFAULTS else node.requested).get(name, 0)
        return MAX_SCORE * (node.allocatable.get(name, 0) - given if self._is_least else given)


def _capacities(name: str, columns: NodeColumns) -> Floats:
    return columns.allocatable(name).astype(np.float64)


def _table(strategy: ScoringStrategy, dtype: np.dtype[Any]) -> Scores:
    """Percent → how good it is to be so full."""
    assert strategy.requested_to_capacity_ratio is not None
    shape = strategy.requested_to_capacity_ratio.shape
    return np.array([at(shape, percent) for percent in range(MAX_SCORE + 1)], dtype)

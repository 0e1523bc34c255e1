"""NodeResourcesBalancedAllocation: rather a node whose resources the Pod fills evenly.

Upstream computes this in floats, so here too: the same operations in the same order on float64, one by one and as
arrays, give the same bits. Python's own int / int and sum() are finer, and thus wrong here.
"""

from collections.abc import Iterable, Sequence
from math import sqrt
from typing import Annotated, Final

import numpy as np
import numpy.typing as npt
from pydantic import AfterValidator

from koordpy_api import CycleState, Handle, Kept, NodeColumns, NodeInfo, PluginArgs, StateKey, Status, hookimpl, share
from koordpy_api.args import AsTuple, mistakes
from koordpy_api.columns import Amounts, Flags, Rows, Selection, take
from koordpy_api.followed import Followed
from koordpy_api.objects import Pod
from koordpy_api.resources import CPU, EPHEMERAL_STORAGE, MEMORY, pod_requests

FEW: Final = 8
"""So many nodes are rated sooner one by one."""

_UNSPENT: Final = 150
"""50 + (50 + with - without) // 2 is (150 - without + with) // 2."""

_ALWAYS: Final = frozenset({CPU, MEMORY, EPHEMERAL_STORAGE})
"""Count on every node; of other resources only those that the Pod asks for."""

Asked = tuple[int | None, ...]
"""Of each resource that is looked at, what the Pod asks; None if it does not count for this Pod."""

Scores = npt.NDArray[np.int16]
"""Narrow: many are kept, and the less memory that takes, the more of it is near."""

Fractions = npt.NDArray[np.float64]

ASKED = StateKey[Asked]("NodeResourcesBalancedAllocation", clone=share)


def _one(weight: int) -> int:
    if weight not in (0, 1):
        raise ValueError("must be 1")
    return 1


class BalancedResource(PluginArgs):
    """A resource that should be filled evenly with the others. They all count the same."""

    name: str
    weight: Annotated[int, AfterValidator(_one)] = 1


_DEFAULT: Final = (BalancedResource(name=CPU), BalancedResource(name=MEMORY))


def _each_once(listed: tuple[BalancedResource, ...]) -> tuple[BalancedResource, ...]:
    names = [each.name for each in listed]
    if again := [index for index, name in enumerate(names) if name in names[:index]]:
        raise mistakes(*(((index, "name"), names[index], "Duplicate: it stands here before") for index in again))
    return listed or _DEFAULT


class NodeResourcesBalancedAllocationArgs(PluginArgs):
    """resources: which ones should be filled evenly; an empty list is the default one, as upstream."""

    resources: Annotated[tuple[BalancedResource, ...], AsTuple, AfterValidator(_each_once)] = _DEFAULT


class NodeResourcesBalancedAllocation:
    """75: the Pod changes nothing of how even the node is filled. Up to 100: it mends it; down to 50: it spoils it.

    Source: kube-scheduler's noderesources plugin (balanced_allocation.go).
    """

    Args = NodeResourcesBalancedAllocationArgs

    def __init__(self, args: NodeResourcesBalancedAllocationArgs, handle: Handle) -> None:
        self._names = tuple(each.name for each in args.resources)
        self._rated = Kept(self._rate_rows)
        self._requested = Followed(_requested, lambda name, node: node.requested.get(name, 0))
        self._capacities = Followed(_capacities, lambda name, node: node.allocatable.get(name, 0), whatever_runs=True)
        self._before = Followed(self._unspent, lambda asked, node: _UNSPENT - self._balance(node, asked))

    @hookimpl
    def pre_score(self, state: CycleState, pod: Pod) -> Status | None:
        """A Pod that asks for nothing is not sent to the nodes that happen to be even."""
        requests = pod_requests(pod)
        asked = tuple([requests.get(name, 0 if name in _ALWAYS else None) for name in self._names])
        if not any(asked):
            return Status.skip()
        state.write(ASKED, asked)
        return None

    @hookimpl
    def score(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> int:
        return self._rate(node_info, state.read(ASKED))

    @hookimpl
    def score_nodes(self, state: CycleState, pod: Pod, columns: NodeColumns, rows: Rows) -> Amounts:
        return take(self._rated.of(state.read(ASKED), columns), rows).astype(np.int64)

    # -- one node ----------------------------------------------------------------------------------------------------

    def _rate(self, node: NodeInfo, asked: Asked) -> int:
        return 50 + (50 + self._balance(node, asked) - self._balance(node, _nothing_of(asked))) // 2

    def _balance(self, node: NodeInfo, asked: Asked) -> int:
        """100: all resources are filled alike; 50: one is full and one empty."""
        fractions = []
        for name, amount in zip(self._names, asked, strict=True):
            capacity = node.allocatable.get(name, 0)
            if amount is not None and capacity:
                fractions.append(min(float(node.requested.get(name, 0) + amount) / float(capacity), 1.0))
        return int((1 - _deviation(fractions)) * 100)

    # -- many --------------------------------------------------------------------------------------------------------

    def _rate_rows(self, asked: Asked, columns: NodeColumns, rows: Selection) -> Scores:
        if isinstance(rows, slice) or len(rows) > FEW:
            scores = self._balances(asked, columns, rows)
            if scores is not None:
                scores += self._before.of(_nothing_of(asked), columns)[rows]
                scores >>= 1
                return scores
        nodes = columns.nodes if isinstance(rows, slice) else [columns.nodes[row] for row in rows.tolist()]
        return np.array([self._rate(node, asked) for node in nodes], dtype=np.int16)

    def _unspent(self, asked: Asked, columns: NodeColumns) -> Scores:
        """What a node's score is counted from, twice: less by how even it is without the Pod."""
        balances = self._balances(asked, columns, slice(None))
        if balances is None:
            balances = np.array([self._balance(node, asked) for node in columns.nodes], dtype=np.int16)
        return _UNSPENT - balances

    def _balances(self, asked: Asked, columns: NodeColumns, rows: Selection) -> Scores | None:
        """None if an amount is too large to be added as a float."""
        fractions: list[Fractions] = []
        counts: list[Flags | bool] = []
        for name, amount in zip(self._names, asked, strict=True):
            if amount is None:
                continue
            fraction = self._requested.of(name, columns)[rows] + amount
            capacity = self._capacities.of(name, columns)[rows]
            has: Flags | bool = True
            if not self._capacities.all_reach(name, columns, 1):
                has = capacity > 0
                capacity = np.where(has, capacity, np.inf)
            if not columns.is_small(name):
                return None
            fraction /= capacity
            fractions.append(np.minimum(fraction, 1.0, out=fraction))
            counts.append(has)
        balances = _deviations(fractions, counts)
        np.subtract(1, balances, out=balances)
        balances *= 100
        return balances.astype(np.int16)


def _requested(name: str, columns: NodeColumns) -> Fractions:
    return columns.requested(name).astype(np.float64)


def _capacities(name: str, columns: NodeColumns) -> Fractions:
    return columns.allocatable(name).astype(np.float64)


def _nothing_of(asked: Asked) -> Asked:
    """The same resources count, and the Pod asks for none of them."""
    return tuple([None if amount is None else 0 for amount in asked])


def _deviation(fractions: Sequence[float]) -> float:
    """The standard deviation; of two by a shorter way, whose last bit may be another one."""
    count = len(fractions)
    if count < 2:
        return 0.0
    if count == 2:
        return abs((fractions[0] - fractions[1]) / 2)
    mean = _sum(fractions) / count
    return sqrt(_sum((each - mean) * (each - mean) for each in fractions) / count)


def _sum(numbers: Iterable[float]) -> float:
    """From left to right, each step rounded."""
    total = 0.0
    for each in numbers:
        total += each
    return total


def _deviations(fractions: Sequence[Fractions], counts: Sequence[Flags | bool]) -> Fractions:
    """The same of every row: fraction i counts where counts[i] says so, and is 0 elsewhere."""
    if len(fractions) == 2:
        spread = fractions[0] - fractions[1]
        np.abs(spread, out=spread)
        spread *= 0.5
        return spread if (both := counts[0] & counts[1]) is True else spread * both
    number = np.maximum(sum(counts), 1)
    mean = sum(fractions) / number
    squares = sum((each - mean) * (each - mean) * has for each, has in zip(fractions, counts, strict=True))
    lowest = np.minimum.reduce([np.where(has, each, np.inf) for each, has in zip(fractions, counts, strict=True)])
    of_two = (np.maximum.reduce(fractions) - lowest) / 2
    return np.where(number == 2, of_two, np.sqrt(squares / number))

"""Followed: numbers of a plugin's own, one per node, which follow the nodes as they change.

For what depends on nothing but the node, and is wanted for every Pod: all of it is brought up to date at once, node by
node, which costs less than `Kept`'s arrays of one row each.
"""

from collections.abc import Callable, Hashable
from typing import Any, Final, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from koordpy_api.columns import Changing, NodeColumns
from koordpy_api.node_info import NodeInfo

K = TypeVar("K", bound=Hashable)
N = TypeVar("N", bound=np.generic)

_MOST: Final = 64


class _Column(Generic[N]):
    """least: no value is less; it may be too low once values have grown."""

    __slots__ = ("least", "values")

    def __init__(self, values: npt.NDArray[N]) -> None:
        self.values = values
        self.least: float = 0 if not len(values) else values.min().item()


class Followed(Generic[K, N]):
    """key → a number of every node.

    of_all: an array of its own for all rows. of_one: the same of one node, within what the array can hold.
    whatever_runs: no number depends on the node's pods.
    """

    def __init__(
        self,
        of_all: Callable[[K, NodeColumns], npt.NDArray[N]],
        of_one: Callable[[K, NodeInfo], float],
        *,
        whatever_runs: bool = False,
    ) -> None:
        self._of_all = of_all
        self._of_one = of_one
        self._whatever_runs = whatever_runs
        self._columns: dict[K, _Column[N]] = {}
        self._epoch: object = None
        self._version = 0

    def of(self, key: K, columns: NodeColumns) -> npt.NDArray[N]:
        """By row; to be read only, and in this cycle only."""
        return self._column(key, columns).values

    def all_reach(self, key: K, columns: NodeColumns, amount: float) -> bool:
        """Is the number of every node at least this? Mostly without looking at any of them."""
        column = self._column(key, columns)
        if column.least < amount and len(values := column.values):
            column.least = values.min().item()
        return column.least >= amount or not len(column.values)

    def _column(self, key: K, columns: NodeColumns) -> _Column[N]:
        changing = columns.objects if self._whatever_runs else columns
        if changing.version != self._version or changing.epoch is not self._epoch:
            self._catch_up(columns, changing)
        found = self._columns.get(key)
        if found is None:
            if len(self._columns) >= _MOST:
                self._columns.clear()
            found = self._columns[key] = _Column(self._of_all(key, columns))
        return found

    def _catch_up(self, columns: NodeColumns, changing: Changing) -> None:
        changed = changing.changed_since(self._version) if changing.epoch is self._epoch else None
        if changed is None:
            self._columns.clear()
        else:
            for row in changed.tolist():
                self._put(row, columns.nodes[row])
        self._epoch, self._version = changing.epoch, changing.version

    def _put(self, row: int, node: NodeInfo) -> None:
        of_one = self._of_one
        for key, column in self._columns.items():
            value: Any = of_one(key, node)
            column.values[row] = value
            if value < column.least:
                column.least = value

"""Snapshot: the nodes as one cycle sees them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np

from koordpy.cache.columns import Columns
from koordpy_api import NodeInfo
from koordpy_api.columns import Rows


class NodeRows(Sequence[NodeInfo]):
    """Some nodes of a snapshot, by row. Nothing is made of a node until somebody looks at it."""

    __slots__ = ("_count", "columns", "is_everyone", "rows")

    def __init__(self, columns: Columns, rows: Rows | None = None) -> None:
        """rows: None for all of them."""
        self.columns = columns
        self.is_everyone = rows is None
        self.rows = columns.all_rows if rows is None else rows
        self.rows.flags.writeable = False  # plugins get them
        self._count = len(self.rows)

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, place: int) -> NodeInfo: ...
    @overload
    def __getitem__(self, place: slice) -> "NodeRows": ...
    def __getitem__(self, place: int | slice) -> "NodeInfo | NodeRows":
        if isinstance(place, slice):
            return NodeRows(self.columns, self.rows[place])
        return self.columns.nodes[int(self.rows[place])]

    def __iter__(self) -> Iterator[NodeInfo]:
        nodes = self.columns.nodes
        return iter(nodes) if self.is_everyone else (nodes[row] for row in self.rows.tolist())

    def named(self, names: frozenset[str]) -> "NodeRows":
        """Of these nodes those with such a name, in the order of the snapshot."""
        rows = sorted(row for name in names if (row := self.columns.row_of(name)) is not None)
        found = np.array(rows, dtype=np.intp)
        return NodeRows(self.columns, found if self.is_everyone else np.intersect1d(found, self.rows))


def starting_at(place: int, nodes: Sequence[NodeInfo]) -> Sequence[NodeInfo]:
    """The same nodes, beginning with another one and around the end."""
    if isinstance(nodes, NodeRows):
        return NodeRows(nodes.columns, np.roll(nodes.rows, -place))
    return [*nodes[place:], *nodes[:place]]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All known nodes in their order, one by one and as columns. Good until the next is made; `kept` is good for ever.

    What happens meanwhile is not in it. A NodeInfo is a value: whoever keeps one need not copy it.
    """

    nodes: Sequence[NodeInfo]
    rows: Mapping[str, int]
    columns: Columns

    @classmethod
    def of(cls, columns: Columns) -> "Snapshot":
        return cls(columns.nodes, columns.rows, columns)

    @property
    def everyone(self) -> NodeRows:
        """All nodes, in the form that is asked at once."""
        return NodeRows(self.columns)

    def get(self, name: str) -> NodeInfo | None:
        row = self.rows.get(name)
        return None if row is None else self.nodes[row]

    def kept(self) -> "Snapshot":
        """One that never changes, for whoever awaits or looks at it later."""
        return Snapshot.of(Columns(self.nodes))

"""Columns: the nodes as arrays, each made when somebody first asks for it, and kept true from then on."""

from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from koordpy.cache.column_kinds import AmountColumn, C, Column, FlagColumn, ImageColumn, TableColumn, read_only
from koordpy_api import Changes, ImageState, NodeInfo
from koordpy_api.columns import Amounts, Flags, Interned, Rows
from koordpy_api.objects import Taint

MANY_COLUMNS: Final = 1024
"""With more of them all are forgotten: Pods may ask for names that they invent."""


class Columns:
    """koordpy_api's NodeColumns. One writer: whoever calls `order`, `change` and `catch_up`, between cycles.

    A change is noted at once and written by `catch_up`, at the start of the next cycle; until then nothing moves.
    odd: the rows of nodes with an amount beyond LIMIT in some column that was asked for: theirs are cut there.
    """

    def __init__(self, nodes: Sequence[NodeInfo] = (), images: Container[str] | None = None) -> None:
        """images: the names that any node lists; None if nobody keeps count."""
        self._known_images = images
        self._irregular: Rows | None = None
        self._log = Changes()
        self.objects = Changes()
        self.order(nodes)

    # -- writing -----------------------------------------------------------------------------------------------------

    def order(self, nodes: Sequence[NodeInfo]) -> None:
        """These are the nodes now, in this order; no row of before means anything."""
        self.nodes: Sequence[NodeInfo] = list(nodes)
        self.names: Sequence[str] = tuple(node.name for node in nodes)
        self.rows = {name: row for row, name in enumerate(self.names)}
        self._start_anew()

    def change(self, node: NodeInfo) -> None:
        """A node is another value now. Nothing happens if it is not among these."""
        if (row := self.rows.get(node.name)) is not None:
            self._pending[row] = node

    def catch_up(self) -> None:
        """Bring every column up to date."""
        if not self._pending:
            return
        assert isinstance(self.nodes, list)
        may_be_overgrown = False
        for row, new in self._pending.items():
            old, self.nodes[row] = self.nodes[row], new
            self._log.note(row)
            columns = self._of_pods
            if new.node is not old.node or new.images is not old.images:
                columns, may_be_overgrown = self._all, True
                self.objects.note(row)
            if row in self.odd:
                columns = self._all  # whichever it was that could not hold it
                del self.odd[row]
                self._irregular = None
            self._write(columns, row, new)
        self._pending.clear()
        if len(self._all) > MANY_COLUMNS or (may_be_overgrown and any(each.is_overgrown for each in self._tables)):
            self._start_anew()

    def _start_anew(self) -> None:
        self._pending: dict[int, NodeInfo] = {}
        self._all: list[Column] = []
        self._of_pods: list[Column] = []
        self._tables: list[TableColumn[Any]] = []
        self.odd: dict[int, None] = {}
        self._irregular = None
        self._fixed: dict[str, Any] = {}
        self._labels: dict[str, TableColumn[str | None]] = {}
        self._allocatable: dict[str, AmountColumn] = {}
        self._named: dict[str, FlagColumn] = {}
        self._requested: dict[str, AmountColumn] = {}
        self._non_zero: dict[str, AmountColumn] = {}
        self._images: dict[str, ImageColumn] = {}
        self.all_rows: Rows = read_only(np.arange(len(self.nodes)))
        self._log.start_anew(len(self.nodes))
        self.objects.start_anew(len(self.nodes))

    def _write(self, columns: Iterable[Column], row: int, node: NodeInfo) -> None:
        for column in columns:
            if not column.put(row, node):
                self.odd[row] = None
                self._irregular = None

    # -- how they change ---------------------------------------------------------------------------------------------

    @property
    def epoch(self) -> object:
        return self._log.epoch

    @property
    def version(self) -> int:
        return self._log.version

    def __len__(self) -> int:
        return len(self.names)

    def changed_since(self, version: int) -> Rows | None:
        return self._log.changed_since(version)

    @property
    def irregular(self) -> Rows:
        """The odd rows as an array."""
        if self._irregular is None:
            self._irregular = np.array(sorted(self.odd), dtype=np.intp)
        return self._irregular

    # -- reading -----------------------------------------------------------------------------------------------------

    def row_of(self, name: str) -> int | None:
        return self.rows.get(name)

    @property
    def pods(self) -> Amounts:
        found: AmountColumn = self._fixed.get("pods") or self._made(
            self._fixed, "pods", AmountColumn("pods", lambda node: len(node.pods)), of_pods=True
        )
        return found.values

    @property
    def allowed_pods(self) -> Amounts:
        found: AmountColumn = self._fixed.get("allowed_pods") or self._made(
            self._fixed, "allowed_pods", AmountColumn("allowed pods", lambda node: node.allowed_pods)
        )
        return found.values

    @property
    def unschedulable(self) -> Flags:
        found: FlagColumn = self._fixed.get("unschedulable") or self._made(
            self._fixed, "unschedulable", FlagColumn("unschedulable", lambda node: node.unschedulable)
        )
        return found.values

    @property
    def taints(self) -> Interned[tuple[Taint, ...]]:
        found: TableColumn[tuple[Taint, ...]] = self._fixed.get("taints") or self._made(
            self._fixed, "taints", TableColumn("taints", lambda node: tuple(node.taints))
        )
        return found.interned

    def label(self, key: str) -> Interned[str | None]:
        found = self._labels.get(key) or self._made(
            self._labels, key, TableColumn(f"label {key}", lambda node: node.labels.get(key))
        )
        return found.interned

    def allocatable(self, resource: str) -> Amounts:
        found = self._allocatable.get(resource) or self._made(
            self._allocatable,
            resource,
            AmountColumn(f"allocatable {resource}", lambda node: node.allocatable.get(resource, 0)),
        )
        return found.values

    def names_resource(self, resource: str) -> Flags:
        found = self._named.get(resource) or self._made(
            self._named, resource, FlagColumn(f"naming {resource}", lambda node: resource in node.allocatable)
        )
        return found.values

    def requested(self, resource: str) -> Amounts:
        found = self._requested.get(resource) or self._made(
            self._requested,
            resource,
            AmountColumn(f"requested {resource}", lambda node: node.requested.get(resource, 0)),
            of_pods=True,
        )
        return found.values

    def non_zero_requested(self, resource: str) -> Amounts:
        found = self._non_zero.get(resource) or self._made(
            self._non_zero,
            resource,
            AmountColumn(f"non-zero requested {resource}", lambda node: node.non_zero_requested.get(resource, 0)),
            of_pods=True,
        )
        return found.values

    def is_small(self, resource: str) -> bool:
        for amounts in (self._allocatable, self._requested, self._non_zero):
            found = amounts.get(resource)
            if found is not None and found.large:
                return False
        return True

    def image(self, name: str) -> tuple[Flags, ImageState] | None:
        if self._known_images is not None and name not in self._known_images:
            return None
        found = self._images.get(name) or self._made(self._images, name, ImageColumn(name))
        return (found.values, found.state) if found.state is not None and found.state.node_count else None

    # -- inside ------------------------------------------------------------------------------------------------------

    def wrong(self) -> Iterator[str]:
        """What is not as the nodes say, which is a bug."""
        for column in self._all:
            for row, node in enumerate(self.nodes):
                if not column.is_right(row, node):
                    yield f"{column.name} of node {node.name}"

    def _made(self, where: dict[str, C], name: str, column: C, *, of_pods: bool = False) -> C:
        column.fill(len(self.nodes))
        for row, node in enumerate(self.nodes):
            self._write((column,), row, node)
        where[name] = column
        self._all.append(column)
        if of_pods:
            self._of_pods.append(column)
        if isinstance(column, TableColumn):
            self._tables.append(column)
        return column

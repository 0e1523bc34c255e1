"""Snapshot: the nodes, frozen for one cycle."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from koordpy_api import NodeInfo


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All known nodes, in the order in which they came. A NodeInfo is a value, so nothing can move underneath."""

    nodes: Sequence[NodeInfo]
    rows: Mapping[str, int]

    def get(self, name: str) -> NodeInfo | None:
        row = self.rows.get(name)
        return None if row is None else self.nodes[row]

"""One column each: what it reads of a node, and the array that it is kept in."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from koordpy_api import ImageState, NodeInfo
from koordpy_api.columns import LIMIT, SMALL, Amounts, Flags, Interned

V = TypeVar("V")


class AmountColumn:
    """Integers. large: the rows whose amounts are not SMALL."""

    __slots__ = ("_array", "_read", "large", "name", "values")

    def __init__(self, name: str, read: Callable[[NodeInfo], int]) -> None:
        self.name = name
        self.large: set[int] = set()
        self._read = read

    def fill(self, count: int) -> None:
        self._array = np.zeros(count, dtype=np.int64)
        self.values: Amounts = read_only(self._array)

    def put(self, row: int, node: NodeInfo) -> bool:
        """Write what holds for this node. Returns: can it be told as it is?"""
        amount = self._read(node)
        if 0 <= amount <= SMALL:
            if self.large:
                self.large.discard(row)
            self._array[row] = amount
            return True
        self.large.add(row)
        self._array[row] = _cut(amount)
        return -LIMIT <= amount <= LIMIT

    def is_right(self, row: int, node: NodeInfo) -> bool:
        return bool(self._array[row] == _cut(self._read(node)))


class FlagColumn:
    """Yes or no."""

    __slots__ = ("_array", "_read", "name", "values")

    def __init__(self, name: str, read: Callable[[NodeInfo], bool]) -> None:
        self.name = name
        self._read = read

    def fill(self, count: int) -> None:
        self._array = np.zeros(count, dtype=np.bool_)
        self.values: Flags = read_only(self._array)

    def put(self, row: int, node: NodeInfo) -> bool:
        self._array[row] = self._read(node)
        return True

    def is_right(self, row: int, node: NodeInfo) -> bool:
        return bool(self._array[row] == self._read(node))


class TableColumn(Generic[V]):
    """Few different values."""

    __slots__ = ("_array", "_ids", "_read", "_values", "interned", "name")

    def __init__(self, name: str, read: Callable[[NodeInfo], V]) -> None:
        self.name = name
        self._read = read

    def fill(self, count: int) -> None:
        self._array = np.zeros(count, dtype=np.int32)
        self._ids: dict[V, int] = {}
        self._values: list[V] = []
        self.interned: Interned[V] = Interned(read_only(self._array), self._values, self._ids)

    def put(self, row: int, node: NodeInfo) -> bool:
        value = self._read(node)
        number = self._ids.get(value)
        if number is None:
            number = self._ids[value] = len(self._values)
            self._values.append(value)
        self._array[row] = number
        return True

    def is_right(self, row: int, node: NodeInfo) -> bool:
        return bool(self._values[self._array[row]] == self._read(node))

    @property
    def is_overgrown(self) -> bool:
        """Are most of its values such as no node has any more?"""
        return len(self._values) > 2 * len(self._array) + 1024


class ImageColumn:
    """Which nodes have an image of this name. state: what is known of it; None if no node ever had it."""

    __slots__ = ("_array", "_image", "name", "state", "values")

    def __init__(self, image: str) -> None:
        self.name = f"image {image}"
        self.state: ImageState | None = None
        self._image = image

    def fill(self, count: int) -> None:
        self._array = np.zeros(count, dtype=np.bool_)
        self.values: Flags = read_only(self._array)

    def put(self, row: int, node: NodeInfo) -> bool:
        state = node.images.get(self._image)
        self._array[row] = state is not None
        self.state = state or self.state
        return True

    def is_right(self, row: int, node: NodeInfo) -> bool:
        return bool(self._array[row] == (self._image in node.images))


Column = AmountColumn | FlagColumn | TableColumn[Any] | ImageColumn
C = TypeVar("C", AmountColumn, FlagColumn, TableColumn[Any], ImageColumn)


def _cut(amount: int) -> int:
    return min(max(amount, -LIMIT), LIMIT)


def read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The same numbers, for those who only read: no flag and no `base` of it opens them."""
    return np.asarray(array.data.toreadonly())

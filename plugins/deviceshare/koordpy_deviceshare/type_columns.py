"""TypeColumns: the devices of one type of all nodes, as arrays.

Matrices are device by node: the first index is a device's place among those of its node, by minor. Nodes have different
numbers of devices; where there is none, nobody gets anything.
"""

from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from koordpy_api.columns import Codes, Flags, Selection
from koordpy_api.koordinator import FPGA, GPU_CORE, GPU_MEMORY_RATIO, RDMA
from koordpy_deviceshare.allocator import most_of
from koordpy_deviceshare.model import NONE_OF_TYPE, Card, TypeDevices

MOST: Final = 2**46
"""64 TiB. Amounts up to it, and hundredfolds of them, are exact in a float64, which NumPy divides several times faster
than integers. A larger one is cut to it where something is asked for, and leaves its row to the books in a score."""

MOST_PERCENT: Final = 127
PERCENT: Final = frozenset({GPU_CORE, GPU_MEMORY_RATIO, RDMA, FPGA})
"""Resources of which nobody asks more than 100 of one device: an int8 is enough, and compared four times as fast."""

NOBODY: Final = -1
"""What a device gives that is closed, or not there."""

Exact = npt.NDArray[np.float64]
"""Integers."""


class Order:
    """Where each row comes from."""

    def __init__(self, before: list[int]) -> None:
        """before: what number each row had; -1 if it is new."""
        self._before = before
        source = np.array(before, dtype=np.intp)
        self._count = len(before)
        self._kept = np.flatnonzero(source >= 0)
        self._source = source[self._kept]
        self.new: list[int] = np.flatnonzero(source < 0).tolist()

    def of(self, column: npt.NDArray[Any], nothing: Any) -> npt.NDArray[Any]:
        """The same column or matrix in the new order, with `nothing` in rows that are new."""
        moved = np.full((*column.shape[:-1], self._count), nothing, dtype=column.dtype)
        moved[..., self._kept] = column[..., self._source]
        return moved

    def listed(self, column: list[Any], nothing: Any) -> list[Any]:
        return [nothing if number < 0 else column[number] for number in self._before]


class Sums:
    """One resource of one device type, summed over each node: a hundredfold of it, as shares are worked out of that.

    divisor: the total itself, 1 where that is 0. emptiness, fullness: how much of it is free and taken, in percent
    rounded down: what `rate` says where nothing of it is asked, as half of all requests name the other form of memory.
    """

    __slots__ = ("_having", "divisor", "emptiness", "free", "fullness", "total")

    def __init__(self, count: int) -> None:
        self.total: Exact = np.zeros(count)
        self.free: Exact = np.zeros(count)
        self.divisor: Exact = np.ones(count)
        self.emptiness: Exact = np.zeros(count)
        self.fullness: Exact = np.zeros(count)
        self._having = 0

    @property
    def is_everywhere(self) -> bool:
        """Has every node some of it in total?"""
        return self._having == len(self.total)

    @property
    def is_nowhere(self) -> bool:
        return not self._having

    def rate(self, asked: int, rows: Selection, *, fullest: bool) -> Exact:
        """How empty it would be with what is asked, or how full, in percent rounded down. An array of the caller's."""
        if not asked:
            kept = (self.fullness if fullest else self.emptiness)[rows]
            return kept.copy() if isinstance(rows, slice) else kept
        part = self.free[rows] - 100 * asked
        np.maximum(part, 0, out=part)
        if fullest:
            np.subtract(self.total[rows], part, out=part)
        part /= self.divisor[rows]
        return np.floor(part, out=part)

    def put(self, row: int, total: int, free: int) -> bool:
        """Write what there is. Returns: can it be told as it is?"""
        capacity = min(total, MOST)
        self._having += (capacity > 0) - (self.total.item(row) > 0)
        self.total[row], self.divisor[row] = 100 * capacity, max(capacity, 1)
        self.put_free(row, capacity, free)
        return total <= MOST

    def put_free(self, row: int, total: int, free: int) -> None:
        """The same where only this changed. total: no more than MOST, beyond which nobody looks at any of it."""
        self.free[row] = left = 100 * min(free, MOST)
        if total:
            self.emptiness[row], self.fullness[row] = left // total, (100 * total - left) // total
        else:
            self.emptiness[row] = self.fullness[row] = 0

    def moved(self, order: Order) -> None:
        self.total, self.free = order.of(self.total, 0), order.of(self.free, 0)
        self.divisor = order.of(self.divisor, 1)
        self.emptiness, self.fullness = order.of(self.emptiness, 0), order.of(self.fullness, 0)
        self._having = int(np.count_nonzero(self.total))


class Leaders:
    """Of each node the device that can give most of one resource: how much of it, and of another one.

    It is what most requests for one device fit on, if they fit at all, and far less to look at than all devices.
    """

    __slots__ = ("lead", "other")

    def __init__(self, lead: npt.NDArray[Any], other: npt.NDArray[Any]) -> None:
        """lead, other: device by node, of both resources."""
        rows = np.arange(lead.shape[1])
        places = lead.argmax(axis=0)
        self.lead = lead[places, rows]
        self.other = other[places, rows]

    def put(self, row: int, lead: npt.NDArray[Any], other: npt.NDArray[Any]) -> None:
        column = lead[:, row]
        place = column.argmax()
        self.lead[row], self.other[row] = column[place], other[place, row]

    def moved(self, order: Order) -> None:
        self.lead, self.other = order.of(self.lead, NOBODY), order.of(self.other, NOBODY)


class TypeColumns:
    """The devices of one type.

    lasting: 1 where no such device is known, so that no Pod that leaves could help; else 0.
    has_free: is anything left of any of them? irregular: rows of which a sum is beyond MOST.
    """

    def __init__(self, device_type: str, devices: Sequence[TypeDevices]) -> None:
        self.type: Final = device_type
        self.devices = [NONE_OF_TYPE] * len(devices)
        self.lasting: Codes = np.ones(len(devices), dtype=np.uint16)
        self.has_free: Flags = np.zeros(len(devices), dtype=np.bool_)
        self.empty: Flags = np.zeros((1, len(devices)), dtype=np.bool_)
        self.irregular: set[int] = set()
        self._most: dict[str, npt.NDArray[Any]] = {}
        self._sums: dict[str, Sums] = {}
        self._leaders: dict[tuple[str, str], Leaders] = {}
        for row, each in enumerate(devices):
            self.put(row, each)

    def most(self, resource: str) -> npt.NDArray[Any]:
        """device by node → the most that one Pod can be given; see allocator.most_of."""
        if (found := self._most.get(resource)) is None:
            dtype = np.int8 if resource in PERCENT else np.float64
            found = self._most[resource] = np.full(self.empty.shape, NOBODY, dtype=dtype)
            for row, devices in enumerate(self.devices):
                for place, card in enumerate(devices.cards):
                    self._put_most(place, row, card, {resource: found})
        return found

    def leaders(self, lead: str, other: str) -> Leaders:
        """By what they can give of `lead`."""
        if (found := self._leaders.get((lead, other))) is None:
            found = self._leaders[lead, other] = Leaders(self.most(lead), self.most(other))
        return found

    def sums(self, resource: str) -> Sums:
        if (found := self._sums.get(resource)) is None:
            found = self._sums[resource] = Sums(len(self.devices))
            for row, devices in enumerate(self.devices):
                self._put_sums(row, devices, {resource: found})
        return found

    def put(self, row: int, new: TypeDevices) -> bool:
        """The devices of one node are these now. Returns: is anything else than before?"""
        old = self.devices[row]
        if new is old:
            return False
        self.devices[row] = new
        if new.total is old.total:  # of the same devices others hold something
            for resource, sums in self._sums.items():
                if resource in new.total:
                    sums.put_free(row, min(new.total[resource], MOST), new.free[resource])
        else:
            self._put_listing(row, new)
        self.has_free[row] = any(new.free.values())
        for place, (before, card) in enumerate(zip_longest(old.cards, new.cards)):
            if card is not before and card is not None:
                self._put_most(place, row, card, self._most)
                self.empty[place, row] = not card.held_by
        for (lead, other), leaders in self._leaders.items():
            leaders.put(row, self._most[lead], self._most[other])
        return True

    def _put_listing(self, row: int, new: TypeDevices) -> None:
        """A Device lists others, or otherwise."""
        count = len(new.cards)
        if count > len(self.empty):
            self._widen(count)
        for most in self._most.values():
            most[count:, row] = NOBODY
        self.empty[count:, row] = False
        self.lasting[row] = not new.is_known
        self.irregular.discard(row)
        self._put_sums(row, new, self._sums)

    def moved(self, order: Order) -> None:
        """Rows are others now. Those that are new have no devices until somebody puts some there."""
        self.devices = order.listed(self.devices, NONE_OF_TYPE)
        self.lasting, self.has_free = order.of(self.lasting, 1), order.of(self.has_free, False)
        self.empty = order.of(self.empty, False)
        self._most = {resource: order.of(most, NOBODY) for resource, most in self._most.items()}
        for sums in self._sums.values():
            sums.moved(order)
        for leaders in self._leaders.values():
            leaders.moved(order)
        self.irregular = set()
        for row, devices in enumerate(self.devices):
            if any(devices.total.get(resource, 0) > MOST for resource in self._sums):
                self.irregular.add(row)

    def _put_most(self, place: int, row: int, card: Card, columns: dict[str, npt.NDArray[Any]]) -> None:
        for resource, column in columns.items():
            most = most_of(card, resource, self.type)
            column[place, row] = min(most, MOST_PERCENT if resource in PERCENT else 2 * MOST)

    def _put_sums(self, row: int, new: TypeDevices, columns: dict[str, Sums]) -> None:
        for resource, sums in columns.items():
            if not sums.put(row, new.total.get(resource, 0), new.free.get(resource, 0)):
                self.irregular.add(row)

    def _widen(self, places: int) -> None:
        more = ((0, places - len(self.empty)), (0, 0))
        self.empty = np.pad(self.empty, more)
        self._most = {name: np.pad(most, more, constant_values=NOBODY) for name, most in self._most.items()}


def can_be_asked(amounts: Iterable[tuple[str, int]], count: int) -> bool:
    """Can these be asked of columns, on so many devices at once?"""
    for name, amount in amounts:
        if not 0 <= amount <= (MOST_PERCENT if name in PERCENT else MOST) or amount * count > MOST:
            return False
    return True

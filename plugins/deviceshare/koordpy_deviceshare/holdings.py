"""What pods hold of told devices, as values."""

from collections.abc import Mapping
from typing import Final

import msgspec

from koordpy_api.koordinator import GPU_MEMORY, GPU_MEMORY_RATIO, Allocations
from koordpy_api.resources import Amounts, add, subtract
from koordpy_deviceshare.model import Card


class Holding(msgspec.Struct, frozen=True):
    """What pods together hold of one device.

    holders: the pods (namespace/name) by UID.
    bare_percent, bare_bytes: the part of `amounts` that was written in one form of memory only, as old schedulers and
    people do. It counts in the other form too, on whatever total the card has.
    """

    holders: Mapping[str, str] = {}
    amounts: Amounts = {}
    bare_percent: int = 0
    bare_bytes: int = 0

    def plus(self, uid: str, pod: str, amounts: Mapping[str, int]) -> "Holding":
        total = dict(self.amounts)
        for name, amount in amounts.items():
            if amount:
                total[name] = total.get(name, 0) + amount
        return self._changed(1, {**self.holders, uid: pod}, total, amounts)

    def minus(self, uid: str, amounts: Mapping[str, int]) -> "Holding":
        left = {other: pod for other, pod in self.holders.items() if other != uid}
        return self._changed(-1, left, subtract(self.amounts, amounts), amounts)

    def _changed(self, sign: int, holders: Mapping[str, str], total: Amounts, amounts: Mapping[str, int]) -> "Holding":
        percent = 0 if GPU_MEMORY in amounts else amounts.get(GPU_MEMORY_RATIO, 0)
        size = 0 if GPU_MEMORY_RATIO in amounts else amounts.get(GPU_MEMORY, 0)
        return Holding(holders, total, self.bare_percent + sign * percent, self.bare_bytes + sign * size)

    def beside(self, other: "Holding") -> "Holding":
        """Both together: two told devices turn out to be one."""
        return Holding(
            {**self.holders, **other.holders},
            add(self.amounts, other.amounts),
            self.bare_percent + other.bare_percent,
            self.bare_bytes + other.bare_bytes,
        )

    def used_of(self, card: Card) -> Amounts:
        """The sums, completed to percent and bytes. Rounding a sum down never says less than its parts rounded down."""
        if not (self.bare_percent or self.bare_bytes) or not (memory := card.total.get(GPU_MEMORY, 0)):
            return self.amounts
        implied = {GPU_MEMORY: self.bare_percent * memory // 100, GPU_MEMORY_RATIO: self.bare_bytes * 100 // memory}
        return add(self.amounts, {name: amount for name, amount in implied.items() if amount})


NOBODY: Final = Holding()

Told = tuple[int, str]
"""A device as an annotation tells it: minor, id."""

Sums = dict[str, dict[Told, Holding]]
"""Device type → told device → what is held of it. Without devices that nobody holds."""


class Record(msgspec.Struct, frozen=True):
    """What one Pod (namespace/name) holds. Assumed until the API server has shown the Pod bound.

    written: the annotations that say so, which our own Binding writes; empty as long as it writes none.
    """

    pod: str
    devices: Allocations
    assumed: bool
    written: Mapping[str, str] = {}

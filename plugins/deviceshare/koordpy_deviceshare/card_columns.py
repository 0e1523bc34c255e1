"""CardColumns: the books of all nodes as arrays, for whoever asks about every node at once.

Rows are the host's. One writer: `catch_up`, which reads those books again that were touched since, and writes those
devices that are others than before.
"""

from typing import Final, NamedTuple

import numpy as np

from koordpy_api.columns import Changes, Flags, Interned, NodeColumns, Rows
from koordpy_deviceshare.cache import DeviceCache
from koordpy_deviceshare.model import NO_DEVICES, NodeDevices
from koordpy_deviceshare.type_columns import Order, TypeColumns


class Facts(NamedTuple):
    """What is known of a node besides its devices."""

    no_device: bool
    unreadable: bool
    plain: bool
    vendor: str


UNKNOWN: Final = Facts(no_device=True, unreadable=False, plain=False, vendor="")


class CardColumns:
    """The books of all nodes by rows, and a log of what changed: koordpy_api's Changing.

    no_device: has nobody said which devices the node has? unreadable: does a Pod there hold nobody knows what?
    unknown_nodes, unreadable_nodes: how many of each. plain: are cards there the device plugin's to give?
    vendor: of its cards, as its Device says.
    """

    def __init__(self, books: DeviceCache) -> None:
        self._books = books
        self._log = Changes()
        self._host_epoch: object = None
        self._rows: dict[str, int] = {}
        self._types: dict[str, TypeColumns] = {}
        self._devices: list[NodeDevices] = []
        self._facts: list[Facts] = []
        self._vendors: dict[str, int] = {"": 0}
        self._vendor_names: list[str] = [""]
        self.no_device: Flags = np.zeros(0, dtype=np.bool_)
        self.unreadable: Flags = np.zeros(0, dtype=np.bool_)
        self.plain: Flags = np.zeros(0, dtype=np.bool_)
        self.unknown_nodes = 0
        self.unreadable_nodes = 0
        self.vendor: Interned[str] = Interned(np.zeros(0, dtype=np.int32), self._vendor_names, self._vendors)

    # How they change

    @property
    def epoch(self) -> object:
        return self._log.epoch

    @property
    def version(self) -> int:
        return self._log.version

    def __len__(self) -> int:
        return len(self._log)

    def changed_since(self, version: int) -> Rows | None:
        return self._log.changed_since(version)

    def catch_up(self, columns: NodeColumns) -> None:
        """Be what the books are now, in the rows of these columns."""
        if columns.epoch is not self._host_epoch:
            self._move(columns)
        for name in self._books.take_touched():
            if (row := self._rows.get(name)) is not None and self._read(row, name):
                self._log.note(row)

    # What there is

    def devices(self, row: int) -> NodeDevices:
        return self._devices[row]

    def facts(self, row: int) -> Facts:
        return self._facts[row]

    def type(self, device_type: str) -> TypeColumns:
        if (found := self._types.get(device_type)) is None:
            devices = [each.type(device_type) for each in self._devices]
            found = self._types[device_type] = TypeColumns(device_type, devices)
        return found

    # Inside

    def _read(self, row: int, name: str) -> bool:
        """Returns: is the node another than before?"""
        books, book = self._books, self._books.books.get(name)
        no_device = not books.has_device(name)
        facts = Facts(
            no_device,
            book is not None and bool(book.unreadable),
            no_device and books.is_plain(name),
            "" if book is None else book.listing.vendor,
        )
        if is_another := facts != self._facts[row]:
            self.unknown_nodes += facts[0] - self._facts[row][0]
            self.unreadable_nodes += facts[1] - self._facts[row][1]
            self._facts[row] = facts
            self.no_device[row], self.unreadable[row], self.plain[row], vendor = facts
            if vendor not in self._vendors:
                self._vendors[vendor] = len(self._vendor_names)
                self._vendor_names.append(vendor)
            self.vendor.ids[row] = self._vendors[vendor]
        devices = NO_DEVICES if book is None else book.devices
        if devices is not self._devices[row]:
            self._devices[row] = devices
            for kind, of_type in self._types.items():
                is_another |= of_type.put(row, devices.type(kind))
        return is_another

    def _move(self, columns: NodeColumns) -> None:
        """Take along what is known of each node; only nodes that are new here are read from the books."""
        order = Order([self._rows.get(name, -1) for name in columns.names])
        self._host_epoch = columns.epoch
        self._rows = {name: row for row, name in enumerate(columns.names)}
        self._devices = order.listed(self._devices, NO_DEVICES)
        self._facts = order.listed(self._facts, UNKNOWN)
        self.no_device, self.unreadable = order.of(self.no_device, True), order.of(self.unreadable, False)
        self.unknown_nodes = int(np.count_nonzero(self.no_device))
        self.unreadable_nodes = int(np.count_nonzero(self.unreadable))
        self.plain = order.of(self.plain, False)
        self.vendor = Interned(order.of(self.vendor.ids, 0), self._vendor_names, self._vendors)
        for of_type in self._types.values():
            of_type.moved(order)
        for row in order.new:
            self._read(row, columns.names[row])
        self._log.start_anew(len(columns.names))

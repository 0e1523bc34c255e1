"""Events that wait to be written, the oldest first."""

from collections import OrderedDict
from datetime import datetime
from typing import Final, Literal

import msgspec

from koordpy_api.objects import ObjectMeta

NOTE_BYTES: Final = 1024
# An Event's name is the Pod's, a dot and 16 hex digits, and may be as long as the Pod's alone.
_NAME_ROOM: Final = 253 - 17

EventKind = Literal["Normal", "Warning"]
Mark = tuple[str, str, int]


class Entry(msgspec.Struct, frozen=True, gc=False):
    """One Event about a Pod, as it was recorded."""

    regarding: ObjectMeta
    component: str
    type: EventKind
    reason: str
    action: str
    note: str
    time: datetime
    number: int  # when it came, and what tells its name from others'

    @property
    def mark(self) -> Mark:
        """What makes two Events the same. A hash of the note, because 20,000 notes of 1 KiB are much to remember."""
        return (self.regarding.uid, self.reason, hash(self.note))

    @property
    def name(self) -> str:
        return f"{self.regarding.name[:_NAME_ROOM].rstrip('.-')}.{self.number:016x}"


class Lane:
    """First in, first out; and it knows the newest of each Pod and reason."""

    def __init__(self) -> None:
        self._entries: OrderedDict[int, Entry] = OrderedDict()
        self._newest: dict[tuple[str, str], int] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def push(self, entry: Entry) -> None:
        self._entries[entry.number] = entry
        self._newest[entry.regarding.uid, entry.reason] = entry.number

    def pop(self) -> Entry:
        _, entry = self._entries.popitem(last=False)
        if self._newest.get((entry.regarding.uid, entry.reason)) == entry.number:
            del self._newest[entry.regarding.uid, entry.reason]
        return entry

    def take_earlier(self, entry: Entry) -> Entry | None:
        """Out of the lane, the newest that says something of this reason about the same Pod; None if nothing does."""
        number = self._newest.pop((entry.regarding.uid, entry.reason), None)
        return None if number is None else self._entries.pop(number)


def shorten(note: str) -> str:
    """At most 1024 bytes, which the API server demands; the last four then are " ...". Never half a character."""
    if len(note) <= NOTE_BYTES and note.isascii():
        return note
    encoded = note.encode(errors="replace")
    if len(encoded) > NOTE_BYTES:
        return encoded[: NOTE_BYTES - 4].decode(errors="ignore") + " ..."
    return encoded.decode()

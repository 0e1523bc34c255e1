"""All nodes at once: NodeColumns, the nodes as integer arrays; Verdicts, what a plugin says of each; Kept, a cache;
Changes, a log that tells it what to compute again.

A row is one node. Rows are good for one scheduling cycle; a plugin that keeps columns of its own keeps `epoch` beside
them and starts anew when that has changed. Every array is read-only, and the host is its one writer.

Amounts are int64, in the units of koordpy_api.resources, and never beyond LIMIT either way, so that a hundredfold and
the sum of a few still fit. A node with more is left to the per-node shape by the host, as is every Pod that asks more:
whoever writes the vector shape need not think of it.
"""

from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from koordpy_api.node_info import ImageState, NodeInfo
from koordpy_api.objects import Taint
from koordpy_api.status import Code, Status

Amounts = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.uint16]
Rows = npt.NDArray[np.intp]
Selection = Rows | slice
"""Some rows by number, or slice(None) for all of them, which costs no copy. `array[selection]` does for both."""

LIMIT: Final = 2**56
"""No amount in a column is larger; 64 PiB as bytes."""

SMALL: Final = 2**46
"""Up to here (64 TiB as bytes) a hundredfold plus an amount is exact as a float64."""

_EXACT_FLOAT: Final = 2**52
_REMEMBERED: Final = 4096
_FEW_VALUES: Final = 8
_SHORT: Final = 1024
_FEW: Final = 16
_ALL: Final = slice(None)
_AMOUNT: Final = np.dtype(np.int64)
_FLAG: Final = np.dtype(np.bool_)
_UNSIGNED: Final = np.dtype(np.uint64)

V_co = TypeVar("V_co", covariant=True)
K = TypeVar("K", bound=Hashable)
C = TypeVar("C", bound="Changing")
T = TypeVar("T", bound=np.generic)


@dataclass(frozen=True, slots=True)
class Verdicts:
    """What a plugin says of every node.

    codes: uint16, one per row; 0: the Pod fits, k: reasons[k - 1] says why not. The host only reads it.
    reasons: refusals as `filter` would give them; one that no code names need not exist before it is asked for. Their
    details may be left out: who wants to know asks `filter`.
    """

    codes: Codes
    reasons: Sequence[Status]

    @classmethod
    def where(cls, refused: Flags, reason: Status) -> "Verdicts":
        """One reason for all nodes that are refused. Raises: TypeError if `refused` are no Flags."""
        if not isinstance(refused, np.ndarray) or refused.dtype != _FLAG:
            raise TypeError(f"Verdicts.where: refused is {form(refused)}; bool is wanted, one per row")
        return cls(refused.astype(np.uint16), (reason,))

    @classmethod
    def one_by_one(cls, answers: Iterable[Status | None], count: int) -> "Verdicts":
        """From `filter`'s own answers for all `count` rows, for a Pod that is too odd for columns."""
        known: dict[tuple[Code, tuple[str, ...]], int] = {}
        codes = np.fromiter(
            (
                0 if answer is None else known.setdefault((answer.code, answer.reasons), len(known) + 1)
                for answer in answers
            ),
            dtype=np.uint16,
            count=count,
        )
        return cls(codes, tuple(Status(code, reasons) for code, reasons in known))


@dataclass(frozen=True, slots=True)
class Interned(Generic[V_co]):
    """A column of few different values: `values[ids[row]]` is the row's. values only grows within an epoch.

    numbers: value → where it stands in `values`; without it `among` has to look through them.
    """

    ids: npt.NDArray[np.int32]
    values: Sequence[V_co]
    numbers: Mapping[Any, int] = field(default_factory=dict)

    def among(self, rows: Selection, wanted: Collection[object]) -> Flags:
        """Is the value of these rows one of the wanted? Costs by how many are wanted, not by how many there are."""
        ids = self.ids[rows]
        known = self.numbers or {value: number for number, value in enumerate(self.values)}
        numbers = [number for each in wanted if (number := known.get(each)) is not None]
        if len(numbers) > _FEW_VALUES:
            return np.isin(ids, numbers)
        found = np.zeros(len(ids), dtype=np.bool_)
        for number in numbers:
            found |= ids == number
        return found

    def judged(self, rows: Selection, judge: Callable[[V_co], int], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """judge(value) for each of these rows. It is asked once a value, or once a row if there are fewer rows."""
        ids = self.ids[rows]
        if len(ids) < len(self.values):
            return np.array([judge(self.values[each]) for each in ids.tolist()], dtype=dtype)
        return np.array([judge(value) for value in self.values], dtype=dtype)[ids]


class Changing(Protocol):
    """Rows that change: what Kept needs to know. NodeColumns are one; a plugin's own columns can be another.

    epoch: another object once a row no longer means what it meant, and everything is new; nobody else has the same.
    version: grows with every change.
    """

    @property
    def epoch(self) -> object: ...

    @property
    def version(self) -> int: ...

    def __len__(self) -> int:
        """How many rows there are."""
        ...

    def changed_since(self, version: int) -> Rows | None:
        """Every row that changed after `version` of this epoch, in any order, each once; None: nobody remembers."""
        ...


class NodeColumns(Changing, Protocol):
    """The known nodes in the order of the snapshot. Good until the cycle ends."""

    @property
    def objects(self) -> Changing:
        """The same rows, of which only those change whose Node object did: labels, taints, images, what it offers.

        A Pod that comes or goes changes none of them. Its epoch ends with that of the columns, its version is its own.
        """
        ...

    @property
    def nodes(self) -> Sequence[NodeInfo]:
        """row → the node itself."""
        ...

    @property
    def names(self) -> Sequence[str]:
        """row → its name. Not changed within an epoch."""
        ...

    def row_of(self, name: str) -> int | None:
        """None if the node is not known."""
        ...

    @property
    def pods(self) -> Amounts:
        """How many pods count on the node."""
        ...

    @property
    def allowed_pods(self) -> Amounts:
        """How many may."""
        ...

    @property
    def unschedulable(self) -> Flags:
        """Is it cordoned?"""
        ...

    @property
    def taints(self) -> Interned[tuple[Taint, ...]]:
        """Its taints, in their order."""
        ...

    def label(self, key: str) -> Interned[str | None]:
        """The value of a label; None where the node has it not."""
        ...

    def allocatable(self, resource: str) -> Amounts:
        """What the node offers; 0 where it does not name the resource."""
        ...

    def names_resource(self, resource: str) -> Flags:
        """Does the node's allocatable name it, be it as 0?"""
        ...

    def requested(self, resource: str) -> Amounts:
        """What its pods ask for together."""
        ...

    def non_zero_requested(self, resource: str) -> Amounts:
        """The same as scoring counts cpu and memory: with a default for who asks for none."""
        ...

    def is_small(self, resource: str) -> bool:
        """Is no amount of it, offered or asked for on any node, beyond SMALL? Never true of negative ones."""
        ...

    def image(self, name: str) -> tuple[Flags, ImageState] | None:
        """Which nodes list this image name, and what is known of it; None if none does."""
        ...


class Changes:
    """A change log, for whoever keeps columns: the one implementation of Changing, the host's too.

    It remembers as many changes as it pays to follow one by one; whoever has seen less is told to start anew.
    """

    __slots__ = ("_count", "_first", "_followed", "_ring", "_told", "epoch", "version")

    def __init__(self, count: int = 0) -> None:
        self.version = 0
        self._ring = np.zeros(_REMEMBERED, dtype=np.intp)
        self.start_anew(count)

    def __len__(self) -> int:
        return self._count

    def start_anew(self, count: int) -> None:
        """Everything is new, and there are so many rows now."""
        self.epoch = object()
        self._count = count
        self._followed = min(max(count // 2, _FEW), _REMEMBERED)
        self._first = self.version
        self._told: dict[int, Rows] = {}

    def note(self, row: int) -> None:
        """This row has changed. Raises: IndexError if there is no such row."""
        if not 0 <= row < self._count:
            raise IndexError(f"Changes.note: there is no row {row}; there are {self._count}, counted from 0")
        self._ring[self.version % _REMEMBERED] = row
        self.version += 1
        if self._told:
            self._told = {}

    def changed_since(self, version: int) -> Rows | None:
        """As Changing."""
        told = self._told.get(version)
        if told is None:
            number = self.version - version
            if version < self._first or not 0 <= number <= self._followed:  # a later version is of another log
                return None
            told = self._told[version] = self._last(number)
        return told

    def _last(self, number: int) -> Rows:
        """The rows of the last changes, each once."""
        start, end = (self.version - number) % _REMEMBERED, self.version % _REMEMBERED
        ring = self._ring
        rows = ring[start:end].copy() if start <= end else np.concatenate((ring[start:], ring[:end]))
        if number > 1:
            place, places = np.empty(self._count, dtype=np.intp), np.arange(number)
            place[rows] = places
            rows = rows[place[rows] == places]
        rows.flags.writeable = False
        return rows


@dataclass(slots=True)
class _Entry:
    epoch: object
    version: int
    values: npt.NDArray[Any]


@dataclass(slots=True)
class Kept(Generic[K, C]):
    """One array per key, of which only the rows that changed are computed again.

    compute: (key, columns, rows) → the value of each of these rows, as an array with one entry per row on its first
    axis. It must depend on nothing but the key and what `changing` says has changed.
    limit: so many keys are kept; the one that was asked for longest ago goes first.
    """

    compute: Callable[[K, C, Selection], npt.NDArray[Any]]
    limit: int = 256
    _entries: OrderedDict[K, _Entry] = field(default_factory=OrderedDict)

    def of(self, key: K, columns: C, changing: Changing | None = None) -> npt.NDArray[Any]:
        """The key's values for all rows, read-only.

        changing: what the values depend on; the columns as a whole if it is left out.
        Raises: TypeError if compute's answer has not one entry per row, or not always the same form.
        """
        changing = columns if changing is None else changing
        entry = self._entries.get(key)
        if entry is not None and entry.epoch is changing.epoch:
            self._entries.move_to_end(key)
            if entry.version == changing.version:
                return entry.values
            changed = changing.changed_since(entry.version)
            if changed is not None:
                return self._mended(key, entry, columns, changed, changing.version)
        values = self.compute(key, columns, _ALL)
        if not isinstance(values, np.ndarray) or values.shape[:1] != (len(changing),):
            raise TypeError(
                f"Kept.compute answered {form(values)} for all {len(changing)} rows; one entry per row is wanted"
            )
        values = values if values.flags.owndata else values.copy()
        values.flags.writeable = False
        self._entries[key] = _Entry(changing.epoch, changing.version, values)
        if len(self._entries) > self.limit:
            self._entries.popitem(last=False)
        return values

    def _mended(self, key: K, entry: _Entry, columns: C, changed: Rows, version: int) -> npt.NDArray[Any]:
        values, new = entry.values, self.compute(key, columns, changed)
        if not isinstance(new, np.ndarray) or new.dtype != values.dtype or len(new) != len(changed):
            raise TypeError(
                f"Kept.compute answered {form(new)} for {len(changed)} rows; {values.dtype} is wanted as for all rows, "
                "one entry per row"
            )
        values.flags.writeable = True
        values[changed] = new
        values.flags.writeable = False
        entry.version = version
        return values


def take(values: npt.NDArray[T], rows: Rows) -> npt.NDArray[T]:
    """values[rows] for rows that ascend, as a new array; cheaper if they are all."""
    return values.copy() if len(rows) == len(values) else values[rows]


def stretch(scores: Amounts, *, reverse: bool = False) -> None:
    """In place: the highest becomes 100, the others in proportion, rounded down; in reverse, 100 less each of these.

    Where all are 0 they stay so, and are 100 in reverse.
    Raises: TypeError if they are no Amounts, ValueError if one is negative or beyond LIMIT.
    Source: helper.DefaultNormalizeScore.
    """
    if not isinstance(scores, np.ndarray) or scores.dtype != _AMOUNT or scores.ndim != 1:
        raise TypeError(f"stretch: scores are {form(scores)}; int64 is wanted, one per row")
    if not len(scores):
        return
    most = scores.item(scores.view(_UNSIGNED).argmax())  # unsigned, a negative one is the highest of all
    if not 0 <= most <= LIMIT:
        raise ValueError(f"stretch: a score is {most}; 0 to {LIMIT} is wanted")
    if most == 0:
        scores[:] = 100 if reverse else 0
        return
    if most == 100 and not reverse:
        return
    if most <= _SHORT:  # looking up costs less than dividing
        _stretched(most, reverse).take(scores, out=scores, mode="clip")
        return
    scores *= 100
    scores //= most
    if reverse:
        np.subtract(100, scores, out=scores)


@lru_cache(maxsize=64)
def _stretched(most: int, reverse: bool) -> Amounts:
    """What each score from 0 to `most` becomes."""
    stretched = np.arange(most + 1) * 100 // most
    return 100 - stretched if reverse else stretched


def floor_div(dividends: Amounts, divisors: Amounts) -> Amounts:
    """dividends // divisors of amounts that are not negative, exact, and several times faster than NumPy's integers.

    A quotient that is rounded to float64 reaches the next integer only if dividend + divisor have more than 53 bits;
    then it is divided as integers.
    Raises: TypeError if they are no Amounts, ValueError if a dividend is negative or a divisor is not positive.
    """
    for name, amounts in (("dividends", dividends), ("divisors", divisors)):
        if not isinstance(amounts, np.ndarray) or amounts.dtype != _AMOUNT:
            raise TypeError(f"floor_div: {name} are {form(amounts)}; int64 is wanted")
    if not dividends.size or not divisors.size:
        return dividends // divisors
    for name, amounts, least in (("dividends", dividends, 0), ("divisors", divisors, 1)):
        if (lowest := amounts.item(amounts.argmin())) < least:
            raise ValueError(f"floor_div: the lowest of the {name} is {lowest}; none may be below {least}")
    if dividends.item(dividends.argmax()) < _EXACT_FLOAT and divisors.item(divisors.argmax()) < _EXACT_FLOAT:
        return (dividends / divisors).astype(np.int64)
    return dividends // divisors


def form(answer: object) -> str:
    """How something that should be an array looks: `int64[5]`, or its type."""
    if not isinstance(answer, np.ndarray):
        return type(answer).__name__
    return f"{answer.dtype}[{', '.join(map(str, answer.shape))}]"

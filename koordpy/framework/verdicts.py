"""What all plugins' answers at one point come to."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from koordpy.cache.snapshot import NodeRows
from koordpy_api import Code, NodeInfo, Status
from koordpy_api.columns import Codes, Rows

_MOST: Final = np.iinfo(np.uint16).max
NOTHING: Final[Mapping[str, Status]] = {}

Numbers = npt.NDArray[np.unsignedinteger]


@dataclass(frozen=True, slots=True)
class Candidates:
    """What PreFilter left: the nodes worth looking at, and the refusal of those that are not."""

    nodes: Sequence[NodeInfo]
    absent: Status | None = None


@dataclass(frozen=True, slots=True)
class Filtered:
    """What Filter said: the nodes that fit, and why each of the others does not."""

    feasible: Sequence[NodeInfo]
    refusals: Mapping[str, Status]


@dataclass(frozen=True, slots=True)
class PostFiltered:
    """What PostFilter came to.

    nominated_node: where the Pod will fit; "" takes an earlier nomination back, None leaves it.
    refusal: why no room could be made; None if a plugin made room, or none had anything to say.
    """

    nominated_node: str | None = None
    refusal: Status | None = None


@dataclass(frozen=True, slots=True)
class Said:
    """The reasons of one plugin's Verdicts, as they count among all: the numbers after `before` are its own."""

    plugin: str
    before: int
    reasons: Sequence[Status]


class Refusals(Mapping[str, Status]):
    """Why nodes do not fit, by name: a number per node, which becomes a Status when somebody asks. It never changes.

    Most attempts find a node, and nobody asks; so even the numbers are put together for who does.
    """

    __slots__ = ("_codes_of", "_looked_at", "_names", "_numbers", "_rows", "_said", "_speakers", "_statuses")

    def __init__(self, looked_at: NodeRows, codes: Sequence[Codes], said: Sequence[Said]) -> None:
        """codes: of each plugin, one per row of the columns, 0: it fits. Only of the nodes that were looked at."""
        columns = looked_at.columns
        self._names, self._rows = columns.names, columns.rows
        self._looked_at = None if looked_at.is_everyone else looked_at.rows
        self._codes_of = [each.copy() for each in codes]  # the plugins go on with theirs
        self._numbers: Numbers | None = None
        self._said = tuple(said)
        self._statuses: dict[int, Status] = {}
        self._speakers: list[tuple[str, int, int]] | None = None

    @property
    def _codes(self) -> Numbers:
        if self._numbers is None:
            numbers = (
                first_refusals(self._codes_of, self._said) if self._said else np.zeros(len(self._names), np.uint16)
            )
            self._numbers = numbers if self._looked_at is None else _only(self._looked_at, numbers)
            self._codes_of = []
        return self._numbers

    def __getitem__(self, name: str) -> Status:
        code = int(self._codes[self._rows[name]])
        if not code:
            raise KeyError(name)
        return self.status(code)

    def __len__(self) -> int:
        return int(np.count_nonzero(self._codes))

    def __iter__(self) -> Iterator[str]:
        names = self._names
        return (names[row] for row in np.flatnonzero(self._codes).tolist())

    def tally(self) -> list[tuple[Status, int]]:
        """Each refusal, and of how many nodes."""
        return [(self.status(code), count) for _, code, count in self.speakers()]

    def speakers(self) -> list[tuple[str, int, int]]:
        """(plugin, its number, how many nodes have it) of each number that occurs."""
        if self._speakers is None:
            counts = np.bincount(self._codes)
            used = np.flatnonzero(counts).tolist()
            self._speakers = [(self._by(code).plugin, code, int(counts[code])) for code in used if code]
        return self._speakers

    def status(self, code: int) -> Status:
        """What a number says, in its plugin's name; an error if that is no refusal."""
        if (known := self._statuses.get(code)) is None:
            said = self._by(code)
            known = self._statuses[code] = _reason(said, code - said.before - 1).by(said.plugin)
        return known

    def _by(self, code: int) -> Said:
        return next(said for said in reversed(self._said) if said.before < code)


class OfEveryNode(Mapping[str, Status]):
    """What holds for each of these nodes: its own refusal, or else the same as for all."""

    __slots__ = ("_names", "_otherwise", "_refusals")

    def __init__(self, names: Collection[str], refusals: Mapping[str, Status], otherwise: Status) -> None:
        self._names = names
        self._refusals = refusals
        self._otherwise = otherwise

    def __getitem__(self, name: str) -> Status:
        if name not in self._names:
            raise KeyError(name)
        return self._refusals.get(name, self._otherwise)

    def __len__(self) -> int:
        return len(self._names)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)


def _reason(said: Said, place: int) -> Status:
    """What stands there may be anything: nobody looked at it before."""
    reason: object = said.reasons[place]
    if isinstance(reason, Status) and (reason.is_rejected or reason.code is Code.ERROR):
        return reason
    shown = reason.code.name if isinstance(reason, Status) else f"{reason!r:.80}"
    return Status.error(f"filter_nodes answered reasons[{place}] {shown}; a Status that refuses is wanted")


def first_refusals(codes: Sequence[Codes], said: Sequence[Said]) -> Numbers:
    """One number per node out of all plugins' codes. The first refusal settles a node: a later one counts no more."""
    numbers: Numbers = codes[0]
    for each, more in zip(said[1:], codes[1:], strict=True):
        of_each: Numbers = more
        if each.before + len(each.reasons) > _MOST:
            numbers, of_each = numbers.astype(np.uint32), more.astype(np.uint32)
        numbers = numbers + (of_each + each.before) * ((numbers == 0) & (more != 0))
    return numbers


def tally(refusals: Mapping[str, Status]) -> list[tuple[Status, int]]:
    """Each refusal, and of how many nodes; one may come more than once."""
    return refusals.tally() if isinstance(refusals, Refusals) else [(status, 1) for status in refusals.values()]


def narrow(nodes: Sequence[NodeInfo], wanted: Mapping[str, frozenset[str]]) -> Candidates | Status:
    """Only the nodes that every plugin of `wanted` named; a refusal by these plugins if there is none."""
    if not wanted:
        return Candidates(nodes)
    names = frozenset.intersection(*wanted.values())
    plugins = sorted(wanted)
    if not names and len(plugins) == 1:
        return Status.unresolvable(f"node(s) didn't satisfy plugin {plugins[0]}").by(plugins[0])
    reason = f"node(s) didn't satisfy plugin(s) [{' '.join(plugins)}]"
    if not names:
        return _by_all(Status.unresolvable(f"{reason} simultaneously"), plugins)
    left = nodes.named(names) if isinstance(nodes, NodeRows) else [node for node in nodes if node.name in names]
    return Candidates(left, _by_all(Status.unresolvable(reason), plugins))


def _by_all(refusal: Status, plugins: Sequence[str]) -> Status:
    return replace(refusal, plugin=plugins[0], others=frozenset(plugins[1:]))


def _only(rows: Rows, numbers: Numbers) -> Numbers:
    left = np.zeros_like(numbers)
    left[rows] = numbers[rows]
    return left

"""What plugins answer about all nodes at once: checked, and put together in profile order."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from koordpy.cache.columns import Columns
from koordpy.cache.snapshot import NodeRows
from koordpy.framework.verdicts import Refusals, Said, first_refusals
from koordpy_api import QuantityError
from koordpy_api.columns import LIMIT, Codes, Flags, Rows, Verdicts, form
from koordpy_api.objects import Pod
from koordpy_api.resources import pod_requests

_CODE: Final = np.dtype(np.uint16)
_SCORE: Final = np.dtype(np.int64)


Scores = npt.NDArray[np.int64]


class BadAnswer(Exception):
    """What a plugin answered, and what would be right. It is blamed on the plugin like any exception of its own."""


class Merged:
    """What the plugins that were asked so far say of every node. Who refuses whom is only put together in Refusals."""

    __slots__ = ("_codes", "_fits", "_looked_at", "_said")

    def __init__(self, looked_at: NodeRows) -> None:
        self._looked_at = looked_at
        self._fits: Flags | None = None  # None: everybody
        self._codes: list[Codes] = []
        self._said: list[Said] = []

    def add(self, plugin: str, verdicts: Verdicts) -> None:
        """A plugin's answer. verdicts: right for these columns."""
        before = self._said[-1].before + len(self._said[-1].reasons) if self._said else 0
        self._said.append(Said(plugin, before, verdicts.reasons))
        self._codes.append(verdicts.codes)
        fits = verdicts.codes == 0
        self._fits = fits if self._fits is None else np.logical_and(self._fits, fits, out=fits)

    @property
    def left(self) -> int:
        """How many of the nodes that are looked at nobody refused."""
        fits, looked_at = self._fits, self._looked_at
        if fits is None:
            return len(looked_at)
        return int(np.count_nonzero(fits if looked_at.is_everyone else fits[looked_at.rows]))

    def feasible(self) -> NodeRows:
        """The nodes that nobody refused."""
        fits, looked_at = self._fits, self._looked_at
        if fits is None:
            return looked_at
        rows = fits.nonzero()[0] if looked_at.is_everyone else looked_at.rows[fits[looked_at.rows]]
        return NodeRows(looked_at.columns, rows)

    def verdicts(self) -> Verdicts | None:
        """All of it as if one plugin had said it."""
        if not self._codes:
            return None
        numbers = first_refusals(self._codes, self._said)
        return Verdicts(numbers, [status for said in self._said for status in said.reasons])

    def refusals(self, looked_at: NodeRows) -> Refusals:
        """Of these nodes those that are refused."""
        return Refusals(looked_at, self._codes, self._said)


def checked_verdicts(answer: object, columns: Columns) -> Verdicts | None:
    """None if the plugin refuses nobody. Raises: BadAnswer."""
    if answer is None:
        return None
    if not isinstance(answer, Verdicts):
        raise BadAnswer(f"filter_nodes answered {type(answer).__name__}; None or Verdicts is wanted")
    codes, reasons = answer.codes, answer.reasons
    if not isinstance(codes, np.ndarray) or codes.dtype != _CODE or codes.shape != (len(columns),):
        raise BadAnswer(f"filter_nodes answered codes of {form(codes)}; uint16[{len(columns)}] is wanted, one per row")
    if isinstance(reasons, str) or not isinstance(reasons, Sequence):
        raise BadAnswer(f"filter_nodes answered reasons of {type(reasons).__name__}; a sequence of Status is wanted")
    highest = codes.item(codes.argmax()) if len(codes) else 0
    if highest > len(reasons):
        raise BadAnswer(f"filter_nodes answered code {highest}, but has {len(reasons)} reasons")
    return answer if highest else None


def checked_scores(answer: object, count: int) -> Scores:
    """An array that may be written to. Raises: BadAnswer."""
    if not isinstance(answer, np.ndarray) or answer.dtype != _SCORE or answer.shape != (count,):
        raise BadAnswer(
            f"score_nodes answered {form(answer)}; int64[{count}] is wanted, one per row that was asked for"
        )
    return answer if answer.flags.writeable else answer.copy()


def asks_too_much(pod: Pod) -> bool:
    """Does this Pod ask for an amount that no column could hold?"""
    try:
        return max(pod_requests(pod).values(), default=0) > LIMIT
    except QuantityError:
        return True  # whoever reads it will say so


def places_of(few: Rows, rows: Rows) -> list[tuple[int, int]]:
    """Where some of `few` stand in `rows`, which ascend: (place, row)."""
    if not len(few) or not len(rows):
        return []
    places = np.minimum(np.searchsorted(rows, few), len(rows) - 1)
    return [(place, row) for place, row in zip(places.tolist(), few.tolist(), strict=True) if rows[place] == row]


def without(codes: Codes, rows: Rows) -> Codes:
    """The same, with 0 for these rows."""
    left = codes.copy()
    left[rows] = 0
    return left

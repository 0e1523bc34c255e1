"""All nodes at once: what `filter` and `score` say of each of them, from the books as arrays.

Only for requests of the usual kind: so many devices that each give the same, of any types. What is rare (a selector, a
designated device, one on each device, partitions, a topology) is left to the per-node shape.
"""

from functools import lru_cache
from itertools import product
from typing import Final, TypeGuard

import msgspec
import numpy as np
import numpy.typing as npt

from koordpy_api.columns import Codes, Flags, Kept, NodeColumns, Rows, Selection, Verdicts
from koordpy_api.status import Status
from koordpy_deviceshare import refusals
from koordpy_deviceshare.allocator import shortage
from koordpy_deviceshare.card_columns import CardColumns
from koordpy_deviceshare.gates import Gates
from koordpy_deviceshare.model import Amounts, NodeDevices
from koordpy_deviceshare.request import DeviceRequest, Share
from koordpy_deviceshare.scoring import Scorer
from koordpy_deviceshare.type_columns import Exact, TypeColumns, can_be_asked
from koordpy_deviceshare.vendors import KNOWN_VENDORS, VENDOR_OF

_MOST_PLANS: Final = 4096
_MOST_COUNTED: Final = 255
_FEW: Final = 4
_NO_DEVICE: Final = 1
_LEADING: Final = 2
"""Of so many resources at once there is a leader: of all that pods ask of a GPU, but for parts of an NPU."""

_Kept = npt.NDArray[np.int16]
"""Scores: so many are kept that their memory is cold, and a quarter of it is fetched sooner."""

_Asked = tuple[tuple[Share, ...], str]
"""What is asked of device types; the one name of a vendor under which it is, or ""."""


class Plan(msgspec.Struct, frozen=True, eq=False):
    """How equal requests are put to the columns; itself the key of what is kept.

    request: one of them. asked: for each share, what all its devices together give.
    reasons: by the codes that `_codes` gives, without details.
    """

    request: DeviceRequest
    shares: tuple[Share, ...]
    asked: tuple[Amounts, ...]
    reasons: tuple[Status, ...]


class AllNodes:
    """One per profile. The columns are everybody's; what is worked out of them for a request is the profile's own."""

    def __init__(self, cards: CardColumns, gates: Gates, scorer: Scorer) -> None:
        self._cards: Final = cards
        self._gates: Final = gates
        self._scorer: Final = scorer
        self._weights: Final = tuple(scorer.weights.items())
        self._plans: dict[_Asked, Plan] = {}
        self._codes: Final = Kept[Plan, CardColumns](_codes)
        self._scores: Final = Kept[Plan, CardColumns](self._rate)

    def plan(self, request: DeviceRequest) -> Plan | None:
        """None if the request is none for columns."""
        if request.shares is None:
            return None
        asked = request.shares, request.vendor_cards
        if (plan := self._plans.get(asked)) is None and (plan := _planned(request, request.shares)) is not None:
            if len(self._plans) >= _MOST_PLANS:
                self._plans.clear()
            self._plans[asked] = plan
        return plan

    # Filter

    def verdicts(self, request: DeviceRequest, plan: Plan, columns: NodeColumns) -> Verdicts:
        cards = self._cards
        cards.catch_up(columns)
        codes: Codes = self._codes.of(plan, cards)
        reasons = plan.reasons
        if by_label := self._gates.refusals_by_label(request, columns):
            codes = codes.copy()
            for flags, reason in reversed(by_label):
                reasons = (*reasons, reason)
                np.copyto(codes, len(reasons), where=flags & ~cards.no_device)
        if (name := request.vendor_cards) and (plain := cards.plain & (columns.allocatable(name) > 0)).any():
            codes, rows = codes.copy(), np.flatnonzero(plain)
            free = columns.allocatable(name)[rows] - columns.requested(name)[rows]
            asked = plan.shares[0].devices
            reasons = (*reasons, _bare(refusals.insufficient_count(name, asked, 0)))
            codes[rows] = np.where(asked <= free, 0, len(reasons))
        return Verdicts(codes, reasons)

    # Score

    def ratings(
        self, request: DeviceRequest, plan: Plan, columns: NodeColumns, rows: Selection
    ) -> npt.NDArray[np.int64]:
        cards = self._cards
        cards.catch_up(columns)
        kept = self._scores.of(plan, cards)
        is_all = isinstance(rows, slice) or len(rows) == len(kept)
        scores: npt.NDArray[np.int64] = (kept if is_all else kept[rows]).astype(np.int64)
        irregular = {row for share in plan.shares for row in cards.type(share.type).irregular}
        if irregular:
            for place, row in enumerate(np.arange(len(kept))[rows].tolist()):
                if row in irregular:
                    scores[place] = self._rate_row(plan, cards.devices(row))
        return scores

    def _rate(self, plan: Plan, cards: CardColumns, rows: Selection) -> _Kept:
        """As Scorer.rate_node."""
        if _are_few(rows):
            return np.array([self._rate_row(plan, cards.devices(row)) for row in rows.tolist()], dtype=np.int16)
        total: _Kept | None = None
        for share, asked in zip(plan.shares, plan.asked, strict=True):
            score = self._rate_type(cards.type(share.type), asked, rows)
            total = score if total is None else np.add(total, score, out=total)
        assert total is not None
        return total

    def _rate_row(self, plan: Plan, devices: NodeDevices) -> int:
        rate = self._scorer.rate_devices
        return sum(
            [rate(asked, devices.type(share.type)) for share, asked in zip(plan.shares, plan.asked, strict=True)]
        )

    def _rate_type(self, of_type: TypeColumns, asked: Amounts, rows: Selection) -> _Kept:
        """As Scorer.rate_devices. Whole numbers all the way, and no division that float64 rounds to the next one."""
        fullest = self._scorer.fullest
        score: Exact | None = None
        weights: npt.NDArray[np.int64] | int = 0
        for name, weight in self._weights:
            sums = of_type.sums(name)
            if sums.is_nowhere:
                continue
            part = sums.rate(asked.get(name, 0), rows, fullest=fullest)
            if weight != 1:
                part *= weight
            score = part if score is None else np.add(score, part, out=part)
            weights = weights + (weight if sums.is_everywhere else np.multiply(sums.total[rows] > 0, weight))
        if score is None:
            return np.zeros(len(of_type.has_free[rows]), dtype=np.int16)
        if not isinstance(weights, int):
            score /= np.maximum(weights, 1)
        elif weights != 1:
            score /= weights
        rated = score.astype(np.int16)  # rounds down
        return rated * of_type.has_free[rows] if fullest else rated  # where all is taken, nothing is left to fill


def _planned(request: DeviceRequest, shares: tuple[Share, ...]) -> Plan | None:
    for share in shares:
        if not can_be_asked(share.per_device, share.devices):
            return None
    asked = tuple([{name: amount * share.devices for name, amount in share.per_device} for share in shares])
    return Plan(request, shares, asked, _reasons(tuple([share.type for share in shares])))


def _codes(plan: Plan, cards: CardColumns, rows: Selection) -> Codes:
    """0, or which of `_reasons`."""
    if _are_few(rows):
        return np.array([_code(plan, cards, row) for row in rows.tolist()], dtype=np.uint16)
    codes: Codes | None = None
    for bit, share in enumerate(plan.shares, 1):
        of_type = cards.type(share.type)
        fits = _fits(share, of_type, rows)
        if not fits.all():
            code = ~fits * (of_type.lasting[rows] + (1 << bit))
            codes = code if codes is None else codes | code
    if codes is None:
        codes = np.zeros(len(cards.no_device[rows]), dtype=np.uint16)
    unreadable, name = 2 << len(plan.shares), plan.request.vendor_cards
    if cards.unreadable_nodes:
        np.copyto(codes, unreadable, where=cards.unreadable[rows])
    if name and (others := KNOWN_VENDORS.intersection(cards.vendor.values) - {VENDOR_OF[name]}):
        np.copyto(codes, unreadable + 1, where=cards.vendor.among(rows, others))
    if cards.unknown_nodes:
        np.copyto(codes, _NO_DEVICE, where=cards.no_device[rows])
    return codes


def _code(plan: Plan, cards: CardColumns, row: int) -> int:
    """The same of one row."""
    facts, unreadable, name = cards.facts(row), 2 << len(plan.shares), plan.request.vendor_cards
    if facts.no_device:
        return _NO_DEVICE
    if name and facts.vendor in KNOWN_VENDORS and facts.vendor != VENDOR_OF[name]:
        return unreadable + 1
    if facts.unreadable:
        return unreadable
    if (short := shortage(plan.request, cards.devices(row))) is None:
        return 0
    types = {each.type for each in short.types}
    return sum(2 << bit for bit, share in enumerate(plan.shares) if share.type in types) + short.is_lasting


@lru_cache(maxsize=64)
def _reasons(types: tuple[str, ...]) -> tuple[Status, ...]:
    """No Device; for each set of types, a bit each, that it is short, and that it is for ever; what is worse."""
    short = [
        refusals.too_few([each for bit, each in enumerate(types) if mask >> bit & 1], is_lasting=is_lasting)
        for mask, is_lasting in product(range(1, 1 << len(types)), (False, True))
    ]
    unreadable, other_vendor = refusals.unreadable_pods([""]), refusals.other_vendor("", "")
    return refusals.no_device(), *short, _bare(unreadable), _bare(other_vendor)


def _fits(share: Share, of_type: TypeColumns, rows: Selection) -> Flags:
    """As allocator.shortage: which nodes have enough devices that give this?"""
    if share.devices == 1 and not share.is_whole and len(share.per_device) <= _LEADING:
        return _fits_one(share, of_type, rows)
    give = _give(share, of_type, rows)
    if share.is_whole:
        np.logical_and(give, of_type.empty[:, rows], out=give)
    if share.devices == 1:
        some: Flags = np.logical_or.reduce(give, axis=0)
        return some
    if len(give) > _MOST_COUNTED:
        give_enough: Flags = np.count_nonzero(give, axis=0) >= share.devices
        return give_enough
    enough_of_them: Flags = np.add.reduce(give.view(np.uint8), axis=0, dtype=np.uint8) >= share.devices
    return enough_of_them


def _fits_one(share: Share, of_type: TypeColumns, rows: Selection) -> Flags:
    """The same of one device. All devices of a node are looked at only where the leader has too little of the other."""
    (other, asked), (lead, least) = share.per_device[0], share.per_device[-1]
    leaders = of_type.leaders(lead, other)
    enough: Flags = leaders.lead[rows] >= least
    if lead == other:
        return enough
    fits: Flags = leaders.other[rows] >= asked
    np.logical_and(enough, fits, out=fits)
    if count := np.count_nonzero(enough) - np.count_nonzero(fits):
        if count > len(fits) // 4:
            some: Flags = np.logical_or.reduce(_give(share, of_type, rows), axis=0)
            return some
        unsure = np.flatnonzero(enough != fits)
        at = unsure if isinstance(rows, slice) else rows[unsure]
        fits[unsure] = np.logical_or.reduce(_give(share, of_type, at), axis=0)
    return fits


def _give(share: Share, of_type: TypeColumns, rows: Selection) -> Flags:
    """device by node → does it give this?"""
    give: Flags | None = None
    for name, amount in share.per_device:
        enough: Flags = of_type.most(name)[:, rows] >= amount
        give = enough if give is None else np.logical_and(give, enough, out=give)
    assert give is not None
    return give


def _are_few(rows: Selection) -> TypeGuard[Rows]:
    """So few rows that to ask about them one by one is cheaper than a dozen arrays of them; most replays are."""
    return not isinstance(rows, slice) and len(rows) <= _FEW


def _bare(status: Status) -> Status:
    """Without details, which are those of one node."""
    return Status(status.code, status.reasons)

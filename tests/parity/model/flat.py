"""One allocation on one node without topology, and the node's score. Source: koordinator.md 4.4, 5 to 5.3, 5.7, 5.8."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from koordpy_api.koordinator import FPGA, GPU_MEMORY, GPU_MEMORY_RATIO, RDMA
from tests.parity.model import requests
from tests.parity.model.amounts import (
    Amounts,
    Books,
    Minors,
    fits,
    is_zero,
    minus,
    plus,
    read_amounts,
    read_minors,
    smaller,
)
from tests.parity.model.device import FORMS, all_forms, completed, device_score, selects
from tests.parity.model.differences import (
    ALL_CARDS,
    ALL_SHORT,
    BOTH_FORMS,
    DESIGNATED_HERE,
    NONE,
    UNREPORTED,
    Differences,
)

Case = Mapping[str, Any]
DEFAULT_WEIGHTS: Final = {GPU_MEMORY_RATIO: 1, GPU_MEMORY: 1, RDMA: 1, FPGA: 1}
NODE: Final = "n1"


@dataclass(frozen=True)
class Refused:
    code: str
    reasons: tuple[str, ...]


LASTING: Final = "UnschedulableAndUnresolvable"
PASSING: Final = "Unschedulable"


@dataclass(frozen=True)
class Given:
    """Device type → minor → amounts, completed."""

    devices: Books


@dataclass(frozen=True)
class _View:
    """What a request may see of one device type: minors that its hint allows, with what others may give up."""

    total: Minors
    free: Minors


class Node:
    """The node of a case, asked by its Pod."""

    def __init__(self, case: Case, differences: Differences = NONE) -> None:
        self._case = case
        self._differences = differences
        self._entries = case["device"]["devices"]
        self._hints = case["pod"].get("hints") or {}
        self._used = sum_of_held(case.get("used", ()))
        self._total = self._totals()

    # -- questions ---------------------------------------------------------------------------------------------------

    def prefilter(self) -> str | None:
        """The text of a refusal."""
        asked = requests.by_type(requests.pod_sum(self._case["pod"]))
        texts = [text for kind in asked if (text := requests.refusal(asked[kind], self._differences))]
        if not texts and requests.is_slice(asked.get("gpu", {})):
            return "no matched GPU shared resource template"  # there are no templates on a flat node
        return texts[0] if texts else None

    def allocate(self, scorer: str | None) -> Given | Refused:
        required = self._designated()
        if isinstance(required, Refused):
            return required
        wanted = self._wanted()
        lacking, short = [kind for kind, (count, _) in wanted.items() if not count], []
        if lacking and ALL_SHORT not in self._differences:
            return insufficient(lacking[:1], LASTING)
        given: Books = {}
        for kind, (count, per) in wanted.items():
            chosen = self._choose(count, per, self._view(kind, required.get(kind, {})), scorer)
            if count and len(chosen) < count:
                short.append(kind)
            given[kind] = dict.fromkeys(chosen, per)
        if short and ALL_SHORT not in self._differences:
            return insufficient(short[:1], PASSING)
        if lacking or short:
            return insufficient(sorted([*lacking, *short]), LASTING if lacking else PASSING)
        return Given(given)

    def complete(self, given: Given) -> Given | Refused:
        """Bytes and percent of every card that was given."""
        if not self._total.get("gpu"):
            return given
        done: Minors = {}
        for minor, amounts in given.devices.get("gpu", {}).items():
            if is_zero(total := self._total["gpu"].get(minor, {})):
                why = f"no healthy gpu device with minor {minor} of allocation, node: {NODE}"
                return Refused(
                    LASTING if DESIGNATED_HERE in self._differences else "Error", (f"fillGPUTotalMem failed: {why}",)
                )
            done[minor] = completed(amounts, total, self._differences)
        return Given(given.devices | ({"gpu": done} if done else {}))

    def score(self, strategy: str) -> int | Refused:
        """Before normalising: one device's request against the sums over all."""
        wanted = self._wanted()
        if lacking := [kind for kind, (count, _) in wanted.items() if not count]:
            return insufficient(lacking[:1], LASTING)
        score = 0
        for kind, (count, per) in wanted.items():
            if ALL_CARDS in self._differences:
                per = {name: amount * count for name, amount in per.items()}
            view = self._view(kind, {})
            total: Amounts = {}
            free: Amounts = {}
            for minor in view.total:
                total, free = plus(total, view.total[minor]), plus(free, view.free[minor])
            score += device_score(strategy, per, total, free, self._weights)
        return score

    # -- the steps ---------------------------------------------------------------------------------------------------

    @property
    def _weights(self) -> Mapping[str, int]:
        weights: Mapping[str, int] | None = self._case.get("weights")
        return DEFAULT_WEIGHTS if weights is None else weights

    def _totals(self) -> Books:
        total: Books = {}
        for entry in self._entries:
            amounts = read_amounts(entry["resources"]) if entry["health"] else {}
            total.setdefault(entry["type"], {})[entry["minor"]] = amounts
        for kind, used in self._used.items():
            for minor in used:
                total.setdefault(kind, {}).setdefault(minor, {})
        return total

    def _wanted(self) -> dict[str, tuple[int, Amounts]]:
        """Device type → on how many devices how much each. None, where the node can never serve it."""
        wanted: dict[str, tuple[int, Amounts]] = {}
        for kind, asked in requests.by_type(requests.pod_sum(self._case["pod"])).items():
            known = sorted(self._total.get(kind, {}))
            if kind == "gpu":
                divided = requests.per_card(requests.converted(asked), self._differences)
                wanted[kind] = divided.count if known else 0, divided.per_card
                continue
            (name, amount) = next(iter(asked.items()))
            matching = [entry.get("labels", {}) for entry in self._entries if self._matches(kind, entry)]
            count, each = requests.instances(self._hint(kind), amount, known, matching)
            wanted[kind] = count if known else 0, {name: each}
        return wanted

    def _designated(self) -> Books | Refused:
        books = {kind: read_minors(minors) for kind, minors in (self._case.get("designated") or {}).items()}
        done = self.complete(Given(books))
        return done if isinstance(done, Refused) else done.devices

    def _view(self, kind: str, required: Minors) -> _View:
        base = self._effective_free(kind, required)
        allowed = {entry["minor"] for entry in self._entries if self._matches(kind, entry)}
        total = {minor: self._total[kind][minor] for minor in allowed if minor in base}
        if all(is_zero(base[minor]) for minor in total):
            return _View({}, {})
        used = {minor: minus(total[minor], base[minor]) for minor in total}
        return _View(total, {minor: minus(total[minor], used[minor]) for minor in total})

    def _effective_free(self, kind: str, required: Minors) -> Minors:
        total, used = self._total.get(kind, {}), self._used.get(kind, {})
        base = {minor: minus(total[minor], used.get(minor, {})) for minor in total}
        for minor, amounts in read_minors((self._case.get("preemptible") or {}).get(kind)).items():
            left = minus(total.get(minor, {}), minus(used.get(minor, {}), amounts))
            if not is_zero(left):
                base[minor] = left
        if not required:
            return base
        return {minor: smaller(base[minor], required[minor]) for minor in base if minor in required}

    def _choose(self, count: int, per: Amounts, view: _View, scorer: str | None) -> list[int]:
        def order(minor: int) -> tuple[int, int]:
            if scorer is None:
                return 0, minor
            return -device_score(scorer, per, view.total[minor], view.free[minor], self._weights), minor

        fitting = [minor for minor in sorted(view.free, key=order) if self._fits(per, minor, view)]
        return fitting[:count]

    def _fits(self, per: Amounts, minor: int, view: _View) -> bool:
        free, total = view.free[minor], view.total[minor]
        if is_zero(free) or not fits(per, free):
            return False
        if UNREPORTED in self._differences and not all_forms(per) <= total.keys():
            return False
        if BOTH_FORMS in self._differences and total.get(GPU_MEMORY, 0) and all_forms(per) & FORMS:
            return fits(completed(per, total, self._differences), free)
        return True

    def _hint(self, kind: str) -> Mapping[str, Any]:
        hint: Mapping[str, Any] = self._hints.get(kind) or {}
        return hint

    def _matches(self, kind: str, entry: Mapping[str, Any]) -> bool:
        if entry["type"] != kind:
            return False
        return selects(self._hint(kind).get("selector") or {}, entry.get("labels") or {})


def insufficient(kinds: Sequence[str], code: str) -> Refused:
    return Refused(code, tuple(f"Insufficient {kind} devices" for kind in kinds))


def sum_of_held(pods: Iterable[Mapping[str, Any]]) -> Books:
    """What all recorded pods hold."""
    used: Books = {}
    for pod in pods:
        for kind in requests.TYPES:
            for minor, amounts in read_minors(pod.get(kind)).items():
                by_minor = used.setdefault(kind, {})
                by_minor[minor] = plus(by_minor.get(minor, {}), amounts)
    return used

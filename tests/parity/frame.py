"""What can come of a case, and how a file of cases is read.

A reader turns one case into a call of koordpy and a comparison. It says Right, Wrong or Waiting. Whether what is Wrong
is meant (Different), or the case itself is wrong (Disputed), is decided from YAML files, in `Judge`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

Case = Mapping[str, Any]
Legend = Mapping[str, Any]
"""Everything of the case's file but the cases: its legend, fixtures, templates, defaults."""


@dataclass(frozen=True, slots=True)
class Right:
    """koordpy answers what the case says."""


@dataclass(frozen=True, slots=True)
class Wrong:
    """koordpy answers something else."""

    expected: Any
    got: Any


@dataclass(frozen=True, slots=True)
class Different:
    """koordpy answers something else on purpose: what `rule` of differences.yaml says."""

    rule: str


@dataclass(frozen=True, slots=True)
class Disputed:
    """The case itself is wrong, and disputed.yaml says where that is shown."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """koordpy cannot be asked yet; what it waits for: a plugin, a dialect, a part."""

    for_what: str


Outcome = Right | Wrong | Different | Disputed | Waiting
Reader = Callable[[Case, Legend], Outcome]


class Statement:
    """Marks a kind whose cases are sentences. They become scenarios (tests/scenarios) and are only counted here."""


Readers = Mapping[str, Reader | Waiting | Statement]
"""Kind of case → what reads it."""

WriteOut = Callable[[Case, Legend], Case]
"""A case with nothing left to look up in its legend, so that rules see all of its input."""

NOTHING_SHORT: Final[Mapping[str, WriteOut]] = {}
RECORDED: Final = "recorded "
"""So begins what a recording of some form is called."""


def compare(expected: object, got: object) -> Right | Wrong:
    """Right if both are equal."""
    return Right() if expected == got else Wrong(expected, got)


@dataclass(frozen=True, slots=True)
class CaseFile:
    """One file of cases. `stem` is the registered name of its form, not of the file."""

    stem: str
    legend: Legend
    cases: Sequence[Case]


def read_folder(
    folder: Path, registered: Mapping[str, Readers], written_out: Mapping[str, WriteOut] = NOTHING_SHORT
) -> list[CaseFile]:
    """All files of cases in a folder; it need not have one of each form."""
    paths = sorted(folder.glob("*.yaml"))
    if not paths:
        raise FileNotFoundError(f"no *.yaml in {folder}")
    return [read_file(path, registered, written_out) for path in paths]


def read_file(
    path: Path, registered: Mapping[str, Readers], written_out: Mapping[str, WriteOut] = NOTHING_SHORT
) -> CaseFile:
    document = yaml.load(path.read_text(encoding="utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    cases = document.pop("cases")
    form = form_of(path.stem, cases, registered)
    if (write_out := written_out.get(form)) is not None:
        cases = [write_out(case, document) for case in cases]
    return CaseFile(form, document, cases)


def kind_of(case: Case) -> str:
    """A file may have one sort of case only, and no kinds."""
    return str(case.get("kind", ""))


def form_of(stem: str, cases: Iterable[Case], registered: Mapping[str, Readers]) -> str:
    """A further file may be called kube-scheduler-2, or anything; then its kinds say what form it has."""
    if named := [form for form in registered if form in stem]:
        return max(named, key=len)
    kinds = [kind_of(case) for case in cases]
    return max(registered, key=lambda form: sum(kind in registered[form] for kind in kinds))


@dataclass(frozen=True, slots=True)
class Rule:
    """A difference that is meant: `where` it holds, and our `answer`, both computed from the case's input.

    file: the form; it covers recordings of that form too. kinds: of cases.
    """

    name: str
    file: str
    kinds: frozenset[str]
    where: Callable[[Case], bool]
    answer: Callable[[Case], Any]

    def covers(self, file: str, case: Case) -> bool:
        return file.removeprefix(RECORDED) == self.file and kind_of(case) in self.kinds and self.where(case)


class Judge:
    """Reads cases, and knows which wrong answers are meant."""

    def __init__(
        self, registered: Mapping[str, Readers], rules: Sequence[Rule], disputed: Mapping[tuple[str, str], Any]
    ) -> None:
        """disputed: (file, id) → the answer that is right."""
        self._registered = registered
        self._rules = rules
        self._disputed = disputed

    def judge(self, file: CaseFile, case: Case) -> Outcome | Statement:
        match self._registered[file.stem].get(kind_of(case), Waiting(f"a reader of kind {kind_of(case)!r}")):
            case Statement() | Waiting() as known:
                return known
            case read:
                outcome = read(case, file.legend)
        if not isinstance(outcome, Wrong):
            return outcome
        for rule in self._rules:
            if rule.covers(file.stem, case) and rule.answer(case) == outcome.got:
                return Different(rule.name)
        key = (file.stem, str(case.get("id", "")))
        if key in self._disputed and self._disputed[key] == outcome.got:
            return Disputed()
        return outcome

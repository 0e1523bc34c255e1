"""What can come of a case, and how a file of cases is read.

A reader turns one case into a call of koordpy and a comparison. It says Right, Wrong or Waiting. Whether what is Wrong
is meant (Different), or the case itself is wrong (Disputed), is decided from YAML files, in `Judge`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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


def compare(expected: object, got: object) -> Right | Wrong:
    """Right if both are equal."""
    return Right() if expected == got else Wrong(expected, got)


@dataclass(frozen=True, slots=True)
class CaseFile:
    """One file of cases. `stem` is the registered name of its form, not of the file."""

    stem: str
    legend: Legend
    cases: Sequence[Case]


def read_folder(folder: Path, registered: Mapping[str, Readers]) -> list[CaseFile]:
    """All files of cases in a folder; it need not have one of each form."""
    paths = sorted(folder.glob("*.yaml"))
    if not paths:
        raise FileNotFoundError(f"no *.yaml in {folder}")
    return [read_file(path, registered) for path in paths]


def read_file(path: Path, registered: Mapping[str, Readers]) -> CaseFile:
    document = yaml.load(path.read_text(encoding="utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    cases = document.pop("cases")
    return CaseFile(_form_of(path.stem, cases, registered), document, cases)


def kind_of(case: Case) -> str:
    """A file may have one sort of case only, and no kinds."""
    return str(case.get("kind", ""))


def _form_of(stem: str, cases: Iterable[Case], registered: Mapping[str, Readers]) -> str:
    """A further file may be called kube-scheduler-2, or anything; then its kinds say what form it has."""
    if named := [form for form in registered if form in stem]:
        return max(named, key=len)
    kinds = [kind_of(case) for case in cases]
    return max(registered, key=lambda form: sum(kind in registered[form] for kind in kinds))


@dataclass(frozen=True, slots=True)
class Rule:
    """A difference that is meant: `where` it holds, and our `answer`, both computed from the case's input."""

    name: str
    file: str
    kind: str
    where: Callable[[Case], bool]
    answer: Callable[[Case], Any]

    def covers(self, file: str, case: Case) -> bool:
        return file == self.file and kind_of(case) == self.kind and self.where(case)


class Judge:
    """Reads cases, and knows which wrong answers are meant. `used` collects the rules that covered a case."""

    def __init__(
        self, registered: Mapping[str, Readers], rules: Sequence[Rule], disputed: Mapping[tuple[str, str], Any]
    ) -> None:
        """disputed: (file, id) → the answer that is right."""
        self._registered = registered
        self._rules = rules
        self._disputed = disputed
        self.used: set[str] = set()

    def judge(self, file: CaseFile, case: Case) -> Outcome | Statement:
        covering = [rule for rule in self._rules if rule.covers(file.stem, case)]
        self.used.update(rule.name for rule in covering)
        match self._registered[file.stem].get(kind_of(case), Waiting(f"a reader of kind {kind_of(case)!r}")):
            case Statement() | Waiting() as known:
                return known
            case read:
                outcome = read(case, file.legend)
        if not isinstance(outcome, Wrong):
            return outcome
        for rule in covering:
            if rule.answer(case) == outcome.got:
                return Different(rule.name)
        key = (file.stem, str(case.get("id", "")))
        if key in self._disputed and self._disputed[key] == outcome.got:
            return Disputed()
        return outcome

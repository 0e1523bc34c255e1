"""docs/contract.md: which behaviours there are, and where each was seen to hold."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

IN_PROCESS: Final = "in-process"
HTTP: Final = "HTTP"
REAL: Final = "real"
FACES: Final = (IN_PROCESS, HTTP, REAL)
PAGE: Final = Path(__file__).parents[3] / "docs" / "contract.md"
Outcomes = Mapping[tuple[str, str], str]
"""(name of the test function, face) → passed or failed; what did not run is not in it."""

NONE: Final = "\N{EN DASH}"
_MARKS: Final = {"passed": "✓", "failed": "✗"}
_HEAD: Final = """# What koordpy relies on in an API server

Every line is a test of `tests/cluster/contract`, which runs on three clusters: the embedded one in-process and in
virtual time, the same over HTTP, and a real kube-apiserver. A behaviour came in once it was green on the real one. ✓
means that it held in the run that wrote this page, a dash that the face has no such thing: in-process is no wire.
This page is written by `pytest tests/cluster/contract --write-contract`.
"""


@dataclass(frozen=True)
class Section:
    """One file of behaviours: its docstring, and for each function the faces it runs on."""

    title: str
    behaviours: Mapping[str, tuple[str, ...]]


def sections() -> Iterator[Section]:
    """From the sources, so that it does not matter which of them pytest was asked to run."""
    for path in sorted(Path(__file__).parent.glob("test_*.py"), key=lambda path: ("_wire_" in path.name, path.name)):
        module = ast.parse(path.read_text())
        functions = [each for each in module.body if isinstance(each, ast.AsyncFunctionDef)]
        behaviours = {each.name: _faces(each) for each in functions if each.name.startswith("test_")}
        if behaviours:
            yield Section((ast.get_docstring(module) or path.stem).splitlines()[0].rstrip("."), behaviours)


def _faces(function: ast.AsyncFunctionDef) -> tuple[str, ...]:
    return FACES if function.args.args[0].arg == "face" else FACES[1:]


def sentence(name: str) -> str:
    return name.removeprefix("test_").replace("_", " ")


def lines(outcomes: Outcomes) -> Iterator[str]:
    """For each face, how many behaviours held of those that ran there."""
    for face in FACES:
        ran = [outcome for (_, where), outcome in outcomes.items() if where == face]
        held = ran.count("passed")
        yield f"contract {face}: {held} of {len(ran)} behaviours hold" if ran else f"contract {face}: did not run"


def table(outcomes: Outcomes) -> str:
    """Markdown, a table for each section."""
    parts = []
    for section in sections():
        rows = [f"| behaviour | {' | '.join(FACES)} |", "|---|---|---|---|"]
        for name in section.behaviours:
            marks = (_MARKS.get(outcomes.get((name, face), ""), NONE) for face in FACES)
            rows.append(f"| {sentence(name)} | {' | '.join(marks)} |")
        parts.append(f"## {section.title}\n\n" + "\n".join(rows))
    return "\n\n".join(parts) + "\n"


def write(outcomes: Outcomes) -> str:
    """Write the page if everything ran and held. Returns: a sentence about it."""
    wanted = [(name, face) for section in sections() for name, faces in section.behaviours.items() for face in faces]
    missing = sum(each not in outcomes for each in wanted)
    failed = sum(outcome != "passed" for outcome in outcomes.values())
    if missing or failed:
        return f"{PAGE.name} is not written: of {len(wanted)} pairs {missing} did not run and {failed} failed"
    counts = ", ".join(f"{sum(where == face for _, where in outcomes)} {face}" for face in FACES)
    PAGE.write_text(f"{_HEAD}\nBehaviours: {counts}.\n\n{table(outcomes)}")
    return f"{PAGE.name} is written"

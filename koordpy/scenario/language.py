"""A scenario file, read strictly: every mistake is told with file, line and path."""

import re
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from koordpy.config import document
from koordpy.config.complaints import problems_of
from koordpy.errors import ConfigError
from koordpy.scenario.expectations import Expect
from koordpy.scenario.manifests import Manifests, Reference
from koordpy.scenario.parts import Document, Part, Seconds, Texts, keys_of, listed, names_of
from koordpy.scenario.standins import Hooks
from koordpy_api import Problem

PATIENCE_S: Final = 5.0
"""So long may an `advance` be that a scenario waits for on a real cluster."""

NEEDS: Final = ("plugin", "point", "issue")


class Elsewhere(Part):
    """Another scheduler's bind."""

    node: str
    annotations: dict[str, str] = {}

    @model_validator(mode="before")
    @classmethod
    def _bare(cls, value: object) -> object:
        return {"node": value} if isinstance(value, str) else value


class Fault(Part):
    """The next `times` requests of this kind are answered so. lost: carried out, but the answer never comes."""

    request: str
    answer: Literal["lost", "dropped"] | int
    times: int = Field(default=1, ge=1)


class Step(Part):
    """One thing that happens, then perhaps expectations; or expectations alone."""

    apply: Manifests = ()
    patch: dict[Reference, Document] = {}
    delete: Annotated[tuple[Reference, ...], BeforeValidator(listed)] = ()
    bind_by_other: dict[str, Elsewhere] = {}
    allow: dict[str, str] = {}
    reject: dict[str, str] = {}
    crash: bool = False
    restart: bool = False
    advance: Seconds = 0.0
    fault: Fault | None = None
    run: str = ""
    expect: Expect | None = None

    @property
    def kind(self) -> str:
        """The key of what happens, "expect" if nothing does."""
        return next((key for key in keys_of(self) if key != "expect"), "expect")

    @model_validator(mode="after")
    def _one(self) -> "Step":
        happens = [key for key in keys_of(self) if key != "expect"]
        if len(happens) > 1 or not keys_of(self):
            raise ValueError(f"one step is one of {', '.join(names_of(Step))}; here are {', '.join(happens) or 'none'}")
        return self


def _needs(value: object) -> object:
    needed = listed(value)
    for need in needed if isinstance(needed, tuple) else ():
        kind, _, name = str(need).partition(" ")
        if kind not in NEEDS or not name:
            raise ValueError(f"{need!r} does not say what kind of thing it is: {' X, '.join(NEEDS)} X")
    return needed


class Scenario(Part):
    """The whole file."""

    title: str = Field(min_length=1)
    case: Annotated[tuple[str, ...], BeforeValidator(listed)] = ()
    note: str = ""
    differs: str = ""
    real: bool = False
    waits_for: Annotated[tuple[str, ...], BeforeValidator(_needs)] = ()
    objects: Manifests = ()
    config: Document | str | None = None
    plugins: dict[str, Hooks] = {}
    files: dict[str, Document | str] = {}
    distributions: Texts = ()
    steps: Annotated[tuple[Step, ...], BeforeValidator(listed)] = ()
    expect: Expect | None = None

    @property
    def runs_a_scheduler(self) -> bool:
        """Files about commands alone need no cluster."""
        return bool(self.objects) or any(step.kind not in ("run", "expect") for step in self.steps)

    @model_validator(mode="after")
    def _together(self) -> "Scenario":
        if self.real and any(step.advance > PATIENCE_S for step in self.steps):
            raise ValueError(f"real: true, but a step advances by more than the {PATIENCE_S:g}s that people wait for")
        return self


def load(path: Path) -> Scenario:
    """Raises: ConfigError carrying all mistakes of the file."""
    return parse(path.read_text(encoding="utf-8"), str(path))


def parse(text: str, source: str) -> Scenario:
    """Raises: ConfigError carrying all mistakes of the text."""
    written = document.read(text, source)
    try:
        return Scenario.model_validate(written.value)
    except ValidationError as error:
        raise ConfigError(
            source, [_plain(each) for each in problems_of(error, model=Scenario)], written.lines
        ) from None


def file_text(content: Document | str) -> str:
    """A file's text: as it was written, or what it holds as YAML."""
    return content if isinstance(content, str) else document.write(content)


def _plain(problem: Problem) -> Problem:
    """Without the mark of which short form was read."""
    path = re.sub(r'\["<\w+>"\]', "", problem.path)
    return Problem(path, problem.value, problem.right)

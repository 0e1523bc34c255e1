"""A scenario file, read strictly: every mistake is told with file, line and path."""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Final, Literal, TypeVar

from pydantic import BeforeValidator, Field, PrivateAttr, ValidationError, model_validator

from koordpy.config import document
from koordpy.config.complaints import problems_of
from koordpy.errors import ConfigError
from koordpy.scenario.expectations import Expect
from koordpy.scenario.manifests import Manifests, Reference
from koordpy.scenario.parts import Content, Document, Part, Seconds, Texts, keys_of, listed, names_of
from koordpy.scenario.standins import Hooks
from koordpy_api import Problem

P = TypeVar("P", bound=Part)

PATIENCE_S: Final = 5.0
"""So long may a step take on purpose that a scenario plays on a real cluster."""

BESIDE: Final = ("over", "grace", "expect")
"""What stands beside the one thing that happens in a step."""

NEEDS: Final = ("plugin", "point", "issue")


class Elsewhere(Part):
    """Another scheduler's bind."""

    node: str
    annotations: dict[str, str] = {}

    @model_validator(mode="before")
    @classmethod
    def _bare(cls, value: object) -> object:
        return {"node": value} if isinstance(value, str) else value


def _answer(value: object) -> object:
    """Said here, for pydantic would name each half of the union as if it stood in the file."""
    is_code = isinstance(value, int) and not isinstance(value, bool) and 400 <= value <= 599
    if value is not None and not is_code and value not in ("lost", "dropped", "half-closed"):
        raise ValueError("must be a code from 400 to 599, lost, dropped or half-closed")
    return value


class Fault(Part):
    """The next `times` requests that begin so are answered so, after `delay`.

    lost: carried out, but the answer never comes. half-closed: a watch that stays open and says nothing more.
    """

    request: str = Field(min_length=1)
    answer: Annotated[Literal["lost", "dropped", "half-closed"] | int | None, BeforeValidator(_answer)] = None
    retry_after: Seconds = 0.0
    delay: Seconds = 0.0
    times: int = Field(default=1, ge=1)

    @model_validator(mode="after")
    def _sensible(self) -> "Fault":
        if self.answer is None and not self.delay:
            raise ValueError("an answer, a delay, or both")
        if self.retry_after and self.answer not in (429, 503):
            raise ValueError("retryAfter is said by 429 and 503 alone")
        if self.answer == "half-closed" and not self.request.startswith("watch"):
            raise ValueError("only a watch can be half-closed")
        return self


class Rule(Part):
    """What the fake kubelet makes of Pods whose labels match; annotations on the Pod come first."""

    labels: str = ""
    runs_for: Seconds | None = None
    fails_after: Seconds | None = None
    stops_in: Seconds | None = None

    @model_validator(mode="after")
    def _one_end(self) -> "Rule":
        if self.runs_for is not None and self.fails_after is not None:
            raise ValueError("a Pod finishes or fails; either runsFor or failsAfter")
        return self


def _rules(value: object) -> object:
    """true: a kubelet without rules."""
    return () if value is True else listed(value)


class Step(Part):
    """One thing that happens, then perhaps expectations; or expectations alone."""

    apply: Manifests = ()
    files: Texts = ()
    over: Seconds = 0.0
    patch: dict[Reference, Document] = {}
    delete: Annotated[tuple[Reference, ...], BeforeValidator(listed)] = ()
    grace: Seconds = 0.0
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
        return next((key for key in keys_of(self) if key not in BESIDE), "expect")

    @model_validator(mode="after")
    def _one(self) -> "Step":
        happens = [key for key in keys_of(self) if key not in BESIDE]
        if len(happens) > 1 or not keys_of(self):
            raise ValueError(f"one step is one of {', '.join(names_of(Step))}; here are {', '.join(happens) or 'none'}")
        if self.over and self.kind not in ("apply", "files"):
            raise ValueError("`over` stands beside `apply` or `files`: it says in how long their objects arrive")
        if self.grace and self.kind != "delete":
            raise ValueError("`grace` stands beside `delete`")
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
    kubelet: Annotated[tuple[Rule, ...] | None, BeforeValidator(_rules)] = None
    config: Content | None = None
    plugins: dict[str, Hooks] = {}
    files: dict[str, Content] = {}
    distributions: Texts = ()
    steps: Annotated[tuple[Step, ...], BeforeValidator(listed)] = ()
    expect: Expect | None = None
    _written: tuple[document.Document, str] = PrivateAttr((document.Document("scenario.yaml", {}), ""))

    @property
    def source(self) -> str:
        """The file's name."""
        return self._written[0].source

    @property
    def lines(self) -> Mapping[str, int]:
        """Path → line in the file."""
        return self._written[0].lines

    def remember(self, written: document.Document, text: str) -> "Scenario":
        """For who reads it from a file. Returns itself."""
        self._written = written, text
        return self

    def of_config(self, error: ConfigError) -> ConfigError:
        """What is wrong with `config`, told with its place in this file."""
        places = {each: "config" if each.path == document.ROOT else f"config.{each.path}" for each in error.problems}
        lines: Mapping[str, int] = self.lines
        begins = lines.get("config", 0)
        if isinstance(self.config, str):
            is_block = bool(re.search(r":\s*\|\S*(\s+#.*)?$", self._written[1].split("\n")[begins - 1]))
            lines = {place: begins + is_block * error.line_of(each) for each, place in places.items()}
        return ConfigError(self.source, [replace(each, path=place) for each, place in places.items()], lines)

    @property
    def runs_a_scheduler(self) -> bool:
        """Files about commands alone need no cluster."""
        return bool(self.objects) or any(step.kind not in ("run", "expect") for step in self.steps)

    @model_validator(mode="after")
    def _together(self) -> "Scenario":
        if self.real and any(step.advance + step.over > PATIENCE_S for step in self.steps):
            raise ValueError(f"real: true, but a step takes more than the {PATIENCE_S:g}s that people wait for")
        return self


def load(path: Path) -> Scenario:
    """Raises: ConfigError carrying all mistakes of the file."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(str(path), [Problem("file", "", f"cannot be read: {error}")]) from None
    return parse(text, str(path))


def parse(text: str, source: str) -> Scenario:
    """Raises: ConfigError carrying all mistakes of the text."""
    written = document.read(text, source)
    return _validated(Scenario, written, source).remember(written, text)


def read(model: type[P], text: str, source: str) -> P:
    """Any other file that is made of a scenario's parts. Raises: ConfigError carrying all mistakes of the text."""
    return _validated(model, document.read(text, source), source)


def _validated(model: type[P], written: document.Document, source: str) -> P:
    try:
        return model.model_validate(written.value)
    except ValidationError as error:
        raise ConfigError(source, [_plain(each) for each in problems_of(error, model=model)], written.lines) from None


def file_text(content: Content) -> str:
    """A file's text: as it was written, or what it holds as YAML."""
    return content if isinstance(content, str) else document.write(content)


def _plain(problem: Problem) -> Problem:
    """Without the marks of which short form was read, and that it is about the key itself."""
    path = re.sub(r'\["(<\w+>|\[key\])"\]', "", problem.path)
    return Problem(path, problem.value, problem.right)

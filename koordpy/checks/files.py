"""What is wrong with files: objects, workloads, lists and configurations, each mistake with its line and place."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import Final

from koordpy.checks.limits import check_limits
from koordpy.config import manifests
from koordpy.config.expand import default_configuration, resolve
from koordpy.config.load import load_whole, parse_whole
from koordpy.config.manifests import Found
from koordpy.config.places import Location, location_of, path_of
from koordpy.config.yaml_stream import WHOLE, Mistake
from koordpy.errors import ConfigError
from koordpy.framework.build import build
from koordpy.framework.registry import Registry
from koordpy.framework.runner import Framework
from koordpy.scheduler.unheard import refuse_unheard
from koordpy_api import Problem
from koordpy_api.objects import KubeObject, Pod

STDIN: Final = "-"
PATTERNS: Final = ("*.yaml", "*.yml")


class Weight(Enum):
    """How bad a finding is. Only mistakes make a file wrong."""

    MISTAKE = ""
    WARNING = "warning: "
    NOTE = "note: "


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the answer. line: 0 if there is none. about: kind and name of the object, if it is known."""

    file: str
    line: int
    about: str
    problem: Problem
    weight: Weight = Weight.MISTAKE

    def __str__(self) -> str:
        path = "" if self.problem.path == WHOLE else self.problem.path
        value = self.problem.value
        shown = f" is {value!r}" if re.search(r"\s|^$", value) else f" is {value}"
        place = f"{path}{shown if value else ''}: " if path else ""
        about = f"{self.about}: " if self.about else ""
        where = f"{self.file}:{self.line}" if self.line else self.file
        return _on_one_line(f"{where}: {self.weight.value}{about}{place}{self.problem.right}")


@dataclass(frozen=True, slots=True)
class Report:
    """The whole answer: findings in the order of files and lines, and how much was looked at."""

    findings: Sequence[Finding]
    files: int
    objects: int

    def count(self, weight: Weight) -> int:
        return sum(finding.weight is weight for finding in self.findings)


class Plugins:
    """What the plugins of a profile find wrong with objects; built when the first object needs them."""

    def __init__(self, config: Path | None = None) -> None:
        """config: a KubeSchedulerConfiguration whose profiles are asked instead of the default one."""
        self._config = config

    def check(self, obj: KubeObject) -> list[Problem]:
        """Each problem once, whichever profiles tell it. Raises: KoordpyError if the profiles cannot be built."""
        found = [problem for framework in self._frameworks for _, problem in framework.run_check(obj)]
        if isinstance(obj, Pod):
            # What another scheduler hears is its own affair.
            ours = [each for each in self._frameworks if each.profile == obj.spec.scheduler_name]
            refusals = [refuse_unheard(obj, framework.left_out) for framework in ours]
            found += [Problem("spec", "", refusal.message) for refusal in refusals if refusal is not None]
        return list(dict.fromkeys(found))

    @cached_property
    def _frameworks(self) -> list[Framework]:
        registry = Registry()
        if self._config is None:
            profiles = resolve(default_configuration(), registry)
        else:
            profiles = load_whole(self._config, registry).profiles
        shared: dict[str, object] = {}
        return [build(profile, registry, lambda *_: None, shared) for profile in profiles]


def check(names: Iterable[str], read_stdin: Callable[[], bytes], plugins: Plugins) -> Report:
    """Look at files, folders (all their *.yaml and *.yml), and standard input, which is called `-`."""
    findings: list[Finding] = []
    files = objects = 0
    for name, raw in _contents(names, read_stdin):
        if isinstance(raw, Problem):
            findings.append(Finding(name, 0, "", raw))
            continue
        files += 1
        for found in manifests.read(raw):
            objects += bool(found.about)
            findings += sorted(_findings(name, found, plugins), key=lambda finding: finding.line)
    return Report(findings, files, objects)


def _on_one_line(text: str) -> str:
    """What a file says must not look like another finding, or steer the terminal."""
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)


def _contents(names: Iterable[str], read_stdin: Callable[[], bytes]) -> Iterator[tuple[str, bytes | Problem]]:
    for name in names:
        if name == STDIN:
            yield "stdin", read_stdin()
            continue
        path = Path(name)
        if not path.is_dir():
            yield name, _content(path)
            continue
        inside = sorted({each for pattern in PATTERNS for each in path.rglob(pattern) if each.is_file()})
        if not inside:
            yield name, Problem("", "", f"no {' or '.join(PATTERNS)} in this folder")
        yield from ((str(each), _content(each)) for each in inside)


def _content(path: Path) -> bytes | Problem:
    try:
        return path.read_bytes()
    except OSError as error:
        return Problem("", "", f"cannot be read: {error.strerror or error}")


def _findings(file: str, found: Found, plugins: Plugins) -> Iterator[Finding]:
    for mistake in found.mistakes:
        yield Finding(file, mistake.line, found.about, mistake.problem)
    for warning in found.warnings:
        yield Finding(file, warning.line, found.about, warning.problem, Weight.WARNING)
    if found.note:
        yield Finding(file, found.line, found.about, Problem("", "", found.note), Weight.NOTE)
    if found.is_configuration and not found.mistakes:
        yield from _of_configuration(file, found)
    if found.obj is not None:
        for told in _seen_whole(found, [*_of_limits(found), *plugins.check(found.obj)]):
            yield Finding(file, told.line, found.about, told.problem)


def _of_configuration(file: str, found: Found) -> Iterator[Finding]:
    try:
        loaded = parse_whole(found.document.text_in_place(), file, Registry())
    except ConfigError as error:
        for problem in error.problems:
            yield Finding(file, found.document.line_of(location_of(problem.path)), found.about, problem)
        return
    for warning in loaded.warnings:
        line, text = _split_place(warning, file)
        yield Finding(file, line, found.about, Problem("", "", text), Weight.WARNING)


def _split_place(text: str, file: str) -> tuple[int, str]:
    """FILE:LINE: or FILE: from the start of a sentence."""
    match = re.fullmatch(rf"{re.escape(file)}(?::(\d+))?: (.*)", text, re.DOTALL)
    return (int(match[1] or 0), match[2]) if match else (0, text)


def _of_limits(found: Found) -> Iterator[Problem]:
    """Nothing if a limit could not be read: the object is without it, and asks for no less."""
    if isinstance(found.obj, Pod) and not any("limits" in location_of(each.problem.path) for each in found.mistakes):
        yield from check_limits(found.obj)


def _seen_whole(found: Found, problems: Iterable[Problem]) -> Iterator[Mistake]:
    """The object was seen without what is wrong with it; what is said about those places says nothing new."""
    wrong = [location_of(mistake.problem.path) for mistake in found.mistakes]
    for problem in problems:
        location = (*found.at, *location_of(problem.path))
        if problem.path and any(_is_within(location, each) or _is_within(each, location) for each in wrong):
            continue
        path = path_of(location) if problem.path else ""
        yield Mistake(found.document.line_of(location), Problem(path, problem.value, problem.right))


def _is_within(location: Location, outer: Location) -> bool:
    return location[: len(outer)] == outer

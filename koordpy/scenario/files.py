"""Plain manifests in files beside a scenario: what stands in them, and where."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from koordpy.config import manifests
from koordpy.config.yaml_stream import WHOLE, Mistake
from koordpy.errors import ConfigError, KoordpyError
from koordpy.scenario.parts import Document
from koordpy_api import Problem

SCENARIO: Final = "scenario.yaml"
"""The scenario of a folder; never one of its manifests."""

SUFFIXES: Final = (".yaml", ".yml", ".json")
REST: Final = "*"


@dataclass(frozen=True, slots=True)
class Manifest:
    """One object that somebody wrote. file, line: where it begins; no file if it stands in the scenario itself."""

    document: Document
    file: str = ""
    line: int = 0

    def refused(self, why: object) -> KoordpyError:
        """What whoever applied it is told."""
        name = f"{self.document['kind']} {self.document['metadata']['name']}"
        problem = Problem(name, "", f"the cluster refuses it: {why}")
        return ConfigError(self.file, [problem], {name: self.line}) if self.file else KoordpyError(str(problem))


def matching(folder: Path, patterns: Sequence[str]) -> list[Path]:
    """Files of manifests in the order of their names. Raises: ConfigError if a pattern other than `*` finds none."""
    found: set[Path] = set()
    for pattern in patterns:
        files = {path for path in folder.glob(pattern) if path.suffix in SUFFIXES and path.name != SCENARIO}
        if not files and pattern != REST:
            right = f"no {', '.join(SUFFIXES)} file in {folder} is called so"
            raise ConfigError(SCENARIO, [Problem("files", pattern, right)])
        found |= files
    return sorted(found)


def files_of_steps(folder: Path, steps: Sequence[Sequence[str]]) -> list[list[Manifest]]:
    """What each step applies: every object of the files that match, but for those of an earlier step's files.

    Raises: KoordpyError, as matching and read_all.
    """
    taken: set[Path] = set()
    paths: list[list[Path]] = []
    for patterns in steps:
        paths.append([path for path in matching(folder, patterns) if path not in taken])
        taken.update(paths[-1])
    objects = read_all(folder, [path for some in paths for path in some])
    return [[each for each in objects if folder / each.file in some] for some in paths]


def read_all(folder: Path, paths: Sequence[Path]) -> list[Manifest]:
    """Every object of these files, those of a List one by one. Namespaces come first, for others live in them.

    Raises: KoordpyError that tells every mistake in any of them with its file and line.
    """
    objects: list[Manifest] = []
    wrong: list[str] = []
    for path in paths:
        source = str(path.relative_to(folder)) if path.is_relative_to(folder) else str(path)
        for found in manifests.read(path.read_bytes()):
            # A misspelled key counts as a mistake: nobody would hear what it says.
            if mistakes := (*found.mistakes, *found.warnings) or tuple(_misplaced(found)):
                wrong += [_told(source, found.about, each) for each in mistakes]
            else:
                objects.append(Manifest(_document(found), source, found.line))
    if wrong:
        raise KoordpyError("\n".join(wrong))
    return sorted(objects, key=_is_no_namespace)


def _is_no_namespace(manifest: Manifest) -> bool:
    return bool(manifest.document["kind"] != "Namespace")


def _misplaced(found: manifests.Found) -> Iterator[Mistake]:
    """What can be read and yet not be applied."""
    if found.is_configuration:
        yield Mistake(found.line, Problem("kind", "", "a configuration is no object; it belongs under `config`"))
    metadata = _value(found).get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
        yield Mistake(found.line, Problem("metadata.name", "", "required: what this object is called"))


def _told(source: str, about: str, mistake: Mistake) -> str:
    problem = mistake.problem
    path = "" if problem.path == WHOLE else problem.path
    shown = f" is {problem.value!r}" if problem.value else ""
    parts = [f"{source}:{mistake.line}", about, f"{path}{shown}", problem.right]
    return ": ".join(part for part in parts if part)


def _document(found: manifests.Found) -> Document:
    """The items of a PodList need not say that they are Pods."""
    value, whole = _value(found), found.document.value
    inherited = {"apiVersion": whole["apiVersion"], "kind": str(whole["kind"]).removesuffix("List")}
    return inherited | value


def _value(found: manifests.Found) -> dict[str, Any]:
    value: Any = found.document.value
    for key in found.root:
        value = value[key]
    return dict(value)

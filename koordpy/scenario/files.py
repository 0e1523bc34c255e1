"""Plain manifests in files beside a scenario: what stands in them, and where."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from koordpy.cluster.embedded.patch import merge
from koordpy.cluster.kinds import EVENT, LEASE
from koordpy.config import manifests
from koordpy.config.yaml_stream import WHOLE, Mistake
from koordpy.errors import ConfigError, KoordpyError
from koordpy.scenario.manifests import KINDS
from koordpy.scenario.parts import Document
from koordpy_api import Problem

SCENARIO: Final = "scenario.yaml"
"""The scenario of a folder; never one of its manifests."""

SUFFIXES: Final = (".yaml", ".yml", ".json")
REST: Final = "*"
NAMESPACED: Final = frozenset(kind.name for kind in (EVENT, LEASE, *KINDS.values()) if kind.namespaced)


@dataclass(frozen=True, slots=True)
class Manifest:
    """One object that somebody wrote. file, line: where it begins; no file if it stands in the scenario itself.

    again: the other places where the very same stands.
    """

    document: Document
    file: str = ""
    line: int = 0
    again: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.document['kind']} {self.document['metadata']['name']}"

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}"

    @property
    def identity(self) -> tuple[str, str, str]:
        """Of what is the same object in a cluster."""
        metadata = self.document["metadata"]
        return self.document["kind"], str(metadata.get("namespace") or "default"), metadata["name"]

    def placed(self, namespace: str) -> Document:
        """Its document; in `namespace`, if it is of a kind that lives in one and does not say in which."""
        here = {"namespace": namespace} if self.document["kind"] in NAMESPACED else {}
        return merge(self.document, {"metadata": here | self.document["metadata"]})

    def refused(self, why: object) -> KoordpyError:
        """What whoever applied it is told."""
        problem = Problem(self.name, "", f"the cluster refuses it: {why}")
        return ConfigError(self.file, [problem], {self.name: self.line}) if self.file else KoordpyError(str(problem))


def matching(folder: Path, patterns: Sequence[str]) -> list[Path]:
    """Files of manifests in the order of their names; hidden files and whatever is no file are none of them.

    Raises: ConfigError if a pattern other than `*` finds none.
    """
    found: set[Path] = set()
    wrong: list[Problem] = []
    for pattern in patterns:
        try:
            if any("**" in step and step != "**" for step in pattern.split("/")):  # which newer Pythons read as *
                raise ValueError("** stands alone between slashes")
            files = {path for path in folder.glob(pattern) if _is_manifest(path)}
        except (ValueError, NotImplementedError) as error:  # an empty one, an absolute one, a**b
            wrong.append(Problem("files", pattern, f"no pattern of files in {folder}: {error}"))
            continue
        if not files and pattern != REST:
            right = f"no {', '.join(SUFFIXES)} file in {folder} is called so"
            wrong.append(Problem("files", pattern, right))
        found |= files
    if wrong:
        raise ConfigError(SCENARIO, wrong)
    return sorted(found)


def files_of_steps(
    folder: Path, steps: Sequence[Sequence[str]], source: str = SCENARIO, lines: Mapping[str, int] | None = None
) -> list[list[Manifest]]:
    """What each step applies: every object of the files that match, but for those of an earlier step's files.

    source, lines: the scenario in which the steps stand, path → line.
    Raises: KoordpyError, as matching and read_all; with it what is wrong in any step.
    """
    taken: set[Path] = set()
    paths: list[list[Path]] = []
    wrong: list[Problem] = []
    for index, patterns in enumerate(steps):
        try:
            files = matching(folder, patterns)
        except ConfigError as error:
            files = []
            wrong += [replace(each, path=f"steps[{index}].{each.path}") for each in error.problems]
        paths.append([path for path in files if path not in taken])
        taken.update(files)
    if wrong:
        raise ConfigError(source, wrong, lines)
    objects = read_all(folder, [path for some in paths for path in some])
    return [[each for each in objects if folder / each.file in some] for some in paths]


def repeated(objects: Sequence[Manifest]) -> list[str]:
    """A sentence for each that stands in several places: no mistake, but hardly meant."""
    return [f"{each.place}: {each.name} stands once more in {', '.join(each.again)}" for each in objects if each.again]


def read_all(folder: Path, paths: Sequence[Path]) -> list[Manifest]:
    """Every object of these files once, those of a List one by one. Namespaces come first, for others live in them.

    Raises: KoordpyError that tells every mistake in any of them with its file and line.
    """
    objects: list[Manifest] = []
    wrong: list[str] = []
    for path in paths:
        source = str(path.relative_to(folder)) if path.is_relative_to(folder) else str(path)
        try:
            raw = path.read_bytes()
        except OSError as error:
            wrong.append(f"{source}: cannot be read: {error.strerror}{' (a link)' if path.is_symlink() else ''}")
            continue
        for found in manifests.read(raw):
            # A misspelled key counts as a mistake: nobody would hear what it says.
            if mistakes := (*found.mistakes, *found.warnings) or tuple(_misplaced(found)):
                wrong += [_told(source, found.about, each) for each in mistakes]
            else:
                objects.append(Manifest(_document(found), source, found.line))
    different, once = _once(objects)
    if wrong := [*wrong, *different]:
        raise KoordpyError("\n".join(wrong))
    return sorted(once, key=_is_no_namespace)


def _is_manifest(path: Path) -> bool:
    """A dangling link is one that cannot be read; a folder or a pipe is none, whatever it is called."""
    is_named_so = path.suffix in SUFFIXES and path.name != SCENARIO and not path.name.startswith(".")
    return is_named_so and (path.is_file() or (path.is_symlink() and not path.exists()))


def _once(objects: Sequence[Manifest]) -> tuple[list[str], list[Manifest]]:
    """What is wrong with objects that stand there twice and differ; and each of the others once."""
    known: dict[tuple[str, str, str], Manifest] = {}
    different = []
    for each in objects:
        first = known.setdefault(each.identity, each)
        if first is each:
            continue
        if first.placed("default") == each.placed("default"):
            known[each.identity] = replace(first, again=(*first.again, each.place))
        else:
            right = "differently; take one of them out, or rename it"
            different.append(f"{each.place}: {each.name}: it stands in {first.place} too, and {right}")
    return different, list(known.values())


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

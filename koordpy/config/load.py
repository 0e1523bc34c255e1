"""A file → KubeSchedulerConfiguration; every mistake with file, line, path, value and what would be right.

One mistake hides no other: what cannot be read is set aside, and the rest is checked as if it were not there.
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from koordpy.config.catalogue import Catalogue
from koordpy.config.complaints import places_of, problems_of, show
from koordpy.config.document import ROOT, Document, survey
from koordpy.config.expand import ResolvedProfile, default_configuration, expand, resolve
from koordpy.config.findings import Findings
from koordpy.config.models import API_VERSION, KIND, KubeSchedulerConfiguration
from koordpy.config.places import Location, path_of
from koordpy.config.v1beta3 import OLD, converted
from koordpy.config.validate import check_together
from koordpy.errors import ConfigError
from koordpy_api import Problem

__all__ = ["Loaded", "load", "load_whole", "parse", "parse_whole", "problems_of"]


@dataclass(frozen=True, slots=True)
class Loaded:
    """A configuration that holds, what its profiles come to, and what needs saying."""

    configuration: KubeSchedulerConfiguration
    profiles: list[ResolvedProfile]
    warnings: list[str]


def load(path: Path) -> KubeSchedulerConfiguration:
    """The file alone, without asking whether its plugins exist. Raises: ConfigError carrying all mistakes."""
    return parse(_text_of(path), str(path))


def load_whole(path: Path | None, catalogue: Catalogue) -> Loaded:
    """The file and its profiles; None: what holds without a file. Raises: ConfigError carrying the mistakes of both."""
    if path is None:
        configuration = default_configuration()
        return Loaded(configuration, resolve(configuration, catalogue), [])
    return parse_whole(_text_of(path), str(path), catalogue)


def parse(text: str, source: str) -> KubeSchedulerConfiguration:
    """Raises: ConfigError carrying all mistakes of the text."""
    findings = Findings()
    configuration, _ = _read(text, source, findings)
    findings.raise_mistakes(configuration.written)
    return configuration


def parse_whole(text: str, source: str, catalogue: Catalogue) -> Loaded:
    """Raises: ConfigError carrying all mistakes of the text and of its profiles."""
    findings, expanded = Findings(), Findings()
    configuration, set_aside = _read(text, source, findings)
    profiles = expand(configuration, catalogue, expanded)
    findings.mistakes.extend(each for each in expanded.mistakes if not _follows(each.path, set_aside))
    findings.raise_mistakes(configuration.written)
    return Loaded(configuration, profiles, expanded.warnings(configuration.written))


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(str(path), [Problem("file", "", f"cannot be read: {error}")]) from None


def _read(text: str, source: str, findings: Findings) -> tuple[KubeSchedulerConfiguration, list[str]]:
    """What can be read of the text, and the paths of what cannot, which is among the findings."""
    written = survey(text, source)
    findings.mistakes.extend(written.mistakes)
    _check_head(written)
    document, notes = converted(written)
    configuration, set_aside = _salvage(document, findings)
    configuration.remember(written, notes)
    findings.mistakes.extend(
        check_together(configuration, lambda path: any(_is_within(path, place) for place in set_aside))
    )
    return configuration, set_aside


def _check_head(written: Document) -> None:
    """Raises: ConfigError with one problem; under another version the other keys mean other things."""
    document = written.value
    if not isinstance(document, dict):
        problem = Problem(ROOT, show(document), f"a mapping with apiVersion: {API_VERSION}")
        raise ConfigError(written.source, [problem])
    version, kind = document.get("apiVersion"), document.get("kind")
    if version not in (API_VERSION, OLD):
        right = f"not read; write apiVersion: {API_VERSION} ({OLD.rpartition('/')[2]} is read too, with a warning)"
        raise ConfigError(written.source, [_head("apiVersion", version, right)], written.lines)
    if kind != KIND:
        raise ConfigError(written.source, [_head("kind", kind, f"not read; write kind: {KIND}")], written.lines)


def _head(key: str, found: object, right: str) -> Problem:
    return Problem(key, "", right.replace("not read", "missing")) if found is None else Problem(key, show(found), right)


def _salvage(document: Mapping[str, Any], findings: Findings) -> tuple[KubeSchedulerConfiguration, list[str]]:
    """The configuration without what cannot be read, and the paths of that."""
    rest = deepcopy(document)
    set_aside: list[str] = []
    while True:
        try:
            return KubeSchedulerConfiguration.model_validate(rest, by_alias=True, by_name=False), set_aside
        except ValidationError as error:
            found = problems_of(error, model=KubeSchedulerConfiguration)
            told = {problem.path for problem in findings.mistakes}
            findings.mistakes.extend(problem for problem in found if problem.path not in told)
            set_aside.extend(_cut(rest, place) for place in sorted(places_of(error), key=len, reverse=True))


def _cut(document: Any, place: Location) -> str:
    """Take the innermost key out that leads to the place, or empty the item of a list: its neighbours keep their index.

    Returns the path of what is gone.
    """
    owner, depth, value = document, 0, document
    for position, key in enumerate(place):
        if not _has(value, key):
            break
        owner, depth, value = value, position, value[key]
    key = place[depth]
    if isinstance(owner, list):
        owner[int(key)] = {}  # every list here is one of mappings
    else:
        del owner[key]
    return path_of(place[: depth + 1])


def _has(value: Any, key: int | str) -> bool:
    if isinstance(value, dict):
        return key in value
    return isinstance(value, list) and isinstance(key, int) and key < len(value)


def _is_within(path: str, place: str) -> bool:
    return path == place or path.startswith((f"{place}.", f"{place}["))


def _follows(path: str, set_aside: Sequence[str]) -> bool:
    """Is a finding about what was set aside, or about a whole profile, such as a missing bind plugin, because of it?"""
    if any(_is_within(path, place) for place in set_aside):
        return True
    profile, is_plugins, at = path.partition(".plugins")
    return bool(is_plugins) and "[" not in at and any(place.startswith(f"{profile}.plugins") for place in set_aside)

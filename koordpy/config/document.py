"""One YAML document that configures something: its value, and the line of every path; and YAML written again."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

from koordpy.config import yaml_stream
from koordpy.config.places import location_of
from koordpy.errors import ConfigError
from koordpy_api import Problem

ROOT: Final = yaml_stream.WHOLE
"""What a problem of the whole document has as its path."""


class Lines(Mapping[str, int]):
    """Path → line, counted from 1: the line of the place, or of the nearest part of its path that is there."""

    def __init__(self, stream: yaml_stream.Document | None = None) -> None:
        self._stream = stream
        self._special = {mistake.problem.path: mistake.line for mistake in stream.mistakes} if stream else {}

    def __getitem__(self, path: str) -> int:
        if path in self._special:  # of a key that stands twice, the second
            return self._special[path]
        location = location_of(path)
        if self._stream is None or (path != ROOT and not self._begins(location)):
            raise KeyError(path)
        return 1 if path == ROOT else self._stream.line_of(location)

    def _begins(self, location: tuple[int | str, ...]) -> bool:
        value = self._stream.value if self._stream else None
        return bool(location) and isinstance(value, Mapping) and location[0] in value

    def __iter__(self) -> Iterator[str]:
        return iter(self._special)

    def __len__(self) -> int:
        return len(self._special)

    def __bool__(self) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class Document:
    """source: the file's name. mistakes: of the YAML itself, as a key that stands twice, of which the first counts."""

    source: str
    value: Any
    lines: Mapping[str, int] = field(default_factory=Lines)
    mistakes: tuple[Problem, ...] = ()

    def place_of(self, problem: Problem) -> str:
        """FILE:LINE, or FILE where no line is known."""
        line = self.lines.get(problem.path)
        return self.source if line is None else f"{self.source}:{line}"


def survey(text: str, source: str) -> Document:
    """The document with its mistakes. Raises: ConfigError if nothing can be read, or if there are several."""
    streams = yaml_stream.read_stream(text)
    if not streams:
        return Document(source, None)
    first = streams[0]
    problems = [mistake.problem for mistake in first.mistakes]
    if first.node is None:
        raise ConfigError(source, problems, Lines(first))
    if len(streams) > 1:
        line = streams[1].above + 1
        raise ConfigError(
            source, [Problem(ROOT, "", "only one document is read, and here begins another")], {ROOT: line}
        )
    return Document(source, first.value, Lines(first), tuple(problems))


def read(text: str, source: str) -> Document:
    """A document without mistakes. Raises: ConfigError otherwise."""
    document = survey(text, source)
    if document.mistakes:
        raise ConfigError(source, list(document.mistakes), document.lines)
    return document


def write(value: Any) -> str:
    """Plain values as YAML, keys in the given order."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, default_flow_style=False, width=120, allow_unicode=True)


def write_line(value: Any) -> str:
    """The same on one line."""
    return yaml.dump(
        value, Dumper=_Dumper, sort_keys=False, default_flow_style=True, width=1_000_000, allow_unicode=True
    ).strip()


class _Dumper(yaml.SafeDumper):
    """No anchors, and lists indented below their key."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)

"""A file of YAML documents, read as Kubernetes reads them, and never given up at the first mistake.

Kubernetes' YAML is not PyYAML's: a date, 12:30 and 1e3 are there a text, a text and a number; y and n are booleans.
Source: sigs.k8s.io/yaml, on go.yaml.in/yaml/v2 (resolve.go).
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import yaml

from koordpy.config.places import Location, path_of
from koordpy_api import Problem

WHOLE: Final = "document"
_DEEPEST: Final = 100
# Aliases in aliases can mean more values than fit into memory. So many are always read, then a tenth must be written.
_FREE_PLACES: Final = 100_000
_REPEATED: Final = 10
_SEPARATOR: Final = re.compile(r"^---(?=\s|$)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Mistake:
    """A Problem and its line, counted from 1."""

    line: int
    problem: Problem


@dataclass(frozen=True, slots=True)
class Document:
    """One document. mistakes: what is wrong with the YAML itself; then `value` is what could be read, or None.

    text: it alone. above: how many lines of the file stand before it.
    """

    value: Any
    text: str
    above: int
    mistakes: tuple[Mistake, ...] = ()
    node: yaml.Node | None = None

    def line_of(self, location: Sequence[int | str]) -> int:
        """The line of a place, or of the nearest part of it that is there."""
        node, mark = self.node, self.node.start_mark.line if self.node else 0
        for key in location:
            found = _step(node, key)
            if found is None:
                break
            node, mark = found
        return self.above + mark + 1

    def shown(self, location: Sequence[int | str]) -> str | None:
        """What is written there, if that is a single word, number or text."""
        node = self.node
        for key in location:
            found = _step(node, key)
            if found is None:
                return None
            node = found[0]
        return str(node.value) if isinstance(node, yaml.ScalarNode) else None

    def text_in_place(self) -> str:
        """It alone, with the lines that it has in the file."""
        return "\n" * self.above + self.text


def read_stream(text: str) -> list[Document]:
    """All documents that say something. A mistake in one does not hide the others."""
    documents = [_read(chunk, above) for chunk, above in _split(text)]
    return [document for document in documents if document.node is not None or document.mistakes]


def _split(text: str) -> Iterator[tuple[str, int]]:
    """Each document's text, and how many lines stand before it."""
    marks = [(0, 0), *(match.span() for match in _SEPARATOR.finditer(text)), (len(text), len(text))]
    above = previous = 0
    for (begin, start), (end, _) in pairwise(marks):
        above += text.count("\n", previous, begin)
        previous = begin
        chunk = " " * (start - begin) + text[start:end]
        if any(line.strip() and not line.startswith(("#", "%")) for line in chunk.splitlines()):
            yield chunk, above


def _read(text: str, above: int) -> Document:
    try:
        nodes = list(yaml.compose_all(text, Loader=_Loader))
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line if error.problem_mark else 0
        return _unreadable(text, above, line, error.problem or str(error.context))
    except (yaml.YAMLError, UnicodeEncodeError) as error:
        return _unreadable(text, above, 0, str(error).splitlines()[0])
    if not nodes:
        return Document(None, text, above)
    builder = _Builder(above)
    value = builder.build_document(nodes[0])
    for other in nodes[1:]:
        builder.complain(other, (), "", "documents are parted by a line ---")
    return Document(value, text, above, tuple(builder.mistakes), nodes[0])


def _unreadable(text: str, above: int, line: int, why: str) -> Document:
    lines = text.splitlines()
    shown = lines[line] if line < len(lines) else ""
    if "\t" in shown[: len(shown) - len(shown.lstrip())]:
        why = "a tab; YAML is indented with spaces"
    return Document(None, text, above, (Mistake(above + line + 1, Problem(WHOLE, "", f"no YAML: {why}")),))


def _step(node: yaml.Node | None, key: int | str) -> tuple[yaml.Node, int] | None:
    if isinstance(node, yaml.SequenceNode) and isinstance(key, int) and key < len(node.value):
        return node.value[key], node.value[key].start_mark.line
    if not isinstance(node, yaml.MappingNode):
        return None
    for name, value in node.value:
        if isinstance(name, yaml.ScalarNode) and _key_text(name) == key:
            return value, name.start_mark.line
    merged = (value for name, value in node.value if name.tag == "tag:yaml.org,2002:merge")
    for value in merged:
        for each in value.value if isinstance(value, yaml.SequenceNode) else [value]:
            if (found := _step(each, key)) is not None:
                return found
    return None


class _Refused(Exception):
    """The document as a whole is not read."""


class _Builder:
    """Nodes to plain values. A key that stands twice is a mistake; the first one counts."""

    def __init__(self, above: int) -> None:
        self.mistakes: list[Mistake] = []
        self._above = above
        self._places = 0
        self._seen: set[int] = set()

    def build_document(self, node: yaml.Node) -> Any:
        try:
            return self._build(node, ())
        except _Refused as refused:
            self.complain(node, (), "", str(refused))
            return None

    def complain(self, node: yaml.Node, location: Location, value: str, right: str) -> None:
        problem = Problem(path_of(location) or WHOLE, value, right)
        self.mistakes.append(Mistake(self._above + node.start_mark.line + 1, problem))

    def _build(self, node: yaml.Node, location: Location) -> Any:
        self._places += 1
        self._seen.add(id(node))
        if self._places > _FREE_PLACES and self._places > _REPEATED * len(self._seen):
            raise _Refused("aliases of aliases that mean too many values")
        if len(location) > _DEEPEST:
            raise _Refused("nested too deeply, or an anchor that contains itself")
        match node:
            case yaml.MappingNode():
                return self._mapping(node, location)
            case yaml.SequenceNode():
                return [self._build(each, (*location, index)) for index, each in enumerate(node.value)]
            case _:
                return self._scalar(node, location)

    def _mapping(self, node: yaml.MappingNode, location: Location) -> dict[str, Any]:
        built: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        lines: dict[str, int] = {}
        for name, value in node.value:
            if name.tag == _MERGE:
                merged = self._merge(value, location) | merged
            elif not isinstance(name, yaml.ScalarNode) or name.tag == _NULL:
                self.complain(name, location, "", "a key must be a text")
            elif (key := _key_text(name)) in built:
                self.complain(name, (*location, key), "", f"this key stands here twice, first on line {lines[key]}")
            else:
                lines[key] = self._above + name.start_mark.line + 1
                built[key] = self._build(value, (*location, key))
        return merged | built

    def _merge(self, node: yaml.Node, location: Location) -> dict[str, Any]:
        merged: dict[str, Any] = {}
        for source in node.value if isinstance(node, yaml.SequenceNode) else [node]:
            if isinstance(source, yaml.MappingNode):
                merged = self._build(source, (*location, "<<")) | merged
            else:
                self.complain(source, location, "", "only a mapping can be merged with <<")
        return merged

    def _scalar(self, node: yaml.Node, location: Location) -> Any:
        text = str(node.value)
        read = _SCALARS.get(node.tag)
        if read is None:
            self.complain(node, location, node.tag, "a YAML tag that Kubernetes does not read")
            return None
        try:
            return read(text)
        except ValueError:
            self.complain(node, location, text, f"this is no {node.tag.rpartition(':')[2]}; leave the tag out")
            return None


def _key_text(name: yaml.ScalarNode) -> str:
    """Keys that are numbers or booleans are texts in JSON."""
    text = str(name.value)
    return str(_boolean(text)).lower() if name.tag == _BOOL else text


def _boolean(text: str) -> bool:
    return text.lower() in ("y", "yes", "true", "on")


def _integer(text: str) -> int | float | str:
    """A number of thousands of digits is no integer; and 0x alone is none."""
    digits = text.replace("_", "")
    octal = re.fullmatch(r"([-+]?)0([0-7]+)", digits)
    try:
        return int(f"{octal[1]}0o{octal[2]}" if octal else digits, 0)
    except ValueError:
        return text


def _number(text: str) -> float:
    return float(text.lower().replace("_", "").replace(".inf", "inf").replace(".nan", "nan"))


_YAML: Final = "tag:yaml.org,2002:"
_NULL, _BOOL, _MERGE = f"{_YAML}null", f"{_YAML}bool", f"{_YAML}merge"
_SCALARS: Final[Mapping[str, Callable[[str], Any]]] = {
    _NULL: lambda _text: None,
    _BOOL: _boolean,
    f"{_YAML}int": _integer,
    f"{_YAML}float": _number,
    f"{_YAML}str": str,
    _MERGE: str,
}


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """PyYAML's reading of the text, with Kubernetes' idea of what a word without quotes is."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}


for _tag, _pattern, _first in (
    ("bool", r"[yYnN]|yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF", "yYnNtTfFoO"),
    ("int", r"[-+]?(?:0b[01_]+|0o?[0-7_]+|0x[0-9a-fA-F_]+|0|[1-9][0-9_]*)", "-+0123456789"),
    ("float", r"[-+]?(?:\.[0-9_]+|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9]+)?", "-+0123456789."),
    ("float", r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)", "-+."),
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("merge", r"<<", ["<"]),
):
    _Loader.add_implicit_resolver(f"{_YAML}{_tag}", re.compile(rf"(?:{_pattern})$"), list(_first))

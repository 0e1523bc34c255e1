"""A file → KubeSchedulerConfiguration; every mistake with file, line, path, value and what would be right."""

from collections.abc import Hashable, Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from koordpy.config.models import API_VERSION, KIND, KubeSchedulerConfiguration
from koordpy.config.validate import check_together
from koordpy.errors import ConfigError
from koordpy_api import Problem

Location = tuple[int | str, ...]


def load(path: Path) -> KubeSchedulerConfiguration:
    """Raises: ConfigError carrying all mistakes of the file."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(str(path), [Problem("file", "", f"cannot be read: {error}")]) from None
    return parse(text, str(path))


def parse(text: str, source: str) -> KubeSchedulerConfiguration:
    """Raises: ConfigError carrying all mistakes of the text."""
    document, lines = _read_yaml(text, source)
    if not isinstance(document, dict):
        raise ConfigError(source, [Problem("document", _show(document), f"a mapping with apiVersion: {API_VERSION}")])
    head = [
        Problem(key, _show(document.get(key, "")), f"only {key}: {right} is read")
        for key, right in (("apiVersion", API_VERSION), ("kind", KIND))
        if document.get(key) != right
    ]
    if head:  # under another version the other keys mean other things
        raise ConfigError(source, head, lines)
    try:
        configuration = KubeSchedulerConfiguration.model_validate(document)
    except ValidationError as error:
        raise ConfigError(source, problems_of(error), lines) from None
    if problems := check_together(configuration):
        raise ConfigError(source, problems, lines)
    return configuration


def problems_of(error: ValidationError, prefix: str = "") -> list[Problem]:
    """pydantic's findings in our words."""
    return [_problem(dict(finding), prefix) for finding in error.errors(include_url=False)]


def _problem(finding: Mapping[str, Any], prefix: str) -> Problem:
    path = path_of((prefix, *finding["loc"]) if prefix else finding["loc"])
    match finding["type"]:
        case "extra_forbidden":
            return Problem(path, _show(finding["input"]), "unknown field; this version does not read it")
        case "missing":
            return Problem(path, "", "required, but missing")
        case "value_error":
            return Problem(path or "document", "", str(finding["ctx"]["error"]))
        case _:
            return Problem(path, _show(finding["input"]), str(finding["msg"]))


def path_of(location: Iterable[int | str]) -> str:
    """("profiles", 0, "schedulerName") → profiles[0].schedulerName"""
    path = ""
    for key in location:
        path += f"[{key}]" if isinstance(key, int) else f".{key}" if path else key
    return path


def _read_yaml(text: str, source: str) -> tuple[Any, dict[str, int]]:
    """The document, and the line of each of its paths."""
    try:
        node = yaml.compose(text, Loader=_StrictLoader)
        document = yaml.load(text, Loader=_StrictLoader)  # noqa: S506 - a subclass of SafeLoader
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        problem = Problem("document", "", f"no YAML: {error.problem or error.context}")
        raise ConfigError(source, [problem], {"document": line}) from None
    except yaml.YAMLError as error:
        raise ConfigError(source, [Problem("document", "", f"no YAML: {error}")]) from None
    lines: dict[str, int] = {"document": 1}
    if node is not None:
        _collect_lines(node, (), lines)
    return document, lines


def _collect_lines(node: yaml.Node, location: Location, lines: dict[str, int]) -> None:
    lines.setdefault(path_of(location), node.start_mark.line + 1)
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            place = (*location, str(key.value))
            lines[path_of(place)] = key.start_mark.line + 1
            _collect_lines(value, place, lines)
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            _collect_lines(value, (*location, index), lines)


class _StrictLoader(yaml.SafeLoader):
    """PyYAML keeps the last of two equal keys without a word; this one refuses the second."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise yaml.constructor.ConstructorError(None, None, "a key must be a text", key.start_mark)
            if key.value in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"key {key.value!r} stands here a second time", key.start_mark
                )
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def _show(value: object) -> str:
    return str(value)[:120]

"""What is to be said of an installed plugin, gathered from its declaration; the command line prints it."""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from koordpy.errors import PluginError
from koordpy.framework.declaration import Declaration, kind_of
from koordpy.framework.points import ALL_HOOKS, POINTS
from koordpy_api import PluginArgs

_SAID: Final[Mapping[Any, str]] = {
    str: "string",
    int: "integer",
    bool: "true or false",
    float: "number",
    Any: "anything",
}


@dataclass(frozen=True, slots=True)
class ArgField:
    """One field of a plugin's arguments, as in YAML. default: as YAML would say it; None if it is required."""

    path: str
    type: str
    default: str | None
    about: str


def points_in_order(declaration: Declaration) -> list[str]:
    return [point.name for point in POINTS if point.name in declaration.points]


def hooks_in_order(declaration: Declaration) -> Iterator[tuple[str, str, str]]:
    """(hook, how often it is called, file:line) of each, in the order in which a Pod meets them."""
    for hook in ALL_HOOKS:
        if (function := declaration.hooks.get(hook)) is not None:
            yield hook, kind_of(hook), place_of(function)


ONE_BY_ONE: Final = (
    "one by one: about each node that is still in question, 1 to 2 us each; with 5,000 nodes 3 to 10 ms for every Pod, "
    "where asking at once takes some 20 us"
)
"""What the words of looks_at_nodes mean for a profile that has such a plugin."""


def looks_at_nodes(declaration: Declaration) -> str:
    """How it is asked about many nodes: "at once", "one by one", or which of its hooks is; empty if it is not asked."""
    points = [point for point in POINTS if point.per_node and point.hook in declaration.hooks]
    alone = [point.hook for point in points if point.at_once not in declaration.hooks]
    if not points or not alone:
        return "at once" if points else ""
    return "one by one" if len(alone) == len(points) else f"{alone[0]} one by one"


def place_of(function: Callable[..., Any]) -> str:
    """file:line, relative to where one stands if the file is below."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None:
        return "not written in Python"
    path = Path(code.co_filename)
    shown = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
    return f"{shown}:{code.co_firstlineno}"


def accounted_by_default(declaration: Declaration) -> str:
    """What it accounts for without any argument given, as text."""
    if not hasattr(declaration.plugin, "accounts_for"):
        return "nothing"
    try:
        args = declaration.args_model()
    except ValueError:
        return "depends on its arguments"
    try:
        return ", ".join(sorted(declaration.accounted(args))) or "nothing"
    except PluginError as error:
        return str(error)


def arg_fields(model: type[PluginArgs]) -> list[ArgField]:
    """Every field, those of nested models under their path."""
    return list(_fields(model, ""))


def _fields(model: type[BaseModel], prefix: str) -> Iterator[ArgField]:
    for name, field in model.model_fields.items():
        path = f"{prefix}{field.alias or name}"
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            yield from _nested(inner, path, field)
        else:
            yield ArgField(path, type_text(inner), _default(field), field.description or "")


def _nested(model: type[BaseModel], path: str, field: FieldInfo) -> Iterator[ArgField]:
    """A nested model's own fields, with the defaults that the outer one gives them."""
    outer = field.get_default(call_default_factory=True) if not field.is_required() else None
    for each in _fields(model, f"{path}."):
        key = each.path.removeprefix(f"{path}.")
        attribute = next((name for name, inner in model.model_fields.items() if (inner.alias or name) == key), "")
        default = _text(getattr(outer, attribute)) if isinstance(outer, model) and attribute else each.default
        yield ArgField(each.path, each.type, default, each.about)


def type_text(annotation: Any) -> str:
    """As a person says it: "list of string", "LeastAllocated or MostAllocated", "{name, weight}"."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return type_text(parts[0])
    if origin is Literal:
        return " or ".join(map(_text, parts))
    if origin in (Union, UnionType):
        return " or ".join("null" if part is NoneType else type_text(part) for part in parts)
    if origin in (tuple, list, frozenset, set, Sequence):
        return f"list of {type_text(parts[0])}"
    if origin in (dict, Mapping):
        return f"map of {type_text(parts[0])} to {type_text(parts[1])}"
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return f"{{{', '.join(field.alias or name for name, field in annotation.model_fields.items())}}}"
    return _SAID.get(annotation) or str(getattr(annotation, "__name__", annotation))


def _default(field: FieldInfo) -> str | None:
    return None if field.is_required() else _text(field.get_default(call_default_factory=True))


def _text(value: object) -> str:
    match value:
        case BaseModel():
            inner = (
                f"{field.alias or name}: {_text(getattr(value, name))}"
                for name, field in type(value).model_fields.items()
            )
            return f"{{{', '.join(inner)}}}"
        case tuple() | list():
            return f"[{', '.join(map(_text, value))}]"
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case str():
            return value or '""'
        case _:
            return str(value)

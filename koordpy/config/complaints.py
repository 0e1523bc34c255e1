"""pydantic's findings in our words: what stands there, what would be right, and which key was probably meant."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any, Final

from pydantic import BaseModel, ValidationError

from koordpy.config import shapes
from koordpy.config.document import ROOT
from koordpy.config.places import Location, path_of
from koordpy_api import Problem

_WORDS: Final[Mapping[str, str]] = {
    "bool_type": "must be true or false",
    "dict_type": "must be a mapping",
    "model_type": "must be a mapping",
    "tuple_type": "must be a list",
    "finite_number": "must be a finite number",
    "literal_error": "must be {expected}",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "greater_than": "must be greater than {gt}",
    "less_than": "must be less than {lt}",
    "string_too_short": "must not be empty",
    "missing": "required, but missing",
}


def problems_of(error: ValidationError, prefix: str = "", model: type[BaseModel] | None = None) -> list[Problem]:
    """All of them. model: what was to be read; then an unknown key is told its neighbours."""
    return [_problem(dict(finding), prefix, model) for finding in error.errors(include_url=False)]


def places_of(error: ValidationError) -> list[Location]:
    return [finding["loc"] for finding in error.errors(include_url=False, include_context=False, include_input=False)]


def show(value: object) -> str:
    """A value for a message, as it stands in YAML. An empty text is two quotes, or nothing would be seen."""
    return shapes.show(value) or '""'


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """ "; did you mean X?", or nothing."""
    close = get_close_matches(name, list(known), n=1, cutoff=0.75)
    return f"; did you mean {close[0]}?" if close else ""


def _problem(finding: Mapping[str, Any], prefix: str, model: type[BaseModel] | None) -> Problem:
    location = finding["loc"] if finding["type"] == "extra_forbidden" else _as_written(finding["loc"], model)
    path = _below(prefix, path_of(location))
    written = finding["input"]
    match finding["type"]:
        case "extra_forbidden":
            return Problem(path, show(written), _unknown_field(location, model))
        case "value_error":
            whole = isinstance(written, Mapping | list | tuple)
            return Problem(path or ROOT, "" if whole else show(written), str(finding["ctx"]["error"]))
        case "missing":
            return Problem(path, "", _WORDS["missing"])
        case "int_type":
            return Problem(path, show(written), _no_integer(written))
        case "int_from_float":
            return Problem(path, show(written), "must be a whole number")
        case "string_type":
            return Problem(path, show(written), _no_text(written))
        case kind if kind in _WORDS:
            return Problem(path, show(written), _WORDS[kind].format(**finding.get("ctx", {})))
        case _:
            return Problem(path, show(written), str(finding["msg"]))


def _as_written(location: Location, model: type[BaseModel] | None) -> Location:
    """pydantic names a field that was not in the file as Python does."""
    keys: list[int | str] = []
    for key in location:
        if model is not None and not isinstance(key, int):
            field = model.model_fields.get(key)
            key = field.alias if field is not None and field.alias else key
            model = keys_of(model).get(key)
        keys.append(key)
    return tuple(keys)


def _below(prefix: str, path: str) -> str:
    return f"{prefix}{'' if path.startswith('[') or not path or not prefix else '.'}{path}"


def _no_integer(written: object) -> str:
    if isinstance(written, str) and written.strip().lstrip("+-").isdigit():
        return "must be a whole number, not a text; take the quotes away"
    return "must be a whole number"


def _no_text(written: object) -> str:
    if isinstance(written, list | tuple | Mapping):
        return "must be a text"
    return f'must be a text; put it into quotes, as "{show(written)}"'


def _unknown_field(location: Location, model: type[BaseModel] | None) -> str:
    name, around = str(location[-1]), _model_at(location[:-1], model)
    if around is None:
        return "unknown field"
    known = keys_of(around)
    owners = [key for key, part in known.items() if part is not None and name in keys_of(part)]
    if owners:
        return f"unknown field here; it belongs into {' or '.join(owners)}, indented"
    if hint := did_you_mean(name, known):
        return f"unknown field{hint}"
    return f"unknown field; known here are {', '.join(sorted(known))}" if len(known) <= 8 else "unknown field"


def keys_of(model: type[BaseModel]) -> dict[str, type[BaseModel] | None]:
    """Key in YAML → the model of what stands there, if that is a mapping, or a list of mappings."""
    return {field.alias or name: _inner(field.annotation) for name, field in model.model_fields.items()}


def _model_at(location: Location, model: type[BaseModel] | None) -> type[BaseModel] | None:
    for key in location:
        if model is not None and not isinstance(key, int):
            model = keys_of(model).get(key)
    return model


def _inner(annotation: Any) -> type[BaseModel] | None:
    """The model in X, X | None, tuple[X, ...]."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in getattr(annotation, "__args__", ()) if (found := _inner(part))), None)

"""The JSON schema of a configuration file, the arguments of the known plugins included."""

from collections.abc import Iterable
from typing import Any, Final

from pydantic import BaseModel, ValidationError

from koordpy.config.catalogue import Catalogue
from koordpy.config.complaints import keys_of
from koordpy.config.models import API_VERSION, KIND, KubeSchedulerConfiguration
from koordpy.errors import PluginError
from koordpy_api import PluginArgs

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


def schema(catalogue: Catalogue, names: Iterable[str]) -> dict[str, Any]:
    """names: the plugins whose arguments are described; a broken one is left out."""
    whole = KubeSchedulerConfiguration.model_json_schema(by_alias=True)
    definitions = whole["$defs"]
    _write_defaults(whole, KubeSchedulerConfiguration(api_version=API_VERSION, kind=KIND))
    for model in _parts_of(KubeSchedulerConfiguration):
        _write_defaults(definitions[model.__name__], _default_of(model))
    branches = []
    for name in sorted(names):
        try:
            model_of_args = catalogue.args_model(name)
        except PluginError:
            continue
        if model_of_args is not None and model_of_args.model_fields:
            definitions.update(_args(name, model_of_args))
            branches.append(_branch(name))
    definitions["PluginConfig"]["allOf"] = branches
    return {"$schema": _DIALECT, "$id": f"{API_VERSION}/{KIND}", **whole}


def _args(name: str, model: type[PluginArgs]) -> dict[str, Any]:
    described = model.model_json_schema(by_alias=True, ref_template=f"#/$defs/{name}.{{model}}")
    inner = described.pop("$defs", {})
    _write_defaults(described, _default_of(model))
    described["properties"] |= {"apiVersion": {"type": "string"}, "kind": {"const": f"{name}Args"}}
    return {f"{name}.Args": described, **{f"{name}.{key}": value for key, value in inner.items()}}


def _branch(name: str) -> dict[str, Any]:
    return {
        "if": {"properties": {"name": {"const": name}}, "required": ["name"]},
        "then": {"properties": {"args": {"$ref": f"#/$defs/{name}.Args"}}},
    }


def _write_defaults(described: dict[str, Any], default: BaseModel | None) -> None:
    """As they stand in YAML: pydantic writes a duration's as a number."""
    written = {} if default is None else default.model_dump(by_alias=True, mode="json")
    for key, about in described.get("properties", {}).items():
        if "default" in about and key in written:
            about["default"] = written[key]


def _default_of(model: type[BaseModel]) -> BaseModel | None:
    try:
        return model()
    except ValidationError:  # it has a key that must be given
        return None


def _parts_of(model: type[BaseModel]) -> set[type[BaseModel]]:
    parts = {part for part in keys_of(model).values() if part is not None}
    return parts.union(*(_parts_of(part) for part in parts))

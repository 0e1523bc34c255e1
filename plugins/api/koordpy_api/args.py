"""What a plugin reads from `pluginConfig`: a frozen pydantic model, with Kubernetes' camelCase in YAML."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic.alias_generators import to_camel
from pydantic_core import InitErrorDetails, PydanticCustomError

MAX_WEIGHT: Final = 100
_PART: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?", re.ASCII)
_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*", re.ASCII)
_SUBDOMAIN_LENGTH: Final = 253


class YamlModel(BaseModel):
    """What a person writes: camelCase, frozen; unknown keys are errors; a null means that the key is absent."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        alias_generator=to_camel,
        validate_by_alias=True,
        validate_by_name=True,
        strict=True,
    )

    @model_validator(mode="before")
    @classmethod
    def _null_is_absent(cls, written: Any) -> Any:
        return without_nulls(cls, written)


class PluginArgs(YamlModel):
    """Base of every plugin's `Args`."""

    def not_in_effect(self) -> list[str]:
        """What was set and has no effect yet, a sentence each; the host says them once at start."""
        return []


class NoArgs(PluginArgs):
    """For plugins that take none."""


def mistakes(*found: tuple[tuple[int | str, ...], object, str]) -> ValidationError:
    """For a validator of several fields or of a list: (keys from there to the place, what stands there, the text) each.

    Raise it from the validator; each is then told with its own path.
    """
    return ValidationError.from_exception_data(
        "mistakes",
        [
            InitErrorDetails(
                type=PydanticCustomError("value_error", "{error}", {"error": text}), loc=place, input=value
            )
            for place, value, text in found
        ],
    )


def without_nulls(model: type[BaseModel], written: Any) -> Any:
    """A mapping without the keys of the model that are null; an unknown key stays, and is refused later."""
    if not isinstance(written, Mapping):
        return written
    known = {field.alias or name for name, field in model.model_fields.items()}
    return {key: value for key, value in written.items() if value is not None or key not in known}


def qualified_name_mistake(name: str) -> str | None:
    """What is wrong with a label key or resource name; None if nothing is.

    Source: k8s.io/apimachinery/pkg/util/validation (IsQualifiedName).
    """
    *prefix, part = name.split("/")
    if len(prefix) > 1:
        return "a qualified name is NAME or PREFIX/NAME, with one slash"
    if prefix and not (_SUBDOMAIN.fullmatch(prefix[0]) and len(prefix[0]) <= _SUBDOMAIN_LENGTH):
        return "the part before the slash must be a lowercase DNS subdomain, as example.com"
    if not _PART.fullmatch(part):
        return (
            "name part must consist of alphanumeric characters, '-', '_' or '.', start and end with an alphanumeric "
            "character, and have 1 to 63 of them"
        )
    return None


def as_qualified_name(name: str) -> str:
    """The name itself. Raises: ValueError saying what is wrong with it."""
    if mistake := qualified_name_mistake(name):
        raise ValueError(mistake)
    return name


QualifiedName = Annotated[str, AfterValidator(as_qualified_name)]
"""A label key, or the name of a resource: NAME or PREFIX/NAME."""


def _as_tuple(written: Any) -> Any:
    return tuple(written) if isinstance(written, list) else written


AsTuple: Final = BeforeValidator(_as_tuple)
"""For `Annotated[tuple[X, ...], AsTuple]`: a YAML list as a frozen sequence. Anything but a list is refused."""


class ResourceSpec(PluginArgs):
    """A resource that a score looks at, and how much it counts; an absent or zero weight is 1, as upstream."""

    name: str
    weight: int = 1

    @field_validator("weight")
    @classmethod
    def _weight_in_range(cls, weight: int, info: ValidationInfo) -> int:
        if not 0 <= weight <= MAX_WEIGHT:
            raise ValueError(f"resource weight of {info.data.get('name', '')} not in valid range (0, {MAX_WEIGHT}]")
        return weight or 1


Resources = Annotated[tuple[ResourceSpec, ...], AsTuple]

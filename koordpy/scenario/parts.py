"""What all parts of a scenario are made of."""

import re
from collections.abc import Iterable
from typing import Annotated, Any, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, model_validator
from pydantic.alias_generators import to_camel

Document = dict[str, Any]

_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_SPAN: Final = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|h|m|s))+")


class Part(BaseModel):
    """Frozen, camelCase, and no key is let pass unread."""

    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=to_camel, validate_by_name=True, strict=True)


def seconds(value: object) -> object:
    """10s, 1m30s, 1.5h → seconds."""
    if not isinstance(value, str) or not _SPAN.fullmatch(value):
        raise ValueError(f"{value!r} is no length of time; write 10s, 500ms, 5m or 1h30m")
    return sum(float(number) * _UNITS[unit] for number, unit in re.findall(r"([\d.]+)(ms|h|m|s)", value))


def listed(value: object) -> object:
    """One thing may stand without its list."""
    return tuple(value) if isinstance(value, list | tuple) else (value,)


def text_or_mapping(value: object) -> object:
    """Said here, for pydantic would name each half of the union as if it stood in the file."""
    if not isinstance(value, str | dict):
        raise ValueError("must be a mapping, or a text")
    return value


def amount(value: object) -> object:
    """As text_or_mapping."""
    if not isinstance(value, int | str) or isinstance(value, bool):
        raise ValueError("must be a whole number, or a quantity as 500m or 16Gi")
    return value


def keys_of(part: BaseModel) -> list[str]:
    """The keys that were written, as they were written."""
    fields = type(part).model_fields
    return [fields[name].alias or name for name in fields if name in part.model_fields_set]


def names_of(model: type[BaseModel]) -> list[str]:
    """All keys that may be written."""
    return [field.alias or name for name, field in model.model_fields.items()]


Seconds = Annotated[float, BeforeValidator(seconds)]
Texts = Annotated[tuple[str, ...], BeforeValidator(listed)]
Content = Annotated[Document | str, BeforeValidator(text_or_mapping)]
"""A file: what it holds, or its text."""


class Count(Part):
    """How many; a bare number means exactly so many."""

    exactly: float | None = None
    at_least: float | None = None
    at_most: float | None = None

    @model_validator(mode="before")
    @classmethod
    def _bare(cls, value: object) -> object:
        return {"exactly": value} if isinstance(value, int | float) else value

    def allows(self, number: float) -> bool:
        wrong = self.exactly is not None and number != self.exactly
        too_few = self.at_least is not None and number < self.at_least
        return not (wrong or too_few or (self.at_most is not None and number > self.at_most))

    def __str__(self) -> str:
        return " and ".join(f"{key} {getattr(self, _field(key)):g}" for key in keys_of(self))


class Wording(Part):
    """A text: the whole of it, or what it contains."""

    message: str | None = None
    contains: Texts = ()

    def misses(self, text: str) -> str:
        """What is wrong with `text`; empty if nothing is."""
        if self.message is not None and text != self.message:
            return f"says {text!r}, not {self.message!r}"
        return missing(self.contains, text)


def missing(wanted: Iterable[str], text: str) -> str:
    """What is not in `text`, as the end of a sentence; empty if everything is."""
    absent = [each for each in wanted if each not in text]
    return f"does not contain {', '.join(map(repr, absent))}: {text}" if absent else ""


def _field(key: str) -> str:
    return re.sub("[A-Z]", lambda match: f"_{match[0].lower()}", key)

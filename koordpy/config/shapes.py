"""A plain document along a msgspec struct type: every mistake, each with its place and what would be right.

msgspec itself tells one mistake, and of a mapping no key. Wrong by these rules is what msgspec refuses, and what is no
quantity where one belongs; a null means absent, as in Kubernetes' JSON.
"""

import difflib
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Any, Final, Union, get_args, get_origin

import msgspec

from koordpy.config.places import Location
from koordpy_api import QuantityError
from koordpy_api.quantity import RawQuantity, parse_quantity

_UNIONS: Final = (Union, UnionType)
_QUANTITY: Final = frozenset(get_args(RawQuantity))
# High enough that no field of Kubernetes is taken for another one; tests/config hold that.
_ALIKE: Final = 0.86


@dataclass(frozen=True, slots=True)
class Misfit:
    """A place where the document does not fit. is_warning: it fits, but hardly says what was meant."""

    location: Location
    value: str
    right: str
    is_warning: bool = False


Show = Callable[[Location, Any], str]
"""A value as the document has it, given its place: 0x10 or yes rather than 16 or true."""


def show(value: Any) -> str:
    """A value on one line, not too long."""
    if isinstance(value, str):
        text = value
    else:
        text = repr(value) if isinstance(value, float) else msgspec.json.encode(value).decode()
    return text if len(text) <= 80 else f"{text[:79]}…"


def misfits(value: Any, shape: Any, shown: Show = lambda _, value: show(value)) -> list[Misfit]:
    """What is wrong with value, as a value of the type shape; in its order."""
    return list(_Walk(shown).any(value, shape, ()))


class _Walk:
    """Down a value and a type at once."""

    def __init__(self, shown: Show) -> None:
        self._shown = shown

    def any(self, value: Any, shape: Any, location: Location) -> Iterator[Misfit]:
        if value is None:
            return
        shape = _but_for_none(shape)
        if isinstance(shape, type) and issubclass(shape, msgspec.Struct):
            yield from self._struct(value, shape, location)
        elif get_origin(shape) is dict:
            yield from self._mapping(value, get_args(shape)[1], location)
        elif get_origin(shape) in (list, tuple):
            yield from self._list(value, get_args(shape)[0], location)
        else:
            shown = self._shown(location, value)
            right = _scalar_misfit(value, _options(shape), shown)
            if right is not None:
                yield Misfit(location, shown, right)

    def _struct(self, value: Any, shape: type[msgspec.Struct], location: Location) -> Iterator[Misfit]:
        fields = {field.encode_name: field.type for field in msgspec.structs.fields(shape)}
        if not isinstance(value, dict):
            right = f"must be a mapping, with keys such as {', '.join(list(fields)[:3])}"
            yield Misfit(location, self._shown(location, value), right)
            return
        for key, each in value.items():
            if key in fields:
                yield from self.any(each, fields[key], (*location, key))
            elif (meant := _meant(key, fields.keys() - value.keys())) is not None:
                yield Misfit((*location, key), "", f"nobody reads this; is {meant} meant?", is_warning=True)

    def _mapping(self, value: Any, shape: Any, location: Location) -> Iterator[Misfit]:
        if not isinstance(value, dict):
            right = "must be a mapping: a key, a colon and a value on each line"
            yield Misfit(location, self._shown(location, value), right)
            return
        for key, each in value.items():
            yield from self.any(each, shape, (*location, key))

    def _list(self, value: Any, shape: Any, location: Location) -> Iterator[Misfit]:
        if not isinstance(value, list):
            yield Misfit(location, self._shown(location, value), "must be a list: a dash before each entry")
            return
        for index, each in enumerate(value):
            yield from self.any(each, shape, (*location, index))


def _but_for_none(shape: Any) -> Any:
    """X of X | None."""
    given = [each for each in get_args(shape) if each is not NoneType] if get_origin(shape) in _UNIONS else []
    return given[0] if len(given) == 1 else shape


def _scalar_misfit(value: Any, options: frozenset[type], shown: str) -> str | None:
    """What would be right, or None if value is."""
    if options == _QUANTITY:
        return _quantity_misfit(value)
    if type(value) in options:
        return None
    if str in options:
        return f"must be a text; quote it: {json.dumps(shown)}" if isinstance(value, int | float) else "must be a text"
    if bool in options:
        return "must be true or false, without quotes"
    if isinstance(value, str) and re.fullmatch(r"[-+]?[0-9]+", value):
        return f"must be a whole number; take the quotes away: {value}"
    return "must be a whole number"


def _quantity_misfit(value: Any) -> str | None:
    try:
        quantity = parse_quantity(value)
    except (QuantityError, TypeError):
        return f"must be a quantity; {_quantity_meant(value)}"
    return "must be >= 0" if quantity.nanos < 0 else None


def _quantity_meant(value: Any) -> str:
    """What was meant, where that can be guessed from what people write."""
    for candidate in _readings(value) if isinstance(value, str) else ():
        try:
            parse_quantity(candidate)
        except QuantityError:
            continue
        return f"write {candidate}"
    return "quantities look like 2, 500m, 1.5, 16Gi or 1e3"


def _readings(text: str) -> Iterator[str]:
    text = re.sub(r"\s", "", text)
    yield text
    grouped = re.fullmatch(r"[0-9]{1,3}(,[0-9]{3})+([^,]*)", text)
    text = text.replace(",", "") if grouped else text.replace(",", ".")
    yield text
    match = re.fullmatch(r"([0-9.]+)([kKmMgGtTpPeE])(i?)[bB]?", text)
    if match:
        amount, letter, binary = match.groups()
        yield f"{amount}{letter.upper()}i" if binary else f"{amount}{'k' if letter in 'kK' else letter.upper()}"


def _meant(key: str, absent: set[str]) -> str | None:
    """The field that key probably misspells."""
    by_lower = {name.lower(): name for name in sorted(absent)}
    found = difflib.get_close_matches(key.lower(), by_lower, n=1, cutoff=_ALIKE)
    return by_lower[found[0]] if found else None


def _options(shape: Any) -> frozenset[type]:
    """The types of a union; nulls were looked at before."""
    if get_origin(shape) in _UNIONS:
        return frozenset(get_args(shape)) - {NoneType}
    return frozenset({shape})

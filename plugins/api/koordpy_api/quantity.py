"""Kubernetes quantities as exact integers: "500m", "16Gi", "1e3" to int and back.

Source: k8s.io/apimachinery/pkg/api/resource (quantity.go, suffix.go). Binary floats never take part, so
0.1 is a tenth. Like upstream, what is finer than a nano is rounded up, away from zero, and what is larger than
2**63-1 is cut to it.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

from koordpy_api.errors import QuantityError

Form = Literal["DecimalSI", "BinarySI", "DecimalExponent"]
RawQuantity = str | int | float
"""A quantity as it stands in JSON or YAML: a text, or a bare number."""

NANO: Final = 10**9
MAX_VALUE: Final = 2**63 - 1
_MAX_LENGTH: Final = 1024
_BINARY: Final = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_GRAMMAR: Final = re.compile(
    r"(?P<sign>[+-]?)(?P<whole>[0-9]*)(?:\.(?P<part>[0-9]*))?"
    r"(?:(?P<binary>[KMGTPE]i)|[eE](?P<exponent>[+-]?[0-9]+)|(?P<decimal>[numkMGTPE]?))",
    re.ASCII,
)
_FACTORS: Final = {unit: 10 ** (9 + power) for unit, power in _DECIMAL.items()} | {
    unit: NANO * 1024**power for unit, power in _BINARY.items()
}
"""How many nanos one of a unit has."""
_LETTERS: Final = "".join({letter for unit in _FACTORS for letter in unit})
_MANY_DIGITS: Final = 40
# Past this many digits an exponent only ever means "cut to the maximum" or "rounded up to one nano".
_EXPONENT_LIMIT: Final = 2048


@dataclass(frozen=True, slots=True)
class Quantity:
    """An amount, exact to the nano, and the form in which it was written."""

    nanos: int
    form: Form

    def value(self) -> int:
        """The whole amount in base units, rounded up (away from zero). Source: Quantity.Value."""
        return divide_away(self.nanos, NANO)

    def milli_value(self) -> int:
        """The amount in thousandths, rounded up (away from zero). Source: Quantity.MilliValue."""
        return divide_away(self.nanos, NANO // 1000)

    def __str__(self) -> str:
        """The canonical text: no fraction, the largest suffix that leaves none. Source: Quantity.CanonicalizeBytes."""
        if self.form == "BinarySI" and self.nanos % NANO == 0 and abs(self.nanos) >= 1024 * NANO:
            return _write_binary(self.nanos // NANO)
        return _write_decimal(self.nanos, exponent=self.form == "DecimalExponent")


@lru_cache(maxsize=4096, typed=True)  # typed: True equals 1.0, and is none
def parse_quantity(raw: RawQuantity) -> Quantity:
    """Read a quantity.

    Raises: QuantityError for anything outside the grammar; nan, spaces and underscores are outside it.
    """
    text = raw if isinstance(raw, str) else repr(raw)
    if (usual := _usual(text)) is not None:
        return usual
    match = _GRAMMAR.fullmatch(text) if len(text) <= _MAX_LENGTH and not isinstance(raw, bool) else None
    if match is None or not (match["whole"] or match["part"]):
        raise QuantityError(f"{text[:80]!r} is not a quantity; quantities look like 2, 500m, 1.5, 16Gi or 1e3")
    digits, places = match["whole"] + (match["part"] or ""), len(match["part"] or "")
    form: Form
    if match["binary"]:
        form, nanos = "BinarySI", _scaled(digits, places, 0, 1024 ** _BINARY[match["binary"]])
        if nanos < NANO:  # upstream writes a binary amount below one as a decimal
            form = "DecimalSI"
    elif match["exponent"]:
        exponent = max(-_EXPONENT_LIMIT, min(_EXPONENT_LIMIT, int(match["exponent"])))
        form, nanos = "DecimalExponent", _scaled(digits, places, exponent, 1)
    else:
        form, nanos = "DecimalSI", _scaled(digits, places, _DECIMAL[match["decimal"]], 1)
    nanos = min(nanos, MAX_VALUE * NANO)
    return Quantity(-nanos if match["sign"] == "-" else nanos, form)


def value_of(raw: RawQuantity) -> int:
    """The whole amount in base units (bytes, cards, percent), rounded up."""
    return parse_quantity(raw).value()


def milli_value_of(raw: RawQuantity) -> int:
    """The amount in thousandths (milli-CPU), rounded up."""
    return parse_quantity(raw).milli_value()


@lru_cache(maxsize=4096)
def format_decimal(value: int) -> str:
    """The canonical DecimalSI text of a whole amount: 100 → "100", 1000 → "1k"."""
    return str(Quantity(value * NANO, "DecimalSI"))


@lru_cache(maxsize=4096)
def format_binary(value: int) -> str:
    """The canonical BinarySI text of a whole amount: 17179869184 → "16Gi"."""
    return str(Quantity(value * NANO, "BinarySI"))


def _usual(text: str) -> Quantity | None:
    """Digits and a unit, as nearly all quantities are: several times faster than the grammar, and the same answer."""
    digits = text.rstrip(_LETTERS)
    unit = text[len(digits) :]
    factor = _FACTORS.get(unit)
    if factor is None or len(digits) > _MANY_DIGITS or not (digits.isascii() and digits.isdecimal()):
        return None
    nanos = min(int(digits) * factor, MAX_VALUE * NANO)
    return Quantity(nanos, "BinarySI" if unit.endswith("i") and nanos else "DecimalSI")


def _scaled(digits: str, places: int, exponent: int, factor: int) -> int:
    """digits * 10**(exponent - places) * factor, in nanos, rounded up."""
    power = exponent - places + 9
    amount = int(digits) * factor
    return amount * 10**power if power >= 0 else divide_away(amount, 10**-power)


def divide_away(amount: int, divisor: int) -> int:
    """Rounded up, away from zero."""
    return -(-amount // divisor) if amount >= 0 else amount // divisor


def _write_binary(value: int) -> str:
    power = 0
    while power < 6 and value % 1024 == 0 and value:
        value, power = value // 1024, power + 1
    return f"{value}{('', *_BINARY)[power]}"


def _write_decimal(nanos: int, *, exponent: bool) -> str:
    if nanos == 0:
        return "0"
    power = -9
    while power < 18 and nanos % 1000 == 0:
        nanos, power = nanos // 1000, power + 3
    if exponent:
        return f"{nanos}e{power}" if power else str(nanos)
    suffix = next(name for name, value in _DECIMAL.items() if value == power)
    return f"{nanos}{suffix}"

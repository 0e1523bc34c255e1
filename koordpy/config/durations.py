"""Durations as Kubernetes writes them, "15s", "1m30s", "500ms", as exact nanoseconds, and back.

Source: Go's time.ParseDuration and Duration.String.
"""

import re
from fractions import Fraction
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

NANOSECONDS: Final = {
    "h": 3_600_000_000_000,
    "m": 60_000_000_000,
    "s": 1_000_000_000,
    "ms": 1_000_000,
    "us": 1_000,
    "µs": 1_000,
    "μs": 1_000,
    "ns": 1,
}
SECOND: Final = NANOSECONDS["s"]
_MOST: Final = 2**63 - 1
_PART: Final = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)(h|ms|us|µs|μs|ns|m|s)", re.ASCII)
_WHOLE: Final = re.compile(rf"[+-]?(?:{_PART.pattern})+", re.ASCII)
_HOW: Final = "a duration is a text with a unit, as 15s, 1m30s or 500ms"


def parse_duration(text: str) -> int:
    """Nanoseconds. Raises: ValueError saying how a duration is written."""
    if text in ("0", "+0", "-0"):
        return 0
    if not _WHOLE.fullmatch(text):
        raise ValueError(_HOW)
    amount = sum(int(Fraction(number) * NANOSECONDS[unit]) for number, unit in _PART.findall(text))
    if amount > _MOST:
        raise ValueError("too long; a duration has at most 2562047h47m16s")
    return -amount if text.startswith("-") else amount


def format_duration(nanoseconds: int) -> str:
    """As Go prints it: 90 seconds are 1m30s, 1.5 milliseconds 1.5ms."""
    if nanoseconds == 0:
        return "0s"
    sign, rest = ("-" if nanoseconds < 0 else ""), abs(nanoseconds)
    if rest < SECOND:
        unit = next(unit for unit in ("ms", "µs", "ns") if rest >= NANOSECONDS[unit])
        return f"{sign}{_decimal(rest, NANOSECONDS[unit])}{unit}"
    hours, rest = divmod(rest, NANOSECONDS["h"])
    minutes, rest = divmod(rest, NANOSECONDS["m"])
    head = f"{hours}h{minutes}m" if hours else f"{minutes}m" if minutes else ""
    return f"{sign}{head}{_decimal(rest, SECOND)}s"


def _decimal(amount: int, unit: int) -> str:
    whole, part = divmod(amount, unit)
    digits = f"{part:0{len(str(unit)) - 1}d}".rstrip("0") if part else ""
    return f"{whole}.{digits}" if digits else str(whole)


def _from_text(written: Any) -> Any:
    if isinstance(written, str):
        return parse_duration(written)
    if isinstance(written, int | float) and not isinstance(written, bool):
        raise ValueError(f'{_HOW}; if seconds are meant, write "{written}s"')
    raise ValueError(_HOW)


Nanoseconds = Annotated[
    int,
    BeforeValidator(_from_text),
    PlainSerializer(format_duration, return_type=str),
    WithJsonSchema({"type": "string", "pattern": r"^[+-]?((\d+\.?\d*|\.\d+)(h|m|s|ms|us|µs|ns))+$|^[+-]?0$"}),
]
"""Of a field: a duration in YAML, nanoseconds in Python. Default values are given as nanoseconds."""

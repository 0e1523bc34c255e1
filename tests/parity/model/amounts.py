"""Arithmetic on resource lists and minors, with the corner cases that show. Source: koordinator.md section 0."""

from collections.abc import Mapping
from typing import Any

from koordpy_api.quantity import value_of

Amounts = dict[str, int]
Minors = dict[int, Amounts]
Books = dict[str, Minors]
"""Device type → minor → amounts."""


def read_amounts(written: Mapping[str, Any] | None) -> Amounts:
    """Quantities → integers, rounded up. VFs stand beside the amounts and are none."""
    return {name: value_of(amount) for name, amount in (written or {}).items() if name != "vfs"}


def read_minors(written: Mapping[Any, Any] | None) -> Minors:
    return {int(minor): read_amounts(amounts) for minor, amounts in (written or {}).items()}


def plus(a: Mapping[str, int], b: Mapping[str, int]) -> Amounts:
    return {name: a.get(name, 0) + b.get(name, 0) for name in {**a, **b}}


def minus(a: Mapping[str, int], b: Mapping[str, int]) -> Amounts:
    """Never below zero; names only in b appear with 0."""
    return {name: max(a.get(name, 0) - b.get(name, 0), 0) for name in {**a, **b}}


def is_zero(amounts: Mapping[str, int]) -> bool:
    return not any(amounts.values())


def smaller(a: Mapping[str, int], b: Mapping[str, int]) -> Amounts:
    """Only the names of both."""
    return {name: min(a[name], b[name]) for name in a if name in b}


def fits(asked: Mapping[str, int], free: Mapping[str, int]) -> bool:
    """A name that `free` lacks is not looked at."""
    return all(amount <= free[name] for name, amount in asked.items() if name in free)

"""Values of the command lines of tests: each is read, or refused with what would be right."""

import math
from argparse import ArgumentTypeError
from collections.abc import Callable, Collection


def whole(least: int) -> Callable[[str], int]:
    """For argparse: a whole number, and no smaller one."""

    def read(text: str) -> int:
        if (number := _integer(text)) is None or number < least:
            raise ArgumentTypeError(f"{text!r} is no whole number of at least {least}")
        return number

    return read


def wholes(least: int) -> Callable[[str], tuple[int, ...]]:
    """For argparse: whole numbers with commas between them, none of them smaller; one that comes twice counts once."""

    def read(text: str) -> tuple[int, ...]:
        numbers = [_integer(each) for each in text.split(",")]
        fitting = tuple(number for number in numbers if number is not None and number >= least)
        if len(fitting) < len(numbers):
            raise ArgumentTypeError(f"{text!r} is no list of whole numbers of at least {least}, as 500,5000")
        return tuple(dict.fromkeys(fitting))

    return read


def some_of(known: Collection[str], what: str) -> Callable[[str], tuple[str, ...]]:
    """For argparse: names with commas between them; one that comes twice counts once. what: each of them is."""

    def read(text: str) -> tuple[str, ...]:
        names = tuple(dict.fromkeys(text.split(",")))
        if unknown := [name for name in names if name not in known]:
            called = " or ".join(repr(name) for name in unknown)
            raise ArgumentTypeError(f"no {what} is called {called}; there are {', '.join(known)}")
        return names

    return read


def some_seconds(text: str) -> float:
    """For argparse: more than none, and an end."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        raise ArgumentTypeError(f"{text!r} is no number of seconds above 0")
    return number


def _integer(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None

"""A case → a smaller one that still shows the same."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from tests.parity.frame import Case

Shows = Callable[[Case], bool]
SmallerOnes = Callable[[Case], Iterator[Case]]

NEEDED: Final = frozenset(
    (
        *("id", "plugins", "nodes", "pod", "node", "name"),
        *("key", "operator", "values", "effect", "weight", "preference", "port"),
    )
)
"""Fields that no case, Pod, taint, term or port does without."""

MOST_TRIES: Final = 2000


def smaller(case: Case, shows: Shows) -> Case:
    """Take away what can be, the largest parts first, until nothing more can."""
    tries = iter(range(MOST_TRIES))
    before: Case = {}
    while case != before:
        before = case
        for smaller_ones in SMALLER:
            case = _as_small_as_can_be(case, smaller_ones, shows, tries)
    return case


def _as_small_as_can_be(case: Case, smaller_ones: SmallerOnes, shows: Shows, tries: Iterator[int]) -> Case:
    """As far as one way to make it smaller goes."""
    candidates = smaller_ones(case)
    while next(tries, None) is not None and (candidate := next(candidates, None)) is not None:
        if shows(candidate):
            case = candidate
            candidates = smaller_ones(case)
    return case


def _fewer_pods(case: Case) -> Iterator[Case]:
    pods = case.get("pods", [])
    size = len(pods)
    while size:
        for start in range(0, len(pods), size):
            yield {**case, "pods": [*pods[:start], *pods[start + size :]]}
        size //= 2


def _fewer_nodes(case: Case) -> Iterator[Case]:
    for gone in case["nodes"] if len(case["nodes"]) > 1 else ():
        left = {name: node for name, node in case["nodes"].items() if name != gone}
        yield {**case, "nodes": left, "pods": [pod for pod in case.get("pods", ()) if pod["node"] != gone]}


def _less_of(field: str) -> SmallerOnes:
    def smaller_ones(case: Case) -> Iterator[Case]:
        for value in _without_a_part(case.get(field, {}), keep_all=field == "nodes"):
            yield {**case, field: value}

    return smaller_ones


SMALLER: Final = (_fewer_pods, _fewer_nodes, *map(_less_of, ("args", "pod", "nodes", "pods")))


def _without_a_part(value: Any, keep_all: bool = False) -> Iterator[Any]:
    """Every value that lacks one field or element somewhere. keep_all: not one of the outermost."""
    if isinstance(value, Mapping):
        for key in value:
            if not keep_all and key not in NEEDED:
                yield {name: part for name, part in value.items() if name != key}
        for key, part in value.items():
            yield from ({**value, key: less} for less in _without_a_part(part))
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for place in range(len(value)):
            yield [*value[:place], *value[place + 1 :]]
        for place, part in enumerate(value):
            yield from ([*value[:place], less, *value[place + 1 :]] for less in _without_a_part(part))

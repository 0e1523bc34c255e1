"""What one Pod asks for: worked out once, then compared with every node and rated on it."""

from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

from koordpy_api.objects import Pod
from koordpy_api.resources import CPU, EPHEMERAL_STORAGE, MEMORY, Counts, counted
from koordpy_nodefit.args import NodeResourcesFitArgs

# The order in which upstream lists its reasons; extended resources follow by name.
_FIRST: Final = (CPU, MEMORY, EPHEMERAL_STORAGE)

KEPT: Final = 1024

Scored = tuple[int | None, ...]
"""Of each resource that the score looks at, what the Pod asks; None if it does not count for this Pod."""


class Compared(NamedTuple):
    """A resource that a node must have enough of.

    is_accounted: another plugin decides of it, wherever a node does not name it.
    """

    name: str
    amount: int
    is_accounted: bool


@dataclass(frozen=True, slots=True)
class Asked:
    """Units as in koordpy_api.resources. compared: in the order of the reasons."""

    compared: tuple[Compared, ...]
    scored: Scored


class Reader:
    """Pod → Asked. Pods that ask the same share one."""

    def __init__(self, args: NodeResourcesFitArgs, accounted: Collection[str]) -> None:
        self._ignored = frozenset(args.ignored_resources)
        self._ignored_groups = frozenset(args.ignored_resource_groups)
        self._scored = tuple([each.name for each in args.scoring_strategy.resources])
        self._accounted = accounted
        self._asked = lru_cache(maxsize=KEPT)(self._read)
        self._in_order = lru_cache(maxsize=KEPT)(self._to_compare)

    def read(self, pod: Pod) -> Asked:
        """Raises: QuantityError if the Pod asks for something that is no quantity."""
        return self._asked(counted(pod))

    def _read(self, counts: Counts) -> Asked:
        requests, scored = counts.requests, counts.scored
        return Asked(
            tuple([Compared(name, requests[name], other) for name, other in self._in_order(tuple(requests))]),
            tuple([scored.get(name, 0) if name in _FIRST else scored.get(name) or None for name in self._scored]),
        )

    def _to_compare(self, names: Collection[str]) -> list[tuple[str, bool]]:
        """Of these resources each that the filter looks at, and whether another plugin accounts for it."""
        ordered = [*[name for name in _FIRST if name in names], *sorted(frozenset(names).difference(_FIRST))]
        return [(name, name in self._accounted) for name in ordered if not self.is_ignored(name)]

    def is_ignored(self, resource: str) -> bool:
        """Only extended resources can be; Kubernetes' own are always compared."""
        group, slash, _ = resource.partition("/")
        if not slash or group == "kubernetes.io" or group.endswith(".kubernetes.io"):
            return False
        return resource in self._ignored or group in self._ignored_groups

"""In which order nodes are looked at: one of each zone in turn. Source: pkg/scheduler/backend/cache (node_tree.go)."""

from collections.abc import Iterator, Mapping
from itertools import chain, zip_longest
from typing import Final

ZONE_LABELS: Final = (
    ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"),
    ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"),
)
"""Region and zone, each by its older label first."""

Zone = tuple[str, ...]


class NodeOrder:
    """Zones in the order in which they came, and in each its nodes likewise."""

    def __init__(self) -> None:
        self._zones: dict[Zone, dict[str, None]] = {}
        self._zone_of: dict[str, Zone] = {}

    def __contains__(self, name: object) -> bool:
        return name in self._zone_of

    def __len__(self) -> int:
        return len(self._zone_of)

    def put(self, name: str, labels: Mapping[str, str]) -> bool:
        """A node came or changed; did the order?"""
        zone = zone_of(labels)
        if self._zone_of.get(name) == zone:
            return False
        self.remove(name)
        self._zone_of[name] = zone
        self._zones.setdefault(zone, {})[name] = None
        return True

    def remove(self, name: str) -> bool:
        """A node went; was it there?"""
        if (zone := self._zone_of.pop(name, None)) is None:
            return False
        del self._zones[zone][name]
        if not self._zones[zone]:
            del self._zones[zone]
        return True

    def names(self) -> Iterator[str]:
        """Zones that have no more nodes are passed over."""
        turns = zip_longest(*self._zones.values())
        return (name for name in chain.from_iterable(turns) if name is not None)


def zone_of(labels: Mapping[str, str]) -> Zone:
    return tuple(next((labels[key] for key in keys if key in labels), "") for keys in ZONE_LABELS)

"""Plugins by entry point. A plugin is imported only when a profile names it, so a broken one harms nobody else."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Final

from koordpy.errors import PluginError

GROUP: Final = "koordpy.scheduler"


class Registry:
    """Entry-point name → plugin class. `given` adds classes by hand, for tests."""

    def __init__(self, points: Iterable[EntryPoint] | None = None, given: Mapping[str, type] | None = None) -> None:
        self._given = dict(given or {})
        self._points: dict[str, list[EntryPoint]] = defaultdict(list)
        for point in entry_points(group=GROUP) if points is None else points:
            self._points[point.name].append(point)

    @property
    def names(self) -> list[str]:
        return sorted({*self._points, *self._given})

    def load(self, name: str) -> type:
        """The class behind a name.

        Raises: PluginError if nobody or more than one distribution offers the name, or if it cannot be imported.
        """
        if name in self._given:
            return self._given[name]
        offers = self._points.get(name, [])
        if not offers:
            raise PluginError(
                f'plugin "{name}" does not exist; installed are {", ".join(self.names)}. A plugin is found by an entry '
                f"point of the group {GROUP} in an installed distribution"
            )
        if len(offers) > 1:
            owners = " and ".join(sorted(_owner(offer) for offer in offers))
            raise PluginError(f'plugin "{name}" is offered by {owners}; uninstall all but one')
        return _import(offers[0])


def _import(point: EntryPoint) -> type:
    try:
        loaded = point.load()
    except (ImportError, AttributeError, SyntaxError) as error:
        raise PluginError(
            f'plugin "{point.name}" of {_owner(point)} cannot be imported from {point.value}: '
            f"{type(error).__name__}: {error}"
        ) from error
    if not isinstance(loaded, type):
        raise PluginError(
            f'plugin "{point.name}" of {_owner(point)}: {point.value} is a {type(loaded).__name__}, '
            "but the entry point must name a class"
        )
    return loaded


def _owner(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist else "an unknown distribution"

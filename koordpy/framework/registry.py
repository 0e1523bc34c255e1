"""Plugins by entry point. One is imported only when somebody asks for it by name, so a broken one harms nobody else.

Also the Catalogue that the configuration reads: at which points a name may be enabled, and which arguments it takes;
upstream's plugins that are not installed are known from koordpy.config's data.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from typing import Final

from koordpy.config.catalogue import UpstreamCatalogue
from koordpy.config.defaults import POINTS_OF
from koordpy.errors import PluginError
from koordpy.framework.declaration import Declaration, declare
from koordpy_api import PluginArgs

GROUP: Final = "koordpy.scheduler"


@dataclass(frozen=True, slots=True)
class Offer:
    """One line of entry_points.txt: a distribution that offers a plugin."""

    name: str
    value: str
    distribution: str
    version: str

    @property
    def owner(self) -> str:
        return f"{self.distribution} {self.version}" if self.distribution else "an unknown distribution"


class Registry:
    """Entry-point name → plugin. `given` adds classes by hand, before what is installed; for tests and stand-ins."""

    def __init__(self, points: Iterable[EntryPoint] | None = None, given: Mapping[str, type] | None = None) -> None:
        self._given = dict(given or {})
        self._points: dict[str, list[EntryPoint]] = defaultdict(list)
        self._declared: dict[str, Declaration | PluginError] = {}
        for point in entry_points(group=GROUP) if points is None else points:
            self._points[point.name].append(point)

    @property
    def names(self) -> list[str]:
        return sorted({*self._points, *self._given})

    def __contains__(self, name: str) -> bool:
        """Does anybody offer it? Whether it works is another question."""
        return name in self._points or name in self._given

    def offers(self, name: str) -> list[Offer]:
        """Who offers this name; nobody if it was given by hand. Imports nothing."""
        if name in self._given:
            return []
        return [_offer(point) for point in self._points.get(name, [])]

    def load(self, name: str) -> type:
        """The class behind a name.

        Raises: PluginError if nobody offers the name, if two offer different classes, or if it cannot be imported.
        """
        if name in self._given:
            return self._given[name]
        points = self._points.get(name, [])
        if not points and name in POINTS_OF:
            raise PluginError(
                f'plugin "{name}" is one of kube-scheduler\'s, but this version of koordpy has it not yet'
            )
        if not points:
            raise PluginError(
                f'plugin "{name}" does not exist; installed are {", ".join(self.names) or "none"}. A plugin is found '
                f"by an entry point of the group {GROUP} in an installed distribution"
            )
        by_value = {point.value: point for point in points}
        if len(by_value) > 1 and len({_identity(point) for point in by_value.values()}) > 1:
            raise PluginError(f"{_clash(name, points)}; uninstall all but one")
        return _import(points[0])

    def declaration(self, name: str) -> Declaration:
        """The plugin behind a name, imported and checked.

        Raises: PluginError, as load, and for its author's mistakes.
        """
        if name not in self._declared:
            self._declared[name] = self._declare(name)
        known = self._declared[name]
        if isinstance(known, PluginError):
            raise known
        return known

    def _declare(self, name: str) -> Declaration | PluginError:
        """Once: an import that failed is not tried again."""
        try:
            plugin = self.load(name)
            offers = self.offers(name)
            return declare(name, plugin, f"of {offers[0].owner}" if offers else "")
        except PluginError as error:
            return error

    # -- the Catalogue of koordpy.config ------------------------------------------------------------------------------

    def points_of(self, name: str) -> frozenset[str] | None:
        """The points at which a profile may enable it; None if nobody knows the name.

        A plugin of upstream's may be named wherever upstream's is, also where ours has nothing to do.
        Raises: PluginError if it is installed and broken.
        """
        upstream = UpstreamCatalogue().points_of(name)
        if name not in self:
            return upstream
        return self.declaration(name).points | (upstream or frozenset())

    def args_model(self, name: str) -> type[PluginArgs] | None:
        """What its pluginConfig is read into; None if nobody knows. Raises: PluginError as points_of."""
        return self.declaration(name).args_model if name in self else UpstreamCatalogue().args_model(name)

    # -- what nobody asked for ----------------------------------------------------------------------------------------

    def warnings(self, used: Collection[str]) -> list[str]:
        """What is broken among the plugins that are not in `used`, as far as it can be seen without importing any."""
        found = []
        for name in sorted({*self._points} - {*used}):
            points = self._points[name]
            if len({point.value for point in points}) > 1:
                found.append(f"{_clash(name, points)}; no profile names it")
            for point in points:
                if trouble := _visible_trouble(point):
                    found.append(f'plugin "{name}" of {_offer(point).owner} is broken ({trouble}); no profile names it')
        return found


def _offer(point: EntryPoint) -> Offer:
    dist = point.dist
    return Offer(point.name, point.value, dist.name if dist else "", dist.version if dist else "")


def _clash(name: str, points: Iterable[EntryPoint]) -> str:
    owners = " and ".join(sorted(f"{_offer(point).owner} ({point.value})" for point in points))
    return f'plugin "{name}" is offered by {owners}'


def _visible_trouble(point: EntryPoint) -> str:
    """Why this entry point cannot be imported, as far as its text and the search path tell."""
    try:
        module = point.module
    except (AttributeError, ValueError, AssertionError):  # each Python has its own
        module = ""
    if not module:
        return f"{point.value!r} is not of the form module:Class"
    top = module.partition(".")[0]
    try:
        is_there = find_spec(top) is not None
    except (ImportError, ValueError):
        is_there = True  # imported already, in some unusual way
    return "" if is_there else f"{point.value}: no module named {top!r}"


def _identity(point: EntryPoint) -> object:
    """What it names; or, if that cannot be imported, something that is the same as nothing else."""
    try:
        return _import(point)
    except PluginError:
        return object()


def _import(point: EntryPoint) -> type:
    owner = _offer(point).owner
    try:
        loaded = point.load()
    except (Exception, SystemExit) as error:
        raise PluginError(
            f'plugin "{point.name}" of {owner} cannot be imported from {point.value}: '
            f"{type(error).__name__}: {error}. Mend or uninstall it, or take it out of the profile"
        ) from error
    if not isinstance(loaded, type):
        raise PluginError(
            f'plugin "{point.name}" of {owner}: {point.value} is a {type(loaded).__name__}, '
            "but the entry point must name a class"
        )
    return loaded

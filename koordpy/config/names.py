"""Which plugin names may stand where in a profile."""

from collections.abc import Sequence
from typing import Final

from koordpy.config.catalogue import Catalogue, NamedCatalogue
from koordpy.config.complaints import did_you_mean
from koordpy.config.defaults import PLUGIN_TYPES, POINTS, POINTS_OF, REMOVED
from koordpy.config.findings import Findings
from koordpy.config.models import STAR, Plugins, Profile
from koordpy.errors import PluginError

MULTI_POINT: Final = "multiPoint"


class Names:
    """The names of one profile, looked up once each. doubtful: points whose lists hold a mistake."""

    def __init__(self, scheduler_name: str, catalogue: Catalogue, findings: Findings) -> None:
        self.doubtful: set[str] = set()
        self._scheduler_name = scheduler_name
        self._catalogue = catalogue
        self._findings = findings
        self._points: dict[str, frozenset[str] | None] = {}
        self._broken: dict[str, str] = {}

    def points_of(self, name: str) -> frozenset[str]:
        """A name that nobody knows, or a plugin that cannot be used, has no points."""
        return self._look_up(name) or frozenset()

    def is_known(self, name: str) -> bool:
        return self._look_up(name) is not None

    def check_lists(self, plugins: Plugins, path: str) -> None:
        """Every name of every list."""
        for point in (*POINTS, MULTI_POINT):
            said = plugins.at(point)
            for position, name in enumerate(said.enabled_names):
                mistake = self._mistake(name, point, said.enabled_names[:position])
                if mistake is not None:
                    self.doubtful.add(point)
                if mistake:
                    self._findings.wrong(f"{path}.{point}.enabled[{position}]", name or '""', mistake)
            for position, plugin in enumerate(said.disabled):
                if plugin.name != STAR and not self.is_known(plugin.name):
                    what = f"no plugin has this name, so nothing is switched off{self._hint(plugin.name)}"
                    self._findings.say(f"{path}.{point}.disabled[{position}]", plugin.name or '""', what)

    def check_defaults(self, names: Sequence[str], plugins: Plugins, path: str) -> None:
        """Default plugins that cannot be used; one that the file names is told where it stands."""
        for name in names:
            if name in self._broken and name not in plugins.multi_point.enabled_names:
                self._findings.wrong(f"{path}.{MULTI_POINT}", name, self._broken[name])

    def check_configs(self, profile: Profile, running: set[str], path: str) -> None:
        """Arguments for a plugin that the profile does not run are not used."""
        for position, config in enumerate(profile.plugin_config):
            name = config.name
            if name and name not in running and name not in REMOVED:
                unknown = f"no plugin has this name{self._hint(name)}"
                why = "the profile does not run it" if self.is_known(name) else unknown
                self._findings.say(f"{path}[{position}].name", name, f"these arguments are not used: {why}")

    def _mistake(self, name: str, point: str, before: Sequence[str]) -> str | None:
        """None if the name may stand here; empty if what is wrong is said elsewhere."""
        kind = PLUGIN_TYPES.get(point, "plugin")
        if name in before:
            return f'plugin "{name}" already registered as "{PLUGIN_TYPES.get(point, MULTI_POINT)}"'
        points = self._look_up(name)
        if name in self._broken:
            return self._broken[name]
        if points is None:
            if name in REMOVED and point != MULTI_POINT and not point.startswith("placement"):
                return ""
            return f'{kind} "{name}" does not exist (profile {self._scheduler_name}){self._hint(name)}'
        if point != MULTI_POINT and point not in points:
            offers = ", ".join(sorted(points, key=POINTS.index)) or "none"
            text = f'plugin "{name}" does not extend {kind} plugin (profile {self._scheduler_name})'
            return f"{text}; its points are {offers}"
        return None

    def _look_up(self, name: str) -> frozenset[str] | None:
        if name not in self._points:
            try:
                self._points[name] = self._catalogue.points_of(name)
            except PluginError as error:
                self._points[name], self._broken[name] = frozenset(), str(error)
        return self._points[name]

    def _hint(self, name: str) -> str:
        if name == STAR:
            return "; * may stand in disabled only"
        if name in REMOVED:
            return "; Kubernetes has removed it, NodeVolumeLimits does its work"
        installed = self._catalogue.names if isinstance(self._catalogue, NamedCatalogue) else ()
        return did_you_mean(name, {*installed, *POINTS_OF})

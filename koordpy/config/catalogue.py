"""Who knows which plugins there are: the names, the points that each implements, and the model of its arguments."""

from collections.abc import Iterable, Mapping
from typing import Protocol, runtime_checkable

from koordpy.config.defaults import POINTS_OF
from koordpy_api import PluginArgs


class Catalogue(Protocol):
    """What expanding a profile asks about plugins. The framework's Registry answers for those that are installed."""

    def points_of(self, name: str) -> frozenset[str] | None:
        """The extension points that it implements, named as in YAML; None: nobody knows the name.

        Raises: PluginError if it cannot be imported.
        """
        ...

    def args_model(self, name: str) -> type[PluginArgs] | None:
        """What reads its arguments; None: nobody knows."""
        ...


@runtime_checkable
class NamedCatalogue(Catalogue, Protocol):
    """A catalogue that can also list its plugins; then a misspelt name is told its neighbours."""

    @property
    def names(self) -> Iterable[str]: ...


class UpstreamCatalogue:
    """kube-scheduler's whole default set and DeviceShare, as data: nothing is imported, so nothing need be built."""

    @property
    def names(self) -> Iterable[str]:
        return POINTS_OF

    def points_of(self, name: str) -> frozenset[str] | None:
        return POINTS_OF.get(name)

    def args_model(self, name: str) -> type[PluginArgs] | None:
        """NodeResourcesFit's and DeviceShare's come with their distributions, which this room does not know."""
        return _upstream_models().get(name)


def _upstream_models() -> Mapping[str, type[PluginArgs]]:
    from koordpy.config.upstream_args import MODELS  # only who reads arguments pays for the models

    return MODELS

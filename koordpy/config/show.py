"""The effective configuration as v1: every default written out, every profile expanded point by point.

What comes out can be read again, and means the same.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from koordpy.config.catalogue import Catalogue, NamedCatalogue
from koordpy.config.defaults import ARGS_KINDS, POINTS
from koordpy.config.expand import ResolvedProfile
from koordpy.config.load import Loaded
from koordpy.config.models import API_VERSION, STAR
from koordpy.config.plugin_args import read_args

_WEIGHED: Final = "score"


def effective(loaded: Loaded, catalogue: Catalogue) -> dict[str, Any]:
    """Plain values, keys in the order of the models."""
    whole = loaded.configuration.model_dump(by_alias=True, exclude_none=True, mode="json")
    whole["profiles"] = [_profile(profile, catalogue) for profile in loaded.profiles]
    return whole


def left_out(profile: ResolvedProfile, catalogue: Catalogue) -> list[str]:
    """Plugins of upstream's default set that this version does not have."""
    return [name for name in profile.plugins if not _is_there(name, catalogue)]


def effective_args(profile: ResolvedProfile, catalogue: Catalogue) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """(plugin, its arguments with their defaults) of each plugin of the profile that takes any."""
    for name in profile.plugins:
        model, raw = catalogue.args_model(name), profile.args.get(name, {})
        if not _is_there(name, catalogue):
            continue
        args = raw if model is None else read_args(model, raw).model_dump(by_alias=True, exclude_none=True, mode="json")
        if args:
            yield name, args


def _profile(profile: ResolvedProfile, catalogue: Catalogue) -> dict[str, Any]:
    shown: dict[str, Any] = {"schedulerName": profile.scheduler_name}
    if profile.percentage_of_nodes_to_score is not None:
        shown["percentageOfNodesToScore"] = profile.percentage_of_nodes_to_score
    listening = [{"name": name} for name in profile.points.get("multiPoint", ())]
    plugins: dict[str, Any] = {"multiPoint": {"enabled": listening} if listening else {}}
    plugins["multiPoint"]["disabled"] = [{"name": STAR}]
    for point in POINTS:
        names = [name for name in profile.points[point] if _is_there(name, catalogue)]
        if names:
            plugins[point] = {"enabled": [_enabled(name, point, profile) for name in names]}
    configs = [_config(name, args) for name, args in effective_args(profile, catalogue)]
    return {**shown, "plugins": plugins, "pluginConfig": configs}


def _enabled(name: str, point: str, profile: ResolvedProfile) -> dict[str, Any]:
    return {"name": name, "weight": profile.weights[name]} if point == _WEIGHED else {"name": name}


def _config(name: str, args: Mapping[str, Any]) -> dict[str, Any]:
    head = {"apiVersion": API_VERSION, "kind": f"{name}Args"} if name in ARGS_KINDS else {}
    return {"name": name, "args": {**head, **args}}


def _is_there(name: str, catalogue: Catalogue) -> bool:
    return not isinstance(catalogue, NamedCatalogue) or name in catalogue.names

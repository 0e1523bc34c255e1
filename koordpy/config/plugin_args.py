"""`pluginConfig` → each plugin's arguments, checked by its own model."""

from collections.abc import Mapping
from typing import Any, Final

from pydantic import ValidationError

from koordpy.config.catalogue import Catalogue
from koordpy.config.complaints import problems_of, show
from koordpy.config.defaults import ARGS_KINDS
from koordpy.config.findings import Findings
from koordpy.config.models import API_VERSION, KubeSchedulerConfiguration, PluginConfig
from koordpy.errors import PluginError
from koordpy_api import NoArgs, PluginArgs, Problem

RawArgs = Mapping[str, Any]
_HEAD: Final = ("apiVersion", "kind")


def read_args(model: type[PluginArgs], raw: RawArgs) -> PluginArgs:
    """The model of arguments as a person wrote them: keys in camelCase only.

    Raises: pydantic.ValidationError; PluginError if a validator of the plugin's author breaks.
    """
    try:
        return model.model_validate(dict(raw), by_alias=True, by_name=False)
    except ValidationError:
        raise
    except Exception as error:  # a validator is a plugin's code
        raise PluginError(f"{model.__module__}.{model.__name__}: {type(error).__name__}: {error}") from error


def args_of(
    configuration: KubeSchedulerConfiguration, index: int, catalogue: Catalogue, findings: Findings
) -> dict[str, RawArgs]:
    """Plugin → arguments as written, for the profile of this index. A plugin without pluginConfig is not there."""
    read = {}
    for position, config in enumerate(configuration.profiles[index].plugin_config):
        path = f"profiles[{index}].pluginConfig[{position}].args"
        raw = _without_head(config, path, catalogue, findings)
        if config.name not in read:  # a second one is refused by validate.py
            read[config.name] = raw
        _check(config.name, raw, path, catalogue, findings)
    if ignored := ignored_by_scheduler(configuration):
        read["NodeResourcesFit"] = {**read.get("NodeResourcesFit", {}), "ignoredResources": ignored}
    return read


def ignored_by_scheduler(configuration: KubeSchedulerConfiguration) -> list[str]:
    """Resources that an extender accounts for; they replace NodeResourcesFit.ignoredResources of every profile."""
    resources = [resource for extender in configuration.extenders for resource in extender.managed_resources]
    return [resource.name for resource in resources if resource.ignored_by_scheduler]


def _without_head(config: PluginConfig, path: str, catalogue: Catalogue, findings: Findings) -> RawArgs:
    """Without apiVersion and kind, which may stand there. Only those of upstream's kinds are looked at."""
    raw, name = config.args, config.name
    if name in ARGS_KINDS:
        version, kind = raw.get("apiVersion"), raw.get("kind")
        if version not in (None, API_VERSION):
            findings.wrong(f"{path}.apiVersion", show(version), f"decoding args for plugin {name}: only {API_VERSION}")
        if kind not in (None, f"{name}Args"):
            right = f"args for plugin {name} were not of type {name}Args, got {kind}"
            findings.wrong(f"{path}.kind", show(kind), right)
    return {key: value for key, value in raw.items() if key not in _HEAD}


def _check(name: str, raw: RawArgs, path: str, catalogue: Catalogue, findings: Findings) -> None:
    try:
        model = catalogue.args_model(name)
    except PluginError:
        return  # told where the plugin is enabled
    if model is None:
        return
    try:
        read_args(model, raw)
    except PluginError as error:
        findings.wrong(path, show(dict(raw)), f"the plugin's own validator breaks: {error}")
    except ValidationError as error:
        found = problems_of(error, path, model)
        findings.mistakes.extend(found if model is not NoArgs else [_takes_none(name, raw, path)])


def _takes_none(name: str, raw: RawArgs, path: str) -> Problem:
    return Problem(path, show(dict(raw)), f"plugin {name} takes no arguments")

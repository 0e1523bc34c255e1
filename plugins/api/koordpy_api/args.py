"""What a plugin reads from `pluginConfig`: a frozen pydantic model, with Kubernetes' camelCase in YAML."""

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


class PluginArgs(BaseModel):
    """Base of every plugin's `Args`. Unknown keys are errors."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        alias_generator=to_camel,
        validate_by_alias=True,
        validate_by_name=True,
        strict=True,
    )


class NoArgs(PluginArgs):
    """For plugins that take none."""

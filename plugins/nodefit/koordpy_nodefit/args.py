"""NodeResourcesFitArgs. Source: k8s.io/kube-scheduler/config/v1 (types_pluginargs.go)."""

from typing import Annotated, Literal

from pydantic import Field, field_validator

from koordpy_api import PluginArgs


class ResourceSpec(PluginArgs):
    """A resource that the score looks at, and how much it counts."""

    name: str
    weight: int = Field(default=1, ge=0, le=100)

    @field_validator("weight")
    @classmethod
    def _zero_is_one(cls, weight: int) -> int:
        """As upstream: an absent or zero weight counts as one."""
        return weight or 1


class ScoringStrategy(PluginArgs):
    type: Literal["LeastAllocated"] = "LeastAllocated"
    resources: Annotated[tuple[ResourceSpec, ...], Field(strict=False)] = (
        ResourceSpec(name="cpu"),
        ResourceSpec(name="memory"),
    )


class NodeResourcesFitArgs(PluginArgs):
    """ignored_resources, ignored_resource_groups: extended resources that the filter does not compare."""

    ignored_resources: Annotated[frozenset[str], Field(strict=False)] = frozenset()
    ignored_resource_groups: Annotated[frozenset[str], Field(strict=False)] = frozenset()
    scoring_strategy: ScoringStrategy = ScoringStrategy()

"""NodeResourcesFitArgs. Source: k8s.io/kube-scheduler/config/v1 (types_pluginargs.go), and its validation."""

from itertools import pairwise
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field, ValidationInfo, field_validator

from koordpy_api.args import AsTuple, PluginArgs, QualifiedName, Resources, ResourceSpec, as_qualified_name, mistakes

Strategy = Literal["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"]
RATIO: Final = "RequestedToCapacityRatio"
MAX_UTILIZATION: Final = 100
MAX_SHAPE_SCORE: Final = 10


class ShapePoint(PluginArgs):
    """utilization: percent of the node's capacity. score: 0 (worst) to 10 (best)."""

    utilization: int
    score: int

    @field_validator("utilization")
    @classmethod
    def _percent(cls, utilization: int) -> int:
        if not 0 <= utilization <= MAX_UTILIZATION:
            raise ValueError(f"not in valid range [0, {MAX_UTILIZATION}]")
        return utilization

    @field_validator("score")
    @classmethod
    def _small(cls, score: int) -> int:
        if not 0 <= score <= MAX_SHAPE_SCORE:
            raise ValueError(f"not in valid range [0, {MAX_SHAPE_SCORE}]")
        return score


def _rising(shape: tuple[ShapePoint, ...]) -> tuple[ShapePoint, ...]:
    if not shape:
        raise ValueError("at least one point must be specified")
    falling = [index for index, (left, right) in enumerate(pairwise(shape), 1) if left.utilization >= right.utilization]
    if falling:
        text = "values must be sorted in increasing order"
        raise mistakes(*(((index, "utilization"), shape[index].utilization, text) for index in falling))
    return shape


Shape = Annotated[tuple[ShapePoint, ...], AsTuple, AfterValidator(_rising)]


class RequestedToCapacityRatio(PluginArgs):
    """shape: points of a line that says how good a utilization is; constant outside of them."""

    shape: Shape


class ScoringStrategy(PluginArgs):
    """How the node should be filled, and by which resources that is judged."""

    type: Strategy = "LeastAllocated"
    resources: Resources = (ResourceSpec(name="cpu"), ResourceSpec(name="memory"))
    requested_to_capacity_ratio: RequestedToCapacityRatio | None = Field(default=None, validate_default=True)

    @field_validator("resources")
    @classmethod
    def _some(cls, resources: tuple[ResourceSpec, ...]) -> tuple[ResourceSpec, ...]:
        """An empty list is defaulted, as upstream."""
        return resources or (ResourceSpec(name="cpu"), ResourceSpec(name="memory"))

    @field_validator("requested_to_capacity_ratio")
    @classmethod
    def _belongs_to_its_type(
        cls, ratio: RequestedToCapacityRatio | None, info: ValidationInfo
    ) -> RequestedToCapacityRatio | None:
        if ratio is None and info.data.get("type") == RATIO:
            raise ValueError(f"must be specified when type is {RATIO}")
        if ratio is not None and info.data.get("type", RATIO) != RATIO:
            raise ValueError(f"must be nil when type is not {RATIO}")
        return ratio


def _a_group(group: str) -> str:
    if "/" in group:
        raise ValueError("resource group name can't contain '/'")
    return as_qualified_name(group)


ResourceGroup = Annotated[str, AfterValidator(_a_group)]


class NodeResourcesFitArgs(PluginArgs):
    """ignored_resources, ignored_resource_groups: extended resources that the filter does not compare."""

    ignored_resources: Annotated[tuple[QualifiedName, ...], AsTuple] = ()
    ignored_resource_groups: Annotated[tuple[ResourceGroup, ...], AsTuple] = ()
    scoring_strategy: ScoringStrategy = ScoringStrategy()

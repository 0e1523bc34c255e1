"""NodeResourcesFitArgs. Source: k8s.io/kube-scheduler/config/v1 (types_pluginargs.go), and its validation."""

from collections.abc import Iterator
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

    def mistakes(self) -> Iterator[tuple[str, int, str]]:
        """(field, what stands there, what would be right) each."""
        for field, number, most in (
            ("utilization", self.utilization, MAX_UTILIZATION),
            ("score", self.score, MAX_SHAPE_SCORE),
        ):
            if not 0 <= number <= most:
                yield field, number, f"not in valid range [0, {most}]"


def _rising(shape: tuple[ShapePoint, ...]) -> tuple[ShapePoint, ...]:
    """Its points are looked at here too, so that what is wrong with one of them hides nothing of their order."""
    if not shape:
        raise ValueError("at least one point must be specified")
    found: list[tuple[tuple[int | str, ...], object, str]] = [
        ((index, field), number, text) for index, point in enumerate(shape) for field, number, text in point.mistakes()
    ]
    for index, (left, right) in enumerate(pairwise(shape), 1):
        if left.utilization >= right.utilization:
            found.append(((index, "utilization"), right.utilization, "values must be sorted in increasing order"))
    if found:
        raise mistakes(*found)
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

"""Arguments of kube-scheduler's default plugins, read and checked whether koordpy has built the plugin or not.

When a plugin is built, its model moves to it.
Source: k8s.io/kube-scheduler/config/v1 (types_pluginargs.go), its defaults and its validation.
"""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, Literal, Self, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, field_validator, model_validator

from koordpy.config.durations import SECOND, Nanoseconds
from koordpy_api.args import AsTuple, PluginArgs, QualifiedName, mistakes

Value = TypeVar("Value")
PERCENT: Final = 100


def _rule(holds: Callable[[Any], bool], otherwise: str) -> AfterValidator:
    def check(value: Value) -> Value:
        if not holds(value):
            raise ValueError(otherwise)
        return value

    return AfterValidator(check)


def _each_once(
    listed: tuple[Value, ...], key_of: Callable[[Value], str], below: tuple[int | str, ...] = ()
) -> tuple[Value, ...]:
    keys = [key_of(each) for each in listed]
    again: list[int] = [index for index, key in enumerate(keys) if key in keys[:index]]
    if again:
        raise mistakes(*(((index, *below), keys[index], "Duplicate: it stands here before") for index in again))
    return listed


_ZERO_TO_HUNDRED: Final = _rule(lambda value: 0 <= value <= PERCENT, "not in valid range [0, 100]")


class DefaultPreemptionArgs(PluginArgs):
    """How many nodes preemption tries: the larger of the two decides."""

    min_candidate_nodes_percentage: Annotated[int, _ZERO_TO_HUNDRED] = 10
    min_candidate_nodes_absolute: Annotated[int, _rule(lambda value: value >= 0, "not in valid range [0, inf)")] = 100

    @model_validator(mode="after")
    def _some_candidates(self) -> Self:
        if self.min_candidate_nodes_percentage == self.min_candidate_nodes_absolute == 0:
            text = "cannot be zero at the same time as "
            raise mistakes(
                (("minCandidateNodesPercentage",), 0, f"{text}minCandidateNodesAbsolute"),
                (("minCandidateNodesAbsolute",), 0, f"{text}minCandidateNodesPercentage"),
            )
        return self


class InterPodAffinityArgs(PluginArgs):
    hard_pod_affinity_weight: Annotated[int, _ZERO_TO_HUNDRED] = 1
    ignore_preferred_terms_of_existing_pods: bool = False


_ACTIONS: Final = ("DoNotSchedule", "ScheduleAnyway")


def _forbidden(written: Any) -> Any:
    raise ValueError("Forbidden: constraint must not define a selector, as they deduced for each pod")


def _not_empty(written: Any) -> Any:
    if written == "":
        raise ValueError("Required: can not be empty")
    return written


def _supported(written: Any) -> Any:
    if written == "":
        raise ValueError("Required: can not be empty")
    if isinstance(written, str) and written not in _ACTIONS:
        raise ValueError(f"supported values: {', '.join(_ACTIONS)}")
    return written


class DefaultConstraint(PluginArgs):
    """A topologySpreadConstraint for Pods that have none of their own."""

    max_skew: Annotated[int, _rule(lambda value: value > 0, "not in valid range (0, inf)")] = Field(
        default=0, validate_default=True
    )
    topology_key: Annotated[QualifiedName, BeforeValidator(_not_empty)] = Field(default="", validate_default=True)
    when_unsatisfiable: Annotated[Literal["DoNotSchedule", "ScheduleAnyway"], BeforeValidator(_supported)] = Field(
        default="",  # refused where it is absent
        validate_default=True,
    )
    label_selector: Annotated[Any, BeforeValidator(_forbidden)] = None
    min_domains: Annotated[int, _rule(lambda value: value > 0, "must be greater than 0")] | None = None
    node_affinity_policy: Literal["Honor", "Ignore"] | None = None
    node_taints_policy: Literal["Honor", "Ignore"] | None = None
    match_label_keys: Annotated[tuple[str, ...], AsTuple] = ()


class PodTopologySpreadArgs(PluginArgs):
    """defaulting_type System: upstream's own soft constraints. List: those of default_constraints."""

    default_constraints: Annotated[tuple[DefaultConstraint, ...], AsTuple] = ()
    defaulting_type: Literal["System", "List"] = Field(default="System", validate_default=True)

    @field_validator("default_constraints")
    @classmethod
    def _each_once(cls, constraints: tuple[DefaultConstraint, ...]) -> tuple[DefaultConstraint, ...]:
        return _each_once(constraints, lambda each: f"{{{each.topology_key}, {each.when_unsatisfiable}}}")

    @field_validator("defaulting_type")
    @classmethod
    def _list_with_constraints(cls, defaulting_type: str, info: ValidationInfo) -> str:
        if defaulting_type == "System" and info.data.get("default_constraints"):
            raise ValueError("not allowed when .defaultConstraints are not empty; write List")
        return defaulting_type


class VolumeBindingArgs(PluginArgs):
    bind_timeout_seconds: Annotated[
        int, _rule(lambda value: value >= 0, "invalid BindTimeoutSeconds, should not be a negative value")
    ] = 600
    shape: Annotated[
        Any,
        _rule(
            lambda value: not value,
            "unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring",
        ),
    ] = None


class DynamicResourcesArgs(PluginArgs):
    """filter_timeout: how long one node may take; 0 switches the limit off."""

    filter_timeout_ns: Annotated[
        Nanoseconds, _rule(lambda value: value >= 0, "must be greater than or equal to zero")
    ] = Field(default=10 * SECOND, alias="filterTimeout")
    binding_timeout_ns: Annotated[
        Nanoseconds, _rule(lambda value: value >= SECOND, "must be greater than or equal to 1s")
    ] = Field(default=600 * SECOND, alias="bindingTimeout")


MODELS: Final[Mapping[str, type[PluginArgs]]] = {
    "DefaultPreemption": DefaultPreemptionArgs,
    "DynamicResources": DynamicResourcesArgs,
    "InterPodAffinity": InterPodAffinityArgs,
    "PodTopologySpread": PodTopologySpreadArgs,
    "VolumeBinding": VolumeBindingArgs,
}

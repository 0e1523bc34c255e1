"""NodeAffinityArgs: node selectors with the API server's rules. Source: core/v1 validation."""

import re
from typing import Annotated, Final, Literal

import msgspec
from pydantic import AfterValidator, Field, ValidationInfo, field_validator

from koordpy_api.args import AsTuple, PluginArgs, QualifiedName
from koordpy_api.objects import NodeAffinity

MAX_WEIGHT: Final = 100
_VALUE: Final = re.compile(r"([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?", re.ASCII)
_INTEGER: Final = re.compile(r"[+-]?[0-9]+", re.ASCII)


class LabelRequirement(PluginArgs):
    key: QualifiedName
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]
    values: Annotated[tuple[str, ...], AsTuple] = Field(default=(), validate_default=True)

    @field_validator("values")
    @classmethod
    def _as_many_as_the_operator_takes(cls, values: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        match info.data.get("operator"):
            case "In" | "NotIn" if not values:
                raise ValueError("Required: must be specified when `operator` is 'In' or 'NotIn'")
            case "Exists" | "DoesNotExist" if values:
                raise ValueError("Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
            case "Gt" | "Lt" if len(values) != 1:
                raise ValueError("Required: must be specified single value when `operator` is 'Lt' or 'Gt'")
            case "Gt" | "Lt" if not _INTEGER.fullmatch(values[0]):
                raise ValueError("for 'Gt', 'Lt' operators, the value must be an integer")
        if wrong := [value for value in values if not _VALUE.fullmatch(value)]:
            raise ValueError(f"{wrong[0]!r} is no label value: letters, digits, '-', '_' and '.', at most 63")
        return values


class FieldRequirement(PluginArgs):
    """Kubernetes knows one field here."""

    key: Literal["metadata.name"]
    operator: Literal["In", "NotIn"]
    values: Annotated[tuple[str, ...], AsTuple] = Field(default=(), validate_default=True)

    @field_validator("values")
    @classmethod
    def _one(cls, values: tuple[str, ...]) -> tuple[str, ...]:
        if len(values) != 1:
            raise ValueError(
                "Required: must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
            )
        return values


class NodeSelectorTerm(PluginArgs):
    """All requirements must hold; a term without any matches no node."""

    match_expressions: Annotated[tuple[LabelRequirement, ...], AsTuple] = ()
    match_fields: Annotated[tuple[FieldRequirement, ...], AsTuple] = ()


def _some(terms: tuple[NodeSelectorTerm, ...]) -> tuple[NodeSelectorTerm, ...]:
    if not terms:
        raise ValueError("Required: must have at least one node selector term")
    return terms


class NodeSelector(PluginArgs):
    """One of the terms must hold."""

    node_selector_terms: Annotated[tuple[NodeSelectorTerm, ...], AsTuple, AfterValidator(_some)] = Field(
        default=(), validate_default=True
    )


class PreferredTerm(PluginArgs):
    weight: int
    preference: NodeSelectorTerm

    @field_validator("weight")
    @classmethod
    def _in_range(cls, weight: int) -> int:
        if not 1 <= weight <= MAX_WEIGHT:
            raise ValueError("must be in the range 1-100")
        return weight


class NodeAffinityTerms(PluginArgs):
    """A NodeAffinity: what a node must be, and what it had better be."""

    required: NodeSelector | None = Field(default=None, alias="requiredDuringSchedulingIgnoredDuringExecution")
    preferred: Annotated[tuple[PreferredTerm, ...], AsTuple] = Field(
        default=(), alias="preferredDuringSchedulingIgnoredDuringExecution"
    )


class NodeAffinityArgs(PluginArgs):
    """added_affinity: what every Pod of the profile wants besides its own node affinity."""

    added_affinity: NodeAffinityTerms | None = None

    @property
    def added(self) -> NodeAffinity:
        """The same as it would stand in a Pod."""
        added = self.added_affinity
        return msgspec.convert(added.model_dump(by_alias=True), NodeAffinity) if added else NodeAffinity()

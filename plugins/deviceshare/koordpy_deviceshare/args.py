"""What DeviceShare reads from `pluginConfig`. Source: Koordinator's DeviceShareArgs, and the articles' `allocator`."""

from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator

from koordpy_api.args import MAX_WEIGHT, AsTuple, PluginArgs
from koordpy_api.koordinator import (
    FPGA,
    GPU_CORE,
    GPU_MEMORY,
    GPU_MEMORY_RATIO,
    NPU_CORE,
    NPU_CPU,
    NPU_DVPP,
    RDMA,
)

ALLOCATORS: Final = ("default", "binpack", "spread")
SCORED: Final = (GPU_CORE, GPU_MEMORY, GPU_MEMORY_RATIO, NPU_CORE, NPU_CPU, NPU_DVPP, RDMA, FPGA)
"""What a Device reports of its devices, so that a score can look at it."""


class DeviceResource(PluginArgs):
    """A device resource that the score looks at. Unlike NodeResourcesFit's, the weight has no default."""

    name: str
    weight: int = Field(default=0, validate_default=True)

    @field_validator("weight")
    @classmethod
    def _weight_in_range(cls, weight: int, info: ValidationInfo) -> int:
        if not 0 < weight <= MAX_WEIGHT:
            raise ValueError(f"resource weight of {info.data.get('name', '')} not in valid range (0, {MAX_WEIGHT}]")
        return weight


def _supported(written: Any) -> Any:
    if isinstance(written, str) and written not in ("LeastAllocated", "MostAllocated"):
        raise ValueError(f"scoring strategy {written} is not supported; it is LeastAllocated or MostAllocated")
    return written


class ScoringStrategy(PluginArgs):
    """How nodes are preferred, and cards where no `allocator` says it.

    A strategy that is given replaces the default one whole: without `resources` it looks at none.
    """

    type: Annotated[Literal["LeastAllocated", "MostAllocated"], BeforeValidator(_supported)]
    resources: Annotated[tuple[DeviceResource, ...], AsTuple] = ()


DEFAULT_STRATEGY: Final = ScoringStrategy(
    type="LeastAllocated",
    resources=tuple(
        DeviceResource(name=name, weight=1)
        for name in (GPU_MEMORY_RATIO, GPU_MEMORY, "koordinator.sh/rdma", "koordinator.sh/fpga")
    ),
)


class SharedResourceTemplates(PluginArgs):
    """Where the partition templates of NPUs stand, and which resources they are for. Replaces the default whole."""

    config_map_namespace: str = ""
    config_map_name: str = ""
    matched_resources: Annotated[tuple[str, ...], AsTuple] = ()


DEFAULT_TEMPLATES: Final = SharedResourceTemplates(
    config_map_namespace="koordinator-system",
    config_map_name="gpu-shared-resource-templates",
    matched_resources=("huawei.com/npu-core",),
)


class UnsupportedModel(PluginArgs):
    """A card that is given only whole."""

    vendor: str = ""
    model: str = ""


def _allocator(written: Any) -> Any:
    if written == "":  # Koordinator's default
        return None
    if isinstance(written, str) and written not in ALLOCATORS:
        raise ValueError(f"unknown; it is one of {', '.join(ALLOCATORS)}")
    return written


class DeviceShareArgs(PluginArgs):
    """allocator: which of the cards that fit; None: as scoring_strategy says, which says which node in any case."""

    allocator: Annotated[Literal["default", "binpack", "spread"] | None, BeforeValidator(_allocator)] = None
    scoring_strategy: ScoringStrategy = DEFAULT_STRATEGY
    disable_device_numa_topology_alignment: bool = Field(default=False, alias="disableDeviceNUMATopologyAlignment")
    gpu_shared_resource_templates_config: SharedResourceTemplates = DEFAULT_TEMPLATES
    gpu_share_unsupported_models: Annotated[tuple[UnsupportedModel, ...], AsTuple] = ()

    def not_in_effect(self) -> list[str]:
        """This version looks at no topology, knows no templates, and scores by nothing that no Device reports."""
        said = self._blind_scoring()
        if self.disable_device_numa_topology_alignment:
            said.append("disableDeviceNUMATopologyAlignment: cards are not aligned with NUMA nodes")
        if self.gpu_shared_resource_templates_config != DEFAULT_TEMPLATES:
            said.append("gpuSharedResourceTemplatesConfig: there are no partition templates")
        return said

    def _blind_scoring(self) -> list[str]:
        listed = self.scoring_strategy.resources
        if not listed:
            return ["scoringStrategy.resources: none are named, so all nodes and all cards of one are rated alike"]
        return [
            f"scoringStrategy.resources: {each.name} is nothing that a Device reports; it is one of {', '.join(SCORED)}"
            for each in listed
            if each.name not in SCORED
        ]

"""DeviceRequest: what a Pod asks of its node's devices, in whichever dialect it said so."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from koordpy_api.koordinator import FPGA, GPU_CORE, GPU_MEMORY_RATIO, NPU_CORE, RDMA, Allocations
from koordpy_api.selectors import LabelSelector
from koordpy_deviceshare.model import GPU_TYPE, Amounts

WHOLE_CARD: Final[Amounts] = {GPU_CORE: 100, GPU_MEMORY_RATIO: 100}
"""What a card gives that is given whole."""

_PERCENT_OF: Final = {GPU_TYPE: GPU_MEMORY_RATIO, "rdma": RDMA, "fpga": FPGA}
"""Device type → the resource of which 100 mean that nothing is left for anybody else."""


@dataclass(frozen=True, slots=True)
class TypeRequest:
    """What is asked of one device type.

    asked: the Pod's sum, vendors' names written as core and ratio.
    count, per_device: how it is divided. per_device holds percent or bytes of memory, not both; bytes that
    do not divide evenly are rounded up. on_every: instead of `count`, one on each device that `selector` takes.
    selector: None takes every device that a Pod may get.
    strategy: the Pod's own wish which of the devices that fit; "" as the profile says.
    scope: the topology that all devices must share; "" any.
    """

    type: str
    asked: Amounts
    count: int
    per_device: Amounts
    on_every: bool = False
    selector: LabelSelector | None = None
    strategy: str = ""
    scope: str = ""
    is_whole: bool = field(init=False, repr=False, compare=False)
    """Does it need devices that nobody else holds anything of? A share of bytes never does, be it all of a card's."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "is_whole", self.per_device.get(_PERCENT_OF.get(self.type, ""), 0) >= 100)


@dataclass(frozen=True, slots=True)
class DeviceRequest:
    """Computed once an attempt, before any node is looked at.

    containers: container name → what it asks, under today's names; containers that ask for nothing are left out.
    total: what the Pod asks as a whole, by the rule of koordpy_api.resources.pod_requests.
    types: what that means for each device type, in the order of their names.
    vendor_cards: the one name under which whole cards are counted, if the Pod asks for nothing else; a node that has
    that name from a device plugin, and never had a Device, can serve it too.
    isolation: who has to hold the containers to their shares; "" anybody or nobody.
    partitioned: does it want cards that form a partition?
    designated: the only devices it may get and how much of each, if somebody has decided that before.
    """

    containers: Mapping[str, Amounts]
    total: Amounts
    types: tuple[TypeRequest, ...]
    vendor_cards: str = ""
    isolation: str = ""
    partitioned: bool = False
    designated: Allocations | None = None
    gpus: TypeRequest | None = field(init=False, repr=False, compare=False)
    """What of `types` is asked of GPUs."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "gpus", next((each for each in self.types if each.type == GPU_TYPE), None))

    @property
    def needs_template(self) -> bool:
        """Does it ask for a part of an NPU? That is only given in the form of a template."""
        return (gpus := self.gpus) is not None and not gpus.is_whole and NPU_CORE in gpus.per_device

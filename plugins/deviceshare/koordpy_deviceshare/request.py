"""DeviceRequest: what a Pod asks of its node's devices, in whichever dialect it said so."""

from collections.abc import Mapping
from typing import Final, NamedTuple

import msgspec

from koordpy_api.koordinator import FPGA, GPU_CORE, GPU_MEMORY, GPU_MEMORY_RATIO, NPU_CORE, RDMA, Allocations
from koordpy_api.selectors import LabelSelector
from koordpy_deviceshare.model import GPU_TYPE, Amounts

WHOLE_CARD: Final[Amounts] = {GPU_CORE: 100, GPU_MEMORY_RATIO: 100}
"""What a card gives that is given whole."""

_PERCENT_OF: Final = {GPU_TYPE: GPU_MEMORY_RATIO, "rdma": RDMA, "fpga": FPGA}
"""Device type → the resource of which 100 mean that nothing is left for anybody else."""


class Share(NamedTuple):
    """A usual request of one device type, as a value that hashes: so many devices, each of which gives the same."""

    type: str
    devices: int
    is_whole: bool
    per_device: tuple[tuple[str, int], ...]


class TypeRequest(msgspec.Struct, frozen=True):
    """What is asked of one device type.

    asked: the Pod's sum, vendors' names written as core and ratio.
    count, per_device: how it is divided. per_device holds percent or bytes of memory, not both; bytes that
    do not divide evenly are rounded up. on_every: instead of `count`, one on each device that `selector` takes.
    selector: None takes every device that a Pod may get.
    strategy: the Pod's own wish which of the devices that fit; "" as the profile says.
    scope: the topology that all devices must share; "" any.
    is_whole: does it need devices that nobody else holds anything of? Nobody gives it: it follows from the amounts. A
    share of bytes never does, be it all of a card's.
    """

    type: str
    asked: Amounts
    count: int
    per_device: Amounts
    on_every: bool = False
    selector: LabelSelector | None = None
    strategy: str = ""
    scope: str = ""
    is_whole: bool = False

    def __post_init__(self) -> None:
        is_whole = self.per_device.get(_PERCENT_OF.get(self.type, ""), 0) >= 100
        msgspec.structs.force_setattr(self, "is_whole", is_whole)

    @property
    def share(self) -> Share | None:
        """None if it asks for more than amounts, or in a form in which nobody asks."""
        per_device = self.per_device
        is_odd = self.on_every or self.selector is not None or self.scope or not per_device
        if is_odd or (GPU_MEMORY in per_device and GPU_MEMORY_RATIO in per_device):
            return None
        return Share(self.type, self.count, self.is_whole, tuple(sorted(per_device.items())))


class DeviceRequest(msgspec.Struct, frozen=True):
    """Computed once an attempt, before any node is looked at.

    containers: container name → what it asks, under today's names; containers that ask for nothing are left out.
    total: what the Pod asks as a whole, by the rule of koordpy_api.resources.pod_requests.
    types: what that means for each device type, in the order of their names.
    vendor_cards: the one name under which whole cards are counted, if the Pod asks for nothing else; a node that has
    that name from a device plugin, and never had a Device, can serve it too.
    isolation: who has to hold the containers to their shares; "" anybody or nobody.
    partitioned: does it want cards that form a partition?
    designated: the only devices it may get and how much of each, if somebody has decided that before.
    gpus, shares: nobody gives these, they follow from `types`. What of them is asked of GPUs; what decides of the
    request on every node alike, None if something rare decides too.
    """

    containers: Mapping[str, Amounts]
    total: Amounts
    types: tuple[TypeRequest, ...]
    vendor_cards: str = ""
    isolation: str = ""
    partitioned: bool = False
    designated: Allocations | None = None
    gpus: TypeRequest | None = None
    shares: tuple[Share, ...] | None = None

    def __post_init__(self) -> None:
        gpus, shares = None, []
        is_odd = self.designated is not None or self.partitioned
        for each in self.types:
            if each.type == GPU_TYPE:
                gpus = each
            if (share := each.share) is None:
                is_odd = True
            else:
                shares.append(share)
        msgspec.structs.force_setattr(self, "gpus", gpus)
        msgspec.structs.force_setattr(self, "shares", None if is_odd else tuple(shares))

    @property
    def needs_template(self) -> bool:
        """Does it ask for a part of an NPU? That is only given in the form of a template."""
        return (gpus := self.gpus) is not None and not gpus.is_whole and NPU_CORE in gpus.per_device

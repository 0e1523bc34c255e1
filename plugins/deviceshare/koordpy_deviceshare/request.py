"""DeviceRequest: what a Pod asks of its node's devices, in whichever dialect it said so."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from koordpy_api.koordinator import GPU_CORE, GPU_MEMORY_RATIO
from koordpy_deviceshare.model import Amounts

WHOLE_CARD: Final[Amounts] = {GPU_CORE: 100, GPU_MEMORY_RATIO: 100}
"""What a card gives that is given whole."""


@dataclass(frozen=True, slots=True)
class DeviceRequest:
    """Computed once an attempt, before any node is looked at.

    containers: container name → what it asks, under today's names; containers that ask for nothing are left out.
    total: what the Pod asks as a whole, by the rule of koordpy_api.resources.pod_requests.
    count, per_card: how the total is divided over cards. per_card holds percent or bytes of memory, not both.
    """

    containers: Mapping[str, Amounts]
    total: Amounts
    count: int
    per_card: Amounts

    @property
    def is_whole(self) -> bool:
        """Does it need cards that nobody else holds anything of?"""
        return self.per_card == WHOLE_CARD

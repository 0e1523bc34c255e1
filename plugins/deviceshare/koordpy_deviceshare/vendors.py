"""A row per vendor of accelerators: under which names its cards are asked for.

Cambricon, MetaX and Kunlun have no names of their own: pods ask for their cards under Koordinator's.
"""

from dataclasses import dataclass
from typing import Final

from koordpy_api.koordinator import AMD_GPU, HYGON_DCU, NPU_CORE, NPU_CPU, NPU_DVPP, NVIDIA_GPU


@dataclass(frozen=True, slots=True)
class Vendor:
    """name: as the label gpu-vendor has it. whole_card: counts cards. parts: of a card, reported instead of core."""

    name: str
    whole_card: str = ""
    parts: tuple[str, ...] = ()


VENDORS: Final = (
    Vendor("nvidia", whole_card=NVIDIA_GPU),
    Vendor("amd", whole_card=AMD_GPU),
    Vendor("hygon", whole_card=HYGON_DCU),
    Vendor("huawei", parts=(NPU_CORE, NPU_CPU, NPU_DVPP)),
    Vendor("cambricon"),
    Vendor("metax"),
    Vendor("baidu"),
)

WHOLE_CARD_NAMES: Final = frozenset(vendor.whole_card for vendor in VENDORS if vendor.whole_card)
"""Names that count whole cards, as device plugins of the vendors offer them."""

VENDOR_OF: Final = {vendor.whole_card: vendor.name for vendor in VENDORS if vendor.whole_card}
KNOWN_VENDORS: Final = frozenset(vendor.name for vendor in VENDORS)

PARTS: Final = frozenset(name for vendor in VENDORS for name in vendor.parts)

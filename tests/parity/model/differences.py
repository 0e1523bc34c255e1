"""The names of what koordpy does otherwise. Each is one sentence of the model, and one rule of differences.yaml."""

from typing import Final

UNREPORTED: Final = "unreported"
"""A dimension that the card does not report cannot be given."""

EXACT_PERCENT: Final = "exact percent"
"""Percent of a card's memory come from one integer division, not through a binary float."""

BOTH_FORMS: Final = "both forms"
"""A share of memory must fit in percent and in bytes, in whichever form it was asked."""

CORES_AND_BYTES: Final = "cores and bytes"
"""gpu-core of several cards with gpu-memory is so many cards, with the memory divided."""

ALL_SHORT: Final = "all that is short"
"""A refusal names every device type of which there is too little, not the first that was looked at."""

ALL_CARDS: Final = "all cards"
"""A node's score counts all devices that the Pod would get, not one of them."""

BY_RECORD: Final = "by record"
"""A Pod holds what was booked for it, and gives exactly that back; a text that cannot be read changes nothing."""

BYTES_UP: Final = "bytes rounded up"
"""Bytes that are divided over cards are rounded up, not down."""

CORE_FITS: Final = "core fits"
"""More core than the cards have that the memory ratio asks for is refused before any node is looked at."""

DESIGNATED_HERE: Final = "designated here"
"""A designated card that a node lacks refuses that node, and does not end the attempt."""

Differences = frozenset[str]
NONE: Final[Differences] = frozenset()
ALL: Final[Differences] = frozenset(
    {
        *(UNREPORTED, EXACT_PERCENT, BOTH_FORMS, CORES_AND_BYTES, ALL_SHORT, ALL_CARDS, BY_RECORD),
        *(BYTES_UP, CORE_FITS, DESIGNATED_HERE),
    }
)

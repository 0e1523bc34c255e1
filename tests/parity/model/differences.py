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

Differences = frozenset[str]
NONE: Final[Differences] = frozenset()
ALL: Final[Differences] = frozenset(
    {UNREPORTED, EXACT_PERCENT, BOTH_FORMS, CORES_AND_BYTES, ALL_SHORT, ALL_CARDS, BY_RECORD}
)

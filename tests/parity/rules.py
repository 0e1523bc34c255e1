"""The predicates and answers that differences.yaml names. Each sees one case, and only its input.

A predicate says where a difference holds; an answer says what koordpy does there instead. Koordinator's come from the
model: a difference holds where the model answers otherwise with it.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from tests.parity.frame import Case, Waiting, kind_of
from tests.parity.model import differences as named
from tests.parity.model.answers import ANSWERS
from tests.parity.readers.koordinator import waits


def left_to_the_scheduler(case: Case) -> bool:
    """percentageOfNodesToScore is 0: upstream decides by the number of nodes how many to look at."""
    return bool(case["fn"] == "numFeasibleNodesToFind" and case["args"][1] == 0)


def hands_out_pieces(case: Case) -> bool:
    return bool(case["fn"] == "chunkSize")


def all_nodes(case: Case) -> int:
    """The first argument is the number of nodes."""
    return int(case["args"][0])


# -- Koordinator -------------------------------------------------------------------------------------------------------

Predicate = Callable[[Case], bool]
WAITS: Final[Mapping[str, Callable[[Case], Waiting | None]]] = {"alloc": waits.of_alloc, "score": waits.of_score}


def ours(case: Case) -> Any:
    """The model's answer with all differences."""
    return ANSWERS[kind_of(case)](case, named.ALL)


def _matters(difference: str) -> Predicate:
    """Does the answer hang on this difference, beside the others or alone?"""
    alone, others = frozenset({difference}), named.ALL - {difference}

    def asked(case: Case) -> bool:
        kind = kind_of(case)
        if (waiting := WAITS.get(kind)) is not None and waiting(case) is not None:
            return False
        answer = ANSWERS[kind]
        return answer(case, alone) != answer(case, named.NONE) or answer(case, others) != answer(case, named.ALL)

    return asked


unreported = _matters(named.UNREPORTED)
exact_percent = _matters(named.EXACT_PERCENT)
both_forms = _matters(named.BOTH_FORMS)
cores_and_bytes = _matters(named.CORES_AND_BYTES)
all_that_is_short = _matters(named.ALL_SHORT)
all_cards = _matters(named.ALL_CARDS)
by_record = _matters(named.BY_RECORD)
bytes_up = _matters(named.BYTES_UP)
core_fits = _matters(named.CORE_FITS)
designated_here = _matters(named.DESIGNATED_HERE)

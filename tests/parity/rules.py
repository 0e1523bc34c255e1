"""The predicates and answers that differences.yaml names. Each sees one case, and only its input.

A predicate says where a difference holds; an answer says what koordpy does there instead.
"""

from tests.parity.frame import Case


def left_to_the_scheduler(case: Case) -> bool:
    """percentageOfNodesToScore is 0: upstream decides by the number of nodes how many to look at."""
    return bool(case["fn"] == "numFeasibleNodesToFind" and case["args"][1] == 0)


def hands_out_pieces(case: Case) -> bool:
    return bool(case["fn"] == "chunkSize")


def all_nodes(case: Case) -> int:
    """The first argument is the number of nodes."""
    return int(case["args"][0])

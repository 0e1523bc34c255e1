"""NodeAffinity: which nodes a Pod may run on by their labels and names, and which it likes."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from koordpy.scheduler.outcome import NotPlaced, Placed
from koordpy.testing import CycleHarness, build_profile, make_node, make_pod
from koordpy_api import Code
from koordpy_api.objects import Node, Pod
from tests.intree.scenes import (
    PREFERRED,
    REQUIRED,
    Terms,
    expression,
    judge,
    node_affinity,
    pod_of,
    same_scores,
    same_verdicts,
    score,
)

WEIGHT = 2
UU = Code.UNSCHEDULABLE_AND_UNRESOLVABLE
REFUSED = (UU, "NodeAffinity", "node(s) didn't match Pod's node affinity/selector")
ENFORCED = (UU, "NodeAffinity", "node(s) didn't match scheduler-enforced node affinity")
NAME = "metadata.name"


def row(name: str, *values: Any) -> Any:
    return pytest.param(*values, id=name)


def labelled(*expressions: Mapping[str, Any]) -> dict[str, Any]:
    return {"matchExpressions": list(expressions)}


def named(*names: str, operator: str = "In") -> dict[str, Any]:
    """A requirement of the name for each."""
    return {"matchFields": [expression(NAME, operator, name) for name in names]}


def wanting(*terms: Mapping[str, Any], selector: Mapping[str, str] | None = None) -> Pod:
    affinity = {"affinity": {"nodeAffinity": node_affinity(required=terms)}} if terms else {}
    return pod_of(affinity | ({"nodeSelector": dict(selector)} if selector else {}))


def liking(preferred: Mapping[int, Mapping[str, Any]]) -> Pod:
    return pod_of({"affinity": {"nodeAffinity": node_affinity(preferred=preferred)}})


NODES = [
    make_node("oak", labels={"disk": "ssd", "gen": "10", "a": "1"}),
    make_node("elm", labels={"disk": "hdd", "gen": "9", "b": "1", "c": "1"}),
    make_node("fir", labels={"gen": "x", "b": "1"}),
]


@pytest.mark.parametrize(
    ("terms", "fit"),
    [
        row(
            "F02 terms are alternatives, and in a term everything must hold",
            [labelled(expression("a")), labelled(expression("b"), expression("c"))],
            "oak elm",
        ),
        row("F03 an empty term means no node", [{}], ""),
        row("an empty term beside another changes nothing", [{}, labelled(expression("a"))], "oak"),
        row("no term means no node", [], ""),
        row("In takes each of its values", [labelled(expression("disk", "In", "ssd", "hdd"))], "oak elm"),
        row("F04 NotIn takes nodes without the label", [labelled(expression("disk", "NotIn", "hdd"))], "oak fir"),
        row("DoesNotExist", [labelled(expression("disk", "DoesNotExist"))], "fir"),
        row("F05 Gt compares integers; what is none never matches", [labelled(expression("gen", "Gt", "9"))], "oak"),
        row("Lt likewise", [labelled(expression("gen", "Lt", "10"))], "elm"),
        row("a bound that is no integer matches nobody", [labelled(expression("gen", "Gt", "ten"))], ""),
        row("a bound of more than 64 bits matches nobody", [labelled(expression("gen", "Lt", "9" * 19))], ""),
        row("an operator that nobody knows means no node", [labelled(expression("gen", "Near", "9"))], ""),
        row(
            "a term that cannot be read leaves the others",
            [labelled(expression("gen", "Near", "9")), labelled(expression("a"))],
            "oak",
        ),
        row("In without values means no node", [labelled(expression("gen", "In"))], ""),
        row("Exists with a value means no node", [labelled(expression("a", "Exists", "1"))], ""),
        row("a value that is no label's means no node", [labelled(expression("disk", "NotIn", "a b"))], ""),
        row("a name that a node has not", [named("elm", operator="NotIn")], "oak fir"),
        row("a name and a label", [named("oak", operator="NotIn") | labelled(expression("gen"))], "elm fir"),
        row("of a field there is one value", [{"matchFields": [expression(NAME, "NotIn", "oak", "elm")]}], ""),
        row("another field is none", [{"matchFields": [expression("spec.x", "NotIn", "a")]}], "oak elm fir"),
        row("so it has no value", [{"matchFields": [expression("spec.x", "In", "a")]}], ""),
    ],
)  # fmt: skip
def test_a_pod_fits_where_one_of_its_terms_holds(terms: Terms, fit: str) -> None:
    pod = pod_of({"affinity": {"nodeAffinity": node_affinity(required=terms)}})
    verdict = judge(["NodeAffinity"], NODES, pod)
    assert verdict == {node.metadata.name: () if node.metadata.name in fit.split() else REFUSED for node in NODES}


def test_f01_a_node_selector_must_hold_beside_the_terms() -> None:
    pod = wanting(labelled(expression("gen")), selector={"disk": "ssd"})
    assert judge(["NodeAffinity"], NODES, pod) == {"oak": (), "elm": REFUSED, "fir": REFUSED}


def test_a_node_selector_alone_is_enough_and_all_of_it_must_hold() -> None:
    assert judge(["NodeAffinity"], NODES, wanting(selector={"b": "1"})) == {"oak": REFUSED, "elm": (), "fir": ()}
    assert judge(["NodeAffinity"], NODES, wanting(selector={"b": "1", "c": "1"})) == {
        "oak": REFUSED,
        "elm": (),
        "fir": REFUSED,
    }


def placed(pod: Pod, *nodes: Node, added: Mapping[str, Any] | None = None) -> str:
    """On which node, or why on none."""
    args = {"NodeAffinity": {"addedAffinity": added}} if added else {}
    cycle = CycleHarness(nodes, build_profile(["PrioritySort", "NodeAffinity", "DefaultBinder"], args=args))
    match cycle.schedule(pod):
        case Placed(node_name=name):
            return name
        case NotPlaced(status=status):
            return status.message


def test_only_the_nodes_that_every_term_names_are_looked_at() -> None:
    assert placed(wanting(named("elm")), *NODES) == "elm"
    refused = placed(wanting(named("elm") | labelled(expression("a"))), *NODES)
    assert refused == (
        "0/3 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, "
        "2 node(s) didn't satisfy plugin(s) [NodeAffinity]."
    )


def test_f07_names_that_exclude_each_other_settle_it_before_any_node() -> None:
    assert placed(wanting(named("oak", "elm")), *NODES) == "0/3 nodes are available: pod affinity terms conflict."


def test_f08_one_term_without_a_name_opens_all_nodes() -> None:
    assert placed(wanting(named("none"), labelled(expression("c"))), *NODES) == "elm"


GOLD = {REQUIRED: {"nodeSelectorTerms": [labelled(expression("tier", "In", "gold"))]}}
TIERS = [make_node("oak", labels={"tier": "gold", "zone": "z1"}), make_node("elm", labels={"tier": "tin"})]


def test_f13_the_profile_wants_something_of_every_pod() -> None:
    only_elm = make_node("elm", labels={"tier": "tin"})
    assert placed(make_pod(), *TIERS, added=GOLD) == "oak"
    assert placed(make_pod(), only_elm, added=GOLD) == (
        "0/1 nodes are available: 1 node(s) didn't match scheduler-enforced node affinity."
    )
    # Where neither holds, the profile's word comes first.
    assert "scheduler-enforced" in placed(wanting(selector={"tier": "gold"}), only_elm, added=GOLD)


@pytest.mark.parametrize(
    ("preferred", "scores"),
    [
        row(
            "F09 weights add up, and the best node has 100",
            {30: labelled(expression("gen")), 50: labelled(expression("a"))},
            (100, 37, 37),
        ),
        row("F11 where nobody matches all have 0", {10: labelled(expression("q"))}, (0, 0, 0)),
        row("an empty preference means no node", {10: {}, 5: labelled(expression("a"))}, (100, 0, 0)),
        row("a weight of 0 is not even read", {0: labelled(expression("a", "Near"))}, (0, 0, 0)),
        row("a name can be preferred", {7: named("elm")}, (0, 100, 0)),
    ],
)  # fmt: skip
def test_the_more_of_its_preferences_a_node_fulfils_the_better(
    preferred: Mapping[int, Mapping[str, Any]], scores: Sequence[int]
) -> None:
    got = score("NodeAffinity", NODES, liking(preferred))
    assert got == {node.metadata.name: WEIGHT * each for node, each in zip(NODES, scores, strict=True)}


def test_what_the_profile_prefers_counts_beside_what_the_pod_does() -> None:
    added = {PREFERRED: [{"weight": 20, "preference": labelled(expression("zone"))}]}
    args = {"NodeAffinity": {"addedAffinity": added}}
    cycle = CycleHarness(TIERS, build_profile(["PrioritySort", "NodeAffinity", "DefaultBinder"], args=args))
    for pod in (make_pod(), liking({40: labelled(expression("tier", "In", "tin"))})):
        same_scores(cycle, "NodeAffinity", pod)
        same_verdicts(cycle, "NodeAffinity", pod)
    assert placed(make_pod(), *TIERS, added=added) == "oak"
    assert placed(liking({40: labelled(expression("tier", "In", "tin"))}), *TIERS, added=added) == "elm"


def test_a_preference_that_cannot_be_read_ends_the_attempt_as_an_error() -> None:
    assert placed(liking({5: labelled(expression("gen", "Gt", "ten"))}), *NODES) == (
        f'running PreScore plugin "NodeAffinity": spec.affinity.nodeAffinity.{PREFERRED}[0].preference'
        ".matchExpressions[0]: values[0][gen]: Invalid value: \"ten\": for 'Gt', 'Lt' operators, the value must be an "
        "integer"
    )


def test_terms_that_mean_no_node_because_they_cannot_be_read_are_told_to_whoever_checks_the_pod() -> None:
    affinity = node_affinity(
        required=[labelled(expression("a")), labelled(expression("a", "Near"))],
        preferred={5: {"matchFields": [expression(NAME, "In", "a", "b")]}},
    )
    found = build_profile(["PrioritySort", "NodeAffinity", "DefaultBinder"]).run_check(
        pod_of({"affinity": {"nodeAffinity": affinity}})
    )
    place = "spec.affinity.nodeAffinity."
    assert [str(problem) for _, problem in found] == [
        f"{place}{REQUIRED}.nodeSelectorTerms[1].matchExpressions[0].operator is 'Near': supported values: In, NotIn, "
        "Exists, DoesNotExist, Gt, Lt",
        f"{place}{PREFERRED}[0].preference.matchFields[0].values is 'a, b': of a field there must be one value",
    ]


def test_a_label_that_the_profile_waited_for_wakes_a_pod_whose_own_wish_was_fulfilled_before() -> None:
    args = {"NodeAffinity": {"addedAffinity": GOLD}}
    cycle = CycleHarness([], build_profile(["PrioritySort", "NodeAffinity", "DefaultBinder"], args=args))
    before, after = make_node("oak", labels={"zone": "z1"}), make_node("oak", labels={"zone": "z1", "tier": "gold"})
    for pod in (make_pod(), wanting(selector={"zone": "z1"})):
        assert cycle.wakes("NodeAffinity", pod, before, after)
        assert not cycle.wakes("NodeAffinity", pod, after, before)

"""The sentence that counts the refusals. Names like K07 are kube-scheduler cases, without their preemption."""

from collections.abc import Mapping
from typing import Any

import pytest

from koordpy.scheduler.diagnosis import Diagnosis
from koordpy_api import Code, Status


def row(name: str, *values: Any) -> Any:
    return pytest.param(*values, id=name)


def refusals(*groups: tuple[int, tuple[str, ...]]) -> dict[str, Status]:
    """So many nodes with these reasons."""
    found: dict[str, Status] = {}
    for count, reasons in groups:
        for _ in range(count):
            found[f"n{len(found)}"] = Status.unschedulable(*reasons)
    return found


CPU, MEMORY, CORDON = "Insufficient cpu", "Insufficient memory", "node(s) were unschedulable"
PINNED = Status.unresolvable("node(s) didn't satisfy plugin(s) [A B]")


@pytest.mark.parametrize(
    ("diagnosis", "text"),
    [
        row(
            "K06 each reason is counted over the nodes",
            Diagnosis(3, refusals((2, (CPU,)), (1, (CORDON,)))),
            "0/3 nodes are available: 1 node(s) were unschedulable, 2 Insufficient cpu.",
        ),
        row(
            "K07 the counts are sorted as texts, so that 10 comes before 2",
            Diagnosis(12, refusals((10, (CPU,)), (2, (CORDON,)))),
            "0/12 nodes are available: 10 Insufficient cpu, 2 node(s) were unschedulable.",
        ),
        row(
            "equal counts are sorted by their reason",
            Diagnosis(2, refusals((2, (MEMORY, CPU)))),
            "0/2 nodes are available: 2 Insufficient cpu, 2 Insufficient memory.",
        ),
        row(
            "P17 a refusal before any node was looked at stands alone",
            Diagnosis(4, pre_filter=Status.unresolvable("pod has unbound PersistentVolumeClaims", "and more")),
            "0/4 nodes are available: pod has unbound PersistentVolumeClaims, and more.",
        ),
        row(
            "P22 nodes that were left out count with the plugins that left them out",
            Diagnosis(5, refusals((1, (CPU,))), PINNED),
            "0/5 nodes are available: 1 Insufficient cpu, 4 node(s) didn't satisfy plugin(s) [A B].",
        ),
        row(
            "every node was left out",
            Diagnosis(5, {}, PINNED),
            "0/5 nodes are available: 5 node(s) didn't satisfy plugin(s) [A B].",
        ),
        row(
            "no node was left out",
            Diagnosis(1, refusals((1, (CPU,))), PINNED),
            "0/1 nodes are available: 1 Insufficient cpu.",
        ),
        row(
            "the chosen node was refused afterwards",
            Diagnosis.of("n1", Status.unschedulable("taken")),
            "0/1 nodes are available: 1 taken.",
        ),
        row("a refusal without words", Diagnosis(2, refusals((2, ()))), "0/2 nodes are available:"),
        row(
            "one reason given twice by one node counts twice, as upstream counts",
            Diagnosis(1, refusals((1, (CPU, CPU)))),
            "0/1 nodes are available: 2 Insufficient cpu.",
        ),
    ],
)
def test_the_sentence_is_upstreams(diagnosis: Diagnosis, text: str) -> None:
    assert diagnosis.message() == text
    assert diagnosis.status() == Status(Code.UNSCHEDULABLE, (text,))


def test_a_diagnosis_knows_who_refused() -> None:
    by: Mapping[str, Status] = {
        "n1": Status.unschedulable(CPU).by("NodeResourcesFit"),
        "n2": Status.unresolvable(CORDON).by("NodeUnschedulable"),
        "n3": Status.unschedulable(CPU).by("NodeResourcesFit"),
    }
    assert Diagnosis(4, by, PINNED.by("A")).plugins == {"NodeResourcesFit", "NodeUnschedulable", "A"}

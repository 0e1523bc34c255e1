"""TaintToleration keeps Pods off tainted nodes, and prefers nodes without soft taints."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from koordpy.testing import make_node, make_pod
from koordpy_api import Code
from tests.intree.scenes import judge, score

WEIGHT = 3
REFUSED = (Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "TaintToleration", "node(s) had untolerated taint(s)")
Taints = Sequence[Mapping[str, str]]


def taint(key: str, effect: str = "NoSchedule", value: str = "") -> dict[str, str]:
    return {"key": key, "effect": effect, "value": value}


def soft(*keys: str) -> list[dict[str, str]]:
    return [taint(key, "PreferNoSchedule") for key in keys]


def row(name: str, *values: Any) -> Any:
    return pytest.param(*values, id=name)


RED = {"key": "team", "value": "red"}


@pytest.mark.parametrize(
    ("taints", "tolerations", "fits"),
    [
        row("E01 a taint keeps a pod off", [taint("team", value="red")], [], False),
        row(
            "E03 no operator means Equal, and no effect means every effect",
            [taint("team", "NoExecute", "red")],
            [RED],
            True,
        ),
        row("E05 the effect must match", [taint("team", "NoExecute", "red")], [{**RED, "effect": "NoSchedule"}], False),
        row("E06 a soft taint never keeps a pod off", soft("slow"), [], True),
        row("the value must match", [taint("team", value="blue")], [RED], False),
        row("the key must match", [taint("crew", value="red")], [RED], False),
        row(
            "Exists does not look at the value",
            [taint("team", value="blue")],
            [{"key": "team", "operator": "Exists"}],
            True,
        ),
        row(
            "Exists without a key covers every taint",
            [taint("a"), taint("b", "NoExecute", "x")],
            [{"operator": "Exists"}],
            True,
        ),
        row(
            "Exists without a key is still bound to its effect",
            [taint("a", "NoExecute")],
            [{"operator": "Exists", "effect": "NoSchedule"}],
            False,
        ),
        row("an empty value equals an empty value", [taint("team")], [{"key": "team"}], True),
        row("every hard taint must be tolerated", [taint("team", value="red"), taint("other")], [RED], False),
        row(
            "each taint may have a toleration of its own",
            [taint("team", value="red"), taint("other")],
            [RED, {"key": "other"}],
            True,
        ),
        row(
            "an operator that is not enabled covers nothing",
            [taint("team", value="1")],
            [{"key": "team", "operator": "Gt", "value": "0"}],
            False,
        ),
        row("a node without taints takes everyone", [], [], True),
    ],
)
def test_a_pod_fits_where_it_tolerates_every_hard_taint(taints: Taints, tolerations: Taints, fits: bool) -> None:
    verdict = judge(["TaintToleration"], [make_node("oak", taints=taints)], make_pod(tolerations=tolerations))
    assert verdict == {"oak": () if fits else REFUSED}


@pytest.mark.parametrize(
    ("taints", "tolerations", "scores"),
    [
        row(
            "E07 the more soft taints the worse",
            {"oak": soft("s1"), "elm": soft("s1", "s2"), "fig": []},
            [],
            {"oak": 50, "elm": 0, "fig": 100},
        ),
        row(
            "E08 a toleration of hard taints does not help",
            {"oak": soft("s1"), "fig": []},
            [{"key": "s1", "operator": "Exists", "effect": "NoSchedule"}],
            {"oak": 0, "fig": 100},
        ),
        row("E09 without any taint every node gets 100", {"oak": [], "elm": []}, [], {"oak": 100, "elm": 100}),
        row(
            "E10 the division comes before the reversal",
            {"a": soft("k1"), "b": soft("k1", "k2", "k3")},
            [],
            {"a": 67, "b": 0},
        ),
        row(
            "a toleration of soft taints helps",
            {"oak": soft("s1"), "fig": []},
            [{"key": "s1", "operator": "Exists", "effect": "PreferNoSchedule"}],
            {"oak": 100, "fig": 100},
        ),
        row(
            "a toleration of every effect helps",
            {"oak": soft("s1"), "elm": soft("s2")},
            [{"key": "s1", "operator": "Exists"}],
            {"oak": 100, "elm": 0},
        ),
        row("hard taints do not count here", {"oak": [taint("hard")], "fig": []}, [], {"oak": 100, "fig": 100}),
    ],
)
def test_soft_taints_make_a_node_a_worse_choice(
    taints: Mapping[str, Taints], tolerations: Taints, scores: dict[str, int]
) -> None:
    nodes = [make_node(name, taints=each) for name, each in taints.items()]
    weighted = score("TaintToleration", nodes, make_pod(tolerations=tolerations))
    assert weighted == {name: WEIGHT * each for name, each in scores.items()}

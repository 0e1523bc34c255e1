"""Which calls are timed, and that timing changes no answer."""

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np
import pytest

from koordpy.cache.snapshot import NodeRows
from koordpy.framework.measuring import Meter
from koordpy.framework.runner import Framework
from koordpy.framework.verdicts import Filtered
from koordpy.telemetry.families import Points
from koordpy.testing import columns_of, make_node, make_pod
from koordpy_api import CycleState, NodeInfo, Status, Verdicts
from tests.framework.scripted_plugins import nodes, plugin, profile

NODES = nodes(*(make_node(f"n{number}") for number in range(40)))


def measured(framework: Framework) -> tuple[Framework, Framework, Points]:
    """With a meter; its twin that times each hook; and what they counted. The clock ticks once a reading."""
    points, ticks = Points(), count()
    meter = Meter("p", points, lambda: float(next(ticks)))
    whole = replace(framework, meter=meter)
    return whole, replace(whole, chains=meter.timed(whole.chains)), points


def counts(family: Any) -> dict[str, int]:
    return {" ".join(labels): sum(cell.counts) for labels, cell in family.series()}


def refuse_odd(node_info: NodeInfo) -> Status | None:
    return Status.unschedulable("odd") if int(node_info.name[1:]) % 2 else None


def test_of_40_calls_on_nodes_three_are_timed_and_all_are_counted() -> None:
    _, twin, points = measured(profile(A=plugin(filter=refuse_odd), B=plugin(filter=lambda: None)))
    answer = twin.run_filter(CycleState(), make_pod(), NODES)
    assert isinstance(answer, Filtered)
    assert len(answer.feasible) == 20
    assert counts(points.plugin_duration) == {"A Filter Success": 3, "B Filter Success": 2}
    assert {" ".join(labels): cell.value for labels, cell in points.plugin_evaluations.series()} == {
        "A Filter p": 40,
        "B Filter p": 20,
    }
    assert counts(points.point_duration) == {"Filter Success p": 1}


def test_a_call_about_all_nodes_is_timed_each_time_and_counts_for_each_node() -> None:
    odd = np.array([int(node.name[1:]) % 2 for node in NODES], dtype=np.bool_)
    at_once = plugin(
        filter=refuse_odd,
        filter_nodes=lambda: Verdicts.where(odd, Status.unschedulable("odd")),
        score=lambda: 1,
        score_nodes=lambda rows: rows * 0 + 1,
    )
    _, twin, points = measured(profile(A=at_once))
    answer = twin.run_filter(CycleState(), make_pod(), NodeRows(columns_of(NODES)))
    assert isinstance(answer, Filtered)
    twin.run_score(CycleState(), make_pod(), answer.feasible)
    assert counts(points.plugin_duration) == {"A Filter Success": 1, "A Score Success": 1}
    assert {" ".join(labels): cell.value for labels, cell in points.plugin_evaluations.series()} == {
        "A Filter p": 40,
        "A Score p": 20,
    }


def test_only_the_twin_times_single_plugins() -> None:
    whole, twin, points = measured(profile(A=plugin(reserve=lambda: Status.unschedulable("no"))))
    refusals = [framework.run_reserve(CycleState(), make_pod(), "n1") for framework in (whole, twin)]
    assert refusals[0] == refusals[1]
    assert counts(points.plugin_duration) == {"A Reserve Unschedulable": 1}
    assert counts(points.point_duration) == {"Reserve Unschedulable p": 2}


@pytest.mark.parametrize("hook", ["reserve", "filter"])
def test_a_hook_that_raises_is_timed_as_an_error_and_blamed_as_ever(hook: str) -> None:
    def boom() -> None:
        raise RuntimeError("boom")

    whole, twin, points = measured(profile(A=plugin(**{hook: boom})))
    ask: Callable[[Framework], Any] = {
        "reserve": lambda framework: framework.run_reserve(CycleState(), make_pod(), "n1"),
        "filter": lambda framework: framework.run_filter(CycleState(), make_pod(), NODES),
    }[hook]
    assert ask(whole).message == ask(twin).message
    assert counts(points.plugin_duration) == {f"A {hook.title()} Error": 1}


def test_a_twin_knows_the_same_waiting_pods() -> None:
    whole, twin, _ = measured(profile(A=plugin()))
    assert twin.waiting is whole.waiting


def test_without_a_meter_nothing_is_measured() -> None:
    framework = profile(A=plugin(filter=lambda: None))
    assert framework.meter is None
    assert isinstance(framework.run_filter(CycleState(), make_pod(), NODES), Filtered)

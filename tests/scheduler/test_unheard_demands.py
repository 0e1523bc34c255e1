"""A Pod whose demand no plugin hears yet is refused, not placed as if it had not asked."""

from collections.abc import Callable
from typing import Any

import pytest

from koordpy.config.expand import default_configuration, resolve
from koordpy.framework.build import build_all
from koordpy.framework.registry import Registry
from koordpy.scheduler.outcome import NotPlaced, Placed
from koordpy.scheduler.sampling import nodes_to_find
from koordpy.testing import CycleHarness, make_node, pod_manifest, read_object
from koordpy_api.objects import Pod

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
TERM = {"topologyKey": "zone", "labelSelector": {}}


def schedule(cycle: Callable[..., CycleHarness], spec: dict[str, Any]) -> Placed | NotPlaced:
    registry = Registry()
    (framework,) = build_all(resolve(default_configuration(), registry), registry, lambda *_: None)
    manifest = pod_manifest(uid="uid-1")
    manifest["spec"] |= spec
    return cycle(make_node("n1"), framework=framework).schedule(read_object(Pod, manifest))


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        pytest.param({"affinity": {"podAffinity": {REQUIRED: [TERM]}}}, "spec.affinity.podAffinity", id="near"),
        pytest.param({"affinity": {"podAntiAffinity": {REQUIRED: [TERM]}}}, "podAntiAffinity", id="away"),
        pytest.param({"topologySpreadConstraints": [{"topologyKey": "zone"}]}, "DoNotSchedule", id="a hard spread"),
        pytest.param({"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]}, "Claim", id="a claim"),
        pytest.param({"resourceClaims": [{"name": "r"}]}, "spec.resourceClaims", id="a device claim"),
    ],
)
def test_a_demand_that_nobody_hears_is_refused_by_its_name(
    cycle: Callable[..., CycleHarness], spec: dict[str, Any], field: str
) -> None:
    refused = schedule(cycle, spec)
    assert isinstance(refused, NotPlaced)
    assert refused.status.message.startswith("0/1 nodes are available: koordpy does not look at ")
    assert field in refused.status.message


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"affinity": {"nodeAffinity": {PREFERRED: [{"weight": 1, "preference": {}}]}}}, id="a preference"),
        pytest.param(
            {"topologySpreadConstraints": [{"topologyKey": "z", "whenUnsatisfiable": "ScheduleAnyway"}]}, id="soft"
        ),
        pytest.param({"volumes": [{"name": "v", "emptyDir": {}}]}, id="a volume that needs no claim"),
    ],
)
def test_a_preference_or_nothing_at_all_is_no_demand(cycle: Callable[..., CycleHarness], spec: dict[str, Any]) -> None:
    assert isinstance(schedule(cycle, spec), Placed)


@pytest.mark.parametrize(
    ("nodes", "percentage", "enough"),
    [(1000, None, 1000), (1000, 0, 1000), (1000, 30, 300), (99, 1, 99), (500, 1, 100)],
)
def test_only_a_file_that_says_so_makes_us_look_at_fewer_nodes(nodes: int, percentage: int, enough: int) -> None:
    assert nodes_to_find(nodes, percentage) == enough

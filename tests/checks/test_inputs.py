"""Files as people have them, read by the manifests reader and taken through the real cache, books and cycle."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from koordpy.config import manifests
from koordpy.scheduler.outcome import Placed
from koordpy.testing import CycleHarness, make_node
from koordpy_api import Code, CycleState
from koordpy_api.objects import KubeObject, Pod

INPUTS = Path(__file__).parents[1] / "inputs"


def objects_of(name: str) -> list[KubeObject]:
    """Of a file without mistakes."""
    found = manifests.read((INPUTS / name).read_bytes())
    assert not [mistake for each in found for mistake in each.mistakes]
    return [each.obj for each in found if each.obj is not None]


@pytest.fixture
def dump(cycle: Callable[..., CycleHarness]) -> CycleHarness:
    """The three linen pods beside the Device with minors 0, 2 and 3."""
    objects = [*objects_of("13-device-minor-gap.yaml"), *objects_of("19-list-export.yaml")]
    return cycle(make_node("kestrel-1"), *objects)


def holders(harness: CycleHarness) -> dict[int, int]:
    """GPU minor on kestrel-1 → how many Pods hold something of it, by the plugin's own books."""
    plugin: Any = getattr(dict(harness.framework.chains["reserve"])["DeviceShare"], "__self__")  # noqa: B009
    sums = plugin.books.sums()["kestrel-1"]
    return {minor: len(holding.holders) for (minor, _), holding in sums.get("gpu", {}).items()}


def test_a_running_pod_of_an_export_holds_its_card_and_a_finished_one_nothing(dump: CycleHarness) -> None:
    assert holders(dump) == {0: 1}
    (node,) = dump.cache.update_snapshot().nodes
    assert [pod.name for pod in node.pods.values()] == ["linen-a"]


def test_an_unbound_pod_of_an_export_is_queued_and_its_leftover_annotation_is_not_trusted(dump: CycleHarness) -> None:
    queued = asyncio.run(dump.queue.pop())
    assert queued.pod.metadata.name == "linen-c"
    placed = dump.schedule(queued.pod)
    assert isinstance(placed, Placed)
    assert sorted(holders(dump)) == [0, 2]  # minor 0 is linen-a's, whatever linen-c's annotation says


def test_a_monitoring_pod_is_skipped_by_device_share_and_placed(cycle: Callable[..., CycleHarness]) -> None:
    (pod,) = objects_of("17-daemonset-monitor.yaml")
    assert isinstance(pod, Pod)
    harness = cycle(make_node("kestrel-1"), *objects_of("13-device-minor-gap.yaml"))
    pre_filter = dict(harness.framework.chains["pre_filter"])["DeviceShare"]
    assert pre_filter(CycleState(), pod, []).code is Code.SKIP
    assert isinstance(harness.schedule(pod), Placed)
    assert holders(harness) == {}

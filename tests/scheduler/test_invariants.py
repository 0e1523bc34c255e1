"""What a scheduler says of a cluster whose books cannot be right, and of books of its own that are not."""

import asyncio
import json
import logging
from typing import Any

import pytest

from koordpy.cluster.embedded.faults import Fault
from koordpy.testing import device_manifest, node_manifest, pod_manifest
from koordpy_api.koordinator import DEVICE_ALLOCATED, GPU_CORE, GPU_MEMORY_RATIO
from tests.scheduler.stage import Stage, perform


def holder(name: str, minor: int, text: str = "") -> dict[str, Any]:
    share = {GPU_CORE: "60", GPU_MEMORY_RATIO: "60"}
    told = text or json.dumps({"gpu": [{"minor": minor, "resources": share}]})
    return pod_manifest(name, node="n1", annotations={DEVICE_ALLOCATED: told})


def test_what_cannot_be_right_is_told_at_the_start(caplog: pytest.LogCaptureFixture) -> None:
    async def scene(stage: Stage) -> None:
        return

    pods = [holder("a", 0), holder("b", 0), holder("c", 7), holder("d", 0, '{"gpu":[')]
    with caplog.at_level(logging.WARNING):
        perform(scene, node_manifest("n1"), device_manifest("n1", 1), *pods)
    told = [record.getMessage() for record in caplog.records if "found at the start" in record.getMessage()]
    assert any(f"Device n1: gpu 0 {GPU_CORE} is '120'" in line for line in told)
    assert any("Pod default/c:" in line and "lists no such minor" in line for line in told)
    assert any("Pod default/d:" in line for line in told)


def test_a_clean_cluster_has_nothing_to_tell(caplog: pytest.LogCaptureFixture) -> None:
    async def scene(stage: Stage) -> None:
        return

    with caplog.at_level(logging.WARNING):
        perform(scene, node_manifest("n1"), device_manifest("n1", 1), holder("a", 0))
    assert "found at the start" not in caplog.text


def test_a_node_that_two_schedulers_filled_is_told_once_and_until_it_has_room_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def scene(stage: Stage) -> None:
        stage.cluster.add(pod_manifest("ours", requests={"cpu": 1}))
        await asyncio.sleep(1)
        for name in ("theirs", "and-another"):
            stage.cluster.add(pod_manifest(name, requests={"cpu": 1}, scheduler_name="somebody-else"))
            stage.cluster.bound_by(name, "n1")
        await asyncio.sleep(2)
        assert over(stage) == 1
        for name in ("theirs", "and-another"):
            stage.cluster.delete("Pod", name)
        await asyncio.sleep(2)
        assert over(stage) == 0

    with caplog.at_level(logging.WARNING):
        perform(scene, node_manifest("n1", cpu=1))
    told = [record for record in caplog.records if record.getMessage() == "node over-committed"]
    assert len(told) == 1


def over(stage: Stage) -> float | None:
    return stage.metrics.registry.get_sample_value("koordpy_overcommitted_nodes")


def test_books_that_are_wrong_are_found_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    """A bug is planted: the cache forgets a pod that runs."""

    async def scene(stage: Stage) -> None:
        stage.cluster.add(pod_manifest("p", requests={"cpu": 1}))
        await asyncio.sleep(1)
        (info,) = stage.scheduler.cache.pods()
        pod = stage.scheduler.cache._placed.pop(info.uid)
        found = stage.scheduler.invariants.differences()
        assert any("pod default/p is on n1, and does not count" in line for line in found)
        checking = asyncio.create_task(stage.scheduler.invariants.run(10.0, stage.metrics))
        await asyncio.sleep(11)
        checking.cancel()
        counted = stage.metrics.registry.get_sample_value("koordpy_invariant_differences_total")
        assert counted == len(found)
        stage.scheduler.cache._placed[info.uid] = pod

    with caplog.at_level(logging.ERROR):
        perform(scene, node_manifest("n1"), check=False)
    assert "the books are wrong: pod default/p is on n1, and does not count" in caplog.text


def test_a_pod_that_nobody_tries_is_found_once_it_has_been_so_for_a_while() -> None:
    async def scene(stage: Stage) -> None:
        stage.cluster.add(pod_manifest("p", requests={"cpu": 99}))
        await asyncio.sleep(1)
        ((_, pod),) = stage.scheduler.queue.pods()
        stage.scheduler.queue.delete(pod.uid)
        assert stage.scheduler.invariants.differences() == []
        await asyncio.sleep(361)
        assert stage.scheduler.invariants.differences() == ["pod default/p wants a node, and nobody tries it"]
        stage.cluster.delete("Pod", "p")
        await asyncio.sleep(1)

    perform(scene, node_manifest("n1"), check=False)


def test_a_bind_that_finds_no_pod_is_settled_by_a_read_and_given_up_without_a_word() -> None:
    async def scene(stage: Stage) -> None:
        stage.cluster.slow_watches(5.0)
        stage.cluster.asked.before_bind["gone"] = lambda: stage.cluster.delete("Pod", "gone")
        stage.cluster.add(pod_manifest("gone"))
        await asyncio.sleep(20)
        assert len(stage.cluster.asked.binds) == 1
        assert stage.cluster.notes("FailedScheduling") == []
        assert stage.believes() == {"nodes": 1}

    perform(scene, node_manifest("n1"))


def test_a_404_that_is_not_true_is_tried_again() -> None:
    async def scene(stage: Stage) -> None:
        stage.cluster.fault(Fault("bind pods p", 404))
        stage.cluster.add(pod_manifest("p"))
        await asyncio.sleep(5)
        assert stage.cluster.node_of("p") == "n1"
        assert len(stage.cluster.asked.binds) == 2

    perform(scene, node_manifest("n1"))

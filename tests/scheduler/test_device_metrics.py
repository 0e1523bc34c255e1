"""What /metrics says of cards and of attempts, with the default profile."""

import asyncio

from prometheus_client.parser import text_string_to_metric_families

from koordpy.testing import device_manifest, node_manifest, pod_manifest
from koordpy_api.koordinator import NVIDIA_GPU
from tests.scheduler.stage import Stage, perform

COUNTED = "scheduler_deviceshare_allocations_total"


def sample(stage: Stage, name: str, **labels: str) -> float | None:
    """Its value at this moment, as a scrape reads it; None without such a series."""
    stage.metrics.plugins.freeze()
    families = text_string_to_metric_families(stage.metrics.plugins.exposition().decode())
    samples = (each for family in families for each in family.samples)
    return next((each.value for each in samples if each.name == name and each.labels == labels), None)


def results(stage: Stage) -> tuple[float | None, float | None]:
    return sample(stage, COUNTED, result="success"), sample(stage, COUNTED, result="failure")


def test_a_pod_that_waits_for_ever_fails_once_however_often_it_is_tried() -> None:
    async def scene(stage: Stage) -> None:
        assert results(stage) == (0, 0)
        stage.cluster.add(pod_manifest("one", requests={NVIDIA_GPU: 1}))
        stage.cluster.add(pod_manifest("two", requests={NVIDIA_GPU: 1}))
        await asyncio.sleep(1)
        assert results(stage) == (1, 1)
        for number in range(5):
            stage.cluster.add(node_manifest(f"plain-{number}"))  # has no card, so does not wake it
        await asyncio.sleep(30)
        assert stage.attempts("unschedulable") == 1
        await asyncio.sleep(1000)  # every five minutes it is tried all the same
        assert stage.attempts("unschedulable") == 4
        assert results(stage) == (1, 1)
        stage.cluster.add(device_manifest("plain-0", 0))
        await asyncio.sleep(300)
        assert results(stage) == (1, 2)
        stage.cluster.add(device_manifest("plain-1", 1))
        await asyncio.sleep(30)
        assert results(stage) == (2, 2)

    perform(scene, node_manifest("node"), device_manifest("node", 1))


def test_a_pod_that_only_lacks_cpu_is_no_failure_of_devices() -> None:
    async def scene(stage: Stage) -> None:
        stage.cluster.add(pod_manifest("big", requests={"cpu": 64, NVIDIA_GPU: 1}))
        await asyncio.sleep(1)
        assert stage.attempts("unschedulable") == 1
        assert results(stage) == (0, 0)

    perform(scene, node_manifest("node", cpu=4), device_manifest("node", 1))


def test_the_gauges_follow_what_is_bound() -> None:
    async def scene(stage: Stage) -> None:
        card = {"node": "node", "minor": "0", "uuid": "GPU-node-0", "model": ""}
        assert sample(stage, "device_gpu_used_core", **card) == 0
        stage.cluster.add(pod_manifest("one", requests={NVIDIA_GPU: 1}))
        await asyncio.sleep(1)
        assert sample(stage, "device_gpu_used_core", **card) == 100
        assert sample(stage, "device_gpu_free_core", **card) == 0
        assert b"device_gpu_total_core{" in stage.metrics.exposition()

    perform(scene, node_manifest("node"), device_manifest("node", 1))

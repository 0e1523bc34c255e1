"""The fixtures for plugin authors that need an API server: `cluster` and `virtual_time`."""

import asyncio
from collections.abc import Callable, Coroutine
from random import Random
from typing import Any

import pytest

from koordpy.clock import LoopClock
from koordpy.cluster.embedded.cluster import EmbeddedCluster
from koordpy.cluster.embedded.faults import Fault
from koordpy.cluster.fake_kubelet import RUNS_FOR, FakeKubelet
from koordpy.errors import Unreachable
from koordpy.testing import node_manifest, pod_manifest
from koordpy_api.objects import Node, Pod

VirtualTime = Callable[[Coroutine[Any, Any, None]], None]


def test_a_cluster_keeps_what_its_client_creates_and_fails_when_it_is_told_to(
    cluster: EmbeddedCluster, virtual_time: VirtualTime
) -> None:
    async def scene() -> None:
        cluster.faults.add(Fault("create nodes n1", "dropped"))
        with pytest.raises(Unreachable):
            await cluster.create(Node.KIND, "", node_manifest("n1"))
        await cluster.create(Node.KIND, "", node_manifest("n1"))
        assert [each.document["metadata"]["name"] for each in cluster.store.list(Node.KIND).items] == ["n1"]

    virtual_time(scene())


def test_hours_pass_at_once(cluster: EmbeddedCluster, virtual_time: VirtualTime) -> None:
    async def scene() -> None:
        kubelet = asyncio.create_task(FakeKubelet(cluster, LoopClock(), Random(0)).run())
        await cluster.create(Node.KIND, "", node_manifest("n1"))
        await cluster.create(Pod.KIND, "default", pod_manifest("job", node="n1", annotations={RUNS_FOR: "2h"}))
        await asyncio.sleep(3 * 3600)
        assert cluster.store.get(Pod.KIND, "default", "job").document["status"]["phase"] == "Succeeded"
        kubelet.cancel()

    virtual_time(scene())

"""Plugins are told of attempts that found no node."""

import asyncio

from koordpy.testing import node_manifest, pod_manifest
from koordpy_api import Status
from koordpy_api.objects import Pod
from tests.framework.scripted_plugins import plugin, profile
from tests.scheduler.stage import Stage, perform


def test_every_attempt_without_a_node_is_told_with_all_who_refused() -> None:
    told: list[tuple[str, frozenset[str]]] = []

    def pod_refused(pod: Pod, plugins: frozenset[str]) -> None:
        told.append((pod.metadata.name, plugins))

    def only(name: str) -> type:
        return plugin(filter=lambda node_info: None if node_info.name == name else Status.unschedulable("full"))

    async def scene(stage: Stage) -> None:
        stage.cluster.add(pod_manifest("web"))
        await asyncio.sleep(0.5)
        assert told == [("web", frozenset({"A", "B"}))]
        stage.cluster.add(node_manifest("n3"))
        await asyncio.sleep(5)
        assert told == [("web", frozenset({"A", "B"}))] * 2

    framework = profile(A=only("n1"), B=only("n2"), Listens=plugin(pod_refused=pod_refused))
    perform(scene, node_manifest("n1"), node_manifest("n2"), frameworks=[framework])


def test_what_broke_is_no_refusal_and_neither_is_a_bind() -> None:
    told: list[Pod] = []

    async def scene(stage: Stage) -> None:
        stage.cluster.add(pod_manifest("well"))
        stage.cluster.add(pod_manifest("ill", labels={"ill": "yes"}))
        await asyncio.sleep(5)
        assert stage.attempts("scheduled") == 1
        assert stage.attempts("error") > 0
        assert told == []

    def breaks(pod: Pod) -> None:
        if pod.metadata.labels:
            raise RuntimeError("no")

    framework = profile(A=plugin(filter=breaks), Listens=plugin(pod_refused=lambda pod: told.append(pod)))
    perform(scene, node_manifest("n1"), frameworks=[framework])


def test_a_listener_that_breaks_hinders_nobody() -> None:
    def breaks() -> None:
        raise RuntimeError("no")

    async def scene(stage: Stage) -> None:
        stage.cluster.add(pod_manifest("web"))
        await asyncio.sleep(1)
        assert stage.cluster.pod("web")["status"]["conditions"][0]["reason"] == "Unschedulable"

    refusing = plugin(filter=lambda: Status.unschedulable("full"), pod_refused=breaks)
    perform(scene, node_manifest("n1"), frameworks=[profile(A=refusing)])

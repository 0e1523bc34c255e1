"""KubeCluster, informers and Events against the real API server, with the rights the scheduler is deployed with."""

import asyncio
import os
import random
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from typing import Any, TypeVar

import msgspec
import pytest

from koordpy.clock import SystemClock
from koordpy.cluster.informer import Informer
from koordpy.cluster.kube import credentials
from koordpy.cluster.kube.cluster import KubeCluster
from koordpy.cluster.kube.transport import Transport
from koordpy.cluster.protocol import BindRequest, Selection, WatchEvent, api_error
from koordpy.cluster.recorder import Recorder
from koordpy.errors import ApiError, Conflict, Expired, NotFound
from koordpy.testing import make_pod
from koordpy_api.objects import Device, KubeObject, Node, Pod
from tests.cluster.scripted import Reports
from tests.controlplane.fixtures import SCHEDULER
from tests.controlplane.server import ControlPlane

T = TypeVar("T")
PATIENCE_S = 30.0


def on(control_plane: ControlPlane, ask: Callable[[KubeCluster], Awaitable[T]]) -> T:
    """What `ask` returns when given a connection as the scheduler."""

    async def main() -> T:
        access = await credentials.load(str(control_plane.kubeconfig(SCHEDULER)), environ=os.environ)
        cluster = KubeCluster(Transport(access))
        try:
            async with asyncio.timeout(PATIENCE_S):
                return await ask(cluster)
        finally:
            await cluster.close()

    return asyncio.run(main())


def create_pod(control_plane: ControlPlane, namespace: str, name: str = "a") -> Mapping[str, Any]:
    container = {"name": "c", "image": "none"}
    meta = {"namespace": namespace, "name": name, "annotations": {"before": "kept"}}
    spec = {"schedulerName": "koordpy-scheduler", "containers": [container]}
    return control_plane.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})


def binding(pod: Mapping[str, Any], node: str = "n", **annotations: str) -> BindRequest:
    meta = pod["metadata"]
    return BindRequest(meta["namespace"], meta["name"], meta["uid"], node, annotations)


async def read(cluster: KubeCluster, pod: Mapping[str, Any]) -> Pod:
    found = await cluster.get(Pod.KIND, pod["metadata"]["namespace"], pod["metadata"]["name"])
    return msgspec.json.decode(found, type=Pod)


class Waiting:
    """A handler on which a test can wait."""

    def __init__(self) -> None:
        self.seen: dict[str, str] = {}
        self._changed = asyncio.Event()

    def added(self, obj: KubeObject) -> None:
        self._note(obj, "added")

    def updated(self, old: KubeObject, new: KubeObject) -> None:
        self._note(new, "updated")

    def deleted(self, obj: KubeObject) -> None:
        self._note(obj, "deleted")

    async def until(self, key: str, what: str) -> None:
        while self.seen.get(key) != what:
            self._changed.clear()
            await self._changed.wait()

    def _note(self, obj: KubeObject, what: str) -> None:
        self.seen[obj.key] = what
        self._changed.set()


def test_an_informer_sees_what_was_there_and_what_comes(control_plane: ControlPlane, namespace: str) -> None:
    early, late = f"{namespace}-early", f"{namespace}-late"
    control_plane.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": early}})
    create_pod(control_plane, namespace, "early")

    async def ask(cluster: KubeCluster) -> None:
        reports = Reports()
        nodes, pods = (Informer(cluster, kind, reports, random.Random(1)) for kind in (Node, Pod))
        node_handler, pod_handler = Waiting(), Waiting()
        nodes.add_handler(node_handler)
        pods.add_handler(pod_handler)
        async with AsyncExitStack() as stack:
            for informer in (nodes, pods):
                task = asyncio.create_task(informer.run())
                stack.callback(task.cancel)
            await nodes.synced.wait()
            await pods.synced.wait()
            assert nodes.get(early) is not None
            assert pods.get(f"{namespace}/early") is not None
            control_plane.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": late}})
            pod = create_pod(control_plane, namespace, "late")
            await node_handler.until(late, "added")
            await pod_handler.until(f"{namespace}/late", "added")
            await cluster.bind(binding(pod))
            await pod_handler.until(f"{namespace}/late", "updated")
            control_plane.request("DELETE", f"/api/v1/nodes/{late}")
            await node_handler.until(late, "deleted")
        assert reports.lines == []

    on(control_plane, ask)


def test_a_list_in_small_pages_is_the_whole_list(control_plane: ControlPlane, namespace: str) -> None:
    for number in range(5):
        create_pod(control_plane, namespace, f"p{number}")

    async def ask(cluster: KubeCluster) -> tuple[set[str], set[str]]:
        names, versions, token = [], set(), ""
        while True:
            page = await cluster.list(Pod.KIND, limit=2, continue_token=token)
            names += [msgspec.json.decode(each, type=Pod).key for each in page.items]
            versions.add(page.resource_version)
            token = page.continue_token
            if not token:
                return {name for name in names if name.startswith(f"{namespace}/")}, versions

    names, versions = on(control_plane, ask)
    assert names == {f"{namespace}/p{number}" for number in range(5)}
    assert len(versions) == 1


def test_a_bind_writes_node_annotation_and_condition_at_once(control_plane: ControlPlane, namespace: str) -> None:
    pod = create_pod(control_plane, namespace)

    async def ask(cluster: KubeCluster) -> tuple[WatchEvent, Pod]:
        version = pod["metadata"]["resourceVersion"]
        async with cluster.watch(Pod.KIND, version, Selection(namespace)) as events:
            await cluster.bind(binding(pod, "n", devices="[0]"))
            async for event in events:
                return event, await read(cluster, pod)
        raise AssertionError("no event")

    event, stored = on(control_plane, ask)
    seen = msgspec.json.decode(event.object, type=Pod)
    assert event.type == "MODIFIED"
    assert seen == stored
    assert stored.spec.node_name == "n"
    assert stored.metadata.annotations == {"before": "kept", "devices": "[0]"}
    assert [(each.type, each.status) for each in stored.status.conditions] == [("PodScheduled", "True")]


def test_a_second_bind_is_a_conflict(control_plane: ControlPlane, namespace: str) -> None:
    pod = create_pod(control_plane, namespace)

    async def ask(cluster: KubeCluster) -> Pod:
        await cluster.bind(binding(pod, "n", devices="[0]"))
        with pytest.raises(Conflict, match="already assigned"):
            await cluster.bind(binding(pod, "m", devices="[1]"))
        return await read(cluster, pod)

    stored = on(control_plane, ask)
    assert (stored.spec.node_name, stored.metadata.annotations["devices"]) == ("n", "[0]")


def test_a_bind_of_nothing_is_not_found(control_plane: ControlPlane, namespace: str) -> None:
    request = BindRequest(namespace, "nobody", "", "n")
    with pytest.raises(NotFound):
        on(control_plane, lambda cluster: cluster.bind(request))


def test_a_bind_of_a_predecessor_is_a_conflict(control_plane: ControlPlane, namespace: str) -> None:
    pod = create_pod(control_plane, namespace)
    request = BindRequest(namespace, "a", "00000000-0000-0000-0000-000000000000", "n")

    async def ask(cluster: KubeCluster) -> Pod:
        with pytest.raises(Conflict):
            await cluster.bind(request)
        return await read(cluster, pod)

    assert on(control_plane, ask).spec.node_name == ""


def test_an_event_is_stored_as_it_was_recorded(control_plane: ControlPlane, namespace: str) -> None:
    made = create_pod(control_plane, namespace)
    pod = make_pod("a", namespace=namespace, uid=made["metadata"]["uid"])

    async def ask(cluster: KubeCluster) -> Recorder:
        recorder = Recorder(cluster, SystemClock(), "host")
        recorder.record(pod, "Warning", "FailedScheduling", "Scheduling", "0/1 nodes are available: ü." * 60)
        lost = make_pod("b", namespace=f"{namespace}-gone", uid="u")
        recorder.record(lost, "Normal", "Scheduled", "Binding", "n")
        task = asyncio.create_task(recorder.run())
        assert await recorder.drain(PATIENCE_S)
        task.cancel()
        return recorder

    recorder = on(control_plane, ask)
    assert (recorder.written, recorder.dropped) == (1, 1)
    _, found = control_plane.request("GET", f"/apis/events.k8s.io/v1/namespaces/{namespace}/events")
    [event] = found["items"]
    assert (event["type"], event["reason"], event["action"]) == ("Warning", "FailedScheduling", "Scheduling")
    assert event["reportingController"] == "koordpy-scheduler"
    assert event["regarding"]["uid"] == pod.uid
    assert event["note"].endswith(" ...")
    assert 1020 <= len(event["note"].encode()) <= 1024


def test_a_strategic_patch_of_one_condition_keeps_the_others(control_plane: ControlPlane, namespace: str) -> None:
    pod = create_pod(control_plane, namespace)
    path = f"/api/v1/namespaces/{namespace}/pods/a/status"
    foreign = {"status": {"conditions": [{"type": "example.com/Theirs", "status": "True"}]}}
    assert control_plane.request("PATCH", path, foreign, "application/strategic-merge-patch+json")[0] == 200
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/0 nodes"}
    body = {"status": {"conditions": [condition]}}

    async def ask(cluster: KubeCluster) -> Pod:
        await cluster.patch(Pod.KIND, namespace, "a", body, subresource="status", strategic=True)
        await cluster.patch(Pod.KIND, namespace, "a", body, subresource="status", strategic=True)
        return await read(cluster, pod)

    conditions = {each.type: (each.status, each.reason) for each in on(control_plane, ask).status.conditions}
    assert conditions == {"example.com/Theirs": ("True", ""), "PodScheduled": ("False", "Unschedulable")}


def test_a_version_from_long_ago_has_expired(control_plane: ControlPlane) -> None:
    async def ask(cluster: KubeCluster) -> ApiError:
        # The server has been serving Devices for less long than it has been counting versions.
        async with cluster.watch(Device.KIND, "1") as events:
            async for event in events:
                assert event.type == "ERROR"
                return api_error(event.object)
        raise AssertionError("no event")

    error = on(control_plane, ask)
    assert isinstance(error, Expired)
    assert error.reason == "Expired"


def test_a_watch_ends_when_it_was_told_to(control_plane: ControlPlane, namespace: str) -> None:
    async def ask(cluster: KubeCluster) -> list[str]:
        page = await cluster.list(Node.KIND)
        async with cluster.watch(
            Node.KIND, page.resource_version, Selection(fields=f"metadata.name={namespace}-none"), timeout_s=1
        ) as events:
            return [event.type async for event in events]

    assert set(on(control_plane, ask)) <= {"BOOKMARK"}


def test_what_the_rights_do_not_cover_is_forbidden(control_plane: ControlPlane, namespace: str) -> None:
    body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"{namespace}-mine"}}
    with pytest.raises(ApiError) as caught:
        on(control_plane, lambda cluster: cluster.create(Node.KIND, "", body))
    assert (caught.value.status, caught.value.reason) == (403, "Forbidden")

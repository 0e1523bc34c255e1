"""The fake kubelet: what it makes of bound Pods in virtual time, whatever goes wrong, and on the real API server."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any

import msgspec
import pytest

from koordpy.clock import LoopClock, SystemClock
from koordpy.cluster.embedded.cluster import EmbeddedCluster
from koordpy.cluster.embedded.faults import Answer, Fault
from koordpy.cluster.fake_kubelet import FAILS_AFTER, RUNS_FOR, STOPS_IN, FakeKubelet, Rule
from koordpy.cluster.kube import credentials
from koordpy.cluster.kube.cluster import KubeCluster
from koordpy.cluster.kube.transport import Transport
from koordpy.cluster.protocol import BindRequest, Cluster
from koordpy.errors import NotFound
from koordpy.testing import node_manifest, pod_manifest
from koordpy.virtual_time import run
from koordpy_api.objects import Node, Pod
from tests.controlplane.server import ControlPlane

Document = dict[str, Any]


class Scene:
    """A cluster with a node, the fake kubelet at work, and what others do and see."""

    def __init__(self, cluster: EmbeddedCluster) -> None:
        self.cluster = cluster
        self.store = cluster.store
        self.store.create(Node.KIND, "", node_manifest("n1"))

    def add(self, name: str, node: str = "n1", labels: Any = None, **annotations: str) -> None:
        said = {
            {"runs": RUNS_FOR, "fails": FAILS_AFTER, "stops": STOPS_IN}[key]: each for key, each in annotations.items()
        }
        manifest = pod_manifest(name, node=node, labels=labels, annotations=said)
        manifest["spec"]["terminationGracePeriodSeconds"] = 30
        self.store.create(Pod.KIND, "default", manifest)

    def pod(self, name: str) -> Document:
        return self.store.get(Pod.KIND, "default", name).document

    def phase(self, name: str) -> str:
        return str(self.pod(name)["status"]["phase"])

    def exists(self, name: str) -> bool:
        try:
            return bool(self.pod(name))
        except NotFound:
            return False

    def ready(self, name: str) -> tuple[str, str]:
        """Status and reason of the condition Ready."""
        said = {each["type"]: each for each in self.pod(name)["status"]["conditions"]}["Ready"]
        return said["status"], said.get("reason", "")


def perform(scene: Callable[[Scene], Awaitable[None]], *rules: Rule) -> None:
    async def main() -> None:
        cluster = EmbeddedCluster(LoopClock(), Random(1))
        stage = Scene(cluster)
        kubelet = asyncio.create_task(FakeKubelet(cluster, LoopClock(), Random(2), rules).run())
        await scene(stage)
        assert not kubelet.done()
        kubelet.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await kubelet

    run(main())


def test_a_bound_pod_runs_as_a_kubelet_says_it() -> None:
    async def scene(stage: Scene) -> None:
        stage.add("web")
        await asyncio.sleep(1)
        status = stage.pod("web")["status"]
        assert (status["phase"], status["startTime"]) == ("Running", "2026-01-01T00:00:00Z")
        conditions = {each["type"]: each["status"] for each in status["conditions"]}
        assert conditions == {"Initialized": "True", "Ready": "True", "ContainersReady": "True"} | _scheduled(
            conditions
        )
        (container,) = status["containerStatuses"]
        assert (container["name"], container["ready"], container["restartCount"]) == ("main", True, 0)
        assert container["state"] == {"running": {"startedAt": "2026-01-01T00:00:00Z"}}
        assert status["podIP"] != status["hostIP"]

    perform(scene)


def _scheduled(conditions: Document) -> Document:
    return {"PodScheduled": "True"} if "PodScheduled" in conditions else {}


def test_pods_have_addresses_of_their_own_and_their_nodes() -> None:
    async def scene(stage: Scene) -> None:
        for number in range(300):
            stage.add(f"p{number}")
        await asyncio.sleep(1)
        statuses = [stage.pod(f"p{number}")["status"] for number in range(300)]
        assert len({each["podIP"] for each in statuses}) == 300
        assert len({each["hostIP"] for each in statuses}) == 1

    perform(scene)


def test_a_pod_that_nobody_bound_does_not_run() -> None:
    async def scene(stage: Scene) -> None:
        stage.add("web", node="")
        await asyncio.sleep(10)
        assert stage.phase("web") == "Pending"
        stage.store.bind(BindRequest("default", "web", stage.pod("web")["metadata"]["uid"], "n1"))
        await asyncio.sleep(1)
        assert stage.phase("web") == "Running"

    perform(scene)


@pytest.mark.parametrize(
    ("said", "phase", "reason", "code"),
    [({"runs": "1m30s"}, "Succeeded", "PodCompleted", 0), ({"fails": "1m30s"}, "Failed", "PodFailed", 1)],
    ids=["it finishes", "it fails"],
)
def test_by_annotation(said: dict[str, str], phase: str, reason: str, code: int) -> None:
    async def scene(stage: Scene) -> None:
        stage.add("job", **said)
        await asyncio.sleep(89)
        assert stage.phase("job") == "Running"
        await asyncio.sleep(2)
        assert (stage.phase("job"), stage.ready("job")) == (phase, ("False", reason))
        terminated = stage.pod("job")["status"]["containerStatuses"][0]["state"]["terminated"]
        assert (terminated["exitCode"], terminated["finishedAt"]) == (code, "2026-01-01T00:01:30Z")

    perform(scene)


def test_by_rule_and_by_annotation_before_the_rule() -> None:
    async def scene(stage: Scene) -> None:
        stage.add("batch", labels={"app": "batch"})
        stage.add("own", labels={"app": "batch"}, runs="1h")
        stage.add("bad", labels={"app": "bad"})
        stage.add("other")
        await asyncio.sleep(31)
        assert [stage.phase(name) for name in ("batch", "own", "bad", "other")] == [
            "Succeeded",
            "Running",
            "Failed",
            "Running",
        ]

    perform(scene, Rule("app in (batch)", runs_for_s=30), Rule("app", fails_after_s=30))


@pytest.mark.parametrize(
    "text",
    ["soon", "-5s", "5", "5s soon", "100000000h", "9" * 400 + "s", "9" * 100_000, "inf", " "],
    ids=lambda text: text[:12],
)
def test_an_annotation_that_is_no_length_of_time_is_logged_once_and_left_alone(
    text: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def scene(stage: Scene) -> None:
        stage.add("web", runs=text)
        stage.add("other", fails=text, stops=text)
        await asyncio.sleep(3600)
        assert (stage.phase("web"), stage.phase("other")) == ("Running", "Running")
        stage.store.delete(Pod.KIND, "default", "other")
        stage.add("job", runs="1m")
        await asyncio.sleep(90)
        assert (stage.exists("other"), stage.phase("job")) == (False, "Succeeded")

    perform(scene)
    said = sorted(record.getMessage().partition("; write 30s")[0] for record in caplog.records)
    assert said == [
        f"fake kubelet: pod default/other: koordpy.dev/fails-after is '{text[:64]}'",
        f"fake kubelet: pod default/other: koordpy.dev/stops-in is '{text[:64]}'",
        f"fake kubelet: pod default/web: koordpy.dev/runs-for is '{text[:64]}'",
    ]


@pytest.mark.parametrize("start", ["soon", "2026-01-01", "9999-12-31T23:59:59Z"])
def test_a_pod_that_cannot_be_understood_is_logged_once_and_stops_no_other(
    start: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def scene(stage: Scene) -> None:
        stage.add("odd", node="", runs="1h")
        stage.store.patch(Pod.KIND, "default", "odd", {"status": {"startTime": start}}, subresource="status")
        stage.store.bind(BindRequest("default", "odd", "", "n1"))
        stage.add("job", runs="1m")
        await asyncio.sleep(90)
        stage.store.patch(Pod.KIND, "default", "odd", {"metadata": {"labels": {"seen": "again"}}})
        await asyncio.sleep(10)
        assert stage.phase("job") == "Succeeded"
        stage.store.delete(Pod.KIND, "default", "odd")
        await asyncio.sleep(10)
        assert not stage.exists("odd")

    perform(scene)
    (record,) = caplog.records
    assert record.getMessage().startswith("fake kubelet: pod default/odd is left as it is: ")


def test_a_rule_may_be_longer_than_any_calendar() -> None:
    async def scene(stage: Scene) -> None:
        stage.add("web")
        await asyncio.sleep(3600)
        stage.store.delete(Pod.KIND, "default", "web", grace_s=10**15)
        await asyncio.sleep(3600)
        assert stage.phase("web") == "Running"

    perform(scene, Rule(runs_for_s=1e15, stops_in_s=1e15))


@pytest.mark.parametrize(
    ("stops", "grace_s", "gone_after_s"),
    [("", 30, 0), ("10s", 30, 10), ("10m", 30, 30), ("10m", 5, 5), ("10m", -1, 1)],
    ids=["at once", "when it has stopped", "when its grace is over", "when a shorter one is over", "if less than none"],
)
def test_a_deleted_pod_goes(stops: str, grace_s: int, gone_after_s: int) -> None:
    async def scene(stage: Scene) -> None:
        stage.add("web", **({"stops": stops} if stops else {}))
        await asyncio.sleep(10)
        stage.store.delete(Pod.KIND, "default", "web", grace_s=grace_s)
        if gone_after_s:
            await asyncio.sleep(gone_after_s - 1)
            assert stage.pod("web")["metadata"]["deletionTimestamp"]
        await asyncio.sleep(1.5)
        assert not stage.exists("web")

    perform(scene)


def test_a_second_delete_that_leaves_less_time_is_obeyed() -> None:
    async def scene(stage: Scene) -> None:
        stage.add("web", stops="10m")
        await asyncio.sleep(1)
        stage.store.delete(Pod.KIND, "default", "web", grace_s=300)
        await asyncio.sleep(10)
        stage.store.delete(Pod.KIND, "default", "web", grace_s=5)
        await asyncio.sleep(6)
        assert not stage.exists("web")

    perform(scene)


def test_a_pod_whose_node_is_gone_stays_until_it_comes_back() -> None:
    async def scene(stage: Scene) -> None:
        stage.add("job", runs="10s")
        stage.add("old")
        await asyncio.sleep(1)
        stage.store.delete(Node.KIND, "", "n1")
        stage.add("late")
        stage.store.delete(Pod.KIND, "default", "old")
        await asyncio.sleep(600)
        assert (stage.phase("job"), stage.phase("late"), stage.exists("old")) == ("Running", "Pending", True)
        stage.store.create(Node.KIND, "", node_manifest("n1"))
        await asyncio.sleep(2)
        assert (stage.phase("job"), stage.phase("late"), stage.exists("old")) == ("Succeeded", "Running", False)

    perform(scene)


@pytest.mark.parametrize("answer", ["dropped", "lost", 429, 500, 409], ids=str)
@pytest.mark.parametrize("request_", ["patch pods/status", "delete pods"])
def test_what_goes_wrong_is_tried_again(request_: str, answer: Answer) -> None:
    async def scene(stage: Scene) -> None:
        stage.cluster.faults.add(Fault(request_, answer, times=4))
        stage.add("job", runs="1m")
        stage.add("web")
        await asyncio.sleep(30)
        stage.store.delete(Pod.KIND, "default", "web")
        await asyncio.sleep(120)
        assert (stage.phase("job"), stage.exists("web")) == ("Succeeded", False)

    perform(scene)


def test_watches_that_break_and_fall_silent_are_survived() -> None:
    async def scene(stage: Scene) -> None:
        stage.add("first", runs="1m")
        await asyncio.sleep(1)
        stage.cluster.faults.add(Fault("watch pods", "dropped"))
        stage.add("second")
        await asyncio.sleep(30)
        assert stage.phase("second") == "Running"
        stage.cluster.faults.add(Fault("watch", "half-closed"))
        stage.add("third")
        await asyncio.sleep(600)
        assert (stage.phase("third"), stage.phase("first")) == ("Running", "Succeeded")

    perform(scene)


def test_a_new_pod_of_the_same_name_begins_anew() -> None:
    async def scene(stage: Scene) -> None:
        stage.add("job", runs="1m")
        await asyncio.sleep(30)
        stage.store.delete(Pod.KIND, "default", "job", grace_s=0)
        stage.add("job", runs="1m")
        await asyncio.sleep(45)
        assert stage.phase("job") == "Running"
        await asyncio.sleep(20)
        assert stage.phase("job") == "Succeeded"

    perform(scene)


def test_a_kubelet_that_starts_later_goes_on_where_the_other_was() -> None:
    async def main() -> None:
        cluster = EmbeddedCluster(LoopClock(), Random(1))
        stage = Scene(cluster)
        stage.add("job", runs="1m")
        for seconds, phase in ((40.0, "Running"), (21.0, "Succeeded")):
            kubelet = asyncio.create_task(FakeKubelet(cluster, LoopClock(), Random(2)).run())
            await asyncio.sleep(seconds)
            assert stage.phase("job") == phase
            kubelet.cancel()

    run(main())


def test_it_runs_and_stops_pods_on_the_real_server(control_plane: ControlPlane, namespace: str) -> None:
    node = f"{namespace}-n1"
    control_plane.create(node_manifest(node))

    async def perform() -> None:
        cluster = KubeCluster(Transport(await credentials.load(str(control_plane.kubeconfig()), environ={})))
        rules = [Rule("app=batch", runs_for_s=2)]
        kubelet = asyncio.create_task(FakeKubelet(cluster, SystemClock(), Random(2), rules).run())
        try:
            job = pod_manifest("job", namespace=namespace, node=node, labels={"app": "batch"})
            web = pod_manifest("web", namespace=namespace, node=node, annotations={STOPS_IN: "1s"})
            web["spec"]["terminationGracePeriodSeconds"] = 30
            for manifest in (job, web):
                await cluster.create(Pod.KIND, namespace, manifest)
            await _become(cluster, namespace, "web", "Running")
            await _become(cluster, namespace, "job", "Succeeded")
            await cluster.delete(Pod.KIND, namespace, "web")
            await _become(cluster, namespace, "web", "gone")
        finally:
            kubelet.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await kubelet
            await cluster.close()

    asyncio.run(perform())


async def _become(cluster: Cluster, namespace: str, name: str, wanted: str) -> None:
    async with asyncio.timeout(20):
        while True:
            try:
                found = msgspec.json.decode(await cluster.get(Pod.KIND, namespace, name))
                phase = found["status"]["phase"]
            except NotFound:
                phase = "gone"
            if phase == wanted:
                return
            await asyncio.sleep(0.1)

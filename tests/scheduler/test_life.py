"""Whose pods are tried and whose only count, several profiles, stopping, and what is left at the end."""

import asyncio
import json
from random import Random
from typing import Any

import pytest

from koordpy.clock import LoopClock
from koordpy.cluster.embedded.faults import Answer, Fault
from koordpy.config.expand import ResolvedProfile, resolve
from koordpy.config.load import parse
from koordpy.errors import ApiError
from koordpy.framework.build import build_all
from koordpy.framework.registry import Registry
from koordpy.framework.runner import Framework
from koordpy.scheduler.scheduler import DRAIN_S
from koordpy.testing import device_manifest, node_manifest, pod_manifest
from koordpy.virtual_time import run
from koordpy_api import Status
from koordpy_api.koordinator import GPU, GPU_CORE, GPU_MEMORY_RATIO
from tests.framework.scripted_plugins import plugin
from tests.scheduler.acted_cluster import ActedCluster
from tests.scheduler.stage import Stage, perform

CARD = (node_manifest("n1"), device_manifest("n1", 1))
HALF = {GPU_CORE: 50, GPU_MEMORY_RATIO: 50}
TWO = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles: [{schedulerName: koordpy-scheduler}, {schedulerName: second}]
"""


def two_profiles() -> list[Framework]:
    return build_all(resolve(parse(TWO, "two.yaml")), Registry(), lambda kind, name, problem: None)


def ask_for_much(pod: dict[str, Any]) -> None:
    pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "much"


# -- whose pods ------------------------------------------------------------------------------------------------------


def test_a_pod_of_another_scheduler_is_left_alone() -> None:
    async def scene(stage: Stage) -> None:
        stage.cluster.add(pod_manifest("foreign", scheduler_name="default-scheduler"))
        await asyncio.sleep(30)
        assert (stage.cluster.node_of("foreign"), stage.cluster.asked.patches, stage.cluster.events) == ("", [], [])
        assert stage.believes() == {"nodes": 1}

    perform(scene, node_manifest("n1"))


def test_a_pod_of_another_scheduler_counts_from_the_moment_it_is_bound_beside_ours() -> None:
    async def scene(stage: Stage) -> None:
        stage.cluster.add(pod_manifest("foreign", requests={"cpu": 5}, scheduler_name="default-scheduler"))
        stage.cluster.add(pod_manifest("first", requests={"cpu": 4}))
        await asyncio.sleep(1)
        stage.cluster.bound_by("foreign", "n1")
        stage.cluster.add(pod_manifest("second", requests={"cpu": 2}))
        await asyncio.sleep(1)
        assert stage.cluster.node_of("first") == "n1"
        assert stage.cluster.condition("second")["message"] == "0/1 nodes are available: 1 Insufficient cpu."
        stage.cluster.change("Pod", "foreign", lambda pod: pod.update(status={"phase": "Succeeded"}))
        await asyncio.sleep(2)
        assert stage.cluster.node_of("second") == "n1"

    perform(scene, node_manifest("n1", cpu=8))


def test_a_pod_that_is_bound_no_more_is_tried_again_and_its_room_is_free() -> None:
    async def scene(stage: Stage) -> None:
        stage.cluster.add(pod_manifest("web", requests={"cpu": 5}))
        await asyncio.sleep(1)
        assert stage.cluster.node_of("web") == "n1"
        # etcd was restored: the same Pod comes back as it was before its bind.
        stage.cluster.asked.doctored["web"] = lambda pod: pod["spec"].pop("nodeName", None)
        stage.cluster.change("Pod", "web", lambda pod: pod["metadata"].update(labels={"again": "yes"}))
        await asyncio.sleep(1)
        assert len(stage.cluster.asked.binds) == 2
        del stage.cluster.asked.doctored["web"]
        stage.cluster.change("Pod", "web", lambda pod: pod["metadata"].update(labels={"again": "no"}))
        await asyncio.sleep(1)
        assert stage.believes() == {"nodes": 1, "pods": 1}

    perform(scene, node_manifest("n1", cpu=8))


def test_n13_n14_a_gated_pod_waits_for_its_last_gate_and_is_then_tried_at_once() -> None:
    async def scene(stage: Stage) -> None:
        stage.cluster.add(pod_manifest("web", scheduling_gates=["hold.io/a", "hold.io/b"]))
        await asyncio.sleep(400)
        stage.cluster.change("Pod", "web", lambda pod: pod["spec"].update(schedulingGates=[{"name": "hold.io/b"}]))
        await asyncio.sleep(400)
        assert (stage.cluster.asked.binds, stage.cluster.asked.patches, stage.attempts("unschedulable")) == ([], [], 0)
        stage.cluster.change("Pod", "web", lambda pod: pod["spec"].pop("schedulingGates"))
        await asyncio.sleep(0.1)
        assert stage.cluster.node_of("web") == "n1"

    perform(scene, node_manifest("n1"))


def test_a_pod_that_is_asked_to_go_is_not_tried() -> None:
    async def scene(stage: Stage) -> None:
        stage.cluster.add(pod_manifest("going"))
        stage.cluster.hold("going")
        stage.cluster.add(pod_manifest("stuck", requests={"cpu": 64}))
        await asyncio.sleep(1)
        stage.cluster.hold("stuck")
        stage.cluster.add(node_manifest("large", cpu=128))
        await asyncio.sleep(600)
        assert stage.cluster.asked.binds == []
        assert stage.believes() == {"nodes": 2}

    perform(scene, node_manifest("n1"))


def test_a_pod_that_is_asked_to_go_holds_its_card_until_it_is_gone() -> None:
    async def scene(stage: Stage) -> None:
        stage.cluster.add(pod_manifest("old", requests={GPU: 100}))
        await asyncio.sleep(1)
        stage.cluster.delete("Pod", "old", grace_s=300)
        stage.cluster.add(pod_manifest("new", requests={GPU: 100}))
        await asyncio.sleep(30)
        assert stage.cluster.node_of("new") == ""
        stage.cluster.delete("Pod", "old")
        await asyncio.sleep(11)
        assert stage.minors("new") == [0]

    perform(scene, *CARD)


def test_a_pod_whose_request_is_no_quantity_is_told_so_and_stops_nobody() -> None:
    async def scene(stage: Stage) -> None:
        stage.cluster.add_as(pod_manifest("bad", requests={"cpu": "1"}, priority=9), ask_for_much)
        stage.cluster.add(pod_manifest("good"))
        await asyncio.sleep(5)
        assert stage.cluster.node_of("good") == "n1"
        assert not stage.running.done()
        assert "'much' is not a quantity" in stage.cluster.condition("bad")["message"]

    perform(scene, node_manifest("n1"))


def test_a_pod_whose_request_no_plugin_reads_is_not_the_end_of_the_scheduler() -> None:
    plain = ResolvedProfile.of("koordpy-scheduler", ("PrioritySort", "DefaultBinder"), Registry())

    async def scene(stage: Stage) -> None:
        stage.cluster.add_as(pod_manifest("bad", requests={"cpu": "1"}, priority=9), ask_for_much)
        stage.cluster.add(pod_manifest("good"))
        await asyncio.sleep(5)
        assert not stage.running.done()
        assert stage.cluster.node_of("good") == "n1"

    perform(scene, node_manifest("n1"), frameworks=build_all([plain], Registry(), lambda *said: None))


@pytest.mark.parametrize("place", ["annotations", "labels"])
def test_a_plugin_sees_what_was_written_on_a_node_and_waiting_pods_are_tried_again(place: str) -> None:
    def wanted(node_info: Any) -> Status | None:
        meta = node_info.node.metadata
        return None if getattr(meta, place).get("rack") == "r1" else Status.unschedulable("wrong rack")

    given = {"Racks": plugin(filter=wanted)}
    racks = ResolvedProfile.of("koordpy-scheduler", ("PrioritySort", "Racks", "DefaultBinder"), Registry(given=given))

    async def scene(stage: Stage) -> None:
        stage.cluster.add(pod_manifest("web"))
        await asyncio.sleep(5)
        stage.cluster.change("Node", "n1", lambda node: node["metadata"].update({place: {"rack": "r1"}}))
        await asyncio.sleep(2)
        assert stage.cluster.node_of("web") == "n1"

    perform(scene, node_manifest("n1"), frameworks=build_all([racks], Registry(given=given), lambda *said: None))


# -- several profiles ------------------------------------------------------------------------------------------------


def test_each_profile_schedules_its_own_pods_by_its_own_plugins() -> None:
    def only(node: str) -> type:
        return plugin(filter=lambda node_info: None if node_info.name == node else Status.unschedulable("not mine"))

    plugins = {"First": only("n1"), "Second": only("n2")}
    profiles = [
        ResolvedProfile.of(name, ("PrioritySort", filtering, "DefaultBinder"), Registry(given=plugins))
        for name, filtering in (("one", "First"), ("two", "Second"))
    ]
    frameworks = build_all(profiles, Registry(given=plugins), lambda *said: None)

    async def scene(stage: Stage) -> None:
        stage.cluster.add(pod_manifest("a", scheduler_name="one"))
        stage.cluster.add(pod_manifest("b", scheduler_name="two"))
        await asyncio.sleep(1)
        assert (stage.cluster.node_of("a"), stage.cluster.node_of("b")) == ("n1", "n2")
        assert (stage.attempts("scheduled", "one"), stage.attempts("scheduled", "two")) == (1, 1)

    perform(scene, node_manifest("n1"), node_manifest("n2"), frameworks=frameworks)


def test_a_card_that_one_profile_gave_away_is_taken_for_the_other_at_once() -> None:
    async def scene(stage: Stage) -> None:
        stage.cluster.asked.bind_takes_s = 5
        for number in range(4):
            name = ("koordpy-scheduler", "second")[number % 2]
            stage.cluster.add(pod_manifest(f"p{number}", requests=HALF, scheduler_name=name))
        await asyncio.sleep(30)
        assert stage.card_books() == {("n1", 0): 100}
        assert sum(bool(stage.cluster.node_of(f"p{number}")) for number in range(4)) == 2

    perform(scene, *CARD, frameworks=two_profiles())


def test_an_event_names_the_profile_of_its_pod() -> None:
    async def scene(stage: Stage) -> None:
        stage.cluster.add(pod_manifest("web", scheduler_name="second"))
        await asyncio.sleep(1)
        assert [event["reportingController"] for event in stage.cluster.events] == ["second"]

    perform(scene, *CARD, frameworks=two_profiles())


# -- stopping --------------------------------------------------------------------------------------------------------


def test_stop_lets_binds_finish_and_their_events_be_written() -> None:
    async def scene(stage: Stage) -> None:
        stage.cluster.asked.bind_takes_s = 5
        for number in range(3):
            stage.cluster.add(pod_manifest(f"p{number}"))
        await asyncio.sleep(1)
        assert 4 <= await stage.stop() <= 4.5
        assert [stage.cluster.node_of(f"p{number}") for number in range(3)] == ["n1"] * 3
        assert len(stage.cluster.notes("Scheduled")) == 3

    perform(scene, node_manifest("n1"))


def test_stop_starts_nothing_new() -> None:
    async def scene(stage: Stage) -> None:
        stage.cluster.asked.bind_takes_s = 5
        stage.cluster.add(pod_manifest("first"))
        await asyncio.sleep(1)
        stopping = asyncio.create_task(stage.stop())
        await asyncio.sleep(1)
        assert not stage.scheduler.is_ready
        stage.cluster.add(pod_manifest("late"))
        await stopping
        assert [request.name for _, request in stage.cluster.asked.binds] == ["first"]

    perform(scene, node_manifest("n1"))


def test_stop_gives_up_binds_that_get_no_answer() -> None:
    async def main() -> None:
        stage = Stage(ActedCluster(LoopClock(), node_manifest("n1"), pod_manifest("web")), None, 0)
        stage.cluster.asked.bind_takes_s = 10_000
        await asyncio.sleep(1)
        assert DRAIN_S <= await stage.stop() <= DRAIN_S + 10
        assert stage.cluster.asked.on_the_wire == 0

    run(main())


def test_stop_writes_the_refusals_that_are_under_way() -> None:
    async def scene(stage: Stage) -> None:
        stage.cluster.add(pod_manifest("web", requests={"cpu": 64}))
        await asyncio.sleep(0)
        stage.cluster.add(pod_manifest("other", requests={"cpu": 64}))
        await asyncio.sleep(0.001)
        await stage.stop()
        assert stage.cluster.condition("web")["reason"] == "Unschedulable"
        assert len(stage.cluster.notes("FailedScheduling")) == 2

    perform(scene, node_manifest("n1"))


def test_stop_may_be_called_twice_and_before_everything_was_read() -> None:
    async def main() -> None:
        stage = Stage(ActedCluster(LoopClock()), None, 0)
        stage.scheduler.stop()
        assert await stage.stop() < 1

    run(main())


# -- at the end ------------------------------------------------------------------------------------------------------


def test_nothing_is_left_in_the_books_after_everything_is_deleted() -> None:
    async def scene(stage: Stage) -> None:
        cluster = stage.cluster
        for number in range(12):
            cluster.add(pod_manifest(f"p{number}", requests=HALF if number % 2 else {"cpu": 3}))
        cluster.fault(Fault("bind pods p1", 403), Fault("bind pods p3", "lost"))
        await asyncio.sleep(40)
        for pod in [*cluster.pods()]:
            cluster.delete("Pod", pod["metadata"]["name"])
        await asyncio.sleep(5)
        assert stage.believes() == {"nodes": 1}
        node = stage.scheduler.cache.node("n1")
        assert node
        assert (node.pods, node.requested, node.non_zero_requested) == ({}, {}, {})
        cluster.delete("Device", "n1")
        cluster.delete("Node", "n1")
        await asyncio.sleep(400)
        assert stage.believes() == {}
        cluster.add(node_manifest("n1"))
        cluster.add(device_manifest("n1", 1))
        cluster.add(pod_manifest("whole", requests={GPU: 100}))
        await asyncio.sleep(11)
        assert stage.minors("whole") == [0]

    perform(scene, node_manifest("n1", cpu=8), device_manifest("n1", 2))


@pytest.mark.parametrize("seed", range(8))
def test_whatever_the_answers_no_card_is_given_twice_and_every_pod_that_fits_is_bound_once(seed: int) -> None:
    rng = Random(seed)
    bound: dict[str, str] = {}

    def answer(pod: str) -> Fault | ApiError:
        answers: list[Answer] = ["dropped", "lost", 500, 403, "", "", ""]
        told: list[Fault | ApiError] = [Fault(f"bind pods {pod}", each) for each in answers]
        told.append(Fault(f"bind pods {pod}", 429, retry_after_s=rng.random() * 3))
        told.append(ApiError(503, "ServiceUnavailable", "written, but busy"))
        return rng.choice(told)

    async def scene(stage: Stage) -> None:
        cluster = stage.cluster
        cluster.asked.bind_takes_s = rng.random() * 2
        cluster.slow_watches(rng.random())
        for number in range(24):
            name = f"p{number}"
            for told in [answer(name) for _ in range(rng.randrange(4))]:
                cluster.fault(told) if isinstance(told, Fault) else cluster.asked.broken_answers[name].append(told)
            cluster.add(pod_manifest(name, requests=HALF if number % 3 else {GPU: 100}))
            await asyncio.sleep(rng.random() / 2)
            if number % 5 == 4:
                cluster.delete("Pod", f"p{rng.choice([n for n in range(number) if cluster.has_pod(f'p{n}')])}")
            _check(stage, bound)
        for _ in range(120):
            await asyncio.sleep(1)
            _check(stage, bound)
        waiting = [pod["metadata"]["name"] for pod in cluster.pods() if not pod["spec"].get("nodeName")]
        assert waiting == [], f"seed {seed}"
        assert sum(stage.card_books().values()) == sum(100 - 50 * bool(int(name[1:]) % 3) for name in _names(stage))

    nodes = [node_manifest("n1"), node_manifest("n2"), device_manifest("n1", 12), device_manifest("n2", 12)]
    perform(scene, *nodes, seed=seed)


def _names(stage: Stage) -> list[str]:
    return [pod["metadata"]["name"] for pod in stage.cluster.pods()]


def _check(stage: Stage, bound: dict[str, str]) -> None:
    """What is bound stays where it is, and no card is given away more than once."""
    assert max(stage.card_books().values(), default=0) <= 100, json.dumps(stage.cluster.pods())
    for pod in stage.cluster.pods():
        if node := pod["spec"].get("nodeName"):
            assert bound.setdefault(pod["metadata"]["uid"], node) == node

"""From the choice to the bind: what is written, and what becomes of it when answers are late, lost or unkind."""

import asyncio
from itertools import pairwise
from typing import Any

import pytest

from koordpy.cluster.embedded.faults import Answer, Fault
from koordpy.errors import ApiError
from koordpy.testing import device_manifest, node_manifest, pod_manifest
from koordpy_api.koordinator import DEVICE_ALLOCATED, GPU, GPU_MINORS, GPU_UUIDS
from tests.framework.scripted_plugins import plugin, profile
from tests.scheduler.stage import Stage, perform

CARD = (node_manifest("n1"), device_manifest("n1", 1))
WHOLE = {GPU: 100}


def row(name: str, *values: Any) -> Any:
    return pytest.param(*values, id=name)


def bind(answer: Answer, *, times: int = 1, retry_after_s: float | None = None) -> Fault:
    """How the next binds of the Pod web are answered."""
    return Fault("bind pods web", answer, times=times, retry_after_s=retry_after_s)


def test_a_pod_is_bound_with_its_devices_in_one_write() -> None:
    async def scene(stage: Stage) -> None:
        stage.cluster.add(pod_manifest("web", requests=WHOLE))
        await asyncio.sleep(1)
        ((_, request),) = stage.cluster.asked.binds
        uid = stage.cluster.pod("web")["metadata"]["uid"]
        assert (request.namespace, request.name, request.uid, request.node_name) == ("default", "web", uid, "n1")
        assert set(request.annotations) == {DEVICE_ALLOCATED, GPU_MINORS, GPU_UUIDS}
        assert stage.minors("web") == [0]
        assert stage.cluster.asked.patches == []
        await asyncio.sleep(1)
        assert stage.cluster.notes("Scheduled") == [("web", "Successfully assigned default/web to n1")]
        assert stage.attempts("scheduled") == 1
        assert stage.believes() == {"nodes": 1, "pods": 1}

    perform(scene, *CARD)


def test_pods_that_wait_when_the_scheduler_starts_are_bound_too() -> None:
    async def scene(stage: Stage) -> None:
        await asyncio.sleep(1)
        assert stage.cluster.node_of("web") == "n1"

    perform(scene, *CARD, pod_manifest("web", requests=WHOLE))


def test_what_was_bound_before_the_start_holds_its_card() -> None:
    text = '{"gpu":[{"minor":0,"resources":{"koordinator.sh/gpu-core":"100","koordinator.sh/gpu-memory":"16Gi","koordinator.sh/gpu-memory-ratio":"100"}}]}'  # noqa: E501
    old = pod_manifest("old", requests=WHOLE, node="n1", annotations={DEVICE_ALLOCATED: text})

    async def scene(stage: Stage) -> None:
        await asyncio.sleep(5)
        assert stage.cluster.node_of("new") == ""
        stage.cluster.delete("Pod", "old")
        await asyncio.sleep(11)
        assert stage.minors("new") == [0]

    perform(scene, *CARD, old, pod_manifest("new", requests=WHOLE))


def test_at_most_32_binds_are_on_the_wire_while_the_next_pods_are_placed() -> None:
    async def scene(stage: Stage) -> None:
        stage.cluster.asked.bind_takes_s = 1
        for number in range(100):
            stage.cluster.add(pod_manifest(f"p{number}"))
        await asyncio.sleep(0.5)
        assert stage.cluster.asked.on_the_wire == 32
        assert stage.scheduler.cache.sizes()["assumed_pods"] == 100
        await asyncio.sleep(10)
        assert stage.cluster.asked.most_on_the_wire == 32
        assert len(stage.cluster.asked.binds) == 100
        assert all(stage.cluster.node_of(f"p{number}") == "n1" for number in range(100))

    perform(scene, node_manifest("n1", pods=200))


@pytest.mark.parametrize(
    ("answers", "least_s"),
    [
        row("the request never arrived", [bind("dropped")], 0.1),
        row("it arrived and its answer was lost", [bind("lost")], 0.1),
        row("two answers were lost", [bind("dropped"), bind("lost"), bind("dropped")], 0.3),
        row("the server broke before it was written", [bind(500)], 0.1),
        row("the server is busy", [bind(429)], 0.1),
        row("the server is busy and says for how long", [bind(429, retry_after_s=7)], 7),
        row("the server is busy for long", [bind(429, retry_after_s=30), bind(429, retry_after_s=30)], 60),
        row("the server broke after it was written", [ApiError(500, "InternalError", "etcd lost its leader")], 0.1),
    ],
)
def test_the_bind_is_sent_again_and_comes_through_once_when(answers: list[Fault | ApiError], least_s: float) -> None:
    async def scene(stage: Stage) -> None:
        stage.cluster.fault(*(each for each in answers if isinstance(each, Fault)))
        stage.cluster.asked.broken_answers["web"].extend(each for each in answers if isinstance(each, ApiError))
        stage.cluster.add(pod_manifest("web", requests=WHOLE))
        await asyncio.sleep(120)
        times = [time for time, _ in stage.cluster.asked.binds]
        assert len({request for _, request in ((t, repr(r)) for t, r in stage.cluster.asked.binds)}) == 1
        assert times[-1] - times[0] >= least_s
        assert len(times) == len(answers) + 1
        assert stage.minors("web") == [0]
        assert (stage.attempts("scheduled"), stage.attempts("error")) == (1, 0)
        assert len(stage.cluster.notes("Scheduled")) == 1
        assert stage.cluster.notes("FailedScheduling") == []

    perform(scene, *CARD)


def test_while_no_answer_is_known_the_card_stays_booked_for_the_pod() -> None:
    async def scene(stage: Stage) -> None:
        stage.cluster.fault(bind("dropped", times=6))
        stage.cluster.add(pod_manifest("web", requests=WHOLE))
        await asyncio.sleep(2)
        stage.cluster.add(pod_manifest("other", requests=WHOLE))
        await asyncio.sleep(2)
        assert (stage.cluster.node_of("web"), stage.cluster.node_of("other")) == ("", "")
        assert "Insufficient" in stage.cluster.condition("other")["message"]
        await asyncio.sleep(60)
        assert (stage.cluster.node_of("web"), stage.cluster.node_of("other")) == ("n1", "")

    perform(scene, *CARD)


def test_the_pauses_between_tries_grow_up_to_ten_seconds() -> None:
    async def scene(stage: Stage) -> None:
        stage.cluster.fault(bind("dropped", times=12))
        stage.cluster.add(pod_manifest("web"))
        await asyncio.sleep(120)
        times = [time for time, _ in stage.cluster.asked.binds]
        pauses = [later - earlier for earlier, later in pairwise(times)]
        limits = [0.2, 0.4, 0.8, 1.6, 3.2, 6.4, *[10.0] * 6]
        assert len(pauses) == len(limits)
        assert all(limit / 2 <= pause <= limit for pause, limit in zip(pauses, limits, strict=True))

    perform(scene, node_manifest("n1"))


def test_a_pod_that_somebody_else_bound_is_not_told_that_it_could_not_be_scheduled() -> None:
    async def scene(stage: Stage) -> None:
        cluster = stage.cluster
        cluster.asked.before_bind["web"] = lambda: cluster.bound_by("web", "n2")
        cluster.add(pod_manifest("web", requests=WHOLE))
        await asyncio.sleep(5)
        assert cluster.condition("web")["status"] == "True"
        assert cluster.notes("FailedScheduling") == []

    perform(scene, *CARD, node_manifest("n2"))


def test_a_pod_that_somebody_else_bound_first_is_let_go_and_its_card_is_free() -> None:
    async def scene(stage: Stage) -> None:
        cluster = stage.cluster
        cluster.asked.before_bind["web"] = lambda: cluster.bound_by("web", "n2")
        cluster.add(pod_manifest("web", requests=WHOLE))
        await asyncio.sleep(5)
        assert cluster.node_of("web") == "n2"
        assert len(cluster.asked.binds) == 1
        cluster.add(pod_manifest("other", requests=WHOLE))
        await asyncio.sleep(5)
        assert (cluster.node_of("other"), stage.minors("other")) == ("n1", [0])

    perform(scene, *CARD, node_manifest("n2"))


def test_a_pod_that_somebody_else_bound_to_our_node_without_our_card_is_a_conflict() -> None:
    async def scene(stage: Stage) -> None:
        cluster = stage.cluster
        cluster.asked.before_bind["web"] = lambda: cluster.bound_by("web", "n1")
        cluster.add(pod_manifest("web", requests=WHOLE))
        await asyncio.sleep(5)
        assert stage.attempts("scheduled") == 0
        assert stage.attempts("error") == 1
        assert stage.believes() == {"nodes": 1, "pods": 1}

    perform(scene, *CARD)


def test_p16_a_refused_bind_is_told_to_the_user_and_tried_again() -> None:
    async def scene(stage: Stage) -> None:
        stage.cluster.fault(bind(403))
        stage.cluster.add(pod_manifest("web", requests=WHOLE))
        await asyncio.sleep(0.5)
        condition = stage.cluster.condition("web")
        assert (condition["status"], condition["reason"]) == ("False", "SchedulerError")
        assert condition["message"].startswith("binding rejected: 403 Forbidden: ")
        await asyncio.sleep(2)
        assert stage.minors("web") == [0]
        # Its back-off of a second ends with a whole second.
        assert [time for time, _ in stage.cluster.asked.binds] == pytest.approx([0.5, 2.0], abs=0.1)

    perform(scene, *CARD)


def test_a_node_that_goes_before_the_bind_is_not_bound_to() -> None:
    async def pre_bind() -> None:
        await asyncio.sleep(5)

    async def scene(stage: Stage) -> None:
        stage.cluster.add(pod_manifest("web"))
        await asyncio.sleep(1)
        stage.cluster.delete("Node", "n1")
        stage.cluster.add(node_manifest("n2"))
        await asyncio.sleep(5)
        assert stage.cluster.asked.binds == []
        assert stage.cluster.condition("web")["message"] == "node n1 is gone"
        await asyncio.sleep(10)
        assert stage.cluster.node_of("web") == "n2"

    perform(scene, node_manifest("n1"), frameworks=[profile(Slow=plugin(pre_bind=pre_bind))])


def test_a_node_that_goes_while_the_bind_waits_for_the_wire_is_not_bound_to() -> None:
    async def scene(stage: Stage) -> None:
        stage.cluster.asked.bind_takes_s = 10
        for number in range(32):
            stage.cluster.add(pod_manifest(f"p{number}", priority=1))
        stage.cluster.add(pod_manifest("last"))
        await asyncio.sleep(5)
        stage.cluster.delete("Node", "n1")
        await asyncio.sleep(10)
        assert "last" not in [request.name for _, request in stage.cluster.asked.binds]

    perform(scene, node_manifest("n1"))


@pytest.mark.parametrize("answer", [row("before it is carried out", ""), row("after it was carried out", "lost")])
def test_a_pod_deleted_while_its_bind_is_under_way_leaves_nothing_behind(answer: Answer) -> None:
    async def scene(stage: Stage) -> None:
        stage.cluster.asked.bind_takes_s = 2
        stage.cluster.fault(bind(answer))
        stage.cluster.add(pod_manifest("web", requests=WHOLE))
        uid = stage.cluster.pod("web")["metadata"]["uid"]
        await asyncio.sleep(2.05 if answer else 1)
        stage.cluster.delete("Pod", "web")
        await asyncio.sleep(20)
        assert stage.believes() == {"nodes": 1}
        assert not stage.scheduler.queue.is_in_flight(uid)
        stage.cluster.asked.bind_takes_s = 0
        stage.cluster.add(pod_manifest("other", requests=WHOLE))
        await asyncio.sleep(1)
        assert stage.minors("other") == [0]

    perform(scene, *CARD)


def test_a_new_pod_of_the_same_name_is_not_bound_by_its_predecessors_request() -> None:
    async def scene(stage: Stage) -> None:
        stage.cluster.asked.bind_takes_s = 2
        stage.cluster.add(pod_manifest("web", requests=WHOLE))
        await asyncio.sleep(1)
        stage.cluster.delete("Pod", "web")
        stage.cluster.add(pod_manifest("web", requests=WHOLE))
        await asyncio.sleep(20)
        uids = [request.uid for _, request in stage.cluster.asked.binds]
        assert len(uids) == len(set(uids)) == 2
        assert stage.minors("web") == [0]
        assert stage.believes() == {"nodes": 1, "pods": 1}

    perform(scene, *CARD)


def test_a_pod_that_is_asked_to_go_while_its_bind_is_under_way_is_not_tried_again() -> None:
    async def scene(stage: Stage) -> None:
        stage.cluster.asked.bind_takes_s = 2
        stage.cluster.add(pod_manifest("web", requests=WHOLE))
        await asyncio.sleep(1)
        stage.cluster.hold("web")
        await asyncio.sleep(30)
        assert len(stage.cluster.asked.binds) == 1
        assert stage.cluster.condition("web") == {}

    perform(scene, *CARD)


def test_an_update_during_the_bind_is_what_is_tried_again_when_the_bind_fails() -> None:
    async def scene(stage: Stage) -> None:
        stage.cluster.asked.bind_takes_s = 2
        stage.cluster.fault(bind(409))
        stage.cluster.add(pod_manifest("web"))
        await asyncio.sleep(1)
        tolerations = [{"key": "batch", "operator": "Exists"}]
        stage.cluster.change("Pod", "web", lambda pod: pod["spec"].update(tolerations=tolerations))
        stage.cluster.change("Node", "n1", lambda node: node["spec"].update(unschedulable=True))
        stage.cluster.add(node_manifest("n2", taints=[{"key": "batch", "effect": "NoSchedule"}]))
        await asyncio.sleep(10)
        assert stage.cluster.node_of("web") == "n2"

    perform(scene, node_manifest("n1"))


def test_a_late_echo_of_an_older_version_does_not_undo_a_bind() -> None:
    async def scene(stage: Stage) -> None:
        stage.cluster.slow_watches(3)
        stage.cluster.add(pod_manifest("web", requests=WHOLE))
        stage.cluster.change("Pod", "web", lambda pod: pod["metadata"].update(labels={"a": "b"}))
        await asyncio.sleep(30)
        assert len(stage.cluster.asked.binds) == 1
        assert stage.believes() == {"nodes": 1, "pods": 1}

    perform(scene, *CARD)

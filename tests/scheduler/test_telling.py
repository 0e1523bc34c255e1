"""What people read of attempts: log lines, Events, metrics. Names with P21 and so on: upstream's cases."""

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from koordpy.cluster.embedded.faults import Answer, Fault
from koordpy.telemetry.logs import JsonLines, TextLines
from koordpy.testing import device_manifest, node_manifest, pod_manifest
from koordpy_api import Status, Wait
from koordpy_api.koordinator import DEVICE_ALLOCATED, GPU, GPU_CORE, GPU_MEMORY_RATIO
from tests.framework.scripted_plugins import plugin, profile, skipping
from tests.scheduler.stage import Stage, perform

CARD = (node_manifest("n1"), device_manifest("n1", 1))
HALF = {GPU_CORE: 50, GPU_MEMORY_RATIO: 50}
PROFILE = "profile=koordpy-scheduler"
SECRET = "hunter2"


class _Kept(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.text: list[str] = []
        self.json: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.text.append(TextLines(with_time=False).format(record))
        self.json.append(JsonLines().format(record))


@contextmanager
def kept_log() -> Iterator[_Kept]:
    """Everything that is logged, down to debug, in both forms."""
    handler, root = _Kept(), logging.getLogger()
    before = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        yield handler
    finally:
        root.removeHandler(handler)
        root.setLevel(before)


# -- log lines ---------------------------------------------------------------------------------------------------------


def test_each_placement_and_each_refusal_is_one_line_that_names_who_decided() -> None:
    refused = "pod not placed pod=default/too-much attempt=1 plugin=DeviceShare reason=Unschedulable"

    async def scene(stage: Stage) -> None:
        with kept_log() as log:
            stage.cluster.add(pod_manifest("cards", requests=HALF))
            stage.cluster.add(pod_manifest("plain", requests={"cpu": 1}))
            await asyncio.sleep(1)
            stage.cluster.add(pod_manifest("too-much", requests={GPU: 300}))
            await asyncio.sleep(1)
        lines = [line.removeprefix("INFO koordpy.scheduler ") for line in log.text if "koordpy.scheduler" in line]
        why = '"0/1 nodes are available: 1 Insufficient gpu devices."'
        assert lines == [
            f"pod bound pod=default/cards node=n1 attempt=1 plugin=DeviceShare {PROFILE}",
            f"pod bound pod=default/plain node=n1 attempt=1 {PROFILE}",
            f"{refused} why={why} {PROFILE}",
        ]

    perform(scene, *CARD)


def test_what_breaks_is_told_with_the_plugin_that_broke() -> None:
    def boom() -> None:
        raise RuntimeError("boom")

    async def scene(stage: Stage) -> None:
        with kept_log() as log:
            stage.cluster.add(pod_manifest("web"))
            await asyncio.sleep(0.5)
        (line,) = [line for line in log.text if "pod not placed" in line]
        assert "plugin=A node=n1 reason=SchedulerError" in line

    perform(scene, node_manifest("n1"), frameworks=[profile(A=plugin(reserve=boom))])


def test_nothing_secret_is_told_by_logs_events_or_metrics() -> None:
    def secretive(name: str, **more: Any) -> dict[str, Any]:
        annotations = {"vault.example.com/token": SECRET, **more.pop("annotations", {})}
        pod = pod_manifest(name, annotations=annotations, **more)
        pod["spec"]["containers"][0] |= {"env": [{"name": "TOKEN", "value": SECRET}], "args": [f"--token={SECRET}"]}
        return pod

    async def scene(stage: Stage) -> None:
        with kept_log() as log:
            stage.cluster.fault(Fault("bind pods unlucky", "dropped"), Fault("patch pods/status big", 500, times=9))
            stage.cluster.add(secretive("bound", requests=HALF))
            stage.cluster.add(secretive("unlucky", requests={"cpu": 1}))
            stage.cluster.add(secretive("big", requests={"cpu": 99}))
            stage.cluster.add(secretive("broken", requests=HALF, annotations={DEVICE_ALLOCATED: "{not json"}))
            stage.cluster.add(secretive("theirs", requests={"cpu": "1"}, node="n1", scheduler_name="other"))
            await asyncio.sleep(30)
        told = [*log.text, *log.json, str(stage.cluster.events), stage.metrics.exposition().decode()]
        told += [str(pod["status"]) for pod in stage.cluster.pods()]
        assert len(log.text) > 5
        assert not [each for each in told if SECRET in each]

    perform(scene, *CARD)


# -- Events ------------------------------------------------------------------------------------------------------------


def test_p21_a_pod_that_is_being_deleted_is_not_tried_and_an_event_says_so() -> None:
    async def scene(stage: Stage) -> None:
        stage.cluster.add(pod_manifest("web", requests={"cpu": 64}))
        await asyncio.sleep(1)
        stage.cluster.hold("web")
        stage.cluster.add(node_manifest("large", cpu=128))
        await asyncio.sleep(30)
        notes = [note for _, note in stage.cluster.notes("FailedScheduling")]
        assert notes == ["0/1 nodes are available: 1 Insufficient cpu.", "skip schedule deleting pod: default/web"]
        assert stage.attempts("unschedulable") == 1, "the cycle did not run"
        assert (stage.cluster.asked.binds, stage.believes()) == ([], {"nodes": 2})

    perform(scene, node_manifest("n1"))


@pytest.mark.parametrize("answer", ["dropped", 429, 503])
def test_binds_do_not_wait_for_events(answer: Answer) -> None:
    async def scene(stage: Stage) -> None:
        stage.cluster.fault(Fault("create events", answer, delay_s=20, times=None))
        for number in range(100):
            stage.cluster.add(pod_manifest(f"p{number}", requests={"cpu": "10m"}))
        await asyncio.sleep(1)
        assert len(stage.cluster.asked.binds) == 100
        assert stage.cluster.events == []
        assert stage.metrics.registry.get_sample_value("koordpy_events_waiting") == 100 - 32

    perform(scene, node_manifest("n1"))


def test_each_bound_pod_has_one_scheduled_event() -> None:
    async def scene(stage: Stage) -> None:
        for number in range(30):
            stage.cluster.add(pod_manifest(f"p{number}", requests={"cpu": "10m"}))
        await asyncio.sleep(5)
        notes = stage.cluster.notes("Scheduled")
        assert sorted(notes) == sorted(
            (f"p{number}", f"Successfully assigned default/p{number} to n1") for number in range(30)
        )
        assert {(each["type"], each["action"]) for each in stage.cluster.events} == {("Normal", "Binding")}

    perform(scene, node_manifest("n1"))


# -- metrics -----------------------------------------------------------------------------------------------------------


def samples(stage: Stage, name: str) -> dict[str, float]:
    """Label values, joined → value, of what was counted at all."""
    found: dict[str, float] = {}
    for family in stage.metrics.registry.collect():
        for sample in family.samples:
            if sample.name == f"scheduler_{name}" and sample.value:
                found[" ".join(sample.labels[label] for label in sorted(sample.labels))] = sample.value
    return found


def test_every_extension_point_is_timed_with_what_came_of_it() -> None:
    def permit(pod: Any) -> Wait | None:
        return Wait(5) if pod.metadata.name == "slow" else None

    def filter_(pod: Any, node_info: Any) -> Status | None:
        return Status.unschedulable("no") if pod.metadata.name == "bad" or node_info.name == "n3" else None

    agreed = ("pre_filter", "pre_score", "reserve", "unreserve", "pre_bind", "post_bind")
    quiet: dict[str, Any] = {hook: (lambda: None) for hook in agreed}
    never: dict[str, Any] = {"events_to_register": lambda: ()}
    refusing: dict[str, Any] = {"filter": filter_, "post_filter": lambda: Status.unresolvable("no")}
    chatty = plugin(**quiet, **never, **refusing, score=lambda: 1, permit=permit)
    skips = plugin(**never, pre_filter=skipping, filter=lambda: None, pre_score=skipping, score=lambda: 1)

    async def scene(stage: Stage) -> None:
        for name in ("good", "bad", "slow"):
            stage.cluster.add(pod_manifest(name))
        await asyncio.sleep(20)
        points = samples(stage, "framework_extension_point_duration_seconds_count")
        assert {key.replace(" koordpy-scheduler", ""): value for key, value in points.items()} == {
            "PreEnqueue Success": 3,
            "PreFilter Success": 3,
            "Filter Success": 3,
            "PostFilter UnschedulableAndUnresolvable": 1,
            "PreScore Success": 2,
            "Score Success": 2,
            "Reserve Success": 2,
            "Unreserve Success": 1,
            "Permit Success": 1,
            "Permit Wait": 1,
            "PreBind Success": 1,
            "Bind Success": 1,
            "PostBind Success": 1,
        }
        assert samples(stage, "permit_wait_duration_seconds_count") == {"Unschedulable": 1}
        evaluated = samples(stage, "plugin_evaluation_total")
        assert {key.replace(" koordpy-scheduler", ""): value for key, value in evaluated.items()} == {
            "PreFilter A": 3,
            "Filter A": 9,
            "PreScore A": 2,
            "Score A": 4,
        }

    perform(scene, *(node_manifest(f"n{number}") for number in (1, 2, 3)), frameworks=[profile(A=chatty, B=skips)])


def test_single_plugins_are_timed_in_one_attempt_of_ten() -> None:
    async def scene(stage: Stage) -> None:
        for number in range(400):
            stage.cluster.add(pod_manifest(f"p{number}", requests={"cpu": "1m"}))
        await asyncio.sleep(20)
        timed = samples(stage, "plugin_execution_duration_seconds_count")
        assert 20 < timed["Bind DefaultBinder Success"] < 60
        assert 20 < timed["Reserve DeviceShare Success"] < 60
        assert timed["Filter NodeResourcesFit Success"] <= 400 * 6 / 16

    perform(scene, *(node_manifest(f"n{number}", pods=500) for number in range(6)))


def test_a_pod_that_is_bound_only_after_five_minutes_is_counted() -> None:
    turns = iter([Status.unschedulable("full")])

    async def scene(stage: Stage) -> None:
        stage.cluster.add(pod_manifest("web"))
        await asyncio.sleep(200)
        assert stage.believes() == {"nodes": 1, "unschedulable": 1}
        await asyncio.sleep(200)
        assert stage.cluster.node_of("web") == "n1"
        assert samples(stage, "pod_scheduled_after_flush_total") == {"": 1}

    deaf = plugin(filter=lambda: next(turns, None), events_to_register=lambda: ())
    perform(scene, node_manifest("n1"), frameworks=[profile(A=deaf)])


def test_the_queue_the_cache_and_the_bound_pods_are_counted() -> None:
    async def scene(stage: Stage) -> None:
        stage.cluster.add(pod_manifest("web", requests={"cpu": 4}))
        stage.cluster.add(pod_manifest("big", requests={"cpu": 64}))
        stage.cluster.add(pod_manifest("gated", scheduling_gates=["example.com/wait"]))
        await asyncio.sleep(30)
        assert samples(stage, "pending_pods") == {"unschedulable": 1, "gated": 1}
        assert samples(stage, "unschedulable_pods") == {
            "NodeResourcesFit koordpy-scheduler": 1,
            "SchedulingGates koordpy-scheduler": 1,
        }
        assert samples(stage, "cache_size") == {"nodes": 1, "pods": 1}
        stage.cluster.add(node_manifest("large", cpu=128))
        await asyncio.sleep(30)
        assert samples(stage, "pod_scheduling_attempts_bucket") == {
            "1.0": 1,
            **dict.fromkeys(("2.0", "4.0", "8.0", "16.0", "+Inf"), 2),
        }
        assert samples(stage, "pod_scheduling_sli_duration_seconds_count") == {"1": 1, "2": 1}
        assert samples(stage, "schedule_attempts_total") == {
            "koordpy-scheduler scheduled": 2,
            "koordpy-scheduler unschedulable": 1,
        }
        assert "active UnschedulablePodAdd" not in samples(stage, "queue_incoming_pods_total")
        assert samples(stage, "queue_incoming_pods_total")["UnschedulablePodAdd active"] == 2
        assert samples(stage, "unschedulable_pods") == {"SchedulingGates koordpy-scheduler": 1}

    perform(scene, node_manifest("n1"))

"""What is wrong with an object is logged once, and again when it is another thing or another object."""

import asyncio
import logging

import pytest

from koordpy.telemetry import problems
from koordpy.telemetry.metrics import Metrics
from koordpy.telemetry.problems import ProblemLog
from koordpy.testing import device_manifest, make_device, make_pod, node_manifest, pod_manifest
from koordpy_api import Problem
from koordpy_api.koordinator import DEVICE_ALLOCATED
from tests.scheduler.stage import Stage, perform

CARD = (node_manifest("n1"), device_manifest("n1", 1))
PATH = "metadata.annotations[x]"


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> ProblemLog:
    caplog.set_level(logging.WARNING, logger="koordpy.problems")
    return ProblemLog(Metrics())


def say(log: ProblemLog, value: str = "{", name: str = "default/pod") -> None:
    log.report("Pod", name, Problem(PATH, value, "an object"))


def test_the_same_problem_is_counted_each_time_and_logged_once(
    log: ProblemLog, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(3):
        say(log)
    assert (log.count, len(caplog.records)) == (3, 1)


def test_another_value_in_the_same_place_is_logged_too(log: ProblemLog, caplog: pytest.LogCaptureFixture) -> None:
    for value in ("{", "[", "{"):
        say(log, value)
    assert len(caplog.records) == 2


def test_an_object_that_is_deleted_and_created_again_is_logged_again(
    log: ProblemLog, caplog: pytest.LogCaptureFixture
) -> None:
    say(log)
    log.deleted(make_device("default/pod", 1))
    say(log)
    assert len(caplog.records) == 1
    log.deleted(make_pod("pod"))
    say(log)
    assert len(caplog.records) == 2


def test_an_object_whose_value_never_stays_the_same_fills_no_memory(
    log: ProblemLog, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(problems, "_REMEMBERED_OF_ONE", 2)
    for value in "abca":
        say(log, value)
    assert len(caplog.records) == 4


def test_a_recreated_pod_with_the_same_broken_annotation_is_logged_again(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, logger="koordpy.problems")
    broken = pod_manifest("run", node="n1", annotations={DEVICE_ALLOCATED: "{"})

    async def scene(stage: Stage) -> None:
        stage.cluster.delete("Pod", "run")
        await asyncio.sleep(1)
        stage.cluster.add(broken)
        await asyncio.sleep(1)

    perform(scene, *CARD, broken)
    assert len([record for record in caplog.records if record.name == "koordpy.problems"]) == 2

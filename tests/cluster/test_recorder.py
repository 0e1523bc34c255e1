"""Kubernetes Events: what they say, and what happens to them when the API server does not want them."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from random import Random
from typing import Any

import msgspec
import pytest

from koordpy.clock import LoopClock
from koordpy.cluster import recorder as lane
from koordpy.cluster.embedded.cluster import EmbeddedCluster
from koordpy.cluster.event_lane import EventKind
from koordpy.cluster.kinds import EVENT
from koordpy.cluster.protocol import Cluster
from koordpy.cluster.recorder import Recorder
from koordpy.errors import ApiError, Conflict, NotFound, TooManyRequests, Unreachable
from koordpy.testing import make_pod
from koordpy.virtual_time import run
from koordpy_api.objects import Kind, Pod
from tests.cluster.scripted import ScriptedCluster

Document = dict[str, Any]


def make(name: str = "a") -> Pod:
    return make_pod(name, uid=f"uid-{name}")


def record(recorder: Recorder, note: str, type_: EventKind = "Normal", pod: Pod | None = None) -> None:
    reason, action = ("Scheduled", "Binding") if type_ == "Normal" else ("FailedScheduling", "Scheduling")
    recorder.record(pod or make(), type_, reason, action, note)


def record_all(recorder: Recorder, notes: Iterable[str]) -> None:
    for note in notes:
        record(recorder, note)


def write(
    cluster: ScriptedCluster, fill: Callable[[Recorder], None], in_flight: int = 4
) -> tuple[Recorder, list[dict[str, Any]]]:
    """Record first, then let the lane run until it is idle. Returns: what arrived."""

    async def main() -> Recorder:
        recorder = Recorder(cluster, LoopClock(), "host", lambda: in_flight)
        fill(recorder)
        task = asyncio.create_task(recorder.run())
        assert await recorder.drain(timeout_s=1000)
        task.cancel()
        return recorder

    recorder = run(main())
    return recorder, [dict(body) for _, body in cluster.created]


def notes(bodies: Sequence[dict[str, Any]]) -> list[str]:
    return [body["note"] for body in bodies]


def test_an_event_says_who_did_what_to_which_pod_and_when() -> None:
    recorder, [body] = write(ScriptedCluster(), lambda recorder: record(recorder, "Successfully assigned a to n"))
    name = body["metadata"].pop("name")
    assert body == {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"namespace": "default"},
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "koordpy-scheduler",
        "reportingInstance": "koordpy-scheduler-host",
        "regarding": {
            "apiVersion": "v1",
            "kind": "Pod",
            "namespace": "default",
            "name": "a",
            "uid": "uid-a",
            "resourceVersion": "",
        },
        "type": "Normal",
        "reason": "Scheduled",
        "action": "Binding",
        "note": "Successfully assigned a to n",
    }
    pod_name, _, suffix = name.rpartition(".")
    assert pod_name == "a"
    assert int(suffix, 16) > 0
    assert (recorder.written, recorder.dropped) == (1, 0)


def test_a_bind_is_not_remembered_once_its_event_is_written() -> None:
    """There are 50,000 of them, and none is said twice."""
    recorder, _ = write(ScriptedCluster(), lambda recorder: record_all(recorder, map(str, range(50))))
    assert not recorder._told


def test_more_events_are_written_at_once_as_soon_as_there_is_more_room() -> None:
    class Slow(ScriptedCluster):
        under_way = most = 0

        async def create(self, *args: Any, **options: Any) -> msgspec.Raw:
            Slow.under_way += 1
            Slow.most = max(Slow.most, Slow.under_way)
            await asyncio.sleep(1)
            Slow.under_way -= 1
            return await super().create(*args, **options)

    async def main() -> None:
        room = 2
        recorder = Recorder(Slow(), LoopClock(), "host", lambda: room)
        record_all(recorder, map(str, range(100)))
        task = asyncio.create_task(recorder.run())
        await asyncio.sleep(3.5)
        assert Slow.most == 2
        room = 8
        await asyncio.sleep(3.5)
        assert Slow.most == 8
        room, Slow.most = 1, 0
        await asyncio.sleep(1)
        Slow.most = 0
        await asyncio.sleep(3)
        assert Slow.under_way == 1
        room = 100
        assert await recorder.drain(timeout_s=10)
        assert recorder.written == 100
        task.cancel()

    run(main())


def test_events_of_the_same_moment_have_names_of_their_own() -> None:
    _, bodies = write(ScriptedCluster(), lambda recorder: record_all(recorder, map(str, range(50))))
    assert len({body["metadata"]["name"] for body in bodies}) == 50


def test_the_name_of_an_event_is_no_longer_than_a_name_may_be() -> None:
    pod = make("x" * 235 + "." + "y" * 17)
    _, [body] = write(ScriptedCluster(), lambda recorder: record(recorder, "n", pod=pod))
    assert len(body["metadata"]["name"]) <= 253
    assert ".." not in body["metadata"]["name"]


@pytest.mark.parametrize(
    ("note", "written"),
    [
        pytest.param("n" * 1024, "n" * 1024, id="1024 bytes stay"),
        pytest.param("n" * 1025, "n" * 1020 + " ...", id="1025 bytes are cut"),
        pytest.param("ü" * 600, "ü" * 510 + " ...", id="two bytes a character"),
        pytest.param("n" + "ü" * 600, "n" + "ü" * 509 + " ...", id="never half a character"),
        pytest.param("100% of %s %d", "100% of %s %d", id="per cent signs stay"),
        pytest.param("half a pair \ud800", "half a pair ?", id="what no UTF-8 can say is replaced"),
    ],
)
def test_a_long_note_is_cut(note: str, written: str) -> None:
    _, bodies = write(ScriptedCluster(), lambda recorder: record(recorder, note))
    assert notes(bodies) == [written]


def test_the_same_note_about_the_same_pod_is_one_event() -> None:
    def fill(recorder: Recorder) -> None:
        for _ in range(3):
            record(recorder, "0/3 nodes", "Warning")
            record(recorder, "0/4 nodes", "Warning")
        record(recorder, "0/3 nodes", "Warning", make("b"))

    _, bodies = write(ScriptedCluster(), fill)
    assert notes(bodies) == ["0/3 nodes", "0/4 nodes", "0/3 nodes"]


def test_only_so_many_notes_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lane, "REMEMBERED", 2)
    _, bodies = write(ScriptedCluster(), lambda recorder: record_all(recorder, "abcab"))
    assert notes(bodies) == ["a", "b", "c", "a", "b"]


# -- repetitions -------------------------------------------------------------------------------------------------------


def repeat(cluster: Cluster, every_s: float, times: int) -> list[Document]:
    """The Events that are there after the same refusal was recorded so often."""

    async def main() -> list[Document]:
        recorder = Recorder(cluster, LoopClock(), "host")
        task = asyncio.create_task(recorder.run())
        for _ in range(times):
            record(recorder, "0/3 nodes", "Warning")
            await asyncio.sleep(every_s)
        task.cancel()
        page = await cluster.list(EVENT)
        return [msgspec.json.decode(each) for each in page.items]

    return run(main())


class CountingCluster(EmbeddedCluster):
    """patched: when, and what, of Events."""

    def __init__(self) -> None:
        super().__init__(LoopClock(), Random(0))
        self.patched: list[tuple[float, Any]] = []

    async def patch(self, kind: Kind, namespace: str, name: str, body: Any, **how: Any) -> msgspec.Raw:
        self.patched.append((asyncio.get_running_loop().time(), body["series"]["count"]))
        return await super().patch(kind, namespace, name, body, **how)


def test_a_repetition_is_counted_after_a_minute_and_then_each_time_after_twice_as_long() -> None:
    cluster = CountingCluster()
    [event] = repeat(cluster, 10, 6 * 60 * 3)
    minutes = [time / 60 for time, _ in cluster.patched]
    assert [later - earlier for earlier, later in pairwise([0.0, *minutes])] == [1, 2, 4, 8, 16, 30, 30, 30, 30]
    assert [count for _, count in cluster.patched][:3] == [7, 19, 43]
    assert event["note"] == "0/3 nodes"
    assert event["series"] == {"count": cluster.patched[-1][1], "lastObservedTime": "2026-01-01T02:31:00.000000Z"}


def test_a_repetition_after_a_long_time_keeps_the_event_alive() -> None:
    cluster = CountingCluster()
    repeat(cluster, 300, 12)
    assert [time for time, _ in cluster.patched] == [300, 600, 900, 1500, 2700]


def test_an_event_that_has_expired_is_created_anew_by_the_next_repetition() -> None:
    cluster = CountingCluster()

    async def main() -> list[Document]:
        recorder = Recorder(cluster, LoopClock(), "host")
        task = asyncio.create_task(recorder.run())
        record(recorder, "0/3 nodes", "Warning")
        await asyncio.sleep(120)
        [first] = [msgspec.json.decode(each) for each in (await cluster.list(EVENT)).items]
        await cluster.delete(EVENT, "default", first["metadata"]["name"])
        record(recorder, "0/3 nodes", "Warning")
        await asyncio.sleep(1)
        task.cancel()
        return [msgspec.json.decode(each) for each in (await cluster.list(EVENT)).items]

    [event] = run(main())
    assert event["eventTime"] == "2026-01-01T00:02:00.000000Z"
    assert "series" not in event


# -- a full lane -------------------------------------------------------------------------------------------------------


def test_a_full_lane_drops_the_oldest_scheduled_and_no_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lane, "QUEUE_LENGTH", 3)

    def fill(recorder: Recorder) -> None:
        record(recorder, "warning 1", "Warning")
        record(recorder, "normal 1")
        record(recorder, "normal 2")
        record(recorder, "normal 3")
        record(recorder, "warning 2", "Warning")

    recorder, bodies = write(ScriptedCluster(), fill)
    assert notes(bodies) == ["warning 1", "warning 2", "normal 3"]
    assert (recorder.written, recorder.dropped) == (3, 2)


def test_of_20000_that_wait_only_scheduled_are_dropped_and_preempted_is_kept() -> None:
    def fill(recorder: Recorder) -> None:
        record_all(recorder, (f"scheduled {number}" for number in range(lane.QUEUE_LENGTH)))
        for number in range(500):
            pod = make(f"p{number}")
            recorder.record(pod, "Warning", "FailedScheduling", "Scheduling", "0/3 nodes")
            recorder.record(pod, "Normal", "Preempted", "Preempting", "Preempted by pod u-7 on node n3")
        assert recorder.waiting == lane.QUEUE_LENGTH

    recorder, bodies = write(ScriptedCluster(), fill)
    reasons = Counter(body["reason"] for body in bodies)
    assert reasons == {"FailedScheduling": 500, "Preempted": 500, "Scheduled": lane.QUEUE_LENGTH - 1000}
    assert recorder.dropped == 1000
    assert notes(bodies)[1000] == "scheduled 1000"


def test_a_lane_full_of_refusals_drops_a_newcomer_that_says_scheduled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lane, "QUEUE_LENGTH", 2)

    def fill(recorder: Recorder) -> None:
        record(recorder, "warning 1", "Warning")
        record(recorder, "warning 2", "Warning", make("b"))
        record(recorder, "normal")

    recorder, bodies = write(ScriptedCluster(), fill)
    assert notes(bodies) == ["warning 1", "warning 2"]
    assert recorder.dropped == 1


def test_in_a_lane_full_of_refusals_a_pods_newest_takes_the_place_of_the_one_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lane, "QUEUE_LENGTH", 2)

    def fill(recorder: Recorder) -> None:
        record(recorder, "a 1", "Warning")
        record(recorder, "b 1", "Warning", make("b"))
        record(recorder, "a 2", "Warning")
        record(recorder, "c 1", "Warning", make("c"))
        record(recorder, "a 3", "Warning")

    recorder, bodies = write(ScriptedCluster(), fill)
    assert notes(bodies) == ["b 1", "c 1", "a 3"]
    assert recorder.dropped == 2


def test_refusals_are_written_before_scheduled_that_came_first() -> None:
    def fill(recorder: Recorder) -> None:
        record_all(recorder, "ab")
        record(recorder, "refused", "Warning")

    _, bodies = write(ScriptedCluster(), fill, in_flight=1)
    assert notes(bodies) == ["refused", "a", "b"]


def test_what_was_dropped_unwritten_is_news_when_it_happens_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lane, "QUEUE_LENGTH", 1)
    _, bodies = write(ScriptedCluster(), lambda recorder: record_all(recorder, "aba"))
    assert notes(bodies) == ["a"]


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(Unreachable("refused"), id="no answer"),
        pytest.param(TooManyRequests(429, "TooManyRequests", ""), id="a 429"),
        pytest.param(ApiError(503, "ServiceUnavailable", ""), id="a 503"),
    ],
)
def test_what_may_pass_is_tried_again_with_pauses(error: Exception) -> None:
    cluster = ScriptedCluster(creates=[error] * 11)
    recorder, bodies = write(cluster, lambda recorder: record(recorder, "n"))
    assert len(bodies) == 1
    times = [call.time for call in cluster.asked("create")]
    assert [later - earlier for earlier, later in pairwise(times)][:6] == [0.5, 1, 2, 4, 8, 10]
    assert (recorder.written, recorder.dropped) == (1, 0)


def test_after_twelve_tries_it_is_dropped() -> None:
    cluster = ScriptedCluster(creates=[Unreachable("refused")] * 12)
    recorder, bodies = write(cluster, lambda recorder: record(recorder, "n"))
    assert bodies == []
    assert len(cluster.asked("create")) == 12
    assert (recorder.written, recorder.dropped) == (0, 1)


def test_retry_after_is_waited_for() -> None:
    cluster = ScriptedCluster(creates=[TooManyRequests(429, "TooManyRequests", "", retry_after_s=33.0)])
    write(cluster, lambda recorder: record(recorder, "n"))
    assert [call.time for call in cluster.asked("create")] == [0.0, 33.0]


def test_a_name_that_is_taken_means_that_an_earlier_try_arrived() -> None:
    cluster = ScriptedCluster(creates=[Unreachable("lost"), Conflict(409, "AlreadyExists", "")])
    recorder, _ = write(cluster, lambda recorder: record(recorder, "n"))
    assert (recorder.written, recorder.dropped) == (1, 0)


def test_a_refusal_is_not_repeated_and_is_logged_once_for_each_reason(caplog: pytest.LogCaptureFixture) -> None:
    terminating = ApiError(403, "Forbidden", "the namespace is being terminated")
    cluster = ScriptedCluster(creates=[terminating, terminating, NotFound(404, "NotFound", "no such namespace"), None])

    def fill(recorder: Recorder) -> None:
        for note in "abcd":
            record(recorder, note, "Warning")
        record(recorder, "a", "Warning")

    with caplog.at_level(logging.WARNING, logger="koordpy.cluster"):
        recorder, bodies = write(cluster, fill)
    assert notes(bodies) == ["d"]
    assert (recorder.written, recorder.dropped) == (1, 3)
    assert len(caplog.records) == 2


def test_only_a_few_are_written_at_once_and_none_waits_for_a_slow_one() -> None:
    cluster = ScriptedCluster()
    cluster.create_takes_s = 1.0
    write(cluster, lambda recorder: record_all(recorder, map(str, range(9))), in_flight=3)
    assert cluster.most_creating == 3
    assert [time for time, _ in cluster.created] == [1.0] * 3 + [2.0] * 3 + [3.0] * 3


def test_draining_gives_up_after_its_time() -> None:
    async def main() -> bool:
        cluster = ScriptedCluster(creates=[Unreachable("refused")] * 12)
        recorder = Recorder(cluster, LoopClock(), "host")
        task = asyncio.create_task(recorder.run())
        assert await recorder.drain(timeout_s=0.0), "there is nothing to write"
        record(recorder, "n")
        drained = await recorder.drain(timeout_s=5.0)
        task.cancel()
        return drained

    assert run(main()) is False


def test_an_event_recorded_while_the_lane_sleeps_wakes_it() -> None:
    cluster = ScriptedCluster()

    async def main() -> None:
        recorder = Recorder(cluster, LoopClock(), "host")
        task = asyncio.create_task(recorder.run())
        await asyncio.sleep(100)
        record(recorder, "late")
        assert await recorder.drain(timeout_s=1)
        task.cancel()

    run(main())
    [(time, body)] = cluster.created
    assert time == 100.0
    assert body["eventTime"] == "2026-01-01T00:01:40.000000Z"

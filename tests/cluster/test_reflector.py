"""List, watch, and whatever can go wrong between them, seen by an informer's handler on the virtual-time loop."""

import asyncio
import gc
import random
from collections.abc import Sequence
from itertools import pairwise

import pytest

from koordpy.cluster.decoding import ObjectDecoder, UndecodableObject
from koordpy.cluster.informer import Informer
from koordpy.cluster.protocol import Selection
from koordpy.cluster.reflector import ChangeType, Reflector
from koordpy.errors import ApiError, Expired, TooManyRequests, Unreachable
from koordpy.virtual_time import run
from koordpy_api.objects import Pod
from tests.cluster.scripted import (
    Call,
    Diary,
    Reports,
    ScriptedCluster,
    Step,
    bookmark,
    event,
    failure,
    page,
    pod,
)

HOUR = 3600.0
FOREVER = 1e9


def told(cluster: ScriptedCluster, seconds: float = HOUR, field_selector: str = "") -> list[str]:
    """What a handler is told while an informer runs over `cluster` for so long."""
    diary = Diary()

    async def main() -> None:
        informer = Informer(cluster, Pod, Reports(), random.Random(1), Selection(fields=field_selector))
        informer.add_handler(diary)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(seconds):
                await informer.run()

    run(main())
    assert cluster.open_watches == 0
    return diary.lines


def gaps(calls: Sequence[Call]) -> list[float]:
    return [later.time - earlier.time for earlier, later in pairwise(calls)]


def test_a_list_comes_in_pages_and_the_watch_starts_where_it_ended() -> None:
    cluster = ScriptedCluster(
        lists=[page([pod("a", "1"), pod("b", "2")], "7", token="more"), page([pod("c", "3")], "7")],
        watches=[[event("ADDED", pod("d", "8")), FOREVER]],
    )
    assert told(cluster, 10, "spec.nodeName!=") == [
        "added default/a@1",
        "added default/b@2",
        "added default/c@3",
        "added default/d@8",
    ]
    first, second, watch = cluster.calls
    assert (first.token, second.token) == ("", "more")
    assert (first.limit, first.resource_version) == (500, "")
    assert watch.resource_version == "7"
    assert {call.field_selector for call in cluster.calls} == {"spec.nodeName!="}


def test_nothing_is_told_before_the_last_page() -> None:
    cluster = ScriptedCluster(lists=[page([pod("a", "1")], "7", token="more"), Unreachable("gone")])
    assert told(cluster, 0.5) == []


def test_a_clean_end_resumes_at_once_from_the_last_event() -> None:
    cluster = ScriptedCluster(
        lists=[page([], "1")],
        watches=[[event("ADDED", pod("a", "5")), 100.0], [event("DELETED", pod("a", "9")), 100.0], [FOREVER]],
    )
    assert told(cluster, 250) == ["added default/a@5", "deleted default/a@5"]
    watches = cluster.asked("watch")
    assert [call.resource_version for call in watches] == ["1", "5", "9"]
    assert gaps(watches) == [100.0, 100.0]


def test_a_bookmark_moves_the_version_and_tells_nobody() -> None:
    cluster = ScriptedCluster(lists=[page([], "1")], watches=[[bookmark("40"), 2.0], [FOREVER]])
    assert told(cluster, 100) == []
    assert [call.resource_version for call in cluster.asked("watch")] == ["1", "40"]


def test_a_watch_is_asked_to_last_between_four_and_five_minutes_and_not_always_equally_long() -> None:
    cluster = ScriptedCluster()
    told(cluster)
    lengths = {call.timeout_s for call in cluster.asked("watch")}
    assert all(240 <= length <= 300 for length in lengths)
    assert len(lengths) > 3


@pytest.mark.parametrize(
    "expiry",
    [
        pytest.param(Expired(410, "Expired", "too old"), id="as the answer to the request"),
        pytest.param([failure(410, "Expired")], id="as an error event"),
        pytest.param([failure(0, "Gone")], id="as an error event that only has the reason"),
        pytest.param([failure(504, "Timeout", "Too large resource version: 9, current: 2")], id="etcd was restored"),
    ],
)
def test_an_expired_version_lists_again_and_tells_only_the_difference(expiry: Sequence[Step] | Exception) -> None:
    cluster = ScriptedCluster(
        lists=[
            page([pod("kept", "1"), pod("changed", "2"), pod("gone", "3"), pod("new-uid", "4")], "9"),
            page([pod("kept", "1"), pod("changed", "12"), pod("new-uid", "13", uid="x"), pod("new", "14")], "20"),
        ],
        watches=[expiry, [FOREVER]],
    )
    lines = told(cluster, 10)
    assert lines[:4] == [f"added default/{name}" for name in ("kept@1", "changed@2", "gone@3", "new-uid@4")]
    assert lines[4:] == [
        "deleted default/gone@3",
        "deleted default/new-uid@4",
        "updated default/changed@2 to default/changed@12",
        "added default/new-uid@13",
        "added default/new@14",
    ]
    assert [call.verb for call in cluster.calls] == ["list", "watch", "list", "watch"]
    assert cluster.calls[2].time == 0.0
    assert cluster.calls[3].resource_version == "20"


def test_a_continue_token_that_expired_starts_the_list_again() -> None:
    cluster = ScriptedCluster(
        lists=[page([pod("old", "1")], "7", token="more"), Expired(410, "Expired", "token"), page([pod("a", "3")], "9")]
    )
    assert told(cluster, 10) == ["added default/a@3"]
    assert [call.token for call in cluster.asked("list")] == ["", "more", ""]


def test_versions_that_expire_again_and_again_do_not_become_a_loop_of_lists() -> None:
    cluster = ScriptedCluster(watches=[Expired(410, "Expired", "too old")] * 10_000)
    told(cluster)
    assert 60 < len(cluster.asked("list")) < 140


@pytest.mark.parametrize(
    "trouble",
    [
        pytest.param([failure(500, "InternalError")], id="an error event"),
        pytest.param(ApiError(503, "ServiceUnavailable", ""), id="a 503"),
        pytest.param(ApiError(403, "Forbidden", ""), id="a 403"),
        pytest.param(TooManyRequests(429, "TooManyRequests", ""), id="a 429"),
        pytest.param(Unreachable("refused"), id="no connection"),
        pytest.param([Unreachable("broken")], id="a connection that breaks"),
        pytest.param([], id="a watch that ends at once without a word"),
        pytest.param([bookmark("1")], id="a watch that only repeats the version"),
    ],
)
def test_a_watch_that_never_works_is_tried_ever_more_rarely(trouble: Sequence[Step] | Exception) -> None:
    cluster = ScriptedCluster(watches=[trouble] * 10_000)
    told(cluster)
    assert len(cluster.asked("list")) == 1
    waits = gaps(cluster.asked("watch"))
    assert 60 < len(waits) < 140
    for base, wait in zip([0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0, 30.0], waits, strict=False):
        assert base <= wait <= 2 * base
    assert len(set(waits)) == len(waits), "without jitter all clients come back at once"


def test_a_list_that_fails_is_tried_again_with_growing_pauses() -> None:
    cluster = ScriptedCluster(lists=[ApiError(500, "InternalError", "")] * 5 + [page([pod("a", "1")], "2")])
    assert told(cluster, 200) == ["added default/a@1"]
    waits = gaps(cluster.asked("list"))
    assert len(waits) == 5
    assert all(0.8 * 2**number <= wait <= 1.6 * 2**number for number, wait in enumerate(waits))


def test_retry_after_is_waited_for() -> None:
    cluster = ScriptedCluster(watches=[TooManyRequests(429, "TooManyRequests", "", retry_after_s=17.0), [FOREVER]])
    told(cluster, 100)
    assert 17.0 <= gaps(cluster.asked("watch"))[0] <= 19.0


def test_after_a_watch_that_worked_the_pauses_start_small_again() -> None:
    broken: Sequence[Step] = [Unreachable("broken")]
    working: Sequence[Step] = [event("ADDED", pod("a", "5")), Unreachable("broken")]
    cluster = ScriptedCluster(watches=[*[broken] * 6, working, [FOREVER]])
    told(cluster)
    assert 0.8 <= gaps(cluster.asked("watch"))[6] <= 1.6


def test_after_an_error_in_the_middle_the_watch_resumes_without_a_list() -> None:
    cluster = ScriptedCluster(
        lists=[page([], "1")], watches=[[event("ADDED", pod("a", "5")), failure(500, "InternalError")], [FOREVER]]
    )
    told(cluster, 100)
    assert [call.resource_version for call in cluster.calls] == ["", "1", "5"]


def test_a_stream_that_falls_silent_for_good_is_given_up_soon_after_it_should_have_ended() -> None:
    cluster = ScriptedCluster(watches=[[bookmark("2"), FOREVER], [event("ADDED", pod("a", "5")), FOREVER]])
    assert told(cluster, 400) == ["added default/a@5"]
    first, second = cluster.asked("watch")
    assert first.timeout_s + 30 <= second.time <= first.timeout_s + 32
    assert second.resource_version == "2"


def test_a_watch_without_a_single_word_is_followed_by_a_list() -> None:
    cluster = ScriptedCluster(
        lists=[page([pod("a", "900")], "900"), page([pod("b", "5")], "7")],
        watches=[[240.0], [bookmark("7"), 240.0], [FOREVER]],
    )
    assert told(cluster, 500) == ["added default/a@900", "deleted default/a@900", "added default/b@5"]
    assert [(call.verb, call.resource_version) for call in cluster.calls] == [
        ("list", ""),
        ("watch", "900"),
        ("list", ""),
        ("watch", "7"),
        ("watch", "7"),
    ]


def test_a_flood_of_events_leaves_the_event_loop_its_turns() -> None:
    flood = [event("MODIFIED", pod("a", str(number))) for number in range(2, 5002)]
    cluster = ScriptedCluster(lists=[page([pod("a", "1")], "1")], watches=[[*flood, FOREVER]])
    seen: list[str] = []

    async def main() -> None:
        informer = Informer(cluster, Pod, Reports(), random.Random(1))
        task = asyncio.create_task(informer.run())
        await informer.synced.wait()
        while (now := informer.objects["default/a"].metadata.resource_version) != "5001":
            seen.append(now)
            await asyncio.sleep(0)
        task.cancel()

    run(main())
    assert len(seen) >= 40


def test_the_garbage_collector_runs_again_after_a_list() -> None:
    states: list[bool] = []

    class Watcher:
        async def replace(self, items: Sequence[Pod | UndecodableObject]) -> None:
            states.append(gc.isenabled())

        def apply(self, change: ChangeType, item: Pod | UndecodableObject) -> None: ...

    async def main() -> None:
        reflector = Reflector(ScriptedCluster(), ObjectDecoder(Pod, Reports()), Watcher(), random.Random(1))
        task = asyncio.create_task(reflector.run())
        await asyncio.sleep(1)
        task.cancel()

    run(main())
    assert states == [True]

"""What goes wrong on purpose between a client and the embedded cluster."""

import asyncio
import random
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from koordpy.clock import LoopClock
from koordpy.cluster.embedded.cluster import EmbeddedCluster
from koordpy.cluster.embedded.faults import Answer, Fault
from koordpy.cluster.kinds import EVENT
from koordpy.cluster.protocol import BindRequest, WatchEvent
from koordpy.errors import ApiError, Expired, NotFound, TooManyRequests, Unreachable
from koordpy.virtual_time import run
from koordpy_api.objects import Node, Pod


def pod(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "main", "image": "none"}]}}


def event(about: str) -> dict[str, Any]:
    return {
        "metadata": {"name": f"{about}.1"},
        "eventTime": "2026-01-02T03:04:05.678901Z",
        "reportingController": "tests",
        "reportingInstance": "tests-1",
        "action": "Binding",
        "reason": "Scheduled",
        "regarding": {"kind": "Pod", "namespace": "default", "name": about},
        "type": "Normal",
    }


def cluster(*faults: Fault) -> EmbeddedCluster:
    made = EmbeddedCluster(LoopClock(), random.Random(7))
    for name in ("a", "b"):
        made.store.create(Pod.KIND, "default", pod(name))
    for fault in faults:
        made.faults.add(fault)
    return made


def node_of(made: EmbeddedCluster, name: str) -> str:
    return str(made.store.get(Pod.KIND, "default", name).document["spec"].get("nodeName", ""))


def now() -> float:
    return asyncio.get_running_loop().time()


REQUESTS: dict[str, Callable[[EmbeddedCluster], Any]] = {
    "list pods": lambda made: made.list(Pod.KIND),
    "get pods a": lambda made: made.get(Pod.KIND, "default", "a"),
    "bind pods a": lambda made: made.bind(BindRequest("default", "a", "", "n")),
    "patch pods/status a": lambda made: made.patch(
        Pod.KIND, "default", "a", {"status": {"phase": "Running"}}, subresource="status"
    ),
    "update pods a": lambda made: made.update(Pod.KIND, "default", "a", pod("a")),
    "create pods c": lambda made: made.create(Pod.KIND, "default", pod("c")),
    "create events a": lambda made: made.create(EVENT, "default", event("a")),
    "delete pods a": lambda made: made.delete(Pod.KIND, "default", "a"),
}


@pytest.mark.parametrize("request_", REQUESTS)
def test_every_request_can_be_refused_by_its_name_and_only_so_often(request_: str) -> None:
    async def main() -> None:
        made = cluster(Fault(request_, 503, times=2), Fault(f"{request_}-other", 500))
        for _ in range(2):
            with pytest.raises(ApiError) as caught:
                await REQUESTS[request_](made)
            assert (caught.value.status, caught.value.reason) == (503, "ServiceUnavailable")
        await REQUESTS[request_](made)

    run(main())


@pytest.mark.parametrize(
    ("written", "hits"),
    [
        pytest.param("bind", ["a", "b"], id="the verb alone speaks of all"),
        pytest.param("bind pods", ["a", "b"], id="a verb and a kind speak of all objects"),
        pytest.param("bind pods b", ["b"], id="a name speaks of one object"),
        pytest.param("bind nodes", [], id="another kind is not meant"),
        pytest.param("bind pod", [], id="half a word is none"),
    ],
)
def test_a_fault_speaks_of_the_requests_that_begin_with_its_words(written: str, hits: list[str]) -> None:
    async def main() -> None:
        made, missed = cluster(Fault(written, "dropped", times=None)), []
        for name in ("a", "b"):
            try:
                await made.bind(BindRequest("default", name, "", "n"))
            except Unreachable:
                missed.append(name)
        assert missed == hits

    run(main())


@pytest.mark.parametrize(
    ("answer", "done"),
    [
        pytest.param("dropped", "", id="a dropped request is not carried out"),
        pytest.param("lost", "n", id="a lost one is"),
    ],
)
def test_a_broken_connection_does_not_tell_whether_the_request_was_carried_out(answer: Answer, done: str) -> None:
    async def main() -> None:
        made = cluster(Fault("bind pods a", answer))
        with pytest.raises(Unreachable):
            await made.bind(BindRequest("default", "a", "", "n"))
        assert node_of(made, "a") == done

    run(main())


def test_too_many_requests_says_when_to_come_back() -> None:
    async def main() -> None:
        made = cluster(Fault("list pods", 429, retry_after_s=3))
        with pytest.raises(TooManyRequests) as caught:
            await made.list(Pod.KIND)
        assert (caught.value.reason, caught.value.retry_after_s) == ("TooManyRequests", 3)

    run(main())


def test_a_late_answer_is_late_in_virtual_time_and_right() -> None:
    async def main() -> None:
        made = cluster(Fault("bind pods a", delay_s=5))
        await made.bind(BindRequest("default", "a", "", "n"))
        assert (now(), node_of(made, "a")) == (5, "n")

    run(main())


def test_a_refusal_by_the_rules_passes_through_a_late_answer() -> None:
    async def main() -> None:
        made = cluster(Fault("get pods", "lost"))
        with pytest.raises(NotFound):
            await made.get(Pod.KIND, "default", "nobody")

    run(main())


def test_faults_are_taken_in_the_order_they_were_added() -> None:
    async def main() -> None:
        made, codes = cluster(Fault("list", 500), Fault("list pods", 502), Fault("list nodes", 504)), []
        for kind in (Pod.KIND, Pod.KIND, Node.KIND):
            with pytest.raises(ApiError) as caught:
                await made.list(kind)
            codes.append(caught.value.status)
        assert codes == [500, 502, 504]

    run(main())


def test_after_clear_nothing_goes_wrong() -> None:
    async def main() -> None:
        made = cluster(Fault("", 500, times=None))
        made.faults.clear()
        assert len((await made.list(Pod.KIND)).items) == 2

    run(main())


def test_a_dropped_watch_breaks_where_it_is_open() -> None:
    async def main() -> None:
        made = cluster()
        async with made.watch(Pod.KIND, str(made.store.version)) as events:
            asyncio.get_running_loop().call_later(7, made.faults.add, Fault("watch pods", "dropped"))
            with pytest.raises(Unreachable):
                await anext(events)
            assert now() == 7
        async with made.watch(Pod.KIND, "") as events:
            assert (await anext(events)).type == "ADDED"

    run(main())


def test_a_dropped_watch_waits_for_the_next_one_if_none_is_open() -> None:
    async def main() -> None:
        made = cluster(Fault("watch pods", "dropped"))
        async with made.watch(Node.KIND, "") as events:
            assert (await anext(events)).type == "BOOKMARK"
        async with made.watch(Pod.KIND, "") as events:
            with pytest.raises(Unreachable):
                await anext(events)

    run(main())


def test_a_half_closed_watch_says_nothing_more_and_never_ends() -> None:
    async def main() -> None:
        made = cluster()
        async with made.watch(Pod.KIND, str(made.store.version), timeout_s=60) as events:
            made.faults.add(Fault("watch pods", "half-closed"))
            made.store.create(Pod.KIND, "default", pod("c"))
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(3600):
                    await anext(events)

    run(main())


def test_a_watch_is_refused_with_a_code_on_entering() -> None:
    async def main() -> None:
        made = cluster(Fault("watch pods", 500))
        with pytest.raises(ApiError):
            async with made.watch(Pod.KIND, ""):
                pass

    run(main())


def test_a_watch_may_be_told_that_its_version_has_expired() -> None:
    async def main() -> None:
        made = cluster(Fault("watch pods", 410))
        with pytest.raises(Expired):
            async with made.watch(Pod.KIND, str(made.store.version)):
                pass

    run(main())


def test_a_late_watch_tells_of_each_change_so_much_later_and_in_order() -> None:
    async def main() -> None:
        made = cluster(Fault("watch pods", delay_s=0.5))
        seen: list[tuple[float, str]] = []

        async def follow() -> None:
            async with made.watch(Pod.KIND, str(made.store.version)) as events:
                async for told in events:
                    seen.append((now(), msgspec.json.decode(told.object)["metadata"]["name"]))

        task = asyncio.create_task(follow())
        await asyncio.sleep(1)
        for name in ("c", "d", "e"):
            made.store.create(Pod.KIND, "default", pod(name))
            await asyncio.sleep(0.1)
        await asyncio.sleep(5)
        task.cancel()
        assert [(round(at, 6), name) for at, name in seen] == [(1.5, "c"), (1.6, "d"), (1.7, "e")]

    run(main())


@pytest.mark.parametrize("fault", [Fault("", "dropped"), Fault("watch", 503), Fault("watch", "lost")], ids=str)
def test_a_fault_that_is_not_meant_for_open_watches_leaves_them_open(fault: Fault) -> None:
    async def main() -> None:
        made = cluster()
        async with made.watch(Pod.KIND, str(made.store.version)) as events:
            made.faults.add(fault)
            made.store.create(Pod.KIND, "default", pod("c"))
            assert (await anext(events)).type == "ADDED"

    run(main())


def test_other_watches_than_those_that_are_meant_go_on() -> None:
    async def main() -> None:
        made = cluster()
        async with made.watch(Node.KIND, str(made.store.version)) as events:
            made.faults.add(Fault("watch pods", "dropped"))
            made.store.create(Node.KIND, "", {"metadata": {"name": "n"}})
            told: WatchEvent = await anext(events)
            assert told.type == "ADDED"

    run(main())

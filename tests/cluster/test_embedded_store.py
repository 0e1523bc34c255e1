"""The embedded cluster's memory: history and its end, pages of the past, determinism, the border."""

import asyncio
import random
from typing import Any

import pytest

from koordpy.clock import LoopClock
from koordpy.cluster.embedded.cluster import EmbeddedCluster
from koordpy.cluster.embedded.kinds import CORE_EVENT, RESOURCES
from koordpy.cluster.embedded.store import Change, Store
from koordpy.cluster.embedded.watchlog import LAST_BOOKMARK_S
from koordpy.cluster.kinds import EVENT, LEASE, NAMESPACE
from koordpy.cluster.protocol import BindRequest, Selection
from koordpy.errors import ApiError, Conflict, Expired, NotFound
from koordpy.virtual_time import run
from koordpy_api.objects import Device, Kind, Node, Pod

CHANGES = 300


def pod(name: str, **labels: str) -> dict[str, Any]:
    meta = {"name": name, "labels": labels}
    return {"metadata": meta, "spec": {"containers": [{"name": "main", "image": "none"}]}}


def store(seed: int = 7, history: int = 10_000) -> Store:
    return Store(LoopClock(), random.Random(seed), history)


def names(changes: list[Change]) -> list[tuple[str, str]]:
    return [(each.type, each.object.document["metadata"]["name"]) for each in changes]


async def taken(watch: Any, count: int) -> list[Change]:
    return [await anext(watch) for _ in range(count)]


def act(made: Store, rng: random.Random) -> None:
    """One of the things that happen to pods; some are refused."""
    name = f"p{rng.randrange(12)}"
    try:
        match rng.randrange(5):
            case 0:
                made.create(Pod.KIND, "default", pod(name, tier=rng.choice("ab")))
            case 1:
                made.patch(Pod.KIND, "default", name, {"metadata": {"labels": {"tier": rng.choice("ab")}}})
            case 2:
                made.bind(BindRequest("default", name, "", "n"))
            case 3:
                made.delete(Pod.KIND, "default", name, grace_s=rng.choice([0, 30]))
            case _:
                made.patch(Pod.KIND, "default", name, {"status": {"phase": "Running"}}, subresource="status")
    except (NotFound, Conflict):
        pass


@pytest.mark.parametrize("seed", range(20))
def test_a_watch_from_any_version_leads_to_the_state_of_now(seed: int) -> None:
    """Whatever is selected: who applies the changes since a list to that list has what a new list has."""

    async def main() -> None:
        made, rng = store(), random.Random(seed)
        for labels in ("", "tier=a", "tier!=a"):
            selection = Selection("default", labels, "spec.nodeName=" if seed % 2 else "")
            known = {each.document["metadata"]["name"]: each.document for each in made.list(Pod.KIND, selection).items}
            watch = made.watch(Pod.KIND, str(made.version), selection, timeout_s=1)
            for _ in range(CHANGES):
                act(made, rng)
            async for change in watch:
                name = change.object.document["metadata"]["name"]
                assert (name in known) == (change.type != "ADDED"), seed
                known[name] = change.object.document
                if change.type == "DELETED":
                    del known[name]
            now = made.list(Pod.KIND, selection).items
            assert known == {each.document["metadata"]["name"]: each.document for each in now}, seed

    run(main())


@pytest.mark.parametrize("seed", range(20))
def test_pages_show_the_state_of_the_first_page(seed: int) -> None:
    async def main() -> None:
        made, rng = store(), random.Random(seed)
        for _ in range(CHANGES):
            act(made, rng)
        whole = [each.document for each in made.list(Pod.KIND).items]
        page = made.list(Pod.KIND, limit=2)
        found = list(page.items)
        while page.continue_token:
            for _ in range(20):
                act(made, rng)
            page = made.list(Pod.KIND, limit=2, continue_token=page.continue_token)
            found += page.items
        assert [each.document for each in found] == whole, seed

    run(main())


def test_two_stores_with_one_seed_are_equal_to_the_byte() -> None:
    async def main() -> None:
        first, second, other = store(1), store(1), store(2)
        for made in (first, second, other):
            rng = random.Random(3)
            for _ in range(CHANGES):
                act(made, rng)
            made.create(Pod.KIND, "default", {**pod(""), "metadata": {"generateName": "web-"}})
        dumps = [[bytes(each.raw) for each in made.list(Pod.KIND).items] for made in (first, second, other)]
        assert dumps[0] == dumps[1] != dumps[2]

    run(main())


def test_the_oldest_changes_are_forgotten_and_what_continues_from_them_is_expired() -> None:
    async def main() -> None:
        made = store(history=10)
        start = str(made.version)
        token = ""
        for number in range(30):
            made.create(Pod.KIND, "default", pod(f"p{number:02}"))
            if number == 3:
                token = made.list(Pod.KIND, limit=1).continue_token
        with pytest.raises(Expired, match="too old resource version"):
            made.watch(Pod.KIND, start)
        with pytest.raises(Expired, match="continue parameter is too old"):
            made.list(Pod.KIND, limit=1, continue_token=token)
        watch = made.watch(Pod.KIND, str(made.version - 10))
        assert names(await taken(watch, 10)) == [("ADDED", f"p{number:02}") for number in range(20, 30)]

    run(main())


def test_after_a_compaction_only_the_present_can_be_continued_from() -> None:
    async def main() -> None:
        made = store()
        made.create(Pod.KIND, "default", pod("a"))
        open_one = made.watch(Pod.KIND, str(made.version))
        made.create(Pod.KIND, "default", pod("b"))
        assert names(await taken(open_one, 1)) == [("ADDED", "b")]
        made.compact()
        with pytest.raises(Expired):
            made.watch(Pod.KIND, str(made.version - 1))
        resumed = made.watch(Pod.KIND, str(made.version))
        made.create(Pod.KIND, "default", pod("c"))
        assert names(await taken(open_one, 1)) == names(await taken(resumed, 1)) == [("ADDED", "c")]

    run(main())


def test_a_watch_that_falls_behind_the_history_is_ended() -> None:
    async def main() -> None:
        made = store(history=5)
        watch = made.watch(Pod.KIND, str(made.version))
        for number in range(30):
            made.create(Pod.KIND, "default", pod(f"p{number:02}"))
        assert [change async for change in watch] == []

    run(main())


def test_a_silent_watch_says_every_minute_how_far_it_is_and_once_before_its_end() -> None:
    async def main() -> None:
        made, times = store(), []
        made.create(Pod.KIND, "default", pod("a"))
        async for change in made.watch(Node.KIND, str(made.version), timeout_s=150):
            assert (change.type, change.object.version) == ("BOOKMARK", made.version)
            times.append(asyncio.get_running_loop().time())
        assert (times, asyncio.get_running_loop().time()) == ([60, 120, 148], 150)

    run(main())


def test_what_was_read_does_not_change_when_the_object_does() -> None:
    async def main() -> None:
        made, body = store(), pod("a", tier="a")
        first = made.create(Pod.KIND, "default", body)
        before = bytes(first.raw)
        body["metadata"]["labels"]["tier"] = "b"
        made.patch(Pod.KIND, "default", "a", {"metadata": {"labels": {"tier": "c"}}}, strategic=True)
        made.patch(
            Pod.KIND, "default", "a", {"spec": {"containers": [{"name": "main", "image": "some"}]}}, strategic=True
        )
        made.bind(BindRequest("default", "a", "", "n", {"key": "value"}))
        made.patch(Pod.KIND, "default", "a", {"status": {"phase": "Running"}}, subresource="status")
        made.delete(Pod.KIND, "default", "a")
        first_again = made.list(Pod.KIND).items[0]
        assert first_again is not first
        assert bytes(type(first)(first.document, first.version).raw) == before

    run(main())


def test_one_version_is_encoded_once_for_all_who_read_it() -> None:
    async def main() -> None:
        cluster = EmbeddedCluster(LoopClock(), random.Random(7))
        cluster.store.create(Pod.KIND, "default", pod("a"))
        page = await cluster.list(Pod.KIND)
        assert page.items[0] is await cluster.get(Pod.KIND, "default", "a")

    run(main())


def test_an_unknown_kind_is_not_found() -> None:
    async def main() -> None:
        unknown = Kind("apps", "v1", "Deployment", "deployments", namespaced=True)
        with pytest.raises(NotFound, match="could not find the requested resource"):
            store().list(unknown)

    run(main())


@pytest.mark.parametrize(
    "kind", [each.kind for each in RESOURCES if each.kind != CORE_EVENT], ids=lambda kind: kind.name
)
def test_finalizers_are_refused_with_a_sentence(kind: Kind) -> None:
    async def main() -> None:
        body: dict[str, Any] = {**pod("a"), "kind": kind.name, "apiVersion": kind.api_version}
        body["metadata"] = {"name": "a", "finalizers": ["example.com/wait"]}
        body |= {"eventTime": "2026-01-02T03:04:05.678901Z"} if kind.name == "Event" else {}
        with pytest.raises(ApiError, match="has no finalizers") as caught:
            store().create(kind, "default" if kind.namespaced else "", body)
        assert caught.value.status == 501

    run(main())


def test_a_directive_of_strategic_patches_that_is_not_known_is_refused_with_a_sentence() -> None:
    async def main() -> None:
        made = store()
        made.create(Pod.KIND, "default", pod("a"))
        with pytest.raises(ApiError, match=r"\$retainKeys .* is not known; write the field itself"):
            made.patch(Pod.KIND, "default", "a", {"spec": {"$retainKeys": ["containers"]}}, strategic=True)

    run(main())


def test_a_namespace_goes_when_no_pod_is_in_it_and_takes_its_events_and_leases_along() -> None:
    async def main() -> None:
        made = store()
        made.create(NAMESPACE, "", {"metadata": {"name": "team"}})
        made.create(Pod.KIND, "team", pod("a"))
        made.create(CORE_EVENT, "team", {"metadata": {"name": "a.1"}, "involvedObject": {"kind": "Pod", "name": "a"}})
        made.create(LEASE, "team", {"metadata": {"name": "leader"}})
        with pytest.raises(Conflict, match="in the embedded cluster, delete pod team/a first"):
            made.delete(NAMESPACE, "", "team")
        assert len(made.list(EVENT).items) == len(made.list(LEASE).items) == 1
        made.delete(Pod.KIND, "team", "a")
        made.delete(NAMESPACE, "", "team")
        assert not made.list(EVENT).items and not made.list(LEASE).items
        with pytest.raises(NotFound, match='namespaces "team" not found'):
            made.create(Pod.KIND, "team", pod("a"))

    run(main())


@pytest.mark.parametrize(
    ("resources", "said"),
    [
        pytest.param({"limits": {"nvidia.com/gpu": "500m"}}, "must be an integer", id="half a card of a vendor"),
        pytest.param({"requests": {"nvidia.com/gpu": "1"}}, "Limit must be set", id="a card without a limit"),
        pytest.param({"limits": {"cpu": "-1"}}, "greater than or equal to 0", id="less than nothing"),
        pytest.param(
            {"limits": {"nvidia.com/gpu": "2"}, "requests": {"nvidia.com/gpu": "1"}},
            "must be equal to nvidia.com/gpu limit of 2",
            id="fewer cards than the limit",
        ),
    ],
)
def test_amounts_that_a_real_server_refuses_are_refused(resources: dict[str, Any], said: str) -> None:
    async def main() -> None:
        body = pod("a")
        body["spec"]["containers"][0]["resources"] = resources
        with pytest.raises(ApiError, match=said) as caught:
            store().create(Pod.KIND, "default", body)
        assert caught.value.status == 422

    run(main())


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        pytest.param(Pod.KIND, {"spec": 3}, id="a spec that is a number"),
        pytest.param(Pod.KIND, {"spec": {"containers": [{"name": 3}]}}, id="a name that is a number"),
        pytest.param(Pod.KIND, {"metadata": "a"}, id="metadata that is a text"),
        pytest.param(Pod.KIND, {"metadata": {"name": "a", "labels": {"a": 1}}}, id="a label that is a number"),
        pytest.param(Node.KIND, {"status": {"capacity": ["cpu"]}}, id="capacity that is a list"),
        pytest.param(Node.KIND, {"status": {"capacity": {"cpu": "much"}}}, id="an amount that is none"),
        pytest.param(LEASE, {"spec": "x"}, id="a lease's spec that is a text"),
        pytest.param(LEASE, {"spec": {"leaseDurationSeconds": "15"}}, id="seconds that are a text"),
        pytest.param(CORE_EVENT, {"involvedObject": ["a"]}, id="an Event about a list"),
        pytest.param(Device.KIND, {"metadata": "a"}, id="a Device's metadata that is a text"),
        pytest.param(Device.KIND, {"spec": {"devices": [{"minor": "0"}]}}, id="a Device's minor that is a text"),
    ],
)
def test_what_cannot_be_read_as_its_kind_is_a_bad_request(kind: Kind, more: dict[str, Any]) -> None:
    async def main() -> None:
        body = {"kind": kind.name, "apiVersion": kind.api_version, "metadata": {"name": "a"}, **more}
        with pytest.raises(ApiError, match=f"cannot be handled as a {kind.name}: ") as caught:
            store().create(kind, "default" if kind.namespaced else "", body)
        assert (caught.value.status, caught.value.reason) == (400, "BadRequest")

    run(main())


def test_a_last_bookmark_that_is_due_a_hair_later_is_told_once() -> None:
    """A loop runs a timer up to a nanosecond before its time; nobody may wait for that nanosecond by asking again."""

    async def main() -> int:
        loop = asyncio.get_running_loop()
        watch = store().watch(Pod.KIND, timeout_s=46.0)
        hair = loop.create_future()
        loop.call_at(46.0 - LAST_BOOKMARK_S - 5e-10, hair.set_result, None)
        told = 0
        async for _ in watch:  # the initial one, and the last
            told += 1
            if told > 10:
                break
        return told

    assert run(main()) == 2

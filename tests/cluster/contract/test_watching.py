"""Watch: order, resuming, selections, bookmarks, ends."""

import asyncio

import msgspec

from koordpy.cluster.protocol import Selection, api_error
from tests.cluster.contract.face import DEVICE, LEASE, NODE, POD, Face, refusal


async def test_a_watch_tells_what_happens_in_order(face: Face) -> None:
    version = await face.version()
    async with face.watching(POD, version) as watching:
        await face.create_pod("a")
        await face.create_pod("b")
        await face.merge(POD, "a", {"metadata": {"labels": {"color": "red"}}})
        await face.delete(POD, "b")
        events = await watching.take(4)
    told = [(kind, each["metadata"]["name"]) for kind, each in events]
    assert told == [("ADDED", "a"), ("ADDED", "b"), ("MODIFIED", "a"), ("DELETED", "b")]
    versions = [int(each["metadata"]["resourceVersion"]) for _, each in events]
    assert versions == sorted(set(versions)) and versions[0] > int(version)


async def test_an_event_carries_what_the_write_answered(face: Face) -> None:
    version = await face.version()
    made = await face.create_pod()
    patched = await face.merge(POD, "a", {"metadata": {"labels": {"color": "red"}}})
    async with face.watching(POD, version) as watching:
        assert await watching.take(2) == [("ADDED", made), ("MODIFIED", patched)]


async def test_a_watch_resumes_after_the_version_it_is_given(face: Face) -> None:
    await face.create_pod("a")
    second = await face.create_pod("b")
    await face.create_pod("c")
    await face.delete(POD, "a")
    async with face.watching(POD, second["metadata"]["resourceVersion"]) as watching:
        assert await watching.names(2) == [("ADDED", "c"), ("DELETED", "a")]


async def test_a_watch_may_resume_from_a_version_of_another_kind(face: Face) -> None:
    await face.create_pod("a")
    node = await face.create(NODE, face.node())
    await face.create_pod("b")
    async with face.watching(POD, node["metadata"]["resourceVersion"]) as watching:
        assert await watching.names(1) == [("ADDED", "b")]


async def test_a_watch_from_a_lists_version_misses_nothing(face: Face) -> None:
    await face.create_pod("a")
    page = await face.cluster.list(POD, face.select())
    await face.create_pod("b")
    async with face.watching(POD, page.resource_version) as watching:
        await face.create_pod("c")
        assert await watching.names(2) == [("ADDED", "b"), ("ADDED", "c")]


async def test_a_watch_without_a_version_begins_with_what_there_is(face: Face) -> None:
    for name in "abc":
        await face.create_pod(name)
    await face.merge(POD, "a", {"metadata": {"labels": {"color": "red"}}})
    await face.delete(POD, "b")
    for version in ("", "0"):
        await face.settle()
        async with face.watching(POD, version) as watching:
            assert sorted(await watching.names(2)) == [("ADDED", "a"), ("ADDED", "c")]
            later = f"d{version}"
            await face.create_pod(later)
            assert await watching.names(1) == [("ADDED", later)]
        await face.delete(POD, later)


async def test_a_write_to_the_status_is_an_event(face: Face) -> None:
    made = await face.create_pod()
    await face.merge(POD, "a", {"status": {"phase": "Running"}}, "status")
    async with face.watching(POD, made["metadata"]["resourceVersion"]) as watching:
        [(kind, seen)] = await watching.take(1)
    assert (kind, seen["status"]["phase"]) == ("MODIFIED", "Running")


async def test_what_enters_a_label_selection_is_added(face: Face) -> None:
    made = await face.create_pod()
    async with face.watching(POD, made["metadata"]["resourceVersion"], face.select("color=red")) as watching:
        await face.merge(POD, "a", {"metadata": {"labels": {"color": "red"}}})
        await face.merge(POD, "a", {"metadata": {"labels": {"size": "big"}}})
        assert await watching.names(2) == [("ADDED", "a"), ("MODIFIED", "a")]


async def test_what_leaves_a_label_selection_is_deleted_in_its_last_selected_state(face: Face) -> None:
    made = await face.create(POD, face.labelled("a", color="red"))
    left = await face.merge(POD, "a", {"metadata": {"labels": {"color": "blue"}}})
    async with face.watching(POD, made["metadata"]["resourceVersion"], face.select("color=red")) as watching:
        [(kind, seen)] = await watching.take(1)
    assert (kind, seen["metadata"]["labels"]) == ("DELETED", {"color": "red"})
    assert seen["metadata"]["resourceVersion"] == left["metadata"]["resourceVersion"]


async def test_what_happens_outside_a_selection_is_not_told(face: Face) -> None:
    version = await face.version()
    async with face.watching(POD, version, face.select("color=red")) as watching:
        await face.create_pod("a")
        await face.merge(POD, "a", {"metadata": {"labels": {"color": "blue"}}})
        await face.delete(POD, "a")
        await face.create(POD, face.labelled("b", color="red"))
        assert await watching.names(1) == [("ADDED", "b")]


async def test_a_bound_pod_leaves_the_selection_of_pods_without_a_node(face: Face) -> None:
    made = await face.create_pod()
    version = made["metadata"]["resourceVersion"]
    await face.bind(made, "n")
    async with face.watching(POD, version, face.select(fields="spec.nodeName=")) as watching:
        assert await watching.names(1) == [("DELETED", "a")]
    async with face.watching(POD, version, face.select(fields="spec.nodeName=n")) as watching:
        assert await watching.names(1) == [("ADDED", "a")]


async def test_a_finished_pod_leaves_the_selection_of_unfinished_ones(face: Face) -> None:
    made = await face.create_pod()
    fields = "status.phase!=Succeeded,status.phase!=Failed"
    async with face.watching(POD, made["metadata"]["resourceVersion"], face.select(fields=fields)) as watching:
        for phase in ("Running", "Succeeded", "Failed"):
            await face.merge(POD, "a", {"status": {"phase": phase}}, "status")
        await face.create_pod("b")
        assert await watching.names(3) == [("MODIFIED", "a"), ("DELETED", "a"), ("ADDED", "b")]


async def test_one_object_can_be_watched_by_name(face: Face) -> None:
    version = await face.version()
    async with face.watching(POD, version, face.select(fields="metadata.name=b")) as watching:
        for name in "abc":
            await face.create_pod(name)
        await face.delete(POD, "b")
        assert await watching.names(2) == [("ADDED", "b"), ("DELETED", "b")]


async def test_a_watch_without_versions_keeps_to_its_selection(face: Face) -> None:
    await face.create(POD, face.labelled("a", color="red"))
    await face.create(POD, face.labelled("b", color="blue"))
    await face.settle()
    async with face.watching(POD, "", face.select("color=blue")) as watching:
        assert await watching.names(1) == [("ADDED", "b")]


async def test_a_watch_of_one_kind_does_not_tell_of_others(face: Face) -> None:
    version = await face.version()
    async with face.watching(LEASE, version) as watching:
        await face.create_pod()
        await face.create(LEASE, face.lease())
        assert await watching.names(1) == [("ADDED", "l")]


async def test_a_watch_of_all_namespaces_tells_of_each(face: Face) -> None:
    version = await face.version()
    mine = Selection(labels=f"test={face.namespace}")
    async with face.watching(POD, version, mine) as watching:
        await face.create(POD, face.labelled("a", test=face.namespace))
        manifest = face.labelled(face.own("b"), test=face.namespace)
        manifest["metadata"]["namespace"] = "default"
        await face.cluster.create(POD, "default", manifest)
        assert await watching.names(2) == [("ADDED", "a"), ("ADDED", face.own("b"))]
        await face.cluster.delete(POD, "default", face.own("b"))


async def test_nodes_and_devices_can_be_watched(face: Face) -> None:
    mine = Selection(labels=f"test={face.namespace}")
    for kind, manifest in ((NODE, face.node()), (DEVICE, face.device())):
        version = await face.version(kind)
        async with face.watching(kind, version, mine) as watching:
            await face.create(kind, manifest)
            await face.delete(kind, face.own("n"))
            assert await watching.names(2) == [("ADDED", face.own("n")), ("DELETED", face.own("n"))]


async def test_two_watches_see_the_same(face: Face) -> None:
    version = await face.version()
    async with face.watching(POD, version) as one, face.watching(POD, version) as two:
        await face.create_pod("a")
        await face.delete(POD, "a")
        assert await one.take(2) == await two.take(2)


async def test_a_watch_that_is_left_early_ends_alone(face: Face) -> None:
    version = await face.version()
    async with face.watching(POD, version) as staying:
        async with face.watching(POD, version) as leaving:
            await face.create_pod("a")
            assert await leaving.names(1) == [("ADDED", "a")]
        await face.create_pod("b")
        assert await staying.names(2) == [("ADDED", "a"), ("ADDED", "b")]


async def test_a_watch_waits_for_what_is_to_come(face: Face) -> None:
    version = await face.version()
    async with face.watching(POD, version) as watching:
        waiting = asyncio.create_task(watching.names(1))
        await asyncio.sleep(0.2)
        assert not waiting.done()
        await face.create_pod()
        assert await waiting == [("ADDED", "a")]


async def test_a_watch_ends_when_its_time_is_up(face: Face) -> None:
    loop = asyncio.get_running_loop()
    version, begin = await face.version(), loop.time()
    async with face.watching(POD, version, timeout_s=1) as watching:
        rest = await watching.rest()
    assert [kind for kind, _ in rest if kind != "BOOKMARK"] == []
    assert 0.9 < loop.time() - begin < 10


async def test_a_bookmark_comes_shortly_before_a_watch_ends_and_the_next_resumes_from_it(face: Face) -> None:
    await face.create_pod()
    version = await face.version()
    async with face.watching(POD, version, face.select("never=selected"), timeout_s=3) as watching:
        made = await face.create_pod("b")
        rest = await watching.rest()
    assert {kind for kind, _ in rest} == {"BOOKMARK"}
    mark = rest[-1][1]
    assert (mark["kind"], mark["apiVersion"]) == ("Pod", "v1")
    assert int(mark["metadata"]["resourceVersion"]) >= int(made["metadata"]["resourceVersion"])
    assert "name" not in mark["metadata"]
    await face.create_pod("c")
    async with face.watching(POD, mark["metadata"]["resourceVersion"]) as watching:
        assert await watching.names(1) == [("ADDED", "c")]


async def test_a_version_from_before_the_servers_memory_has_expired(face: Face) -> None:
    # No server has served Devices since its first version.
    await face.create(DEVICE, face.device())

    async def ask() -> None:
        async with face.watching(DEVICE, "1", Selection()) as watching:
            kind, status = await anext(watching.events)
        assert kind == "ERROR"  # where it did not say so on entering
        raise api_error(msgspec.json.encode(status))

    error = await refusal(ask())
    assert (error.status, error.reason) == (410, "Expired")
    assert error.message.startswith("too old resource version: 1 (")

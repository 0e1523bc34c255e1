"""What is special about Events, Leases and Devices."""

from koordpy.cluster.protocol import Selection
from tests.cluster.contract.face import CORE_EVENT, DEVICE, EVENT, LEASE, Face, refusal, refused_as


async def test_an_event_written_in_the_new_group_is_read_in_the_core_group(face: Face) -> None:
    made = await face.create(EVENT, face.event())
    core = await face.get(CORE_EVENT, "e")
    assert core["apiVersion"] == "v1"
    assert core["involvedObject"] == made["regarding"]
    assert (core["message"], core["reason"], core["action"]) == ("to n", "Scheduled", "Binding")
    assert core["reportingComponent"] == "koordpy-scheduler"
    assert core["reportingInstance"] == "koordpy-scheduler-host"
    assert core["eventTime"] == "2026-01-02T03:04:05.678901Z"
    for key in ("uid", "resourceVersion"):
        assert core["metadata"][key] == made["metadata"][key]
    assert not {"regarding", "note", "reportingController"} & set(core)


async def test_an_event_written_in_the_core_group_is_read_in_the_new_group(face: Face) -> None:
    made = await face.create(CORE_EVENT, face.core_event())
    new = await face.get(EVENT, "e")
    assert new["apiVersion"] == "events.k8s.io/v1"
    assert new["regarding"] == made["involvedObject"]
    assert (new["note"], new["reason"], new["type"]) == ("to n", "Scheduled", "Normal")
    assert new["deprecatedSource"] == {"component": "default-scheduler"}
    assert new["deprecatedFirstTimestamp"] == "2026-01-02T03:04:05Z"
    assert new["deprecatedLastTimestamp"] == "2026-01-02T03:05:05Z"
    assert new["deprecatedCount"] == 3


async def test_events_of_both_groups_are_one_collection(face: Face) -> None:
    await face.create(EVENT, face.event("a"))
    await face.create(CORE_EVENT, face.core_event("b"))
    for kind in (EVENT, CORE_EVENT):
        assert await face.names(kind, face.select()) == ["a", "b"]
    assert refused_as(await refusal(face.create(CORE_EVENT, face.core_event("a")))) == (409, "AlreadyExists")


async def test_events_are_watched_in_the_version_that_was_asked_for(face: Face) -> None:
    version = await face.version(EVENT)
    await face.create(EVENT, face.event("a"))
    await face.create(CORE_EVENT, face.core_event("b"))
    for kind, field in ((EVENT, "note"), (CORE_EVENT, "message")):
        async with face.watching(kind, version) as watching:
            seen = await watching.take(2)
        assert [each["metadata"]["name"] for _, each in seen] == ["a", "b"]
        assert {(each["apiVersion"], each[field]) for _, each in seen} == {(kind.api_version, "to n")}


async def test_core_events_are_selected_by_the_object_they_are_about(face: Face) -> None:
    await face.create(CORE_EVENT, face.core_event("a"))
    other = face.core_event()["involvedObject"] | {"name": "b", "uid": "u-2"}
    await face.create(CORE_EVENT, face.core_event("b", involvedObject=other))
    wanted = {"name": "b", "namespace": face.namespace, "uid": "u-2", "kind": "Pod"}
    fields = ",".join(f"involvedObject.{key}={value}" for key, value in wanted.items())
    assert await face.names(CORE_EVENT, face.select(fields=fields)) == ["b"]
    assert await face.names(CORE_EVENT, face.select(fields="involvedObject.uid=u-1")) == ["a"]


async def test_core_events_are_selected_by_reason_and_type(face: Face) -> None:
    await face.create(CORE_EVENT, face.core_event("a"))
    await face.create(CORE_EVENT, face.core_event("b", reason="FailedScheduling", type="Warning"))
    assert await face.names(CORE_EVENT, face.select(fields="reason=FailedScheduling")) == ["b"]
    assert await face.names(CORE_EVENT, face.select(fields="type!=Warning")) == ["a"]


async def test_new_events_are_selected_by_what_they_regard(face: Face) -> None:
    await face.create(EVENT, face.event("a"))
    regarding = face.event()["regarding"] | {"name": "b"}
    await face.create(EVENT, face.event("b", regarding=regarding))
    assert await face.names(EVENT, face.select(fields="regarding.name=b,reason=Scheduled")) == ["b"]


async def test_each_group_knows_only_its_own_field_names(face: Face) -> None:
    for kind, name in ((EVENT, "involvedObject.name"), (CORE_EVENT, "regarding.name")):
        error = await refusal(face.cluster.list(kind, face.select(fields=f"{name}=a")))
        assert refused_as(error) == (400, "BadRequest")
        assert error.message == f"field label not supported: {name}"


async def test_a_core_event_may_count_up(face: Face) -> None:
    await face.create(CORE_EVENT, face.core_event())
    body = {"count": 4, "lastTimestamp": "2026-01-02T03:06:05Z"}
    patched = await face.strategic(CORE_EVENT, "e", body)
    assert (patched["count"], patched["lastTimestamp"]) == (4, "2026-01-02T03:06:05Z")


async def test_a_lease_is_stored_to_the_microsecond(face: Face) -> None:
    made = await face.create(LEASE, face.lease(leaseTransitions=1))
    assert made["spec"] == {
        "holderIdentity": "me",
        "leaseDurationSeconds": 15,
        "acquireTime": "2026-01-02T03:04:05.678901Z",
        "leaseTransitions": 1,
    }


async def test_of_two_who_renew_a_lease_one_loses(face: Face) -> None:
    made = await face.create(LEASE, face.lease())
    ours, theirs = (made | {"spec": made["spec"] | {"holderIdentity": who}} for who in ("us", "them"))
    renewed = await face.update(LEASE, theirs)
    assert renewed["spec"]["holderIdentity"] == "them"
    error = await refusal(face.update(LEASE, ours))
    assert refused_as(error) == (409, "Conflict")
    assert error.message.startswith('Operation cannot be fulfilled on leases.coordination.k8s.io "l": the object has')


async def test_a_lease_is_created_once(face: Face) -> None:
    await face.create(LEASE, face.lease())
    error = await refusal(face.create(LEASE, face.lease()))
    assert refused_as(error) == (409, "AlreadyExists")
    assert error.message == 'leases.coordination.k8s.io "l" already exists'


async def test_a_device_is_stored_as_it_was_written(face: Face) -> None:
    manifest = face.device()
    made = await face.create(DEVICE, manifest)
    assert made["spec"] == manifest["spec"]
    assert made["metadata"]["labels"] == {"test": face.namespace}
    assert (made["apiVersion"], made["kind"]) == ("scheduling.koordinator.sh/v1alpha1", "Device")


async def test_a_device_is_updated_from_its_newest_version_only(face: Face) -> None:
    made = await face.create(DEVICE, face.device())
    await face.merge(DEVICE, face.own("n"), {"spec": {"devices": []}})
    error = await refusal(face.update(DEVICE, made))
    assert refused_as(error) == (409, "Conflict")
    assert error.message.startswith("Operation cannot be fulfilled on devices.scheduling.koordinator.sh ")


async def test_a_device_has_no_status_subresource(face: Face) -> None:
    await face.create(DEVICE, face.device())
    error = await refusal(face.merge(DEVICE, face.own("n"), {"status": {}}, "status"))
    assert error.status == 404


async def test_a_device_of_the_wrong_shape_is_refused(face: Face) -> None:
    await face.create(DEVICE, face.device())
    shapes: list[object] = [{}, [{"health": "yes"}]]
    for devices in shapes:
        error = await refusal(face.merge(DEVICE, face.own("n"), {"spec": {"devices": devices}}))
        assert 400 <= error.status < 500
    (card,) = (await face.get(DEVICE, face.own("n")))["spec"]["devices"]
    assert card["health"] is True


async def test_a_custom_object_must_say_its_kind(face: Face) -> None:
    manifest = face.device()
    del manifest["kind"]
    assert refused_as(await refusal(face.create(DEVICE, manifest))) == (400, "BadRequest")


async def test_a_list_of_devices_is_in_order_of_names(face: Face) -> None:
    for name in ("b", "a", "c"):
        await face.create(DEVICE, face.device(name))
    names = await face.names(DEVICE, Selection(labels=f"test={face.namespace}"))
    assert names == [face.own(name) for name in "abc"]

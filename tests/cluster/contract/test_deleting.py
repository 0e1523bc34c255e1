"""Delete, with grace, with a uid, twice."""

from tests.cluster.contract.face import CORE_EVENT, DEVICE, EVENT, LEASE, NODE, POD, Face, refusal, refused_as


async def test_a_pod_without_a_node_is_gone_at_once(face: Face) -> None:
    made = await face.create_pod()
    await face.delete(POD, "a")
    assert (await refusal(face.get(POD, "a"))).status == 404
    async with face.watching(POD, made["metadata"]["resourceVersion"]) as watching:
        assert await watching.names(1) == [("DELETED", "a")]


async def test_a_pod_on_a_node_waits_for_its_kubelet(face: Face) -> None:
    made = await face.create_pod()
    await face.bind(made)
    version = await face.version()
    await face.delete(POD, "a")
    left = await face.get(POD, "a")
    assert left["metadata"]["deletionGracePeriodSeconds"] == 30
    assert left["metadata"]["deletionTimestamp"] > left["metadata"]["creationTimestamp"]
    assert left["status"]["phase"] == "Pending"
    async with face.watching(POD, version) as watching:
        assert await watching.names(1) == [("MODIFIED", "a")]


async def test_a_kubelet_confirms_with_no_grace(face: Face) -> None:
    await face.bind(await face.create_pod())
    await face.delete(POD, "a")
    version = await face.version()
    await face.delete(POD, "a", grace_s=0)
    assert (await refusal(face.get(POD, "a"))).status == 404
    async with face.watching(POD, version) as watching:
        assert await watching.names(1) == [("DELETED", "a")]


async def test_grace_is_the_pods_own_or_the_requests(face: Face) -> None:
    graces = []
    for name, own, asked in (("a", 7, None), ("b", 7, 20), ("c", 7, 2)):
        await face.bind(await face.create_pod(name, terminationGracePeriodSeconds=own))
        await face.delete(POD, name, grace_s=asked)
        graces.append((await face.get(POD, name))["metadata"]["deletionGracePeriodSeconds"])
    assert graces == [7, 20, 2]


async def test_a_grace_below_zero_is_one_second(face: Face) -> None:
    made = await face.create_pod("a", terminationGracePeriodSeconds=-5)
    assert made["spec"]["terminationGracePeriodSeconds"] == 1
    await face.bind(made)
    await face.bind(await face.create_pod("b"))
    for name, asked in (("a", None), ("b", 60), ("b", -1), ("a", -1)):
        await face.delete(POD, name, grace_s=asked)
    for name in "ab":
        assert (await face.get(POD, name))["metadata"]["deletionGracePeriodSeconds"] == 1
        await face.delete(POD, name, grace_s=0)
        assert (await refusal(face.get(POD, name))).status == 404


async def test_a_grace_beyond_all_calendars_is_taken_and_can_be_shortened(face: Face) -> None:
    for name, own, asked in (("a", 9 * 10**15, None), ("b", 30, 300_000_000_000), ("c", 30, 2**63 - 1)):
        await face.bind(await face.create_pod(name, terminationGracePeriodSeconds=own))
        await face.delete(POD, name, grace_s=asked)
        assert (await face.get(POD, name))["metadata"]["deletionGracePeriodSeconds"] == (asked or own)
        await face.delete(POD, name, grace_s=3)
        short = (await face.get(POD, name))["metadata"]
        assert short["deletionGracePeriodSeconds"] == 3
        assert short["deletionTimestamp"][:3] == short["creationTimestamp"][:3]
        await face.delete(POD, name, grace_s=0)
        assert (await refusal(face.get(POD, name))).status == 404


async def test_a_pod_that_wants_no_grace_is_gone_at_once(face: Face) -> None:
    await face.bind(await face.create_pod(terminationGracePeriodSeconds=0))
    await face.delete(POD, "a")
    assert (await refusal(face.get(POD, "a"))).status == 404


async def test_a_pod_that_has_ended_is_gone_at_once(face: Face) -> None:
    for name, phase in (("a", "Succeeded"), ("b", "Failed")):
        await face.bind(await face.create_pod(name))
        await face.merge(POD, name, {"status": {"phase": phase}}, "status")
        await face.delete(POD, name)
        assert (await refusal(face.get(POD, name))).status == 404


async def test_a_second_delete_may_shorten_the_grace_but_not_lengthen_it(face: Face) -> None:
    await face.bind(await face.create_pod())
    await face.delete(POD, "a")
    first = (await face.get(POD, "a"))["metadata"]
    await face.delete(POD, "a", grace_s=300)
    await face.delete(POD, "a")
    assert (await face.get(POD, "a"))["metadata"] == first
    await face.delete(POD, "a", grace_s=3)
    short = (await face.get(POD, "a"))["metadata"]
    assert short["deletionGracePeriodSeconds"] == 3
    assert short["deletionTimestamp"] < first["deletionTimestamp"]


async def test_a_second_delete_that_says_nothing_of_grace_changes_nothing(face: Face) -> None:
    for name, own in (("a", 1), ("b", 0)):
        await face.bind(await face.create_pod(name, terminationGracePeriodSeconds=own))
        await face.delete(POD, name, grace_s=60)
        first = await face.get(POD, name)
        await face.delete(POD, name)
        assert await face.get(POD, name) == first


async def test_a_delete_of_another_uid_conflicts(face: Face) -> None:
    made = await face.create_pod()
    error = await refusal(face.delete(POD, "a", uid="another"))
    assert refused_as(error) == (409, "Conflict")
    assert error.message.startswith(
        'Operation cannot be fulfilled on Pod "a": the UID in the precondition (another) does not match the UID in'
    )
    await face.delete(POD, "a", uid=made["metadata"]["uid"])
    assert (await refusal(face.get(POD, "a"))).status == 404


async def test_a_delete_of_another_uid_names_the_kind_with_its_group(face: Face) -> None:
    for kind, manifest in ((LEASE, face.lease()), (DEVICE, face.device())):
        name = (await face.create(kind, manifest))["metadata"]["name"]
        error = await refusal(face.delete(kind, name, uid="another"))
        assert refused_as(error) == (409, "Conflict")
        assert error.message.startswith(f'Operation cannot be fulfilled on {kind.name}.{kind.group} "{name}": the UID')


async def test_a_delete_of_nothing_is_not_found(face: Face) -> None:
    await face.create_pod()
    await face.delete(POD, "a")
    error = await refusal(face.delete(POD, "a"))
    assert (refused_as(error), error.message) == ((404, "NotFound"), 'pods "a" not found')


async def test_everything_that_is_no_pod_is_gone_at_once(face: Face) -> None:
    manifests = (
        (NODE, face.node()),
        (DEVICE, face.device()),
        (LEASE, face.lease()),
        (EVENT, face.event()),
        (CORE_EVENT, face.core_event("c")),
    )
    for kind, manifest in manifests:
        name = (await face.create(kind, manifest))["metadata"]["name"]
        await face.delete(kind, name)
        assert (await refusal(face.get(kind, name))).status == 404


async def test_a_pod_that_is_going_can_still_be_written_to(face: Face) -> None:
    await face.bind(await face.create_pod())
    await face.delete(POD, "a")
    patched = await face.merge(POD, "a", {"status": {"phase": "Failed"}}, "status")
    assert patched["status"]["phase"] == "Failed"
    assert "deletionTimestamp" in patched["metadata"]


async def test_a_pod_that_ends_while_it_is_going_still_waits_for_its_kubelet(face: Face) -> None:
    await face.bind(await face.create_pod())
    await face.delete(POD, "a", grace_s=20)
    ended = await face.merge(POD, "a", {"status": {"phase": "Failed"}}, "status")
    await face.delete(POD, "a")
    await face.delete(POD, "a", grace_s=20)
    assert await face.get(POD, "a") == ended
    await face.delete(POD, "a", grace_s=0)
    assert (await refusal(face.get(POD, "a"))).status == 404


async def test_a_deletion_cannot_be_called_off(face: Face) -> None:
    await face.bind(await face.create_pod())
    await face.delete(POD, "a")
    left = await face.get(POD, "a")
    for key in ("deletionTimestamp", "deletionGracePeriodSeconds", "resourceVersion"):
        del left["metadata"][key]
    left["metadata"]["labels"] = {"color": "red"}
    assert "deletionTimestamp" in (await face.update(POD, left))["metadata"]


async def test_the_last_state_is_told_with_a_version_of_its_own(face: Face) -> None:
    made = await face.create(POD, face.labelled("a", color="red"))
    await face.delete(POD, "a")
    async with face.watching(POD, made["metadata"]["resourceVersion"]) as watching:
        [(kind, last)] = await watching.take(1)
    assert (kind, last["metadata"]["uid"]) == ("DELETED", made["metadata"]["uid"])
    assert last["metadata"]["labels"] == {"color": "red"}
    assert int(last["metadata"]["resourceVersion"]) > int(made["metadata"]["resourceVersion"])

"""Bind, in all its answers."""

from koordpy.cluster.protocol import BindRequest
from tests.cluster.contract.face import POD, Face, refusal, refused_as


async def test_a_bind_writes_node_condition_and_annotations_at_once(face: Face) -> None:
    made = await face.create_pod()
    async with face.watching(POD, made["metadata"]["resourceVersion"]) as watching:
        await face.bind(made, "n", {"devices": "[0]"})
        await face.merge(POD, "a", {"metadata": {"labels": {"later": "yes"}}})
        [(kind, bound), (_, later)] = await watching.take(2)
    assert (kind, bound["spec"]["nodeName"]) == ("MODIFIED", "n")
    assert bound["metadata"]["annotations"] == {"devices": "[0]"}
    (condition,) = bound["status"]["conditions"]
    assert (condition["type"], condition["status"]) == ("PodScheduled", "True")
    assert condition["lastTransitionTime"]
    assert later["metadata"]["labels"] == {"later": "yes"}


async def test_a_bind_merges_its_annotations_over_those_that_are_there(face: Face) -> None:
    manifest = face.pod()
    manifest["metadata"]["annotations"] = {"kept": "1", "changed": "1"}
    await face.bind(await face.create(POD, manifest), "n", {"changed": "2", "new": "2"})
    annotations = (await face.get(POD, "a"))["metadata"]["annotations"]
    assert annotations == {"kept": "1", "changed": "2", "new": "2"}


async def test_a_second_bind_conflicts_and_writes_nothing(face: Face) -> None:
    made = await face.create_pod()
    await face.bind(made, "n", {"devices": "[0]"})
    stored = await face.get(POD, "a")
    for node in ("n", "m"):
        error = await refusal(face.bind(made, node, {"devices": "[1]"}))
        assert refused_as(error) == (409, "Conflict")
        assert error.message == (
            'Operation cannot be fulfilled on pods/binding "a": pod a is already assigned to node "n"'
        )
    assert await face.get(POD, "a") == stored


async def test_a_bind_of_nothing_is_not_found(face: Face) -> None:
    error = await refusal(face.cluster.bind(BindRequest(face.namespace, "a", "", "n")))
    assert (refused_as(error), error.message) == ((404, "NotFound"), 'pods "a" not found')


async def test_a_bind_of_another_uid_conflicts(face: Face) -> None:
    await face.create_pod()
    error = await refusal(face.cluster.bind(BindRequest(face.namespace, "a", "another", "n")))
    assert refused_as(error) == (409, "Conflict")
    assert "Precondition failed: UID in precondition: another, UID in object meta: " in error.message
    assert "nodeName" not in (await face.get(POD, "a"))["spec"]


async def test_a_bind_without_a_uid_takes_whoever_has_the_name(face: Face) -> None:
    await face.create_pod()
    await face.cluster.bind(BindRequest(face.namespace, "a", "", "n"))
    assert (await face.get(POD, "a"))["spec"]["nodeName"] == "n"


async def test_a_bind_of_a_pod_that_is_going_conflicts(face: Face) -> None:
    made = await face.create_pod()
    await face.bind(made)
    await face.delete(POD, "a")
    error = await refusal(face.bind(made))
    assert refused_as(error) == (409, "Conflict")
    assert error.message == (
        'Operation cannot be fulfilled on pods/binding "a": pod a is being deleted, cannot be assigned to a host'
    )


async def test_a_bind_of_a_gated_pod_conflicts_until_the_gates_are_gone(face: Face) -> None:
    made = await face.create_pod(schedulingGates=[{"name": "example.com/quota"}])
    error = await refusal(face.bind(made))
    assert refused_as(error) == (409, "Conflict")
    assert error.message == (
        'Operation cannot be fulfilled on pods/binding "a": pod a has non-empty .spec.schedulingGates'
    )
    await face.merge(POD, "a", {"spec": {"schedulingGates": []}})
    await face.bind(made)
    (condition,) = (await face.get(POD, "a"))["status"]["conditions"]
    assert (condition["status"], "reason" in condition) == ("True", False)


async def test_a_bind_replaces_the_condition_of_an_earlier_refusal(face: Face) -> None:
    made = await face.create_pod()
    refused = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes"}
    other = {"type": "example.com/Theirs", "status": "True"}
    await face.strategic(POD, "a", {"status": {"conditions": [refused, other]}}, "status")
    await face.bind(made)
    conditions = {each["type"]: each for each in (await face.get(POD, "a"))["status"]["conditions"]}
    assert set(conditions) == {"PodScheduled", "example.com/Theirs"}
    assert conditions["PodScheduled"]["status"] == "True"
    assert "message" not in conditions["PodScheduled"]


async def test_a_bind_clears_the_nomination(face: Face) -> None:
    made = await face.create_pod()
    await face.merge(POD, "a", {"status": {"nominatedNodeName": "m"}}, "status")
    await face.bind(made)
    assert "nominatedNodeName" not in (await face.get(POD, "a"))["status"]


async def test_a_bind_does_not_ask_whether_the_node_exists(face: Face) -> None:
    await face.bind(await face.create_pod(), "nowhere")
    assert (await face.get(POD, "a"))["spec"]["nodeName"] == "nowhere"


async def test_a_bind_takes_annotations_that_block_every_later_write(face: Face) -> None:
    await face.bind(await face.create_pod(), "n", {"a b": "c"})
    assert (await face.get(POD, "a"))["metadata"]["annotations"] == {"a b": "c"}
    error = await refusal(face.merge(POD, "a", {"metadata": {"labels": {"color": "red"}}}))
    assert refused_as(error) == (422, "Invalid")
    assert error.message.startswith('Pod "a" is invalid: metadata.annotations: Invalid value: "a b"')


async def test_a_bind_to_no_node_is_refused(face: Face) -> None:
    error = await refusal(face.bind(await face.create_pod(), ""))
    assert (error.status, error.message) == (500, "target.name: Required value")
    assert "nodeName" not in (await face.get(POD, "a"))["spec"]

"""Update, merge patch, strategic patch, status."""

from typing import Any

from tests.cluster.contract.face import DEVICE, LEASE, NODE, POD, Document, Face, refusal, refused_as

MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


async def test_an_update_replaces_and_moves_the_version(face: Face) -> None:
    made = await face.create(POD, face.labelled("a", color="red", size="big"))
    made["metadata"]["labels"] = {"color": "blue"}
    updated = await face.update(POD, made)
    assert updated["metadata"]["labels"] == {"color": "blue"}
    assert int(updated["metadata"]["resourceVersion"]) > int(made["metadata"]["resourceVersion"])
    assert await face.get(POD, "a") == updated


async def test_an_update_from_an_older_version_conflicts(face: Face) -> None:
    made = await face.create_pod()
    await face.merge(POD, "a", {"metadata": {"labels": {"color": "red"}}})
    made["metadata"]["labels"] = {"color": "blue"}
    error = await refusal(face.update(POD, made))
    assert refused_as(error) == (409, "Conflict")
    assert error.message == f'Operation cannot be fulfilled on pods "a": {MODIFIED}'
    assert (await face.get(POD, "a"))["metadata"]["labels"] == {"color": "red"}


async def test_an_update_of_a_pod_or_node_without_a_version_is_unconditional(face: Face) -> None:
    for kind, made in ((POD, await face.create_pod()), (NODE, await face.create(NODE, face.node()))):
        await face.merge(kind, made["metadata"]["name"], {"metadata": {"labels": {"color": "red"}}})
        del made["metadata"]["resourceVersion"]
        labels = made["metadata"].get("labels", {}) | {"color": "blue"}  # the node's own say whose it is
        made["metadata"]["labels"] = labels
        assert (await face.update(kind, made))["metadata"]["labels"] == labels


async def test_an_update_of_a_lease_or_custom_object_needs_a_version(face: Face) -> None:
    for kind, made in (
        (LEASE, await face.create(LEASE, face.lease())),
        (DEVICE, await face.create(DEVICE, face.device())),
    ):
        del made["metadata"]["resourceVersion"]
        error = await refusal(face.update(kind, made))
        assert refused_as(error) == (422, "Invalid")
        assert "metadata.resourceVersion: Invalid value: 0: must be specified for an update" in error.message


async def test_an_update_of_another_uid_conflicts(face: Face) -> None:
    made = await face.create_pod()
    made["metadata"] |= {"uid": "another", "labels": {"color": "red"}}
    error = await refusal(face.update(POD, made))
    assert refused_as(error) == (409, "Conflict")
    assert "UID in precondition: another, UID in object meta: " in error.message


async def test_an_update_of_nothing_is_not_found(face: Face) -> None:
    error = await refusal(face.update(POD, face.pod()))
    assert (refused_as(error), error.message) == ((404, "NotFound"), 'pods "a" not found')


async def test_an_update_that_changes_nothing_keeps_the_version_and_is_no_event(face: Face) -> None:
    made = await face.create_pod()
    version = made["metadata"]["resourceVersion"]
    assert await face.update(POD, made) == made
    assert await face.merge(POD, "a", {"metadata": {"labels": None}}) == made
    assert await face.strategic(POD, "a", {"spec": {"schedulerName": "default-scheduler"}}) == made
    await face.create_pod("b")
    async with face.watching(POD, version) as watching:
        assert await watching.names(1) == [("ADDED", "b")]


async def test_an_update_may_leave_out_what_the_server_filled_in(face: Face) -> None:
    made = await face.create_pod()
    manifest = face.pod()
    manifest["metadata"]["annotations"] = {"note": "x"}
    updated = await face.update(POD, manifest)
    for key in ("uid", "creationTimestamp"):
        assert updated["metadata"][key] == made["metadata"][key]
    assert updated["spec"]["schedulerName"] == "default-scheduler"


async def test_an_empty_map_of_labels_or_annotations_is_none(face: Face) -> None:
    for kind, manifest in ((POD, face.pod()), (DEVICE, face.device())):
        made = await face.create(kind, manifest)
        name = made["metadata"]["name"]
        nothings: list[object] = [{}, {"absent": None}, None]
        for nothing in nothings:
            assert await face.merge(kind, name, {"metadata": {"annotations": nothing}}) == made


async def test_the_name_in_an_update_must_be_the_paths(face: Face) -> None:
    made = await face.create_pod()
    made["metadata"]["name"] = "b"
    error = await refusal(face.cluster.update(POD, face.namespace, "a", made))
    assert refused_as(error) == (400, "BadRequest")
    assert error.message == "the name of the object (b) does not match the name on the URL (a)"


async def test_the_node_of_a_pod_is_not_for_updates(face: Face) -> None:
    made = await face.create_pod()
    made["spec"]["nodeName"] = "n"
    patch = {"spec": {"nodeName": "n"}}
    for error in (await refusal(face.update(POD, made)), await refusal(face.merge(POD, "a", patch))):
        assert refused_as(error) == (422, "Invalid")
        assert error.message.startswith('Pod "a" is invalid: spec: Forbidden: pod updates may not change fields other')


async def test_requests_of_a_pod_are_not_for_updates(face: Face) -> None:
    made = await face.create_pod()
    made["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1"}}
    assert refused_as(await refusal(face.update(POD, made))) == (422, "Invalid")


async def test_the_image_of_a_container_may_be_updated(face: Face) -> None:
    made = await face.create_pod()
    made["spec"]["containers"][0]["image"] = "registry.example.test/other"
    updated = await face.update(POD, made)
    assert updated["spec"]["containers"][0]["image"] == "registry.example.test/other"


async def test_tolerations_may_be_added_but_not_taken_away(face: Face) -> None:
    first, second = ({"key": key, "operator": "Exists"} for key in ("one", "two"))
    made = await face.create_pod(tolerations=[first])
    had = made["spec"]["tolerations"]
    patched = await face.merge(POD, "a", {"spec": {"tolerations": [*had, second]}})
    assert first in patched["spec"]["tolerations"] and second in patched["spec"]["tolerations"]
    error = await refusal(face.merge(POD, "a", {"spec": {"tolerations": [second]}}))
    assert refused_as(error) == (422, "Invalid")


async def test_scheduling_gates_may_be_taken_away_but_not_added(face: Face) -> None:
    gates = [{"name": "example.com/one"}, {"name": "example.com/two"}]
    await face.create_pod(schedulingGates=gates)
    patched = await face.merge(POD, "a", {"spec": {"schedulingGates": gates[1:]}})
    assert patched["spec"]["schedulingGates"] == gates[1:]
    error = await refusal(face.merge(POD, "a", {"spec": {"schedulingGates": gates}}))
    assert refused_as(error) == (422, "Invalid")
    assert "schedulingGates" not in (await face.merge(POD, "a", {"spec": {"schedulingGates": []}}))["spec"]


async def test_a_merge_patch_sets_nests_and_removes(face: Face) -> None:
    await face.create(POD, face.labelled("a", color="red", size="big"))
    patched = await face.merge(
        POD, "a", {"metadata": {"labels": {"color": "blue", "size": None, "new": "1"}, "annotations": {"note": "x"}}}
    )
    assert patched["metadata"]["labels"] == {"color": "blue", "new": "1"}
    assert patched["metadata"]["annotations"] == {"note": "x"}
    assert await face.get(POD, "a") == patched


async def test_a_merge_patch_replaces_lists(face: Face) -> None:
    await face.create(NODE, face.node(taints=[{"key": "a", "effect": "NoSchedule"}]))
    other = [{"key": "b", "effect": "NoExecute"}]
    patched = await face.merge(NODE, face.own("n"), {"spec": {"taints": other}})
    assert patched["spec"]["taints"] == other
    assert "taints" not in (await face.merge(NODE, face.own("n"), {"spec": {"taints": None}}))["spec"]


async def test_a_patch_may_insist_on_a_version(face: Face) -> None:
    made = await face.create_pod()
    old = made["metadata"]["resourceVersion"]
    await face.merge(POD, "a", {"metadata": {"resourceVersion": old, "labels": {"n": "1"}}})
    error = await refusal(face.merge(POD, "a", {"metadata": {"resourceVersion": old, "labels": {"n": "2"}}}))
    assert refused_as(error) == (409, "Conflict")
    assert error.message == f'Operation cannot be fulfilled on pods "a": {MODIFIED}'


async def test_a_patch_cannot_give_another_uid(face: Face) -> None:
    made = await face.create_pod()
    error = await refusal(face.merge(POD, "a", {"metadata": {"uid": "another"}}))
    assert refused_as(error) == (422, "Invalid")
    assert 'metadata.uid: Invalid value: "another": field is immutable' in error.message
    await face.merge(POD, "a", {"metadata": {"uid": made["metadata"]["uid"], "labels": {"n": "1"}}})


async def test_a_stale_version_is_told_before_a_wrong_uid(face: Face) -> None:
    made = await face.create_pod()
    await face.merge(POD, "a", {"metadata": {"labels": {"n": "1"}}})
    body = {"metadata": {"resourceVersion": made["metadata"]["resourceVersion"], "uid": "another"}}
    for ask in (face.merge, face.strategic):
        for subresource in ("", "status"):
            assert refused_as(await refusal(ask(POD, "a", body, subresource))) == (409, "Conflict")


async def test_a_patch_of_nothing_is_not_found(face: Face) -> None:
    body = {"metadata": {"labels": {"color": "red"}}}
    for ask in (face.merge, face.strategic):
        for subresource in ("", "status"):
            error = await refusal(ask(POD, "a", body, subresource))
            assert (refused_as(error), error.message) == ((404, "NotFound"), 'pods "a" not found')


async def test_a_patch_cannot_rename_or_move(face: Face) -> None:
    await face.create_pod()
    error = await refusal(face.merge(POD, "a", {"metadata": {"name": "b"}}))
    assert refused_as(error) == (400, "BadRequest")
    assert error.message == "the name of the object (b) does not match the name on the URL (a)"
    assert refused_as(await refusal(face.merge(POD, "a", {"metadata": {"namespace": "default"}}))) == (
        400,
        "BadRequest",
    )


async def test_a_patch_is_checked_as_a_create_is(face: Face) -> None:
    await face.create_pod()
    for meta in ({"annotations": {"a b": "c"}}, {"labels": {"color": "light red"}}):
        assert refused_as(await refusal(face.merge(POD, "a", {"metadata": meta}))) == (422, "Invalid")


async def test_a_strategic_patch_merges_conditions_by_type(face: Face) -> None:
    await face.create_pod()
    theirs = {"type": "example.com/Theirs", "status": "True"}
    await face.strategic(POD, "a", {"status": {"conditions": [theirs]}}, "status")
    for message in ("0/1 nodes", "0/2 nodes"):
        ours = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
        await face.strategic(POD, "a", {"status": {"conditions": [ours]}}, "status")
    conditions = {each["type"]: each for each in (await face.get(POD, "a"))["status"]["conditions"]}
    assert set(conditions) == {"PodScheduled", "example.com/Theirs"}
    assert conditions["PodScheduled"]["message"] == "0/2 nodes"
    assert conditions["example.com/Theirs"]["status"] == "True"


async def test_a_strategic_patch_merges_inside_a_condition(face: Face) -> None:
    await face.create_pod()
    whole = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes"}
    await face.strategic(POD, "a", {"status": {"conditions": [whole]}}, "status")
    part = {"type": "PodScheduled", "status": "True", "message": None}
    patched = await face.strategic(POD, "a", {"status": {"conditions": [part]}}, "status")
    (condition,) = patched["status"]["conditions"]
    assert (condition["status"], condition["reason"], "message" in condition) == ("True", "Unschedulable", False)


async def test_a_strategic_patch_may_delete_a_condition(face: Face) -> None:
    await face.create_pod()
    both = [{"type": kind, "status": "True"} for kind in ("A", "B")]
    await face.strategic(POD, "a", {"status": {"conditions": both}}, "status")
    gone = {"type": "A", "$patch": "delete"}
    patched = await face.strategic(POD, "a", {"status": {"conditions": [gone]}}, "status")
    assert [each["type"] for each in patched["status"]["conditions"]] == ["B"]


async def test_a_merge_patch_of_status_replaces_all_conditions(face: Face) -> None:
    await face.create_pod()
    for kind in ("A", "B"):
        patched = await face.merge(POD, "a", {"status": {"conditions": [{"type": kind, "status": "True"}]}}, "status")
    assert [each["type"] for each in patched["status"]["conditions"]] == ["B"]


async def test_a_strategic_patch_merges_containers_by_name(face: Face) -> None:
    image = "registry.example.test/none"
    await face.create_pod(containers=[{"name": name, "image": image} for name in ("one", "two")])
    order = [{"name": "one"}, {"name": "two"}]
    body: Document = {"spec": {"containers": [{"name": "two", "image": "registry.example.test/new"}]}}
    for extra in ({}, {"$setElementOrder/containers": order}):
        patched = await face.strategic(POD, "a", {"spec": body["spec"] | extra})
        images = [(each["name"], each["image"]) for each in patched["spec"]["containers"]]
        assert images == [("one", image), ("two", "registry.example.test/new")]


async def test_a_strategic_patch_replaces_tolerations(face: Face) -> None:
    one, two = ({"key": key, "operator": "Exists"} for key in ("one", "two"))
    made = await face.create_pod(tolerations=[one])
    had = made["spec"]["tolerations"]
    assert refused_as(await refusal(face.strategic(POD, "a", {"spec": {"tolerations": [two]}}))) == (422, "Invalid")
    patched = await face.strategic(POD, "a", {"spec": {"tolerations": [two, *had]}})
    assert patched["spec"]["tolerations"][:2] == [two, one]


async def test_a_strategic_patch_replaces_taints(face: Face) -> None:
    await face.create(NODE, face.node(taints=[{"key": "a", "effect": "NoSchedule"}]))
    other = [{"key": "b", "effect": "NoExecute"}]
    patched = await face.strategic(NODE, face.own("n"), {"spec": {"taints": other}})
    assert patched["spec"]["taints"] == other


async def test_a_strategic_patch_merges_node_conditions_and_keeps_the_rest_of_status(face: Face) -> None:
    made = await face.create(NODE, face.node())
    pressure = {"type": "MemoryPressure", "status": "False"}
    patched = await face.strategic(NODE, face.own("n"), {"status": {"conditions": [pressure]}}, "status")
    assert {each["type"] for each in patched["status"]["conditions"]} == {"Ready", "MemoryPressure"}
    assert patched["status"]["allocatable"] == made["status"]["allocatable"]


async def test_a_strategic_patch_of_labels_and_annotations_is_a_merge(face: Face) -> None:
    await face.create(POD, face.labelled("a", color="red", size="big"))
    body = {"metadata": {"labels": {"size": None, "new": "1"}, "annotations": {"note": "x"}}}
    meta = (await face.strategic(POD, "a", body))["metadata"]
    assert (meta["labels"], meta["annotations"]) == ({"color": "red", "new": "1"}, {"note": "x"})


async def test_a_custom_object_refuses_strategic_patches(face: Face) -> None:
    await face.create(DEVICE, face.device())
    body = {"metadata": {"labels": {"a": "b"}}}
    assert refused_as(await refusal(face.strategic(DEVICE, face.own("n"), body))) == (415, "UnsupportedMediaType")


async def test_a_write_to_a_pod_leaves_its_status(face: Face) -> None:
    await face.create_pod()
    stored = await face.merge(POD, "a", {"status": {"phase": "Running"}}, "status")
    assert (await face.merge(POD, "a", {"status": {"phase": "Failed"}}))["status"] == stored["status"]
    stored["status"] = {"phase": "Failed"}
    stored["metadata"]["labels"] = {"color": "red"}
    assert (await face.update(POD, stored))["status"]["phase"] == "Running"


async def test_a_write_to_the_status_of_a_pod_leaves_its_spec_and_labels_it(face: Face) -> None:
    made = await face.create_pod()
    body = {
        "metadata": {"annotations": {"from": "status"}},
        "spec": {"schedulerName": "x"},
        "status": {"phase": "Running"},
    }
    stored = await face.merge(POD, "a", body, "status")
    assert stored["spec"] == made["spec"]
    assert stored["status"]["phase"] == "Running"
    assert stored["metadata"]["annotations"] == {"from": "status"}


async def test_an_update_of_the_status_conflicts_like_any_other(face: Face) -> None:
    made = await face.create_pod()
    await face.merge(POD, "a", {"metadata": {"labels": {"color": "red"}}})
    made["status"]["phase"] = "Running"
    assert refused_as(await refusal(face.update(POD, made, "status"))) == (409, "Conflict")
    current = await face.get(POD, "a")
    current["status"]["phase"] = "Running"
    assert (await face.update(POD, current, "status"))["status"]["phase"] == "Running"


async def test_a_write_to_a_node_leaves_its_status(face: Face) -> None:
    made = await face.create(NODE, face.node())
    patched = await face.merge(
        NODE, face.own("n"), {"spec": {"unschedulable": True}, "status": {"capacity": {"cpu": "1"}}}
    )
    assert patched["spec"]["unschedulable"] is True
    assert patched["status"] == made["status"]


async def test_a_write_to_the_status_of_a_node_leaves_its_spec(face: Face) -> None:
    await face.create(NODE, face.node())
    body: dict[str, Any] = {"spec": {"unschedulable": True}, "status": {"capacity": {"cpu": "16"}}}
    patched = await face.merge(NODE, face.own("n"), body, "status")
    assert "unschedulable" not in patched["spec"]
    assert patched["status"]["capacity"]["cpu"] == "16"


async def test_a_status_update_without_allocatable_means_the_capacity(face: Face) -> None:
    made = await face.create(NODE, face.node())
    made["status"]["capacity"]["cpu"] = "16"
    del made["status"]["allocatable"]
    updated = await face.update(NODE, made, "status")
    assert updated["status"]["allocatable"] == updated["status"]["capacity"]
    assert updated["status"]["allocatable"]["cpu"] == "16"


async def test_a_nomination_is_withdrawn_by_null_or_by_an_empty_name(face: Face) -> None:
    await face.create_pod()
    for nothing in (None, ""):
        await face.merge(POD, "a", {"status": {"nominatedNodeName": "m"}}, "status")
        patched = await face.strategic(POD, "a", {"status": {"nominatedNodeName": nothing}}, "status")
        assert "nominatedNodeName" not in patched["status"]


async def test_a_pod_with_a_node_cannot_be_nominated(face: Face) -> None:
    await face.bind(await face.create_pod())
    error = await refusal(face.merge(POD, "a", {"status": {"nominatedNodeName": "m"}}, "status"))
    assert refused_as(error) == (422, "Invalid")
    assert error.message.startswith('Pod "a" is invalid: status.nominatedNodeName: Forbidden: ')


async def test_a_cordon_is_lifted_by_null_or_false(face: Face) -> None:
    await face.create(NODE, face.node(unschedulable=True))
    for value in (None, False):
        await face.strategic(NODE, face.own("n"), {"spec": {"unschedulable": True}})
        assert (
            "unschedulable"
            not in (await face.strategic(NODE, face.own("n"), {"spec": {"unschedulable": value}}))["spec"]
        )


async def test_generation_counts_changes_of_a_devices_spec_and_nothing_else(face: Face) -> None:
    made = await face.create(DEVICE, face.device())
    name = face.own("n")
    generations = [made["metadata"]["generation"]]
    bodies: list[Document] = [
        {"metadata": {"labels": {"a": "b"}}},
        {"spec": {"devices": []}},
        {"spec": {"devices": []}},
    ]
    for body in bodies:
        generations.append((await face.merge(DEVICE, name, body))["metadata"]["generation"])
    assert generations == [1, 1, 2, 2]


async def test_generation_counts_changes_of_a_pods_spec_and_its_deletion(face: Face) -> None:
    made = await face.create_pod()
    await face.merge(POD, "a", {"metadata": {"labels": {"a": "b"}}})
    assert (made["metadata"]["generation"], (await face.get(POD, "a"))["metadata"]["generation"]) == (1, 1)
    await face.strategic(POD, "a", {"spec": {"containers": [{"name": "main", "image": "other"}]}})
    assert (await face.get(POD, "a"))["metadata"]["generation"] == 2
    await face.bind(made)
    assert (await face.get(POD, "a"))["metadata"]["generation"] == 2
    await face.delete(POD, "a")
    assert (await face.get(POD, "a"))["metadata"]["generation"] == 3

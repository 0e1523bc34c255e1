"""Create: what is filled in, what is refused."""

import msgspec

from koordpy.checks.limits import check_limits
from koordpy_api.objects import Pod
from tests.cluster.contract.face import NAMESPACE, NODE, POD, Document, Face, refusal, refused_as


async def test_a_created_object_gets_its_identity(face: Face) -> None:
    metas = [(await face.create_pod(name))["metadata"] for name in "cd"]
    assert metas[0]["uid"] != metas[1]["uid"]
    assert int(metas[0]["resourceVersion"]) < int(metas[1]["resourceVersion"])
    assert metas[0]["creationTimestamp"].endswith("Z") and len(metas[0]["creationTimestamp"]) == 20
    assert (metas[0]["namespace"], metas[0]["name"]) == (face.namespace, "c")


async def test_a_uid_that_is_sent_along_is_not_taken(face: Face) -> None:
    manifest = face.pod()
    manifest["metadata"]["uid"] = "mine"
    assert (await face.create(POD, manifest))["metadata"]["uid"] != "mine"


async def test_a_namespace_in_the_path_is_enough(face: Face) -> None:
    manifest = face.pod()
    del manifest["metadata"]["namespace"]
    assert (await face.create(POD, manifest))["metadata"]["namespace"] == face.namespace


async def test_a_name_is_taken_once(face: Face) -> None:
    await face.create_pod()
    error = await refusal(face.create_pod())
    assert (refused_as(error), error.message) == ((409, "AlreadyExists"), 'pods "a" already exists')


async def test_a_name_stays_taken_while_its_pod_is_going(face: Face) -> None:
    await face.bind(await face.create_pod())
    await face.delete(POD, "a")
    error = await refusal(face.create_pod())
    assert refused_as(error) == (409, "AlreadyExists")
    assert error.message == 'object is being deleted: pods "a" already exists'


async def test_a_name_is_free_again_after_deletion_for_another_uid(face: Face) -> None:
    first = await face.create_pod()
    await face.delete(POD, "a")
    second = await face.create_pod()
    assert first["metadata"]["uid"] != second["metadata"]["uid"]
    assert int(first["metadata"]["resourceVersion"]) < int(second["metadata"]["resourceVersion"])


async def test_generate_name_makes_names_that_differ(face: Face) -> None:
    manifest = face.pod()
    manifest["metadata"] = {"generateName": "job-"}
    names = {(await face.create(POD, manifest))["metadata"]["name"] for _ in range(3)}
    assert len(names) == 3
    assert all(name.startswith("job-") and len(name) == len("job-") + 5 for name in names)


async def test_an_object_without_a_name_is_invalid(face: Face) -> None:
    manifest = face.pod()
    manifest["metadata"] = {}
    error = await refusal(face.create(POD, manifest))
    assert refused_as(error) == (422, "Invalid")
    assert error.message == 'Pod "" is invalid: metadata.name: Required value: name or generateName is required'


async def test_a_name_must_be_one_of_dns(face: Face) -> None:
    for name in ("A", "a_b", "-a", "a..b"):
        error = await refusal(face.create_pod(name))
        assert refused_as(error) == (422, "Invalid")
        assert error.message.startswith(f'Pod "{name}" is invalid: metadata.name: Invalid value: "{name}"')


async def test_a_namespace_that_is_not_there_cannot_be_filled(face: Face) -> None:
    manifest = face.pod()
    manifest["metadata"]["namespace"] = "nowhere"
    error = await refusal(face.cluster.create(POD, "nowhere", manifest))
    assert (refused_as(error), error.message) == ((404, "NotFound"), 'namespaces "nowhere" not found')


async def test_the_namespaces_of_path_and_body_must_agree(face: Face) -> None:
    manifest = face.pod()
    manifest["metadata"]["namespace"] = "default"
    error = await refusal(face.create(POD, manifest))
    assert refused_as(error) == (400, "BadRequest")
    assert error.message == "the namespace of the provided object does not match the namespace sent on the request"


async def test_another_kind_than_the_paths_is_a_bad_request(face: Face) -> None:
    error = await refusal(face.cluster.create(POD, face.namespace, face.node()))
    assert refused_as(error) == (400, "BadRequest")
    assert error.message.startswith('Node in version "v1" cannot be handled as a Pod')


async def test_a_version_must_not_be_sent_to_create(face: Face) -> None:
    manifest = face.pod()
    manifest["metadata"]["resourceVersion"] = "5"
    error = await refusal(face.create(POD, manifest))
    assert (error.status, error.message) == (500, "resourceVersion should not be set on objects to be created")


async def test_a_pod_gets_its_defaults(face: Face) -> None:
    made = await face.create_pod()
    spec = made["spec"]
    assert spec["schedulerName"] == "default-scheduler"
    assert spec["restartPolicy"] == "Always"
    assert spec["terminationGracePeriodSeconds"] == 30
    assert "nodeName" not in spec
    assert made["status"]["phase"] == "Pending"
    assert "conditions" not in made["status"]


async def test_a_pods_own_values_stand_above_defaults(face: Face) -> None:
    given: Document = {"schedulerName": "mine", "restartPolicy": "Never", "terminationGracePeriodSeconds": 0}
    spec = (await face.create_pod(**given))["spec"]
    assert {key: spec[key] for key in given} == given


def _with(face: Face, **resources: dict[str, str]) -> Document:
    manifest = face.pod()
    manifest["spec"]["containers"][0]["resources"] = resources
    return manifest


async def test_limits_are_requests_where_none_are_given(face: Face) -> None:
    limits = {"cpu": "2", "memory": "1Gi", "koordinator.sh/gpu-core": "50"}
    made = await face.create(POD, _with(face, limits=limits, requests={"cpu": "1"}))
    resources = made["spec"]["containers"][0]["resources"]
    assert resources == {"limits": limits, "requests": limits | {"cpu": "1"}}


async def test_the_class_of_service_follows_from_requests_and_limits(face: Face) -> None:
    both = {"cpu": "1", "memory": "1Gi"}
    classes = []
    for name, resources in (("a", {}), ("b", {"requests": both}), ("c", {"limits": both})):
        manifest = _with(face, **resources)
        manifest["metadata"]["name"] = name
        classes.append((await face.create(POD, manifest))["status"]["qosClass"])
    assert classes == ["BestEffort", "Burstable", "Guaranteed"]


async def test_the_status_of_a_pod_is_dropped(face: Face) -> None:
    manifest = face.pod() | {"status": {"phase": "Running", "nominatedNodeName": "n"}}
    status = (await face.create(POD, manifest))["status"]
    assert status["phase"] == "Pending"
    assert "nominatedNodeName" not in status


async def test_a_pod_may_be_created_on_a_node(face: Face) -> None:
    made = await face.create_pod(nodeName="n")
    assert made["spec"]["nodeName"] == "n"
    assert made["status"]["phase"] == "Pending"


async def test_a_gated_pod_says_so_in_its_condition(face: Face) -> None:
    made = await face.create_pod(schedulingGates=[{"name": "example.com/quota"}])
    (condition,) = made["status"]["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == (
        "PodScheduled",
        "False",
        "SchedulingGated",
    )


async def test_a_gated_pod_cannot_be_created_on_a_node(face: Face) -> None:
    error = await refusal(face.create_pod(nodeName="n", schedulingGates=[{"name": "example.com/quota"}]))
    assert refused_as(error) == (422, "Invalid")
    assert error.message.startswith('Pod "a" is invalid: spec.nodeName: Forbidden: ')


async def test_a_pod_without_containers_is_invalid(face: Face) -> None:
    error = await refusal(face.create_pod(containers=[]))
    assert (refused_as(error), error.message) == (
        (422, "Invalid"),
        'Pod "a" is invalid: spec.containers: Required value',
    )


async def test_a_label_value_has_its_rules(face: Face) -> None:
    error = await refusal(face.create(POD, face.labelled("a", color="light red")))
    assert refused_as(error) == (422, "Invalid")
    assert error.message.startswith('Pod "a" is invalid: metadata.labels: Invalid value: "light red"')


async def test_an_annotation_key_has_its_rules(face: Face) -> None:
    manifest = face.pod()
    manifest["metadata"]["annotations"] = {"a b": "c"}
    error = await refusal(face.create(POD, manifest))
    assert refused_as(error) == (422, "Invalid")
    assert error.message.startswith('Pod "a" is invalid: metadata.annotations: Invalid value: "a b"')


async def test_an_amount_that_is_no_quantity_is_a_bad_request(face: Face) -> None:
    error = await refusal(face.create(POD, _with(face, requests={"cpu": "much"})))
    assert refused_as(error) == (400, "BadRequest")
    assert error.message.startswith('Pod in version "v1" cannot be handled as a Pod: ')


async def test_a_request_above_its_limit_is_invalid(face: Face) -> None:
    error = await refusal(face.create(POD, _with(face, requests={"cpu": "2"}, limits={"cpu": "1"})))
    assert refused_as(error) == (422, "Invalid")
    assert error.message.startswith('Pod "a" is invalid: spec.containers[0].resources.requests: Invalid value: "2"')


async def test_a_field_of_the_wrong_type_is_a_bad_request(face: Face) -> None:
    error = await refusal(face.create_pod(containers="main"))
    assert refused_as(error) == (400, "BadRequest")
    assert error.message.startswith('Pod in version "v1" cannot be handled as a Pod: ')


async def test_a_grace_that_is_no_whole_number_of_64_bits_is_a_bad_request(face: Face) -> None:
    for grace in (1.5, "5", 2**63, [5]):
        error = await refusal(face.create_pod(terminationGracePeriodSeconds=grace))
        assert refused_as(error) == (400, "BadRequest"), grace
        assert error.message.startswith('Pod in version "v1" cannot be handled as a Pod: ')


async def test_a_list_in_the_place_of_something_else_is_a_bad_request(face: Face) -> None:
    bodies: list[Document] = [{"metadata": []}, {"spec": []}, {"metadata": {"name": "a", "labels": []}}]
    for manifest in (*(face.pod() | body for body in bodies), face.pod(nodeName=[])):
        error = await refusal(face.create(POD, manifest))
        assert refused_as(error) == (400, "BadRequest"), manifest
        assert error.message.startswith('Pod in version "v1" cannot be handled as a Pod: ')


async def test_a_namespace_is_active_and_labelled_with_its_name(face: Face) -> None:
    found = await face.get(NAMESPACE, face.namespace)
    assert found["status"]["phase"] == "Active"
    assert found["metadata"]["labels"]["kubernetes.io/metadata.name"] == face.namespace


async def test_the_status_of_a_node_is_kept(face: Face) -> None:
    made = await face.create(NODE, face.node())
    assert made["status"]["allocatable"] == {"cpu": "8", "memory": "32Gi", "pods": "110"}
    assert [(each["type"], each["status"]) for each in made["status"]["conditions"]] == [("Ready", "True")]


async def test_a_nodes_allocatable_is_its_capacity_unless_it_says_otherwise(face: Face) -> None:
    manifest = face.node()
    del manifest["status"]["allocatable"]
    made = await face.create(NODE, manifest)
    assert made["status"]["allocatable"] == made["status"]["capacity"]


REQUESTS_AND_LIMITS = (
    ("example.com/foo", "1", None),
    ("koordinator.sh/gpu-core", "50", "100"),
    ("hugepages-2Mi", "4Mi", None),
    ("hugepages-2Mi", "4Mi", "8Mi"),
    ("cpu", "3", "2"),
    ("cpu", "1", "2"),
    ("example.com/foo", "2", "2"),
)


async def test_a_request_that_its_limit_forbids_is_refused_as_koordpy_check_says(face: Face) -> None:
    for index, (name, asked, limit) in enumerate(REQUESTS_AND_LIMITS):
        manifest = face.pod(f"a{index}")
        limits = {"memory": "64Mi"} | ({name: limit} if limit else {})
        manifest["spec"]["containers"][0]["resources"] = {"requests": {name: asked}, "limits": limits}
        told = [problem.right for problem in check_limits(msgspec.convert(manifest, Pod))]
        if not told:
            await face.create(POD, manifest)
            continue
        error = await refusal(face.create(POD, manifest))
        assert refused_as(error) == (422, "Invalid")
        assert told[0].lower() in error.message.lower()

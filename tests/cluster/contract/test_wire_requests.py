"""HTTP: bodies, media types, methods, options of a delete, errors."""

import json

from tests.cluster.contract.face import POD, Document, Wire, refusal

MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
SOME = {"metadata": {"labels": {"color": "red"}}}


def pods(wire: Wire, rest: str = "") -> str:
    return f"/api/v1/namespaces/{wire.namespace}/pods{rest}"


async def test_an_error_is_a_status_that_names_what_it_is_about(wire: Wire) -> None:
    answer = await wire.ask("GET", pods(wire, "/a"))
    assert answer.error == (404, "NotFound")
    assert answer.json["message"] == 'pods "a" not found'
    assert answer.json["details"] == {"name": "a", "kind": "pods"}
    assert answer.headers["Content-Type"] == "application/json"


async def test_an_error_about_a_kind_of_a_group_names_the_group(wire: Wire) -> None:
    name = wire.own("n")
    answer = await wire.ask("GET", f"/apis/scheduling.koordinator.sh/v1alpha1/devices/{name}")
    assert answer.error == (404, "NotFound")
    assert answer.json["details"] == {"name": name, "group": "scheduling.koordinator.sh", "kind": "devices"}


async def test_a_taken_name_and_an_older_version_are_both_409_with_reasons_of_their_own(wire: Wire) -> None:
    made = await wire.create_pod()
    assert (await wire.ask("POST", pods(wire), wire.pod())).error == (409, "AlreadyExists")
    await wire.merge(POD, "a", SOME)
    assert (await wire.ask("PUT", pods(wire, "/a"), made)).error == (409, "Conflict")


async def test_an_invalid_object_is_422_with_the_field(wire: Wire) -> None:
    answer = await wire.ask("POST", pods(wire), wire.pod("A"))
    assert answer.error == (422, "Invalid")
    details = answer.json["details"]
    assert (details["name"], details["kind"]) == ("A", "Pod")
    assert details["causes"][0]["field"] == "metadata.name"


async def test_create_answers_201_and_the_rest_200(wire: Wire) -> None:
    made = await wire.ask("POST", pods(wire), wire.pod())
    answers = [
        await wire.ask("GET", pods(wire, "/a")),
        await wire.ask("PUT", pods(wire, "/a"), made.json),
        await wire.ask("PATCH", pods(wire, "/a"), SOME, Content_Type=MERGE),
        await wire.ask("DELETE", pods(wire, "/a")),
    ]
    assert [made.status, *(each.status for each in answers)] == [201, 200, 200, 200, 200]
    assert made.headers["Content-Type"] == "application/json"
    assert (made.json["kind"], made.json["apiVersion"]) == ("Pod", "v1")


async def test_deleting_a_pod_answers_the_pod_and_anything_else_a_success(wire: Wire) -> None:
    await wire.create_pod()
    answer = (await wire.ask("DELETE", pods(wire, "/a"))).json
    assert (answer["kind"], answer["metadata"]["name"]) == ("Pod", "a")
    lease = await wire.ask("POST", f"/apis/coordination.k8s.io/v1/namespaces/{wire.namespace}/leases", wire.lease())
    path = f"/apis/coordination.k8s.io/v1/namespaces/{wire.namespace}/leases/l"
    said = (await wire.ask("DELETE", path)).json
    assert (said["kind"], said["status"]) == ("Status", "Success")
    uid = lease.json["metadata"]["uid"]
    assert said["details"] == {"name": "l", "group": "coordination.k8s.io", "kind": "leases", "uid": uid}


async def test_a_bind_answers_a_success(wire: Wire) -> None:
    await wire.create_pod()
    binding = {"metadata": {"name": "a"}, "target": {"kind": "Node", "name": "n"}}
    answer = await wire.ask("POST", pods(wire, "/a/binding"), binding)
    assert (answer.status, answer.json["kind"], answer.json["status"]) == (201, "Status", "Success")


async def test_a_bind_names_the_pod_of_its_path(wire: Wire) -> None:
    await wire.create_pod()
    binding = {"metadata": {"name": "b"}, "target": {"kind": "Node", "name": "n"}}
    answer = await wire.ask("POST", pods(wire, "/a/binding"), binding)
    assert answer.error == (400, "BadRequest")
    assert answer.json["message"] == "name in URL does not match name in Binding object"


async def test_a_body_that_is_no_json_is_a_bad_request(wire: Wire) -> None:
    await wire.create_pod()
    for method, path, media in (
        ("POST", pods(wire), "application/json"),
        ("PUT", pods(wire, "/a"), "application/json"),
        ("PATCH", pods(wire, "/a"), MERGE),
        ("DELETE", pods(wire, "/a"), "application/json"),
    ):
        answer = await wire.ask(method, path, b"{", Content_Type=media)
        assert answer.error == (400, "BadRequest"), method


async def test_a_body_that_is_no_object_is_a_bad_request(wire: Wire) -> None:
    await wire.create_pod()
    for method, path, media in (
        ("POST", pods(wire), "application/json"),
        ("PATCH", pods(wire, "/a"), MERGE),
        ("PATCH", pods(wire, "/a"), STRATEGIC),
    ):
        answer = await wire.ask(method, path, b"[]", Content_Type=media)
        assert answer.error == (400, "BadRequest"), (method, media)


async def test_a_create_without_a_body_is_a_bad_request(wire: Wire) -> None:
    assert (await wire.ask("POST", pods(wire), b"")).error == (400, "BadRequest")


async def test_kind_and_version_of_a_body_must_be_the_paths_if_they_are_there(wire: Wire) -> None:
    for change in ({"kind": "Node"}, {"apiVersion": "v2"}):
        assert (await wire.ask("POST", pods(wire), wire.pod() | change)).error == (400, "BadRequest")
    bare = {key: value for key, value in wire.pod().items() if key not in ("kind", "apiVersion")}
    assert (await wire.ask("POST", pods(wire), bare)).status == 201


async def test_a_body_of_an_unknown_media_type_is_415(wire: Wire) -> None:
    await wire.create_pod()
    for method, path in (("POST", pods(wire)), ("PUT", pods(wire, "/a")), ("PATCH", pods(wire, "/a"))):
        answer = await wire.ask(method, path, b"{}", Content_Type="text/plain")
        assert answer.error == (415, "UnsupportedMediaType"), method


async def test_a_body_is_what_came_whatever_its_content_encoding_says(wire: Wire) -> None:
    for number, encoding in enumerate(("gzip", "deflate", "br", "identity")):
        answer = await wire.ask("POST", pods(wire), wire.pod(f"p{number}"), Content_Encoding=encoding)
        assert answer.status == 201, encoding


async def test_a_patch_must_say_of_which_sort_it_is(wire: Wire) -> None:
    await wire.create_pod()
    answer = await wire.ask("PATCH", pods(wire, "/a"), SOME, Content_Type="application/json")
    assert answer.error == (415, "UnsupportedMediaType")


async def test_a_media_type_may_have_parameters(wire: Wire) -> None:
    answer = await wire.ask("POST", pods(wire), wire.pod(), Content_Type="application/json; charset=utf-8")
    assert answer.status == 201
    assert (await wire.ask("PATCH", pods(wire, "/a"), SOME, Content_Type=f"{MERGE}; charset=utf-8")).status == 200


async def test_what_accepts_anything_or_a_list_gets_json(wire: Wire) -> None:
    await wire.create_pod()
    for accept in ("*/*", "application/json", "text/html, application/json", "application/json;q=0.9, */*;q=0.1"):
        answer = await wire.ask("GET", pods(wire, "/a"), Accept=accept)
        assert (answer.status, answer.headers["Content-Type"]) == (200, "application/json"), accept
        assert answer.json["kind"] == "Pod"


async def test_what_accepts_nothing_that_is_served_gets_406(wire: Wire) -> None:
    await wire.create_pod()
    for path in (pods(wire), pods(wire, "/a")):
        assert (await wire.ask("GET", path, Accept="text/plain")).error == (406, "NotAcceptable")


async def test_methods_that_a_path_does_not_have_are_405(wire: Wire) -> None:
    await wire.create_pod()
    for method, rest in (
        ("PUT", ""),
        ("POST", "/a"),
        ("OPTIONS", ""),
        ("GET", "/a/binding"),
        ("DELETE", "/a/status"),
    ):
        answer = await wire.ask(method, pods(wire, rest))
        assert answer.error == (405, "MethodNotAllowed"), (method, rest)
    assert (await wire.ask("POST", "/api/v1/pods", wire.pod("b"))).error == (405, "MethodNotAllowed")


async def test_head_is_405_too(wire: Wire) -> None:
    answer = await wire.ask("HEAD", pods(wire))
    assert (answer.status, answer.body) == (405, b"")


async def test_what_is_not_served_is_404(wire: Wire) -> None:
    await wire.create_pod()
    for path in ("/api/v1/foos", pods(wire, "/a/foo"), "/api/v1/pods/a", "/apis/coordination.k8s.io/v2/leases"):
        assert (await wire.ask("GET", path)).error == (404, "NotFound"), path
    for path in ("/apis/foo.example/v1", "/apis/foo.example/v1/bars", "/nope"):
        assert (await wire.ask("GET", path)).status == 404, path


async def test_options_of_a_delete_may_be_in_the_query(wire: Wire) -> None:
    await wire.bind(await wire.create_pod())
    path = pods(wire, "/a?gracePeriodSeconds=5&propagationPolicy=Background")
    answer = await wire.ask("DELETE", path)
    assert answer.json["metadata"]["deletionGracePeriodSeconds"] == 5


async def test_options_of_a_delete_in_the_body_stand_above_the_query(wire: Wire) -> None:
    await wire.bind(await wire.create_pod())
    options = {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 3}
    answer = await wire.ask("DELETE", pods(wire, "/a?gracePeriodSeconds=4"), options)
    assert answer.json["metadata"]["deletionGracePeriodSeconds"] == 3


async def test_a_grace_of_more_than_64_bits_is_a_bad_request(wire: Wire) -> None:
    await wire.create_pod()
    assert (await wire.ask("DELETE", pods(wire, f"/a?gracePeriodSeconds={2**64}"))).error == (400, "BadRequest")
    assert (await wire.ask("DELETE", pods(wire, "/a"), {"gracePeriodSeconds": 2**63})).error == (400, "BadRequest")
    assert (await wire.get(POD, "a"))["metadata"]["name"] == "a"


async def test_options_of_a_delete_need_no_kind(wire: Wire) -> None:
    await wire.create_pod()
    assert (await wire.ask("DELETE", pods(wire, "/a"), {"propagationPolicy": "Background"})).status == 200
    assert (await refusal(wire.get(POD, "a"))).status == 404


async def test_a_delete_may_insist_on_a_version(wire: Wire) -> None:
    made = await wire.create_pod()
    await wire.merge(POD, "a", SOME)
    options: Document = {"preconditions": {"resourceVersion": made["metadata"]["resourceVersion"]}}
    assert (await wire.ask("DELETE", pods(wire, "/a"), options)).error == (409, "Conflict")
    assert (await wire.get(POD, "a"))["metadata"]["name"] == "a"


async def test_a_dry_run_writes_nothing(wire: Wire) -> None:
    made = await wire.create_pod()
    await wire.ask("POST", pods(wire, "?dryRun=All"), wire.pod("b"))
    await wire.ask("PATCH", pods(wire, "/a?dryRun=All"), SOME, Content_Type=MERGE)
    await wire.ask("DELETE", pods(wire, "/a?dryRun=All"))
    await wire.ask("DELETE", pods(wire, "/a"), {"dryRun": ["All"]})
    assert await wire.get(POD, "a") == made
    assert await wire.names(POD, wire.select()) == ["a"]


async def test_what_kubectl_says_about_itself_does_not_hurt(wire: Wire) -> None:
    created = await wire.ask("POST", pods(wire, "?fieldManager=kubectl-create&fieldValidation=Strict"), wire.pod())
    path = pods(wire, "/a?fieldManager=kubectl-label&fieldValidation=Ignore")
    patched = await wire.ask("PATCH", path, SOME, Content_Type=STRATEGIC)
    assert (created.status, patched.status) == (201, 200)


async def test_the_status_can_be_read_at_its_own_path(wire: Wire) -> None:
    made = await wire.create_pod()
    assert (await wire.ask("GET", pods(wire, "/a/status"))).json == made


async def test_a_body_of_more_than_three_megabytes_is_refused(wire: Wire) -> None:
    answer = await wire.ask("POST", pods(wire), b"x" * (3 * 2**20 + 1))
    assert answer.error == (413, "RequestEntityTooLarge")


async def test_annotations_of_more_than_256_kilobytes_are_invalid(wire: Wire) -> None:
    manifest = wire.pod()
    manifest["metadata"]["annotations"] = {"a": "x" * (256 * 2**10)}
    answer = await wire.ask("POST", pods(wire), manifest)
    assert answer.error == (422, "Invalid")
    assert "metadata.annotations: Too long: may not be more than 262144 bytes" in answer.json["message"]


async def test_text_survives_in_every_script(wire: Wire) -> None:
    manifest = wire.pod()
    manifest["metadata"]["annotations"] = {"note": "grün 显卡 <&> \u2028 \U0001f5a5"}
    answer = await wire.ask("POST", pods(wire), json.dumps(manifest, ensure_ascii=False).encode())
    assert answer.json["metadata"]["annotations"] == manifest["metadata"]["annotations"]
    assert (await wire.get(POD, "a"))["metadata"]["annotations"] == manifest["metadata"]["annotations"]

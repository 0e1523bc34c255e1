"""Get, list and its pages, selectors."""

from koordpy.cluster.protocol import Selection
from tests.cluster.contract.face import (
    DEVICE,
    LEASE,
    NAMESPACE,
    NODE,
    POD,
    Face,
    read,
    refusal,
    refused_as,
)


async def test_what_is_not_there_is_not_found_by_name(face: Face) -> None:
    error = await refusal(face.cluster.get(POD, face.namespace, "a"))
    assert (refused_as(error), error.message) == ((404, "NotFound"), 'pods "a" not found')


async def test_a_kind_of_a_group_is_named_with_its_group_in_errors(face: Face) -> None:
    name = face.own("n")
    error = await refusal(face.cluster.get(DEVICE, "", name))
    assert (refused_as(error), error.message) == (
        (404, "NotFound"),
        f'devices.scheduling.koordinator.sh "{name}" not found',
    )


async def test_get_answers_what_create_answered(face: Face) -> None:
    made = await face.create_pod()
    assert await face.get(POD, "a") == made
    assert (made["kind"], made["apiVersion"]) == ("Pod", "v1")


async def test_a_namespace_that_is_not_there_has_an_empty_list(face: Face) -> None:
    page = await face.cluster.list(POD, Selection(f"{face.namespace}-none"))
    assert (page.items, page.continue_token) == ([], "")
    assert int(page.resource_version) > 0


async def test_a_list_is_in_the_order_of_names_and_not_of_creation(face: Face) -> None:
    for name in ("b", "a-b", "c", "a", "a.b"):
        await face.create_pod(name)
    assert await face.names(POD, face.select()) == ["a", "a-b", "a.b", "b", "c"]


async def test_a_list_of_all_namespaces_is_in_the_order_of_namespace_slash_name(face: Face) -> None:
    # A dash sorts before a slash, so the longer namespace comes first.
    longer = f"{face.namespace}-b"
    await face.cluster.create(NAMESPACE, "", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": longer}})
    for namespace, name in ((face.namespace, "a"), (longer, "z"), (face.namespace, "b")):
        manifest = face.labelled(name, test=face.namespace)
        manifest["metadata"]["namespace"] = namespace
        await face.cluster.create(POD, namespace, manifest)
    found = await face.listed(POD, Selection(labels=f"test={face.namespace}"))
    keys = [f"{each['metadata']['namespace']}/{each['metadata']['name']}" for each in found]
    assert keys == [f"{longer}/z", f"{face.namespace}/a", f"{face.namespace}/b"]
    await face.cluster.delete(POD, longer, "z")


async def test_a_list_of_one_namespace_leaves_out_the_others(face: Face) -> None:
    await face.create_pod()
    assert await face.names(POD, Selection("default", fields="metadata.name=a")) == []
    assert await face.names(POD, face.select()) == ["a"]


async def test_pages_together_are_the_whole_list(face: Face) -> None:
    for name in "abcde":
        await face.create_pod(name)
    names: list[str] = []
    sizes: list[int] = []
    versions, token = set(), ""
    while token or not names:
        page = await face.cluster.list(POD, face.select(), limit=2, continue_token=token)
        names += [read(each)["metadata"]["name"] for each in page.items]
        versions.add(page.resource_version)
        sizes.append(len(page.items))
        token = page.continue_token
    assert (names, sizes, len(versions)) == (list("abcde"), [2, 2, 1], 1)


async def test_later_pages_show_the_state_of_the_first(face: Face) -> None:
    for name in "abd":
        await face.create_pod(name)
    first = await face.cluster.list(POD, face.select(), limit=1)
    await face.create_pod("c")
    await face.delete(POD, "b")
    await face.merge(POD, "d", {"metadata": {"labels": {"new": "yes"}}})
    rest = await face.cluster.list(POD, face.select(), limit=10, continue_token=first.continue_token)
    found = [read(each)["metadata"] for each in rest.items]
    assert [each["name"] for each in found] == ["b", "d"]
    assert "labels" not in found[1]
    assert rest.resource_version == first.resource_version


async def test_a_list_that_fits_its_limit_has_no_second_page(face: Face) -> None:
    for name in "ab":
        await face.create_pod(name)
    page = await face.cluster.list(POD, face.select(), limit=2)
    assert (len(page.items), page.continue_token) == (2, "")


async def test_a_page_is_filled_with_what_the_selector_chooses(face: Face) -> None:
    for number in range(6):
        await face.create(POD, face.labelled(f"p{number}", parity=("even", "odd")[number % 2]))
    page = await face.cluster.list(POD, face.select("parity=odd"), limit=2)
    assert [read(each)["metadata"]["name"] for each in page.items] == ["p1", "p3"]
    rest = await face.cluster.list(POD, face.select("parity=odd"), limit=2, continue_token=page.continue_token)
    assert [read(each)["metadata"]["name"] for each in rest.items] == ["p5"]
    assert rest.continue_token == ""


async def test_an_invented_continue_token_is_a_bad_request(face: Face) -> None:
    error = await refusal(face.cluster.list(POD, face.select(), limit=1, continue_token="abc"))
    assert refused_as(error) == (400, "BadRequest")
    assert error.message.startswith("invalid continue token: ")


async def test_a_list_at_version_zero_or_at_a_version_that_was_is_answered(face: Face) -> None:
    made = await face.create_pod()
    await face.settle()
    for version in ("0", made["metadata"]["resourceVersion"]):
        page = await face.cluster.list(POD, face.select(), limit=0, resource_version=version)
        assert int(page.resource_version) >= int(made["metadata"]["resourceVersion"])
        assert [read(each)["metadata"]["name"] for each in page.items] == ["a"]


async def test_a_list_at_a_version_to_come_times_out_and_says_so(face: Face) -> None:
    error = await refusal(face.cluster.list(POD, face.select(), limit=0, resource_version="99999999"))
    assert refused_as(error) == (504, "Timeout")
    assert error.message.startswith("Timeout: Too large resource version: 99999999, current: ")
    assert error.retry_after_s == 1


async def test_a_list_at_a_version_that_is_no_number_is_a_bad_request(face: Face) -> None:
    error = await refusal(face.cluster.list(POD, face.select(), resource_version="abc"))
    assert refused_as(error) == (400, "BadRequest")
    assert error.message.startswith("invalid resource version: ")


async def test_all_kinds_share_one_sequence_of_versions(face: Face) -> None:
    versions = []
    for kind, manifest in ((POD, face.pod()), (NODE, face.node()), (LEASE, face.lease()), (DEVICE, face.device())):
        versions.append(int((await face.create(kind, manifest))["metadata"]["resourceVersion"]))
        assert int(await face.version(kind)) >= versions[-1]
    assert versions == sorted(set(versions))


async def test_a_list_is_at_least_as_new_as_the_last_write(face: Face) -> None:
    for number in range(5):
        made = await face.create_pod(f"p{number}")
        page = await face.cluster.list(POD, face.select())
        assert int(page.resource_version) >= int(made["metadata"]["resourceVersion"])
        assert len(page.items) == number + 1


async def _three(face: Face) -> None:
    """Pods a with color red, b with color blue and size big, c without labels."""
    await face.create(POD, face.labelled("a", color="red"))
    await face.create(POD, face.labelled("b", color="blue", size="big"))
    await face.create_pod("c")


async def test_labels_are_selected_by_value_with_one_sign_or_two(face: Face) -> None:
    await _three(face)
    assert await face.names(POD, face.select("color=red")) == ["a"]
    assert await face.names(POD, face.select("color==blue")) == ["b"]
    assert await face.names(POD, face.select("color=green")) == []


async def test_an_unequal_label_may_be_missing(face: Face) -> None:
    await _three(face)
    assert await face.names(POD, face.select("color!=red")) == ["b", "c"]


async def test_labels_are_selected_from_a_set(face: Face) -> None:
    await _three(face)
    assert await face.names(POD, face.select("color in (red, blue)")) == ["a", "b"]
    assert await face.names(POD, face.select("color in (green)")) == []


async def test_a_label_outside_a_set_may_be_missing(face: Face) -> None:
    await _three(face)
    assert await face.names(POD, face.select("color notin (red,green)")) == ["b", "c"]


async def test_labels_are_selected_by_presence(face: Face) -> None:
    await _three(face)
    assert await face.names(POD, face.select("size")) == ["b"]
    assert await face.names(POD, face.select("!size")) == ["a", "c"]


async def test_all_requirements_of_a_label_selector_must_hold(face: Face) -> None:
    await _three(face)
    assert await face.names(POD, face.select("color in (red,blue),size=big")) == ["b"]
    assert await face.names(POD, face.select("color,!size,color!=blue")) == ["a"]


async def test_labels_are_compared_as_numbers(face: Face) -> None:
    await face.create(POD, face.labelled("a", size="9"))
    await face.create(POD, face.labelled("b", size="10"))
    await face.create(POD, face.labelled("c", size="big"))
    assert await face.names(POD, face.select("size>9")) == ["b"]
    assert await face.names(POD, face.select("size<10")) == ["a"]


async def test_an_unreadable_label_selector_is_a_bad_request(face: Face) -> None:
    for selector in ("a in b", "=x", "a=b=c", "a in (b"):
        assert refused_as(await refusal(face.cluster.list(POD, face.select(selector)))) == (400, "BadRequest")
    error = await refusal(face.cluster.list(POD, face.select("a in b")))
    assert error.message == "unable to parse requirement: found 'b' expected: '('"


async def test_pods_are_selected_by_node(face: Face) -> None:
    await face.bind(await face.create_pod("a"), "n1")
    await face.bind(await face.create_pod("b"), "n2")
    await face.create_pod("c")
    assert await face.names(POD, face.select(fields="spec.nodeName=n1")) == ["a"]
    assert await face.names(POD, face.select(fields="spec.nodeName=")) == ["c"]
    assert await face.names(POD, face.select(fields="spec.nodeName!=n1")) == ["b", "c"]


async def test_pods_are_selected_by_phase(face: Face) -> None:
    for name, phase in (("a", "Succeeded"), ("b", "Failed"), ("c", "Running")):
        await face.create_pod(name)
        await face.merge(POD, name, {"status": {"phase": phase}}, "status")
    await face.create_pod("d")
    unfinished = face.select(fields="status.phase!=Succeeded,status.phase!=Failed")
    assert await face.names(POD, unfinished) == ["c", "d"]
    assert await face.names(POD, face.select(fields="status.phase==Pending")) == ["d"]


async def test_pods_are_selected_by_scheduler(face: Face) -> None:
    await face.create_pod("a", schedulerName="koordpy-scheduler")
    await face.create_pod("b")
    assert await face.names(POD, face.select(fields="spec.schedulerName=koordpy-scheduler")) == ["a"]
    assert await face.names(POD, face.select(fields="spec.schedulerName=default-scheduler")) == ["b"]


async def test_objects_are_selected_by_name_and_namespace(face: Face) -> None:
    for name in "ab":
        await face.create_pod(name)
    everywhere = Selection(fields=f"metadata.namespace={face.namespace},metadata.name=b")
    assert await face.names(POD, everywhere) == ["b"]
    assert await face.names(POD, face.select(fields="metadata.name!=a")) == ["b"]


async def test_custom_objects_are_selected_by_name(face: Face) -> None:
    for name in "ab":
        await face.create(DEVICE, face.device(name))
    assert await face.names(DEVICE, Selection(fields=f"metadata.name={face.own('b')}")) == [face.own("b")]


async def test_a_field_that_is_not_indexed_is_a_bad_request(face: Face) -> None:
    for kind in (POD, NODE, DEVICE):
        error = await refusal(face.cluster.list(kind, Selection(face.of(kind), fields="spec.nonsense=1")))
        assert refused_as(error) == (400, "BadRequest")
        assert error.message.endswith("field label not supported: spec.nonsense")


async def test_an_unreadable_field_selector_is_a_bad_request(face: Face) -> None:
    error = await refusal(face.cluster.list(POD, face.select(fields="metadata.name")))
    assert refused_as(error) == (400, "BadRequest")
    assert error.message == "invalid selector: 'metadata.name'; can't understand 'metadata.name'"

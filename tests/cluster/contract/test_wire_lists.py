"""HTTP: lists, pages and watches as they are on the wire."""

import asyncio
import json
from urllib.parse import quote

from tests.cluster.contract.face import CORE_EVENT, DEVICE, NODE, POD, Wire


def pods(wire: Wire, rest: str = "") -> str:
    return f"/api/v1/namespaces/{wire.namespace}/pods{rest}"


async def test_a_list_is_an_object_of_its_own_kind(wire: Wire) -> None:
    await wire.create_pod()
    found = (await wire.ask("GET", pods(wire))).json
    assert (found["kind"], found["apiVersion"]) == ("PodList", "v1")
    assert set(found["metadata"]) == {"resourceVersion"}
    assert [each["metadata"]["name"] for each in found["items"]] == ["a"]


async def test_an_empty_list_has_an_empty_list_of_items(wire: Wire) -> None:
    for path in (pods(wire), f"/apis/scheduling.koordinator.sh/v1alpha1/devices?labelSelector=test={wire.namespace}"):
        assert (await wire.ask("GET", path)).json["items"] == []


async def test_a_list_of_custom_objects_has_its_kind_in_each_item(wire: Wire) -> None:
    await wire.create(DEVICE, wire.device())
    path = f"/apis/scheduling.koordinator.sh/v1alpha1/devices?labelSelector=test={wire.namespace}"
    found = (await wire.ask("GET", path)).json
    assert (found["kind"], found["apiVersion"]) == ("DeviceList", "scheduling.koordinator.sh/v1alpha1")
    assert {(each["kind"], each["apiVersion"]) for each in found["items"]} == {("Device", found["apiVersion"])}


async def test_a_page_says_how_many_remain(wire: Wire) -> None:
    for name in "abc":
        await wire.create_pod(name)
    first = (await wire.ask("GET", pods(wire, "?limit=1"))).json["metadata"]
    assert first["remainingItemCount"] == 2
    token = quote(first["continue"], safe="")
    second = (await wire.ask("GET", pods(wire, f"?limit=2&continue={token}"))).json
    assert [each["metadata"]["name"] for each in second["items"]] == ["b", "c"]
    assert second["metadata"] == {"resourceVersion": first["resourceVersion"]}


async def test_a_limit_must_be_a_number(wire: Wire) -> None:
    for query in ("limit=abc", "watch=1&timeoutSeconds=abc"):
        assert (await wire.ask("GET", pods(wire, f"?{query}"))).error == (400, "BadRequest")


async def test_selectors_may_be_escaped_or_not(wire: Wire) -> None:
    await wire.create(POD, wire.labelled("a", color="red"))
    await wire.create_pod("b")
    for query in (
        "labelSelector=color%3Dred",
        "labelSelector=color=red",
        "labelSelector=color%20in%20%28red%2C%20blue%29",
        "fieldSelector=metadata.name%3Da",
    ):
        found = (await wire.ask("GET", pods(wire, f"?{query}"))).json
        assert [each["metadata"]["name"] for each in found["items"]] == ["a"], query


async def test_kubectl_describes_a_pod_with_the_events_about_it(wire: Wire) -> None:
    made = await wire.create_pod()
    involved = {"kind": "Pod", "namespace": wire.namespace, "name": "a", "uid": made["metadata"]["uid"]}
    await wire.create(CORE_EVENT, wire.core_event("mine", involvedObject=involved))
    await wire.create(CORE_EVENT, wire.core_event("older"))
    fields = ",".join(f"involvedObject.{key}={value}" for key, value in involved.items())
    path = f"/api/v1/namespaces/{wire.namespace}/events?fieldSelector={quote(fields, safe='')}&limit=500"
    found = (await wire.ask("GET", path)).json
    assert [each["metadata"]["name"] for each in found["items"]] == ["mine"]


async def test_kubectl_describes_a_node_with_its_unfinished_pods(wire: Wire) -> None:
    for name, phase in (("a", "Running"), ("b", "Succeeded"), ("c", "Failed")):
        await wire.bind(await wire.create_pod(name), wire.own("n"))
        await wire.merge(POD, name, {"status": {"phase": phase}}, "status")
    fields = f"spec.nodeName={wire.own('n')},status.phase!=Failed,status.phase!=Succeeded"
    found = (await wire.ask("GET", f"/api/v1/pods?fieldSelector={quote(fields, safe='')}&limit=500")).json
    assert [each["metadata"]["name"] for each in found["items"]] == ["a"]


async def test_a_watch_is_one_json_document_a_line(wire: Wire) -> None:
    version = await wire.version()
    path = pods(wire, f"?watch=true&resourceVersion={version}&timeoutSeconds=4")
    async with wire.lines(path) as lines:
        await wire.create_pod("a")
        await wire.delete(POD, "a")
        first, *_ = read = [json.loads(await anext(lines)) for _ in range(2)]
        assert first["type"] == "ADDED"
        assert all(each["object"]["kind"] == "Pod" and each["object"]["apiVersion"] == "v1" for each in read)


async def test_a_watch_begins_before_anything_happens(wire: Wire) -> None:
    version = await wire.version()
    async with asyncio.timeout(3), wire.lines(pods(wire, f"?watch=1&resourceVersion={version}")) as lines:
        waiting = asyncio.ensure_future(anext(lines))
        await wire.create_pod()
        assert json.loads(await waiting)["type"] == "ADDED"


async def test_a_watch_is_answered_as_chunks_of_json(wire: Wire) -> None:
    answer = await wire.ask("GET", pods(wire, "?watch=1&timeoutSeconds=1"))
    assert (answer.status, answer.body) == (200, b"")
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.headers["Transfer-Encoding"] == "chunked"


async def test_bookmarks_come_only_to_those_who_ask(wire: Wire) -> None:
    version = await wire.version()
    bodies = []
    path = pods(wire, f"?watch=1&timeoutSeconds=3&resourceVersion={version}&labelSelector=never")
    asked = [asyncio.create_task(wire.ask("GET", path + more)) for more in ("", "&allowWatchBookmarks=true")]
    await asyncio.sleep(0.2)
    await wire.create_pod()
    bodies = [(await each).body for each in asked]
    assert bodies[0] == b""
    assert {json.loads(line)["type"] for line in bodies[1].splitlines()} == {"BOOKMARK"}


async def test_a_watch_of_zero_or_false_is_a_list(wire: Wire) -> None:
    for value in ("0", "false"):
        assert (await wire.ask("GET", pods(wire, f"?watch={value}"))).json["kind"] == "PodList"


async def test_an_expired_watch_says_so_in_its_stream(wire: Wire) -> None:
    path = "/apis/scheduling.koordinator.sh/v1alpha1/devices?watch=1&timeoutSeconds=2&resourceVersion=1"
    await wire.create(DEVICE, wire.device())
    answer = await wire.ask("GET", path)
    event = json.loads(answer.body.splitlines()[0])
    assert (answer.status, event["type"]) == (200, "ERROR")
    assert (event["object"]["kind"], event["object"]["code"], event["object"]["reason"]) == ("Status", 410, "Expired")


async def test_one_client_can_watch_and_write_at_once(wire: Wire) -> None:
    versions = {kind: await wire.version(kind) for kind in (POD, NODE)}
    mine = f"&labelSelector=test={wire.namespace}"
    node_path = f"/api/v1/nodes?watch=1&timeoutSeconds=4&resourceVersion={versions[NODE]}{mine}"
    pod_path = pods(wire, f"?watch=1&timeoutSeconds=4&resourceVersion={versions[POD]}")
    async with wire.lines(node_path) as nodes, wire.lines(pod_path) as seen:
        await wire.create(NODE, wire.node())
        await wire.create_pod()
        assert json.loads(await anext(nodes))["object"]["kind"] == "Node"
        assert json.loads(await anext(seen))["object"]["kind"] == "Pod"

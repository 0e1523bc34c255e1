"""HTTP: what kubectl prints, which a server sends as Tables."""

import json
from typing import Any

from tests.cluster.contract.face import CORE_EVENT, DEVICE, LEASE, NODE, POD, TABLE, Document, Wire


def pods(wire: Wire, rest: str = "") -> str:
    return f"/api/v1/namespaces/{wire.namespace}/pods{rest}"


def columns(table: Document) -> list[tuple[str, int]]:
    """Names with priorities; those above zero are for -o wide."""
    return [(each["name"], each["priority"]) for each in table["columnDefinitions"]]


def cells(table: Document) -> list[dict[str, Any]]:
    names = [each["name"] for each in table["columnDefinitions"]]
    return [dict(zip(names, row["cells"], strict=True)) for row in table["rows"]]


async def test_a_table_of_pods_has_kubectls_columns(wire: Wire) -> None:
    table = await wire.table(pods(wire))
    assert columns(table) == [
        ("Name", 0),
        ("Ready", 0),
        ("Status", 0),
        ("Restarts", 0),
        ("Age", 0),
        ("IP", 1),
        ("Node", 1),
        ("Nominated Node", 1),
        ("Readiness Gates", 1),
    ]
    name = table["columnDefinitions"][0]
    assert (name["type"], name["format"]) == ("string", "name")
    assert not table["rows"]


async def test_a_row_of_a_pod_says_where_it_is_and_how(wire: Wire) -> None:
    await wire.create_pod("a")
    await wire.bind(await wire.create_pod("b"), "n1")
    await wire.create_pod("c")
    await wire.merge(POD, "c", {"status": {"nominatedNodeName": "n2"}}, "status")
    rows = cells(await wire.table(pods(wire)))
    assert [(row["Name"], row["Ready"], row["Status"], row["Node"], row["Nominated Node"]) for row in rows] == [
        ("a", "0/1", "Pending", "<none>", "<none>"),
        ("b", "0/1", "Pending", "n1", "<none>"),
        ("c", "0/1", "Pending", "<none>", "n2"),
    ]
    assert {(row["Restarts"], row["IP"], row["Readiness Gates"]) for row in rows} == {("0", "<none>", "<none>")}
    assert all(row["Age"].endswith("s") for row in rows)


async def test_the_status_of_a_pod_in_a_table_follows_its_life(wire: Wire) -> None:
    running = {"name": "main", "ready": True, "restartCount": 0, "image": "i", "imageID": "", "state": {"running": {}}}
    ended = {"name": "main", "ready": False, "restartCount": 0, "image": "i", "imageID": ""}
    states = {
        "a": {"phase": "Running", "containerStatuses": [running]},
        "b": {
            "phase": "Succeeded",
            "containerStatuses": [ended | {"state": {"terminated": {"exitCode": 0, "reason": "Completed"}}}],
        },
        "c": {
            "phase": "Failed",
            "containerStatuses": [ended | {"state": {"terminated": {"exitCode": 1, "reason": "Error"}}}],
        },
        "d": {"phase": "Running", "containerStatuses": [running]},
        "e": {"phase": "Failed", "reason": "Evicted"},
    }
    for name, status in states.items():
        await wire.bind(await wire.create_pod(name))
        await wire.merge(POD, name, {"status": status}, "status")
    await wire.delete(POD, "d")
    await wire.create_pod("f", schedulingGates=[{"name": "example.com/quota"}])
    rows = cells(await wire.table(pods(wire)))
    assert {row["Name"]: (row["Ready"], row["Status"]) for row in rows} == {
        "a": ("1/1", "Running"),
        "b": ("0/1", "Completed"),
        "c": ("0/1", "Error"),
        "d": ("1/1", "Terminating"),
        "e": ("0/1", "Evicted"),
        "f": ("0/1", "SchedulingGated"),
    }


async def test_a_row_carries_the_objects_metadata(wire: Wire) -> None:
    made = await wire.create(POD, wire.labelled("a", color="red"))
    [row] = (await wire.table(pods(wire)))["rows"]
    assert (row["object"]["kind"], row["object"]["apiVersion"]) == ("PartialObjectMetadata", "meta.k8s.io/v1")
    for key in ("name", "namespace", "uid", "labels", "resourceVersion"):
        assert row["object"]["metadata"][key] == made["metadata"][key]
    assert "spec" not in row["object"]


async def test_a_row_carries_the_object_or_nothing_if_asked_to(wire: Wire) -> None:
    made = await wire.create_pod()
    [row] = (await wire.table(pods(wire, "?includeObject=Object")))["rows"]
    assert row["object"] == made
    [row] = (await wire.table(pods(wire, "?includeObject=None")))["rows"]
    assert not row.get("object")


async def test_one_object_is_a_table_of_one_row(wire: Wire) -> None:
    made = await wire.create_pod()
    table = await wire.table(pods(wire, "/a"))
    assert [row["Name"] for row in cells(table)] == ["a"]
    assert table["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]


async def test_an_error_stays_a_status_where_a_table_was_asked_for(wire: Wire) -> None:
    assert (await wire.ask("GET", pods(wire, "/a"), Accept=TABLE)).error == (404, "NotFound")


async def test_a_table_has_pages(wire: Wire) -> None:
    for name in "abc":
        await wire.create_pod(name)
    first = await wire.table(pods(wire, "?limit=2"))
    assert [row["Name"] for row in cells(first)] == ["a", "b"]
    assert first["metadata"]["remainingItemCount"] == 1
    rest = await wire.table(pods(wire, f"?limit=2&continue={first['metadata']['continue']}"))
    assert [row["Name"] for row in cells(rest)] == ["c"]


async def test_a_table_obeys_selectors(wire: Wire) -> None:
    await wire.create(POD, wire.labelled("a", color="red"))
    await wire.create_pod("b")
    assert [row["Name"] for row in cells(await wire.table(pods(wire, "?labelSelector=color")))] == ["a"]


async def test_a_watch_of_tables_names_its_columns_once(wire: Wire) -> None:
    version = await wire.version()
    path = pods(wire, f"?watch=1&timeoutSeconds=4&resourceVersion={version}")
    async with wire.lines(path, Accept=TABLE) as lines:
        await wire.create_pod("a")
        await wire.bind(await wire.create_pod("b"), "n1")
        events = [json.loads(await anext(lines)) for _ in range(3)]
    assert [each["type"] for each in events] == ["ADDED", "ADDED", "MODIFIED"]
    first, *later = [each["object"] for each in events]
    assert {each["kind"] for each in (first, *later)} == {"Table"}
    assert len(first["columnDefinitions"]) == 9
    assert not any(each.get("columnDefinitions") for each in later)
    assert [each["rows"][0]["cells"][0] for each in (first, *later)] == ["a", "b", "b"]
    assert later[-1]["rows"][0]["cells"][6] == "n1"


async def test_a_table_of_nodes_has_kubectls_columns(wire: Wire) -> None:
    table = await wire.table(f"/api/v1/nodes?labelSelector=test={wire.namespace}")
    assert columns(table) == [
        ("Name", 0),
        ("Status", 0),
        ("Roles", 0),
        ("Age", 0),
        ("Version", 0),
        ("Internal-IP", 1),
        ("External-IP", 1),
        ("OS-Image", 1),
        ("Kernel-Version", 1),
        ("Container-Runtime", 1),
    ]


async def test_a_row_of_a_node_says_whether_it_is_ready_and_cordoned(wire: Wire) -> None:
    cordoned = wire.node("b", unschedulable=True)
    cordoned["metadata"]["labels"]["node-role.kubernetes.io/gpu"] = ""
    cordoned["status"]["addresses"] = [{"type": "InternalIP", "address": "10.0.0.7"}]
    broken, unknown = wire.node("c"), wire.node("d")
    broken["status"]["conditions"] = [{"type": "Ready", "status": "False"}]
    del unknown["status"]["conditions"]
    for manifest in (wire.node("a"), cordoned, broken, unknown):
        await wire.create(NODE, manifest)
    rows = cells(await wire.table(f"/api/v1/nodes?labelSelector=test={wire.namespace}"))
    assert [(row["Name"], row["Status"], row["Roles"], row["Internal-IP"]) for row in rows] == [
        (wire.own("a"), "Ready", "<none>", "<none>"),
        (wire.own("b"), "Ready,SchedulingDisabled", "gpu", "10.0.0.7"),
        (wire.own("c"), "NotReady", "<none>", "<none>"),
        (wire.own("d"), "Unknown", "<none>", "<none>"),
    ]
    assert rows[0]["OS-Image"] == "<unknown>"


async def test_a_table_of_devices_has_name_and_age(wire: Wire) -> None:
    await wire.create(DEVICE, wire.device())
    table = await wire.table(f"/apis/scheduling.koordinator.sh/v1alpha1/devices?labelSelector=test={wire.namespace}")
    assert columns(table) == [("Name", 0), ("Age", 0)]
    [row] = cells(table)
    assert row["Name"] == wire.own("n")
    assert row["Age"].endswith("s")


async def test_a_table_of_events_is_the_same_in_both_groups(wire: Wire) -> None:
    await wire.create(CORE_EVENT, wire.core_event())
    paths = [f"{root}/namespaces/{wire.namespace}/events" for root in ("/api/v1", "/apis/events.k8s.io/v1")]
    core, new = [await wire.table(path) for path in paths]
    assert columns(core) == columns(new)
    assert [name for name, priority in columns(core) if priority == 0] == [
        "Last Seen",
        "Type",
        "Reason",
        "Object",
        "Message",
    ]
    for row in (*cells(core), *cells(new)):
        assert (row["Type"], row["Reason"], row["Object"], row["Message"]) == ("Normal", "Scheduled", "pod/a", "to n")
        assert (row["Source"], row["Count"], row["Name"]) == ("default-scheduler", 3, "e")


async def test_a_table_of_leases_names_their_holders(wire: Wire) -> None:
    await wire.create(LEASE, wire.lease())
    table = await wire.table(f"/apis/coordination.k8s.io/v1/namespaces/{wire.namespace}/leases")
    assert columns(table) == [("Name", 0), ("Holder", 0), ("Age", 0)]
    assert [(row["Name"], row["Holder"]) for row in cells(table)] == [("l", "me")]


async def test_a_table_of_namespaces_says_that_they_are_active(wire: Wire) -> None:
    table = await wire.table(f"/api/v1/namespaces/{wire.namespace}")
    assert columns(table) == [("Name", 0), ("Status", 0), ("Age", 0)]
    assert [(row["Name"], row["Status"]) for row in cells(table)] == [(wire.namespace, "Active")]

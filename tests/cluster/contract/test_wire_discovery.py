"""HTTP: what kubectl asks first."""

from typing import Any

from tests.cluster.contract.face import Wire

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
GROUPS = {"coordination.k8s.io", "events.k8s.io", "scheduling.koordinator.sh"}
EVERY_VERB = {"create", "delete", "get", "list", "patch", "update", "watch"}


async def _resources(wire: Wire, path: str) -> dict[str, dict[str, Any]]:
    found = (await wire.ask("GET", path)).json
    assert found["kind"] == "APIResourceList"
    return {each["name"]: each for each in found["resources"]}


async def test_the_server_says_which_kubernetes_it_is(wire: Wire) -> None:
    version = (await wire.ask("GET", "/version")).json
    assert (version["major"], version["minor"]) == ("1", "36")
    assert version["gitVersion"].startswith("v1.36.")


async def test_the_server_says_that_it_is_well(wire: Wire) -> None:
    for path in ("/healthz", "/livez", "/readyz"):
        answer = await wire.ask("GET", path)
        assert (answer.status, answer.body) == (200, b"ok")


async def test_what_there_is_can_only_be_read(wire: Wire) -> None:
    for path in ("/version", "/api", "/api/v1", "/apis/events.k8s.io/v1"):
        for method in ("POST", "PUT", "PATCH", "DELETE", "TRACE", "OPTIONS"):
            assert (await wire.ask(method, path)).error == (405, "MethodNotAllowed"), (method, path)
        assert (await wire.ask("HEAD", path)).status == 405


async def test_the_core_group_has_one_version(wire: Wire) -> None:
    found = (await wire.ask("GET", "/api")).json
    assert (found["kind"], found["versions"]) == ("APIVersions", ["v1"])


async def test_every_group_is_listed_with_its_preferred_version(wire: Wire) -> None:
    found = (await wire.ask("GET", "/apis")).json
    assert (found["kind"], found["apiVersion"]) == ("APIGroupList", "v1")
    groups = {each["name"]: each for each in found["groups"]}
    assert set(groups) >= GROUPS
    events = groups["events.k8s.io"]
    assert events["preferredVersion"] == {"groupVersion": "events.k8s.io/v1", "version": "v1"}
    assert events["versions"] == [events["preferredVersion"]]


async def test_one_group_can_be_asked_for(wire: Wire) -> None:
    found = (await wire.ask("GET", "/apis/scheduling.koordinator.sh")).json
    assert (found["kind"], found["name"]) == ("APIGroup", "scheduling.koordinator.sh")
    assert found["preferredVersion"]["version"] == "v1alpha1"


async def test_the_core_group_lists_its_resources(wire: Wire) -> None:
    resources = await _resources(wire, "/api/v1")
    for name, kind, short, namespaced in (
        ("pods", "Pod", "po", True),
        ("nodes", "Node", "no", False),
        ("namespaces", "Namespace", "ns", False),
        ("events", "Event", "ev", True),
    ):
        found = resources[name]
        assert (found["kind"], found["shortNames"], found["namespaced"]) == (kind, [short], namespaced)
        assert found["singularName"] == kind.lower()
        assert set(found["verbs"]) >= EVERY_VERB


async def test_subresources_are_listed_with_their_verbs(wire: Wire) -> None:
    resources = await _resources(wire, "/api/v1")
    assert (resources["pods/binding"]["kind"], resources["pods/binding"]["verbs"]) == ("Binding", ["create"])
    for name in ("pods/status", "nodes/status"):
        assert set(resources[name]["verbs"]) >= {"get", "patch", "update"}


async def test_the_other_groups_list_theirs(wire: Wire) -> None:
    for group, name, kind, namespaced in (
        ("events.k8s.io/v1", "events", "Event", True),
        ("coordination.k8s.io/v1", "leases", "Lease", True),
        ("scheduling.koordinator.sh/v1alpha1", "devices", "Device", False),
    ):
        found = (await _resources(wire, f"/apis/{group}"))[name]
        assert (found["kind"], found["namespaced"]) == (kind, namespaced)
        assert set(found["verbs"]) >= EVERY_VERB


async def test_whoever_would_rather_have_discovery_in_one_document_gets_that_or_the_plain_one(wire: Wire) -> None:
    for path, plain in (("/api", "APIVersions"), ("/apis", "APIGroupList")):
        answer = await wire.ask("GET", path, Accept=f"{AGGREGATED},application/json")
        media = {"APIGroupDiscoveryList": AGGREGATED, plain: "application/json"}
        assert answer.status == 200
        assert answer.headers["Content-Type"] == media[answer.json["kind"]]


async def test_openapi_has_a_document_for_each_group(wire: Wire) -> None:
    paths = (await wire.ask("GET", "/openapi/v3")).json["paths"]
    for group in ("api/v1", "apis/scheduling.koordinator.sh/v1alpha1", "apis/coordination.k8s.io/v1"):
        assert paths[group]["serverRelativeURL"].startswith(f"/openapi/v3/{group}")


async def test_openapi_knows_field_validation_for_what_kubectl_writes(wire: Wire) -> None:
    paths = (await wire.ask("GET", "/openapi/v3")).json["paths"]
    for group, kind in (("api/v1", "Pod"), ("apis/scheduling.koordinator.sh/v1alpha1", "Device")):
        document = (await wire.ask("GET", paths[group]["serverRelativeURL"])).json
        assert document["openapi"].startswith("3.0")
        writers = [
            operation
            for item in document["paths"].values()
            for method, operation in item.items()
            if method == "patch" and operation.get("x-kubernetes-group-version-kind", {}).get("kind") == kind
        ]
        assert writers
        for operation in writers:
            assert "fieldValidation" in {each["name"] for each in operation["parameters"]}

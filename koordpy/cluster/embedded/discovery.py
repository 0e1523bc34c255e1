"""What kubectl asks before its question: which kinds there are, what can be done with them, and which server this is.

Nothing is said here that is not served: kubectl itself refuses what it does not find.
"""

from typing import Any, Final

from koordpy.cluster.embedded.kinds import RESOURCES, Resource
from koordpy_api.objects import Pod

Document = dict[str, Any]

VERSION: Final = {"major": "1", "minor": "36", "gitVersion": "v1.36.0+koordpy-embedded"}
"""The Kubernetes that the contract suite compares with, and that this is not it."""

TEXTS: Final = {
    **dict.fromkeys(("/healthz", "/livez", "/readyz"), (b"ok", "text/plain")),
    # An empty schema. kubectl checks by it what it cannot ask the server to check: a `kind: List`.
    "/openapi/v2": (b"", "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"),
}
"""Path → answer and content type, where that is not JSON."""

_VERBS: Final = ["create", "delete", "get", "list", "patch", "update", "watch"]
_GROUPS: Final = {each.kind.group: each.kind.version for each in RESOURCES if each.kind.group}
_BY_ROOT: Final[dict[str, list[Resource]]] = {}
for _each in RESOURCES:
    _BY_ROOT.setdefault(_each.kind.path().rpartition("/")[0], []).append(_each)
READ_ONLY: Final = {"/version", "/api", *_BY_ROOT}  # the other documents answer to every method, as a real server's


def find(root: str, plural: str) -> Resource | None:
    """The resource at root/plural, where root is as /api/v1 or /apis/GROUP/VERSION."""
    return next((each for each in _BY_ROOT.get(root, ()) if each.kind.plural == plural), None)


def subresources(resource: Resource) -> dict[str, tuple[str, list[str]]]:
    """Name → the kind that is sent there, and what can be done."""
    binding = {"binding": ("Binding", ["create"])} if resource.kind == Pod.KIND else {}
    return binding | ({"status": (resource.kind.name, ["get", "patch", "update"])} if resource.has_status else {})


def document(path: str, host: str) -> Document | None:
    """The document at a path that is no resource's; None if there is none."""
    inner = path.removeprefix("/openapi/v3")
    match path:
        case "/version":
            return dict(VERSION)
        case "/api":
            address = {"clientCIDR": "0.0.0.0/0", "serverAddress": host}
            return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": [address]}
        case "/apis":
            return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_group(name) for name in _GROUPS]}
        case "/openapi/v3":
            return {"paths": {root[1:]: {"serverRelativeURL": f"/openapi/v3{root}"} for root in _BY_ROOT}}
        case _ if path in _BY_ROOT:
            return _resource_list(_BY_ROOT[path])
        case _ if inner in _BY_ROOT:
            return _openapi(_BY_ROOT[inner])
        case _ if path.removeprefix("/apis/") in _GROUPS:
            return {"kind": "APIGroup", "apiVersion": "v1", **_group(path.removeprefix("/apis/"))}
    return None


def _group(name: str) -> Document:
    version = {"groupVersion": f"{name}/{_GROUPS[name]}", "version": _GROUPS[name]}
    return {"name": name, "versions": [version], "preferredVersion": version}


def _resource_list(resources: list[Resource]) -> Document:
    listed: list[Document] = []
    for each in resources:
        kind, scope = each.kind, {"namespaced": each.kind.namespaced}
        short = {"shortNames": list(each.short_names)} if each.short_names else {}
        head = {"name": kind.plural, "singularName": kind.name.lower(), **scope, "kind": kind.name}
        listed.append({**head, "verbs": _VERBS, **short})
        for name, (sent, verbs) in subresources(each).items():
            head = {"name": f"{kind.plural}/{name}", "singularName": "", **scope, "kind": sent}
            listed.append({**head, "verbs": verbs})
    version = resources[0].kind.api_version
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": listed}


def _openapi(resources: list[Resource]) -> Document:
    """As much as kubectl reads before it creates: the server knows `fieldValidation`, so it need not check itself.

    There is no schema, and no `dryRun`. It makes strategic patches from its own knowledge of the kinds.
    """
    paths = {}
    for kind in (each.kind for each in resources):
        of_kind = {"group": kind.group, "version": kind.version, "kind": kind.name}
        paths[kind.path("{namespace}", "{name}")] = {
            "patch": {
                "parameters": [{"name": "fieldValidation", "in": "query", "schema": {"type": "string"}}],
                "requestBody": {"content": {"application/merge-patch+json": {"schema": {"type": "object"}}}},
                "responses": {"200": {"description": "OK"}},
                "x-kubernetes-group-version-kind": of_kind,
            }
        }
    info = {"title": "koordpy embedded cluster", "version": "1.36"}
    return {"openapi": "3.0.0", "info": info, "paths": paths, "components": {"schemas": {}}}

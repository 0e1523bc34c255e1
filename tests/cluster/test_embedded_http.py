"""The embedded cluster over HTTP: who is let in, what goes wrong on the way, and what kubectl's tables show.

What a real API server does too is in the contract suite.
"""

import asyncio
import contextlib
import io
import json
import logging
import random
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import aiohttp
import pytest

from koordpy.clock import Clock, SystemClock
from koordpy.cluster.embedded.cluster import EmbeddedCluster
from koordpy.cluster.embedded.faults import Fault
from koordpy.cluster.embedded.kinds import RESOURCES
from koordpy.cluster.embedded.routes import MAX_BODY
from koordpy.cluster.embedded.server import EmbeddedServer
from koordpy.cluster.embedded.store import Store
from koordpy.cluster.embedded.tables import age
from koordpy.errors import NotFound
from koordpy.testing import pod_manifest
from koordpy_api.objects import Pod

TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"}
PODS = "/api/v1/namespaces/default/pods"
NOW = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class Served:
    """A cluster that is served, and a client of it."""

    cluster: EmbeddedCluster
    server: EmbeddedServer
    client: aiohttp.ClientSession

    async def ask(self, method: str, path: str, body: object = None, **headers: str) -> tuple[int, Any]:
        data = None if body is None else json.dumps(body)
        kind = {} if body is None else {"Content-Type": "application/json"}
        named = {key.replace("_", "-"): value for key, value in headers.items()}
        async with self.client.request(method, path, data=data, headers=kind | named) as response:
            text = await response.text()
            return response.status, json.loads(text) if text else None


@asynccontextmanager
async def serving(clock: Clock | None = None) -> AsyncIterator[Served]:
    cluster = EmbeddedCluster(clock or SystemClock(), random.Random(1))
    server = EmbeddedServer(cluster)
    await server.start()
    try:
        async with aiohttp.ClientSession(f"http://127.0.0.1:{server.port}") as client:
            yield Served(cluster, server, client)
    finally:
        await server.stop()


def served(test: Callable[[Served], Awaitable[None]]) -> Callable[[], None]:
    """A test that gets a fresh cluster over HTTP."""

    def run() -> None:
        async def body() -> None:
            async with serving() as face:
                await test(face)

        asyncio.run(body())

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


async def until(condition: Callable[[], bool]) -> None:
    """Real sockets need real turns of the loop."""
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - what happens on the other side of a socket sets no Event here
            await asyncio.sleep(0.005)


# Who is let in


@pytest.mark.parametrize(
    ("host", "status"),
    [
        pytest.param("127.0.0.1:PORT", 200, id="the address"),
        pytest.param("localhost:PORT", 200, id="localhost"),
        pytest.param("LocalHost:PORT", 200, id="localhost in other letters"),
        pytest.param("[::1]:PORT", 200, id="the address of version 6"),
        pytest.param("attacker.example:PORT", 403, id="a name that leads here"),
        pytest.param("127.0.0.1.attacker.example:PORT", 403, id="a name that begins like the address"),
        pytest.param("127.0.0.1:1", 403, id="another port"),
        pytest.param("127.0.0.1", 403, id="no port"),
    ],
)
def test_a_request_is_answered_only_under_the_names_of_this_machine(host: str, status: int) -> None:
    async def body() -> None:
        async with serving() as face:
            told = await face.ask("GET", "/api/v1/pods", Host=host.replace("PORT", str(face.server.port)))
            assert told[0] == status
            if status != 200:
                assert told[1]["reason"] == "Forbidden"

    asyncio.run(body())


@served
async def test_a_web_page_is_refused_and_nothing_is_written(face: Served) -> None:
    status, told = await face.ask("POST", PODS, pod_manifest("p"), Origin="http://attacker.example")
    assert (status, told["reason"]) == (403, "Forbidden")
    assert not face.cluster.store.list(Pod.KIND).items


@served
async def test_it_listens_on_one_address_only(face: Served) -> None:
    with socket.create_connection(("127.0.0.1", face.server.port)):
        pass
    with socket.socket() as other, pytest.raises(ConnectionRefusedError):
        other.connect(("127.0.0.2", face.server.port))


@served
async def test_a_body_that_is_too_large_is_refused_unread(face: Served) -> None:
    pod = pod_manifest("p")
    pod["metadata"]["annotations"] = {"filler": "x" * MAX_BODY}
    async with face.client.post(PODS, data=io.BytesIO(json.dumps(pod).encode())) as response:
        assert (response.status, (await response.json())["reason"]) == (413, "RequestEntityTooLarge")
    assert (await face.ask("GET", PODS))[1]["items"] == []


@pytest.mark.parametrize(
    ("path", "body"),
    [
        pytest.param(PODS, "{" * 3, id="no JSON"),
        pytest.param(PODS, '{"a":' * 100_000, id="a hundred thousand objects in each other"),
        pytest.param(PODS, "[]", id="a list"),
        pytest.param(
            f"{PODS}/p/binding", '{"metadata": {"name": "p"}, "target": {"name": 5}}', id="a node's name is a number"
        ),
        pytest.param(
            f"{PODS}/p/binding",
            '{"metadata": {"name": "p", "annotations": {"a": 1}}, "target": {"name": "n"}}',
            id="an annotation is a number",
        ),
    ],
)
def test_nonsense_is_a_400_and_writes_nothing(path: str, body: str) -> None:
    async def run() -> None:
        async with serving() as face:
            before = face.cluster.store.create(Pod.KIND, "default", pod_manifest("p"))
            headers = {"Content-Type": "application/json"}
            async with face.client.post(path, data=body.encode(), headers=headers) as response:
                assert (response.status, (await response.json())["reason"]) == (400, "BadRequest")
            assert face.cluster.store.version == before.version

    asyncio.run(run())


# What goes wrong


class BrokenClock:
    """Works until it is told not to."""

    works = True

    def now(self) -> datetime:
        if not self.works:
            raise ZeroDivisionError("out of time")
        return NOW

    def monotonic(self) -> float:
        return 0.0


def test_a_handler_that_raises_is_a_500_with_its_name_and_the_server_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    async def body() -> None:
        clock = BrokenClock()
        async with serving(clock) as face:
            clock.works = False
            status, told = await face.ask("POST", PODS, pod_manifest("p"))
            assert (status, told["reason"]) == (500, "InternalError")
            assert "ZeroDivisionError" in told["message"]
            clock.works = True
            assert (await face.ask("POST", PODS, pod_manifest("p")))[0] == 201

    with caplog.at_level(logging.ERROR):
        asyncio.run(body())
    (record,) = caplog.records
    assert "POST /api/v1/namespaces/default/pods" in record.getMessage() and record.exc_info


_POST = f"POST {PODS} HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n"


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        pytest.param("GET /api HTTP/1.1\r\n\r\n", [b"400"], id="no host"),
        pytest.param(f"{_POST}Content-Length: some\r\n\r\n", [b"400"], id="a length that is no number"),
        pytest.param(f"{_POST}Content-Length: 1\r\nContent-Length: 2\r\n\r\n", [b"400"], id="two lengths"),
        pytest.param(f"{_POST}{'A: b' * 10_000}\r\n\r\n", [b"400"], id="a header that is too long"),
        pytest.param(_POST + "A: b\r\n" * 10_000 + "\r\n", [b"400"], id="too many headers"),
        pytest.param("hello\r\n\r\n", [b"400"], id="something else than HTTP"),
        pytest.param(
            f"{_POST}Transfer-Encoding: chunked\r\n\r\nzz\r\n", [b"400"], id="a chunk whose size is no number"
        ),
    ],
)
def test_what_is_no_http_is_refused_and_leaves_nothing_in_the_log(
    sent: str, status: list[bytes], caplog: pytest.LogCaptureFixture
) -> None:
    async def body() -> None:
        async with serving() as face:
            reader, writer = await asyncio.open_connection("127.0.0.1", face.server.port)
            writer.write(sent.replace("PORT", str(face.server.port)).encode())
            line = b""
            async with asyncio.timeout(10):
                with contextlib.suppress(ConnectionError):
                    line = await reader.readline()
            writer.close()
            assert line.split()[1:2] == status
            assert (await face.ask("GET", PODS))[1]["items"] == []

    with caplog.at_level(logging.INFO):
        asyncio.run(body())
    assert not caplog.records


@served
async def test_a_fault_of_429_says_when_to_come_back(face: Served) -> None:
    face.cluster.faults.add(Fault("list pods", 429, retry_after_s=7))
    async with face.client.get(PODS) as response:
        told = await response.json()
        assert (response.status, response.headers["Retry-After"]) == (429, "7")
        assert (told["reason"], told["details"]["retryAfterSeconds"]) == ("TooManyRequests", 7)


@pytest.mark.parametrize(("answer", "exists"), [("dropped", False), ("lost", True)])
def test_a_broken_connection_is_seen_by_the_client_as_one(answer: Any, exists: bool) -> None:
    async def body() -> None:
        async with serving() as face:
            face.cluster.faults.add(Fault("create pods p", answer))
            with pytest.raises(aiohttp.ClientError):
                await face.ask("POST", PODS, pod_manifest("p"))
            if exists:
                face.cluster.store.get(Pod.KIND, "default", "p")
            else:
                with pytest.raises(NotFound):
                    face.cluster.store.get(Pod.KIND, "default", "p")

    asyncio.run(body())


@served
async def test_a_fault_breaks_an_open_watch(face: Served) -> None:
    async with face.client.get(f"{PODS}?watch=true&resourceVersion={face.cluster.store.version}") as response:
        face.cluster.faults.add(Fault("watch pods", "dropped"))
        with pytest.raises(aiohttp.ClientError):
            await response.content.readline()


@served
async def test_a_half_closed_watch_says_nothing_more_and_stays_open(face: Served) -> None:
    async with face.client.get(f"{PODS}?watch=true&resourceVersion={face.cluster.store.version}") as response:
        face.cluster.faults.add(Fault("watch pods", "half-closed"))
        face.cluster.store.create(Pod.KIND, "default", pod_manifest("p"))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await response.content.readline()


# Watches


@served
async def test_a_client_that_goes_away_ends_its_watch(face: Served) -> None:
    response = await face.client.get(f"{PODS}?watch=true")
    await until(lambda: len(face.server.watches) == 1)
    response.close()
    await until(lambda: not face.server.watches)


@served
async def test_stopping_ends_open_watches_and_may_be_done_twice(face: Served) -> None:
    async with face.client.get(f"{PODS}?watch=true&resourceVersion={face.cluster.store.version}") as response:
        await face.server.stop()
        assert await response.content.read() == b""
    await face.server.stop()


def test_for_a_client_that_does_not_read_nothing_is_kept_but_the_history() -> None:
    async def body() -> None:
        cluster = EmbeddedCluster(SystemClock(), random.Random(1))
        cluster.store = Store(cluster.clock, random.Random(1), history=20)
        server = EmbeddedServer(cluster)
        await server.start()
        with socket.socket() as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.connect(("127.0.0.1", server.port))
            client.setblocking(False)
            host = f"Host: 127.0.0.1:{server.port}"
            await asyncio.get_running_loop().sock_sendall(
                client, f"GET {PODS}?watch=true HTTP/1.1\r\n{host}\r\n\r\n".encode()
            )
            await until(lambda: bool(server.watches))
            cluster.store.create(Pod.KIND, "default", pod_manifest("p"))
            for number in range(400):
                note = {"metadata": {"annotations": {"note": f"{number}" + "x" * 100_000}}}
                cluster.store.patch(Pod.KIND, "default", "p", note)
                await asyncio.sleep(0)
            received, last = 0, b""
            async with asyncio.timeout(10):
                while not last.endswith(b"\r\n0\r\n\r\n"):  # HTTP's word for the end
                    last = await asyncio.get_running_loop().sock_recv(client, 2**20)
                    received += len(last)
            assert received < 300 * 100_000  # it was let go before it was told everything
        await server.stop()

    asyncio.run(body())


# The table of what is served


@served
async def test_discovery_names_exactly_what_is_served(face: Served) -> None:
    _, groups = await face.ask("GET", "/apis")
    roots = ["/api/v1", *(f"/apis/{each['preferredVersion']['groupVersion']}" for each in groups["groups"])]
    found = set()
    for root in roots:
        _, listed = await face.ask("GET", root)
        for each in listed["resources"]:
            if "/" not in each["name"]:
                found.add(f"{root}/{each['name']}")
                assert (await face.ask("GET", f"{root}/{each['name']}"))[1]["kind"] == f"{each['kind']}List"
                assert (await face.ask("GET", f"{root}/{each['name']}", **TABLE))[1]["kind"] == "Table"
    assert found == {each.kind.path() for each in RESOURCES}


@pytest.mark.parametrize(
    ("method", "path", "headers", "status", "sentence"),
    [
        ("GET", "/apis/apps/v1/deployments", {}, 404, "the embedded cluster keeps only namespaces, nodes, pods"),
        ("GET", "/nowhere", {}, 404, "the embedded cluster keeps only"),
        ("GET", f"{PODS}/p/log", {}, 501, "no container runs behind its pods"),
        ("POST", f"{PODS}/p/eviction", {}, 501, "nothing guards its pods against eviction, so delete them"),
        ("PUT", "/api/v1/namespaces/x/finalize", {}, 501, "it has no finalizers, so delete the namespace"),
        ("DELETE", "/api/v1/nodes", {}, 405, "objects are deleted one by one"),
        ("OPTIONS", "/api/v1/nodes", {}, 405, "does not allow this method"),
        ("GET", "/api/v1/nodes?resourceVersionMatch=Exact", {}, 501, "use limit and continue for a fixed state"),
        ("POST", f"{PODS}?dryRun=All", {"Content-Type": "application/json"}, 501, "use kubectl --dry-run=client"),
        ("POST", PODS, {"Content-Type": "application/yaml"}, 415, "YAML is not read here"),
        ("POST", PODS, {"Content-Type": "application/vnd.kubernetes.protobuf"}, 415, "protobuf is not read here"),
        ("PATCH", f"{PODS}/p", {"Content-Type": "application/apply-patch+yaml"}, 415, "no server-side apply here"),
        ("PATCH", f"{PODS}/p", {"Content-Type": "application/json-patch+json"}, 415, "no JSON patches here"),
        ("GET", PODS, {"Accept": "application/vnd.kubernetes.protobuf"}, 406, "answers application/json, plain or as"),
    ],
)
def test_what_is_not_in_the_list_is_answered_with_a_sentence(
    method: str, path: str, headers: dict[str, str], status: int, sentence: str
) -> None:
    async def body() -> None:
        async with serving() as face, face.client.request(method, path, data=b"{}", headers=headers) as response:
            told = await response.json()
            assert (response.status, told["kind"], told["code"]) == (status, "Status", status)
            assert sentence in told["message"]

    asyncio.run(body())


@served
async def test_who_would_rather_have_protobuf_gets_json(face: Served) -> None:
    accept = "application/vnd.kubernetes.protobuf,application/json"
    assert (await face.ask("GET", PODS, Accept=accept))[1]["kind"] == "PodList"


# What kubectl's tables show; the words are those that a real API server printed for the same objects.

RUNS = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}


def container(state: dict[str, Any], ready: bool = False, **rest: Any) -> dict[str, Any]:
    return {"name": "main", "ready": ready, "restartCount": 0, "image": "b", "imageID": "", "state": state, **rest}


def ended(code: int, **rest: Any) -> dict[str, Any]:
    return {"terminated": {"exitCode": code, "finishedAt": "2025-12-31T23:45:00Z", **rest}}


TWICE = container(RUNS, True, restartCount=2, lastState=ended(1))
COMPLETED = container(ended(0, reason="Completed"))


@pytest.mark.parametrize(
    ("status", "cells"),
    [
        pytest.param({}, ["0/1", "Pending", "0"], id="nothing yet"),
        pytest.param(
            {"containerStatuses": [container(RUNS, True)], "phase": "Running"}, ["1/1", "Running", "0"], id="running"
        ),
        pytest.param({"containerStatuses": [TWICE], "phase": "Running"}, ["1/1", "Running", "2"], id="restarted"),
        pytest.param(
            {"containerStatuses": [container(RUNS)], "phase": "Running"}, ["0/1", "Running", "0"], id="not ready"
        ),
        pytest.param(
            {"containerStatuses": [COMPLETED], "phase": "Succeeded"}, ["0/1", "Completed", "0"], id="completed"
        ),
        pytest.param({"containerStatuses": [container(ended(3))]}, ["0/1", "ExitCode:3", "0"], id="a code"),
        pytest.param({"phase": "Failed", "reason": "Evicted"}, ["0/1", "Evicted", "0"], id="a reason of the pod"),
        pytest.param(
            {"containerStatuses": [container({"waiting": {"reason": "ImagePullBackOff"}})]},
            ["0/1", "ImagePullBackOff", "0"],
            id="waiting",
        ),
        pytest.param(
            {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]},
            ["0/1", "SchedulingGated", "0"],
            id="gated",
        ),
    ],
)
def test_a_pod_is_told_in_one_word(status: dict[str, Any], cells: list[str]) -> None:
    async def body() -> None:
        clock = BrokenClock()
        async with serving(clock) as face:
            face.cluster.store.create(Pod.KIND, "default", pod_manifest("p"))
            face.cluster.store.patch(Pod.KIND, "default", "p", {"status": status}, subresource="status")
            _, told = await face.ask("GET", f"{PODS}/p", **TABLE)
            assert told["rows"][0]["cells"][1:4] == cells

    asyncio.run(body())


@served
async def test_one_pod_with_nonsense_in_its_status_hides_no_other(face: Served) -> None:
    for name in ("a", "b"):
        face.cluster.store.create(Pod.KIND, "default", pod_manifest(name))
    face.cluster.store.patch(
        Pod.KIND, "default", "a", {"status": {"containerStatuses": [{"state": 5}]}}, subresource="status"
    )
    _, told = await face.ask("GET", PODS, **TABLE)
    first, second = (each["cells"] for each in told["rows"])
    assert first[:2] == ["a", "<unreadable>"] and second[:3] == ["b", "0/1", "Pending"]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        *((0, "0s"), (119, "119s"), (120, "2m"), (310, "5m10s"), (600, "10m"), (10_740, "179m"), (10_800, "3h")),
        *((12_600, "3h30m"), (30_000, "8h"), (172_799, "47h"), (172_800, "2d"), (270_000, "3d3h"), (800_000, "9d")),
        *((94_608_000, "3y"), (94_694_400, "3y1d"), (315_360_000, "10y"), (-1, "0s"), (-60, "<invalid>")),
    ],
)
def test_an_age_is_told_in_one_or_two_units(seconds: int, text: str) -> None:
    assert age((NOW - timedelta(seconds=seconds)).isoformat(), NOW) == text


def test_no_time_has_no_age() -> None:
    assert [age(each, NOW) for each in (None, "", "soon")] == ["<unknown>"] * 3

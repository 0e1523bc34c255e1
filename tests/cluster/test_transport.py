"""Bytes over real sockets, against a small HTTP server on the loopback that answers what a test wrote down."""

import asyncio
import json
import ssl
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from aiohttp import web

from koordpy.cluster.kube import transport as transport_module
from koordpy.cluster.kube.cluster import KubeCluster
from koordpy.cluster.kube.transport import Transport
from koordpy.cluster.protocol import BindRequest, Selection
from koordpy.errors import ApiError, Conflict, Expired, NotFound, TooManyRequests, Unreachable
from koordpy_api.objects import Kind, Node, Pod

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


class StubAccess:
    """Credentials that need no cluster: a token, and what it becomes when it is refused."""

    def __init__(self, port: int, token: str = "good", renewed: str | None = None) -> None:
        self.host = f"http://127.0.0.1:{port}"
        self.server_name: str | None = None
        self.proxy: str | None = None
        self.ssl_context = ssl.create_default_context()
        self.token = token
        self.renewed = renewed
        self.renewals = 0

    async def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    async def renew(self, refused: str) -> bool:
        assert refused == f"Bearer {self.token}"
        self.renewals += 1
        if self.renewed is None:
            return False
        self.token = self.renewed
        return True


def serving(
    answer: Answer,
    ask: Callable[[Transport], Awaitable[Any]],
    access: Callable[[int], StubAccess] = StubAccess,
    **limits: Any,
) -> Any:
    """What `ask` returns, or raises, while every request is answered by `answer`."""

    async def main() -> Any:
        application = web.Application()

        async def handle(request: web.Request) -> web.StreamResponse:
            return await answer(request)

        application.router.add_route("*", "/{path:.*}", handle)
        runner = web.AppRunner(application, shutdown_timeout=0.01)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        [(_, port)] = runner.addresses
        transport = Transport(access(port), **limits)
        try:
            return await ask(transport)
        finally:
            await transport.close()
            await transport.close()
            await runner.cleanup()

    return asyncio.run(main())


def always(status: int, body: object = None, headers: dict[str, str] | None = None) -> Answer:
    async def answer(request: web.Request) -> web.StreamResponse:
        text = body if isinstance(body, str) else json.dumps(body)
        return web.Response(status=status, text=text, headers=headers)

    return answer


def streaming(*chunks: bytes, then: str = "end") -> Answer:
    """Chunks, each sent on its own, then a clean end, a connection that is dropped, or nothing more."""

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        response.enable_chunked_encoding()
        await response.prepare(request)
        for chunk in chunks:
            await response.write(chunk)
            await asyncio.sleep(0)
        if then == "drop":
            assert request.transport is not None
            request.transport.abort()
        if then == "silence":
            await asyncio.Event().wait()
        return response

    return answer


async def get(transport: Transport) -> bytes:
    return await transport.request("GET", "/x")


async def read_lines(transport: Transport) -> list[bytes]:
    async with transport.stream("/x", {"watch": "true"}) as lines:
        return [line async for line in lines]


def status(code: int, reason: str, **more: object) -> dict[str, object]:
    return {"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": "as it is", **more}


@pytest.mark.parametrize(
    ("code", "reason", "error"),
    [
        pytest.param(404, "NotFound", NotFound, id="404 is NotFound"),
        pytest.param(409, "AlreadyExists", Conflict, id="409 is Conflict"),
        pytest.param(410, "Expired", Expired, id="410 is Expired"),
        pytest.param(429, "TooManyRequests", TooManyRequests, id="429 is TooManyRequests"),
        pytest.param(403, "Forbidden", ApiError, id="403 is an ApiError"),
        pytest.param(500, "InternalError", ApiError, id="500 is an ApiError"),
    ],
)
@pytest.mark.parametrize("ask", [pytest.param(get, id="a request"), pytest.param(read_lines, id="a stream")])
def test_a_status_becomes_its_error(
    code: int, reason: str, error: type[ApiError], ask: Callable[[Transport], Awaitable[Any]]
) -> None:
    with pytest.raises(ApiError) as caught:
        serving(always(code, status(code, reason)), ask)
    assert type(caught.value) is error
    assert (caught.value.status, caught.value.reason, caught.value.message) == (code, reason, "as it is")
    assert caught.value.retry_after_s is None


def test_a_body_that_is_no_status_becomes_the_message() -> None:
    with pytest.raises(ApiError) as caught:
        serving(always(502, "<html>bad gateway</html>"), get)
    assert (caught.value.status, caught.value.message) == (502, "<html>bad gateway</html>")


def test_a_redirect_is_not_followed() -> None:
    with pytest.raises(ApiError) as caught:
        serving(always(302, "elsewhere", {"Location": "/y"}), get)
    assert caught.value.status == 302


@pytest.mark.parametrize(
    ("headers", "details", "retry_after_s"),
    [
        pytest.param({"Retry-After": "7"}, {}, 7.0, id="from the header"),
        pytest.param({}, {"retryAfterSeconds": 3}, 3.0, id="from the Status"),
        pytest.param({"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}, {}, None, id="not from a date"),
    ],
)
def test_retry_after_is_read(headers: dict[str, str], details: dict[str, object], retry_after_s: float | None) -> None:
    with pytest.raises(TooManyRequests) as caught:
        serving(always(429, status(429, "TooManyRequests", details=details), headers), get)
    assert caught.value.retry_after_s == retry_after_s


def test_a_refused_connection_is_unreachable() -> None:
    def nobody(port: int) -> StubAccess:
        return StubAccess(1)

    with pytest.raises(Unreachable, match="GET /x"):
        serving(always(200), get, nobody)


def test_a_connection_that_is_dropped_before_the_answer_is_unreachable() -> None:
    async def drop(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    async def post(transport: Transport) -> bytes:
        return await transport.request("POST", "/x", body=b"{}")

    with pytest.raises(Unreachable):
        serving(drop, post)


def test_an_answer_that_breaks_off_is_unreachable() -> None:
    with pytest.raises(Unreachable):
        serving(streaming(b'{"items": [', then="drop"), get)


def test_an_answer_that_does_not_come_is_unreachable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport_module, "REQUEST_TIMEOUT_S", 0.05)

    async def never(request: web.Request) -> web.StreamResponse:
        await asyncio.Event().wait()
        return web.Response()

    with pytest.raises(Unreachable):
        serving(never, get)
    with pytest.raises(Unreachable):
        serving(never, read_lines)


def test_lines_are_found_across_the_borders_of_chunks() -> None:
    answer = streaming(b'{"a"', b":1}\n{", b'"b":2}\n{"c":3}\n\n{"d"', b":4}", b"\n")
    assert serving(answer, read_lines) == [b'{"a":1}', b'{"b":2}', b'{"c":3}', b'{"d":4}']


def test_a_last_line_without_a_newline_is_a_line() -> None:
    assert serving(streaming(b"one\ntwo"), read_lines) == [b"one", b"two"]


def test_a_line_of_five_megabytes_is_a_line() -> None:
    long = b"x" * 5_000_000
    assert serving(streaming(long + b"\n" + long + b"\nshort\n"), read_lines) == [long, long, b"short"]


def test_a_stream_that_breaks_off_is_unreachable_after_its_last_line() -> None:
    seen: list[bytes] = []

    async def read(transport: Transport) -> None:
        async with transport.stream("/x") as lines:
            async for line in lines:
                seen.append(line)

    with pytest.raises(Unreachable):
        serving(streaming(b"one\n", b"tw", then="drop"), read)
    assert seen == [b"one"]


def test_leaving_a_stream_ends_it_at_once_and_frees_its_connection() -> None:
    async def read(transport: Transport) -> list[bytes]:
        seen = []
        for _ in range(3):
            async with transport.stream("/x") as lines:
                async for line in lines:
                    seen.append(line)
                    break
        return seen

    assert serving(streaming(b"one\n", then="silence"), read, connections=1) == [b"one"] * 3


def test_a_silent_stream_can_be_cancelled() -> None:
    async def read(transport: Transport) -> str:
        try:
            async with asyncio.timeout(0.05):
                await read_lines(transport)
        except TimeoutError:
            return "cancelled"
        return "ended"

    assert serving(streaming(b"one\n", then="silence"), read) == "cancelled"


def test_an_error_of_whoever_reads_a_stream_stays_as_it_is() -> None:
    async def read(transport: Transport) -> None:
        async with transport.stream("/x") as lines:
            async for _ in lines:
                raise OSError("mine")

    with pytest.raises(OSError, match="mine"):
        serving(streaming(b"one\n", then="silence"), read)


async def only_new(request: web.Request) -> web.StreamResponse:
    if request.headers["Authorization"] != "Bearer new":
        return web.json_response(status(401, "Unauthorized"), status=401)
    return web.Response(text="welcome\n")


@pytest.mark.parametrize(
    ("ask", "answer"),
    [pytest.param(get, b"welcome\n", id="a request"), pytest.param(read_lines, [b"welcome"], id="a stream")],
)
def test_a_401_renews_the_credentials_and_tries_once_more(
    ask: Callable[[Transport], Awaitable[Any]], answer: object
) -> None:
    assert serving(only_new, ask, lambda port: StubAccess(port, "old", "new")) == answer


@pytest.mark.parametrize(
    "renewed", [pytest.param(None, id="nothing new to be had"), pytest.param("no better", id="the new one is refused")]
)
def test_a_401_that_stays_is_an_answer(renewed: str | None) -> None:
    made: list[StubAccess] = []

    def access(port: int) -> StubAccess:
        made.append(StubAccess(port, "old", renewed))
        return made[0]

    with pytest.raises(ApiError) as caught:
        serving(only_new, get, access)
    assert caught.value.status == 401
    assert made[0].renewals == 1


class Wire:
    """Notes the requests that a KubeCluster sends, and answers each the same."""

    def __init__(self, body: str = '{"metadata": {}}') -> None:
        self.requests: list[tuple[str, str, dict[str, str], Any, str]] = []
        self._body = body

    async def __call__(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        self.requests.append(
            (
                request.method,
                request.path,
                dict(request.query),
                json.loads(body) if body else None,
                request.headers.get("Content-Type", ""),
            )
        )
        assert request.headers["Accept-Encoding"] == "identity"
        return web.Response(text=self._body)


def over(wire: Answer, ask: Callable[[KubeCluster], Awaitable[Any]]) -> Any:
    return serving(wire, lambda transport: ask(KubeCluster(transport)))


def test_a_bind_is_one_binding_with_its_annotations() -> None:
    wire = Wire()
    over(wire, lambda cluster: cluster.bind(BindRequest("ns", "a", "u1", "n1", {"key": "value"})))
    assert wire.requests == [
        (
            "POST",
            "/api/v1/namespaces/ns/pods/a/binding",
            {},
            {
                "apiVersion": "v1",
                "kind": "Binding",
                "metadata": {"namespace": "ns", "name": "a", "uid": "u1", "annotations": {"key": "value"}},
                "target": {"apiVersion": "v1", "kind": "Node", "name": "n1"},
            },
            "application/json",
        )
    ]


def test_a_patch_says_how_it_is_meant() -> None:
    wire = Wire()
    device = Kind("scheduling.koordinator.sh", "v1alpha1", "Device", "devices", namespaced=False)

    async def ask(cluster: KubeCluster) -> None:
        await cluster.patch(device, "", "n1", {"spec": {}})
        await cluster.patch(Pod.KIND, "ns", "a", {"status": {}}, subresource="status", strategic=True)

    over(wire, ask)
    assert wire.requests == [
        (
            "PATCH",
            "/apis/scheduling.koordinator.sh/v1alpha1/devices/n1",
            {},
            {"spec": {}},
            "application/merge-patch+json",
        ),
        (
            "PATCH",
            "/api/v1/namespaces/ns/pods/a/status",
            {},
            {"status": {}},
            "application/strategic-merge-patch+json",
        ),
    ]


def test_a_name_stays_one_part_of_the_path_whatever_stands_in_it() -> None:
    asked: list[str] = []

    async def note(request: web.Request) -> web.Response:
        asked.append(request.raw_path)
        return web.Response(text='{"metadata": {}}')

    async def ask(cluster: KubeCluster) -> None:
        await cluster.get(Pod.KIND, "../x", "Foo Bar/..")
        await cluster.update(Pod.KIND, "a", "b?c#d%2Fe", {}, subresource="status")
        await cluster.bind(BindRequest("a", "b/../c", "", "n", {}))
        await cluster.get(Node.KIND, "", "system:node@1")

    over(note, ask)
    assert asked == [
        "/api/v1/namespaces/..%2Fx/pods/Foo%20Bar%2F..",
        "/api/v1/namespaces/a/pods/b%3Fc%23d%252Fe/status",
        "/api/v1/namespaces/a/pods/b%2F..%2Fc/binding",
        "/api/v1/nodes/system:node@1",
    ]


@pytest.mark.parametrize("place", [("..", "x"), ("a", ".."), (".", "x")])
def test_what_no_path_can_hold_is_not_asked_for(place: tuple[str, str]) -> None:
    wire = Wire()
    with pytest.raises(Unreachable, match="cannot be the name of anything"):
        over(wire, lambda cluster: cluster.get(Pod.KIND, *place))
    assert wire.requests == []


def test_a_list_asks_for_its_page_and_reads_it() -> None:
    wire = Wire('{"metadata": {"resourceVersion": "9", "continue": "more"}, "items": [{"a": 1}]}')
    found = over(
        wire, lambda cluster: cluster.list(Pod.KIND, Selection(fields="spec.nodeName!="), continue_token="t=1")
    )
    assert wire.requests[0][:3] == (
        "GET",
        "/api/v1/pods",
        {"limit": "500", "fieldSelector": "spec.nodeName!=", "continue": "t=1"},
    )
    assert (found.resource_version, found.continue_token, [bytes(each) for each in found.items]) == (
        "9",
        "more",
        [b'{"a": 1}'],
    )


def test_an_empty_list_may_be_null() -> None:
    wire = Wire('{"metadata": {"resourceVersion": "9"}, "items": null}')
    found = over(wire, lambda cluster: cluster.list(Node.KIND))
    assert (found.items, found.continue_token) == ([], "")


def test_a_watch_asks_for_bookmarks_and_its_length() -> None:
    wire = Wire('{"type": "BOOKMARK", "object": {"metadata": {}}}\n')

    async def ask(cluster: KubeCluster) -> list[str]:
        async with cluster.watch(Node.KIND, "12", Selection(fields="f=1"), timeout_s=245) as events:
            return [event.type async for event in events]

    assert over(wire, ask) == ["BOOKMARK"]
    assert wire.requests[0][2] == {
        "watch": "true",
        "allowWatchBookmarks": "true",
        "resourceVersion": "12",
        "timeoutSeconds": "245",
        "fieldSelector": "f=1",
    }


@pytest.mark.parametrize("body", ["<html>", '{"items": []}', '{"type": "NEW", "object": {}}', '{"type": "ADDED", "obj'])
def test_what_no_api_server_says_is_unreachable(body: str) -> None:
    async def watch(cluster: KubeCluster) -> None:
        async with cluster.watch(Node.KIND, "12") as events:
            async for _ in events:
                pass

    with pytest.raises(Unreachable, match="not an API server's"):
        over(Wire(body), lambda cluster: cluster.list(Node.KIND))
    with pytest.raises(Unreachable, match="not an API server's"):
        over(Wire(body), watch)


@pytest.mark.parametrize("body", ["<html>come back later</html>", "[]", "{}", '{"metadata": null}'])
def test_what_is_no_object_is_no_answer(body: str) -> None:
    for ask in (
        lambda cluster: cluster.get(Pod.KIND, "ns", "a"),
        lambda cluster: cluster.patch(Pod.KIND, "ns", "a", {}),
        lambda cluster: cluster.create(Pod.KIND, "ns", {}),
        lambda cluster: cluster.update(Pod.KIND, "ns", "a", {}),
    ):
        with pytest.raises(Unreachable, match="is not an API server's"):
            over(Wire(body), ask)

"""Transport: bytes to the API server and bytes back. Every foreign exception ends here.

A request either returns the body, or raises ApiError for an answer of 300 and above, or Unreachable if there is no
answer. It is sent once, but after a 401, which says that nothing was done, once more with renewed credentials.
"""

import asyncio
import re
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Protocol
from urllib.parse import quote, urlencode, urlsplit

import aiohttp

from koordpy.cluster.kube.http1 import Answer, NotHttp
from koordpy.cluster.kube.pool import CONNECT_TIMEOUT_S, Pool, watchful_socket
from koordpy.cluster.protocol import api_error
from koordpy.errors import Unreachable

REQUEST_TIMEOUT_S: Final = 30.0
_UNAUTHORIZED: Final = 401
_NOT_MODIFIED_OR_WORSE: Final = 300
_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})
# Compressing costs the API server and us more than a LAN does.
_HEADERS: Final = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "koordpy"}
# For aiohttp, zero is no limit at all.
_SHORTEST_S: Final = 0.001
_FOREIGN: Final = (aiohttp.ClientError, NotHttp, TimeoutError, OSError)
_SENDABLE_PATH: Final = re.compile(r"[!-~]*")


class Access(Protocol):
    """What a transport needs to know; `Credentials` is one."""

    host: str
    server_name: str | None
    proxy: str | None
    ssl_context: ssl.SSLContext

    async def headers(self) -> dict[str, str]: ...

    async def renew(self, refused: str) -> bool: ...


@dataclass(frozen=True, slots=True)
class _Request:
    method: str
    path: str
    query: Mapping[str, str]
    body: bytes | None
    content_type: str


class Transport:
    """connections: so many may be open at once for requests, and as many for watches.

    Requests go by connections of our own; those to a proxy, and watches, by aiohttp.
    """

    def __init__(self, access: Access, connections: int = 128) -> None:
        self._access = access
        self._connections = connections
        self._session: aiohttp.ClientSession | None = None
        self._pool: Pool | None = None
        server = urlsplit(access.host)
        self._prefix = server.path.rstrip("/")
        fixed = {"Host": server.netloc.rpartition("@")[2], **_HEADERS}
        self._fixed = "".join(f"{name}: {value}\r\n" for name, value in fixed.items())

    async def request(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] = _NOTHING,
        body: bytes | None = None,
        content_type: str = "application/json",
        *,
        within_s: float | None = None,
    ) -> bytes:
        """Send one request. within_s: nothing of it leaves, or goes on leaving, later than that.

        Raises: ApiError, Unreachable.
        """
        patience_s = REQUEST_TIMEOUT_S if within_s is None else min(REQUEST_TIMEOUT_S, within_s)
        until = asyncio.get_running_loop().time() + patience_s
        request = _Request(method, path, query, body, content_type)
        send = self._send if self._access.proxy is None else self._send_by_proxy
        try:
            headers = await self._access.headers()
            answer = await send(request, headers, until)
            if answer.status == _UNAUTHORIZED and await self._access.renew(headers.get("Authorization", "")):
                answer = await send(request, await self._access.headers(), until)
        except _FOREIGN as error:
            raise _unreachable(method, path, error) from error
        if answer.status >= _NOT_MODIFIED_OR_WORSE:
            raise api_error(answer.body, answer.status, _seconds(answer.retry_after))
        return answer.body

    async def _send(self, request: _Request, headers: Mapping[str, str], until: float) -> Answer:
        if self._pool is None:
            access = self._access
            server = urlsplit(access.host)
            tls = access.ssl_context if server.scheme == "https" else None
            self._pool = Pool(server, tls, access.server_name, self._connections)
        path, query, body = request.path, request.query, request.body
        # Its parts come quoted; what is not even ASCII, and so could not be sent, is quoted here.
        target = self._prefix + (path if _SENDABLE_PATH.fullmatch(path) else quote(path, safe="/%"))
        if query:
            target = f"{target}?{urlencode(query)}"
        lines = "".join(f"{name}: {_one_line(value)}\r\n" for name, value in headers.items())
        if body is not None:
            lines = f"{lines}Content-Type: {request.content_type}\r\nContent-Length: {len(body)}\r\n"
        head = f"{request.method} {target} HTTP/1.1\r\n{self._fixed}{lines}\r\n".encode("latin-1")
        return await self._pool.exchange(head if body is None else head + body, until)

    async def _send_by_proxy(self, request: _Request, headers: Mapping[str, str], until: float) -> Answer:
        """Which aiohttp speaks with. Nothing of the request leaves, or goes on leaving, once this has ended."""
        sent = {**headers} if request.body is None else {**headers, "Content-Type": request.content_type}
        left_s = until - asyncio.get_running_loop().time()
        timeout = aiohttp.ClientTimeout(total=max(left_s, _SHORTEST_S), sock_connect=CONNECT_TIMEOUT_S)
        body = None if request.body is None else _PerishableBody(request.body, until)
        try:
            asked = self._ask(request.method, request.path, sent, params=request.query, data=body, timeout=timeout)
            async with await asked as response:
                text = response.headers.get("Retry-After", "")
                return Answer(response.status, text, await response.read(), reusable=True)
        except BaseException:
            if body is not None:
                body.recall()
            raise

    def stream(
        self, path: str, query: Mapping[str, str] = _NOTHING
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """The lines of an endless answer, without their newlines; a line may be of any length.

        Raises: ApiError and Unreachable on entering, Unreachable from the iterator.
        """
        return self._stream(path, query)

    @asynccontextmanager
    async def _stream(self, path: str, query: Mapping[str, str]) -> AsyncIterator[AsyncIterator[bytes]]:
        with _mapped("GET", path):
            async with asyncio.timeout(REQUEST_TIMEOUT_S):
                response = await self._open_stream(path, query)
        # Closed, not given back: the rest of the answer is still on its way.
        try:
            async with aclosing(_lines(response.content, path)) as lines:
                yield lines
        finally:
            # A stream that is left half-way cannot be used again. Closed in TLS' polite way, its socket would wait for
            # the server's farewell, which nobody waits for once the session is closed.
            if response.connection is not None and response.connection.transport is not None:
                response.connection.transport.abort()
            response.close()

    async def _open_stream(self, path: str, query: Mapping[str, str]) -> aiohttp.ClientResponse:
        """An open response below 300. Raises: ApiError, and aiohttp's own."""
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT_S)
        headers = await self._access.headers()
        response = await self._ask("GET", path, headers, params=query, timeout=timeout)
        if response.status == _UNAUTHORIZED and await self._access.renew(headers.get("Authorization", "")):
            response.close()
            response = await self._ask("GET", path, await self._access.headers(), params=query, timeout=timeout)
        if response.status >= _NOT_MODIFIED_OR_WORSE:
            async with response:
                text = response.headers.get("Retry-After", "")
                raise api_error(await response.read(), response.status, _seconds(text))
        return response

    async def close(self) -> None:
        """Drop every connection. May be called twice; a request after it opens new ones."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()
        if self._pool is not None:
            self._pool.close()
        await asyncio.sleep(0)  # what was aborted is closed in the loop's next turn

    async def _ask(self, method: str, path: str, headers: Mapping[str, str], **rest: Any) -> aiohttp.ClientResponse:
        if self._session is None:
            self._session = self._open()
        access = self._access
        return await self._session.request(
            method,
            access.host + path,
            headers=headers,
            proxy=access.proxy,
            server_hostname=access.server_name,
            # To another place, perhaps as a GET without its body: no API server means that.
            allow_redirects=False,
            **rest,
        )

    def _open(self) -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(
            limit=self._connections, ssl=self._access.ssl_context, socket_factory=watchful_socket
        )
        return aiohttp.ClientSession(
            connector=connector, headers=_HEADERS, cookie_jar=aiohttp.DummyCookieJar(), read_bufsize=2**18
        )


class _PerishableBody(aiohttp.BytesPayload):
    """A body that is not written once its time is over, and of which nothing more is delivered after `recall`."""

    def __init__(self, body: bytes, until: float) -> None:
        super().__init__(body)
        self._until = until
        self._transport: asyncio.Transport | None = None

    async def write_with_length(self, writer: Any, content_length: int | None) -> None:
        # The last moment before the bytes are the kernel's; see pool.py.
        if asyncio.get_running_loop().time() >= self._until:
            raise TimeoutError("too late to be sent")
        self._transport = getattr(writer, "transport", None)
        await super().write_with_length(writer, content_length)

    def recall(self) -> None:
        """Tear the connection down. Closed in TLS' polite way, it would deliver for 30 s more, once a network heals."""
        if self._transport is not None:
            self._transport.abort()


@contextmanager
def _mapped(method: str, path: str) -> Iterator[None]:
    try:
        yield
    except _FOREIGN as error:
        raise _unreachable(method, path, error) from error


def _unreachable(method: str, path: str, error: Exception) -> Unreachable:
    return Unreachable(f"{method} {path}: {str(error) or type(error).__name__}")


async def _lines(content: aiohttp.StreamReader, path: str) -> AsyncGenerator[bytes, None]:
    # aiohttp's own readline has a limit. Looking for a newline in all that has come so far, at every chunk, would
    # read a line of many megabytes over and over: here each byte is looked at once, and copied at most twice.
    parts: list[bytes] = []
    with _mapped("watch", path):
        async for chunk in content.iter_any():
            first, *rest = chunk.split(b"\n")
            parts.append(first)
            if not rest:
                continue
            for line in (b"".join(parts), *rest[:-1]):
                if line:
                    yield line
            parts = [rest[-1]]
    if any(parts):
        yield b"".join(parts)


def _one_line(value: str) -> str:
    if "\r" in value or "\n" in value:
        raise OSError("a header of more than one line")
    return value


def _seconds(text: str) -> float | None:
    """Retry-After as API servers send it, in seconds; a date, which proxies may send, is not understood."""
    return float(text) if text.isascii() and text.isdigit() else None

"""Transport: bytes to the API server and bytes back. Every foreign exception ends here.

A request either returns the body, or raises ApiError for an answer of 300 and above, or Unreachable if there is no
answer. It is sent once, but after a 401, which says that nothing was done, once more with renewed credentials.
"""

import asyncio
import socket
import ssl
import struct
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager, contextmanager
from types import MappingProxyType
from typing import Any, Final, Protocol

import aiohttp

from koordpy.cluster.protocol import api_error
from koordpy.errors import Unreachable

CONNECT_TIMEOUT_S: Final = 3.0
REQUEST_TIMEOUT_S: Final = 30.0
_UNAUTHORIZED: Final = 401
_NOT_MODIFIED_OR_WORSE: Final = 300
_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})
# How long a connection may be silent before the kernel asks whether the other end is still there, how often it asks,
# and how many times without an answer. A load balancer that forgot us is found after a minute, not after five.
_KEEPALIVE: Final = (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3))


class Access(Protocol):
    """What a transport needs to know; `Credentials` is one."""

    host: str
    server_name: str | None
    proxy: str | None
    ssl_context: ssl.SSLContext

    async def headers(self) -> dict[str, str]: ...

    async def renew(self, refused: str) -> bool: ...


class Transport:
    """One session. `connections` bounds how many are open at once, watches included."""

    def __init__(self, access: Access, connections: int = 128) -> None:
        self._access = access
        self._connections = connections
        self._session: aiohttp.ClientSession | None = None

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
        """Send one request. within_s: a body does not leave, or goes on leaving, later than that.

        Raises: ApiError, Unreachable.
        """
        headers = {"Content-Type": content_type} if body is not None else {}
        patience_s = REQUEST_TIMEOUT_S if within_s is None else min(REQUEST_TIMEOUT_S, within_s)
        timeout = aiohttp.ClientTimeout(total=patience_s, sock_connect=CONNECT_TIMEOUT_S)
        data = body if body is None or within_s is None else _PerishableBody(body, patience_s)
        with _mapped(method, path):
            try:
                response = await self._send(method, path, headers, params=query, data=data, timeout=timeout)
                async with response:
                    return await response.read()
            except BaseException:
                if isinstance(data, _PerishableBody):
                    data.recall()
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
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT_S)
        with _mapped("GET", path):
            async with asyncio.timeout(REQUEST_TIMEOUT_S):
                response = await self._send("GET", path, {}, params=query, timeout=timeout)
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

    async def close(self) -> None:
        """Drop every connection. May be called twice; a request after it opens a new session."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()
            await asyncio.sleep(0)  # what was aborted is closed in the loop's next turn

    async def _send(self, method: str, path: str, extra: Mapping[str, str], **rest: Any) -> aiohttp.ClientResponse:
        """An open response below 300. Raises: ApiError, and aiohttp's own."""
        headers = await self._access.headers()
        response = await self._send_once(method, path, {**headers, **extra}, **rest)
        if response.status == _UNAUTHORIZED and await self._access.renew(headers.get("Authorization", "")):
            response.close()
            response = await self._send_once(method, path, {**await self._access.headers(), **extra}, **rest)
        if response.status >= _NOT_MODIFIED_OR_WORSE:
            async with response:
                raise api_error(await response.read(), response.status, _retry_after_s(response))
        return response

    async def _send_once(
        self, method: str, path: str, headers: Mapping[str, str], **rest: Any
    ) -> aiohttp.ClientResponse:
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
            limit=self._connections, ssl=self._access.ssl_context, socket_factory=_watchful_socket
        )
        return aiohttp.ClientSession(
            connector=connector,
            # Compressing costs the API server and us more than a LAN does.
            headers={"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "koordpy"},
            cookie_jar=aiohttp.DummyCookieJar(),
            read_bufsize=2**18,
        )


class _PerishableBody(aiohttp.BytesPayload):
    """A body that is not written once its time is over, and of which nothing more is delivered after `recall`."""

    def __init__(self, body: bytes, patience_s: float) -> None:
        super().__init__(body)
        self._until = asyncio.get_running_loop().time() + patience_s
        self._transport: asyncio.Transport | None = None

    async def write_with_length(self, writer: Any, content_length: int | None) -> None:
        # The last moment before the bytes are the kernel's. This process may have been stopped for a minute since the
        # request was begun, and a connection that has come up meanwhile is served before any timeout.
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
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        raise Unreachable(f"{method} {path}: {str(error) or type(error).__name__}") from error


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


def _watchful_socket(address: tuple[Any, ...]) -> socket.socket:
    family, kind, protocol, _, _ = address
    made = socket.socket(family, kind, protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    # What is not on the wire yet when a connection is closed never gets there. The kernel would try for minutes, and a
    # bind that we have given up would be carried out when the lease is another's.
    made.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    for name, value in _KEEPALIVE:
        if hasattr(socket, name):  # not everywhere by these names
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    return made


def _retry_after_s(response: aiohttp.ClientResponse) -> float | None:
    """Retry-After as API servers send it, in seconds; a date, which proxies may send, is not understood."""
    text = response.headers.get("Retry-After", "")
    return float(text) if text.isascii() and text.isdigit() else None

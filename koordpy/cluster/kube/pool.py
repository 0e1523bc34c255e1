"""Connections to one API server, kept open between requests; each carries one request at a time.

Thin, because two requests a Pod go this way: an HTTP library of the general sort costs as much as all the rest that is
done for a Pod. Watches, and whoever is behind a proxy, go the general way.
"""

import asyncio
import socket
import ssl
import struct
from functools import partial
from typing import Any, Final, cast
from urllib.parse import SplitResult

from koordpy.cluster.kube.http1 import Answer, AnswerReader, NotHttp

CONNECT_TIMEOUT_S: Final = 3.0
# Servers, and what stands before them, close what is idle for longer; a request that meets that is lost.
IDLE_S: Final = 15.0
_BUFFER: Final = 2**16
# How long a connection may be silent before the kernel asks whether the other end is still there, how often it asks,
# and how many times without an answer. A load balancer that forgot us is found after a minute, not after five.
_KEEPALIVE: Final = (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3))


class Pool:
    """At most `limit` connections; whoever wants one more waits.

    tls: None for plain HTTP. server_name: what its certificate is for, if that is not the host's name.
    """

    def __init__(self, server: SplitResult, tls: ssl.SSLContext | None, server_name: str | None, limit: int) -> None:
        self._host = server.hostname or ""
        self._port = server.port or (443 if tls else 80)
        self._tls = tls
        self._server_name = (server_name or self._host) if tls else None
        self._free = asyncio.Semaphore(limit)
        self._idle: list[_Connection] = []  # the one that was used last is the last
        self._address: object = None  # the one that took the last connection
        self._buffer = memoryview(bytearray(_BUFFER))  # all of them: what is read is taken out at once

    async def exchange(self, request: bytes, until: float) -> Answer:
        """Send one request and read its answer. until: of the loop's time; no byte leaves later than that.

        *Raises* TimeoutError, OSError, or NotHttp. Unless it returns, nothing more of the request is delivered.
        """
        _look_at_the_time(until)
        async with asyncio.timeout_at(until), self._free:
            connection = self._take() or await self._connect()
            try:
                answer = await connection.exchange(request, until)
            except BaseException:
                connection.abort()
                raise
        if answer.reusable:
            self._idle.append(connection)
        else:
            connection.abort()
        return answer

    def close(self) -> None:
        """Those that are idle; may be called twice."""
        for connection in self._idle:
            connection.abort()
        self._idle.clear()

    def _take(self) -> "_Connection | None":
        idle, oldest = self._idle, asyncio.get_running_loop().time() - IDLE_S
        while idle and idle[0].used_at < oldest:
            idle.pop(0).abort()
        while idle:
            if (connection := idle.pop()).is_open:
                return connection
        return None

    async def _connect(self) -> "_Connection":
        """By whichever of the host's addresses takes it; the one that did so last is tried first."""
        loop = asyncio.get_running_loop()
        failure: Exception = OSError(f"{self._host} has no address")
        addresses = await self._addresses()
        for family, kind, protocol, _, address in sorted(addresses, key=lambda each: each[4] != self._address):
            made = watchful_socket((family, kind, protocol, "", address))
            made.setblocking(False)
            try:
                async with asyncio.timeout(CONNECT_TIMEOUT_S):
                    await loop.sock_connect(made, address)
            except (OSError, TimeoutError) as error:
                made.close()
                failure = error
                continue
            except BaseException:
                made.close()
                raise
            self._address = address
            _, connection = await loop.create_connection(
                partial(_Connection, self._buffer), sock=made, ssl=self._tls, server_hostname=self._server_name
            )
            return connection
        raise failure

    async def _addresses(self) -> list[Any]:
        how = {"type": socket.SOCK_STREAM}
        try:
            return socket.getaddrinfo(self._host, self._port, flags=socket.AI_NUMERICHOST, **how)
        except socket.gaierror:  # a name; asking what it stands for may take a while
            return await asyncio.get_running_loop().getaddrinfo(self._host, self._port, **how)


class _Connection(asyncio.BufferedProtocol):
    """Buffered, because asyncio's TLS otherwise makes a buffer of 256 KiB for each of two reads of every answer."""

    def __init__(self, buffer: memoryview) -> None:
        self._buffer = buffer
        self.is_open = True
        self.used_at = 0.0
        self._loop = asyncio.get_running_loop()
        self._reader = AnswerReader()
        self._waiter: asyncio.Future[Answer] | None = None
        self._transport: asyncio.Transport | None = None

    async def exchange(self, request: bytes, until: float) -> Answer:
        waiter: asyncio.Future[Answer] = self._loop.create_future()
        self._waiter = waiter
        assert self._transport is not None
        # The last moment before the bytes are the kernel's. This process may have been stopped for a minute since the
        # request was begun, and a connection that has come up meanwhile is served before any timeout.
        self.used_at = _look_at_the_time(until)
        self._transport.write(request)
        return await waiter

    def abort(self) -> None:
        """Tear it down. Closed in TLS' polite way, it would deliver for 30 s more, once a network heals."""
        self.is_open = False
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's are none of that class

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        waiter = self._waiter
        if waiter is None or waiter.done():
            self.abort()  # nobody asked
            return
        try:
            answer = self._reader.feed(self._buffer[:nbytes])
        except NotHttp as error:
            waiter.set_exception(error)
            return
        if answer is not None:
            waiter.set_result(answer)

    def connection_lost(self, error: Exception | None) -> None:
        self.is_open = False
        waiter = self._waiter
        if waiter is None or waiter.done():
            return
        if error is None and (answer := self._reader.end()) is not None:
            waiter.set_result(answer)
        else:
            waiter.set_exception(error or ConnectionError("the connection ended before the answer"))


def _look_at_the_time(until: float) -> float:
    if (now := asyncio.get_running_loop().time()) >= until:
        raise TimeoutError("too late to be sent")
    return now


def watchful_socket(address: tuple[Any, ...]) -> socket.socket:
    """A socket for one of getaddrinfo's answers that notices a dead peer, and forgets at once what it has not sent."""
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

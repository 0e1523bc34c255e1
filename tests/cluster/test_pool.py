"""The connections that requests share, over real sockets."""

import asyncio
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

import pytest

from koordpy.cluster.kube import pool as pool_module
from koordpy.cluster.kube.http1 import NotHttp
from koordpy.cluster.kube.pool import Pool

REQUEST = b"GET / HTTP/1.1\r\n\r\n"
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
FAR_S = 30.0


class Server:
    """Answers each request with `answer`; then it closes the connection, if it is told to."""

    def __init__(self, answer: bytes = ANSWER, closes: bool = False) -> None:
        self.connections = 0
        self.requests = 0
        self.lets = asyncio.Event()
        self.lets.set()
        self.came = asyncio.Event()
        self._answer = answer
        self._closes = closes

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while await reader.readuntil(b"\r\n\r\n"):
                self.requests += 1
                self.came.set()
                await self.lets.wait()
                writer.write(self._answer)
                if self._closes:
                    break
        except (asyncio.IncompleteReadError, ConnectionResetError):
            pass
        finally:
            writer.close()


def with_pool(server: Callable[[], Server], ask: Callable[[Pool, Server], Awaitable[None]], limit: int = 8) -> None:
    async def main() -> None:
        made = server()
        listening = await asyncio.start_server(made.serve, "127.0.0.1", 0)
        port = listening.sockets[0].getsockname()[1]
        pool = Pool(urlsplit(f"http://127.0.0.1:{port}"), None, None, limit)
        try:
            async with asyncio.timeout(10):
                await ask(pool, made)
        finally:
            pool.close()
            listening.close()

    asyncio.run(main())


async def exchange(pool: Pool, within_s: float = FAR_S) -> bytes:
    return (await pool.exchange(REQUEST, asyncio.get_running_loop().time() + within_s)).body


def test_requests_one_after_the_other_share_a_connection() -> None:
    async def ask(pool: Pool, server: Server) -> None:
        assert [await exchange(pool) for _ in range(5)] == [b"ok"] * 5
        assert (server.connections, server.requests) == (1, 5)

    with_pool(Server, ask)


def test_no_more_connections_than_the_limit_are_open_however_many_ask() -> None:
    async def ask(pool: Pool, server: Server) -> None:
        assert await asyncio.gather(*(exchange(pool) for _ in range(20))) == [b"ok"] * 20
        assert server.connections == 3

    with_pool(Server, ask, limit=3)


def test_whoever_waits_for_a_connection_gets_one_when_the_other_is_given_up() -> None:
    async def ask(pool: Pool, server: Server) -> None:
        server.lets.clear()
        first = asyncio.ensure_future(exchange(pool))
        second = asyncio.ensure_future(exchange(pool))
        await server.came.wait()
        first.cancel()
        server.lets.set()
        assert await second == b"ok"
        assert server.connections == 2

    with_pool(Server, ask, limit=1)


def test_a_connection_that_the_server_has_closed_is_not_used_again() -> None:
    async def ask(pool: Pool, server: Server) -> None:
        for number in range(1, 4):
            assert await exchange(pool) == b"ok"
            assert server.connections == number
            await asyncio.sleep(0.01)

    with_pool(lambda: Server(closes=True), ask)


def test_a_connection_that_was_idle_for_long_is_not_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "IDLE_S", -1.0)

    async def ask(pool: Pool, server: Server) -> None:
        for _ in range(3):
            assert await exchange(pool) == b"ok"
        assert server.connections == 3

    with_pool(Server, ask)


def test_what_comes_too_late_to_be_sent_is_not_sent() -> None:
    async def ask(pool: Pool, server: Server) -> None:
        with pytest.raises(TimeoutError, match="too late"):
            await exchange(pool, within_s=0)
        assert server.requests == 0

    with_pool(Server, ask)


def test_an_answer_that_does_not_come_in_time_ends_the_request() -> None:
    async def ask(pool: Pool, server: Server) -> None:
        server.lets.clear()
        with pytest.raises(TimeoutError):
            await exchange(pool, within_s=0.05)

    with_pool(Server, ask)


def test_an_answer_that_is_no_http_ends_the_request_and_its_connection() -> None:
    async def ask(pool: Pool, server: Server) -> None:
        for number in (1, 2):
            with pytest.raises(NotHttp):
                await exchange(pool)
            assert server.connections == number

    with_pool(lambda: Server(b"SSH-2.0\r\n\r\n"), ask)

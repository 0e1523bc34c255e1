"""EmbeddedServer: the embedded cluster over HTTP, for kubectl. It runs on the loop of whoever starts it.

It listens on 127.0.0.1 and knows no passwords, so a web page must not reach it: a request that names another host (DNS
rebinding) or comes from a page (Origin) is refused. A handler that raises is a 500 and a line in the log.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any, Final

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from koordpy.cluster.embedded.cluster import EmbeddedCluster
from koordpy.cluster.embedded.refusals import refused
from koordpy.cluster.embedded.routes import JSON, Routes, status_of
from koordpy.cluster.embedded.store import Watch
from koordpy.errors import ApiError, Unreachable

_STALLED_S: Final = 60.0
_LOG: Final = logging.getLogger(__name__)


class EmbeddedServer:
    """Serves a cluster on `port` of 127.0.0.1; stop may be called twice. watches: those in progress."""

    def __init__(self, cluster: EmbeddedCluster) -> None:
        self._routes = Routes(cluster)
        self._runner: web.ServerRunner | None = None
        self.watches: set[Watch] = set()
        self.port = 0
        self._log = logging.Logger(__name__)  # aiohttp's. Who speaks no HTTP is told so; the log need not know
        self._log.parent = _LOG
        self._log.addFilter(lambda line: not (line.exc_info and isinstance(line.exc_info[1], HttpProcessingError)))

    async def start(self, port: int = 0) -> None:
        """Listen; 0 finds a free port. Raises: OSError if it is taken."""
        # A handler is cancelled when its client goes: that ends a watch in which nothing happens.
        # A real server does not look at Content-Encoding either.
        more: dict[str, Any] = {"access_log": None, "auto_decompress": False, "logger": self._log}
        server = web.Server(self._handle, handler_cancellation=True, **more)
        self._runner = web.ServerRunner(server, shutdown_timeout=1.0)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", port).start()
        self.port = int(self._runner.addresses[0][1])

    async def stop(self) -> None:
        """End every watch and close every connection."""
        for each in self.watches:
            each.close()
        runner, self._runner = self._runner, None
        if runner is not None:
            await runner.cleanup()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        answer: web.Response | tuple[Watch, AsyncIterator[bytes]] | None = None
        try:
            hosts = [f"{name}:{self.port}" for name in ("127.0.0.1", "localhost", "[::1]")]
            if request.headers.get("Host", "").lower() not in hosts or "Origin" in request.headers:
                raise refused(403, f"the embedded cluster is at {hosts[0]} and for programs, not for web pages")
            answer = await self._routes.answer(request)
            return await self._tell(request, *answer) if isinstance(answer, tuple) else answer
        except ApiError as error:
            return status_of(error)
        except (Unreachable, TimeoutError):
            pass  # a fault, or a client that reads no more: it sees its connection die
        except Exception as error:  # noqa: BLE001 - one request must not end the server
            _LOG.exception("%s %s", request.method, request.path)
            if answer is None:
                return status_of(refused(500, f"Internal error occurred: {type(error).__name__}"))
        if request.transport is not None:
            request.transport.abort()
        return web.Response()

    async def _tell(self, request: web.BaseRequest, watch: Watch, lines: AsyncIterator[bytes]) -> web.StreamResponse:
        """Write what a watch says. Nothing is kept for a slow client but the history, and a stalled one is dropped."""
        response = web.StreamResponse(headers={"Content-Type": JSON})
        self.watches.add(watch)
        try:
            await response.prepare(request)
            async for line in lines:
                async with asyncio.timeout(_STALLED_S):
                    await response.write(line)
            await response.write_eof()
        except ConnectionError:
            pass  # it went away between two lines
        finally:
            self.watches.discard(watch)
            watch.close()
        return response

"""/healthz, /readyz and /metrics on a thread of their own, so that a long cycle never fails a probe."""

import socket
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

Answer = tuple[int, str, bytes]
Route = Callable[[], Answer]

TEXT: Final = "text/plain; charset=utf-8"


class TelemetryServer:
    """Serves `routes` (path → answer) until it is closed.

    Raises: OSError if the address cannot be had.
    """

    def __init__(self, address: str, port: int, routes: dict[str, Route]) -> None:
        handler = type("_BoundHandler", (_Handler,), {"routes": routes})
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        server = type("_BoundServer", (ThreadingHTTPServer,), {"address_family": family})
        self._server: ThreadingHTTPServer = server((address, port), handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, name="telemetry", daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        """The port it listens on; the one that was found if 0 was asked for."""
        return int(self._server.server_address[1])

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    routes: dict[str, Route]

    def do_GET(self) -> None:
        route = self.routes.get(self.path.partition("?")[0])
        known = ", ".join(sorted(self.routes))
        status, content_type, body = route() if route else (404, TEXT, f"not found; there are {known}\n".encode())
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Probes come every few seconds; they are not worth a line."""

"""/healthz, /readyz, /metrics and /debug on a thread of their own, so that a long cycle never fails a probe."""

import ipaddress
import socket
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

Answer = tuple[int, str, bytes]
Route = Callable[[], Answer]

TEXT: Final = "text/plain; charset=utf-8"
LOCAL_NAMES: Final = ("localhost", "127.0.0.1", "[::1]")
NOT_LOCAL: Final = (
    b"only answered to this machine: ask from inside the Pod, or through kubectl port-forward, which asks for your "
    b"right to do so\n"
)


class TelemetryServer:
    """Serves `routes` (path → answer) until it is closed.

    private: those that only a client on this machine is answered, since they name Pods and take the scheduler's time.
    Raises: OSError if the address cannot be had.
    """

    def __init__(
        self, address: str, port: int, routes: Mapping[str, Route], private: Mapping[str, Route] | None = None
    ) -> None:
        handler = type("_BoundHandler", (_Handler,), {"routes": routes, "private": private or {}})
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
    routes: Mapping[str, Route]
    private: Mapping[str, Route]

    def do_GET(self) -> None:
        status, content_type, body = self._answer(self.path.partition("?")[0])
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _answer(self, path: str) -> Answer:
        if path in self.routes:
            return self.routes[path]()
        if path in self.private:
            return self.private[path]() if self._is_local() else (403, TEXT, NOT_LOCAL)
        return 404, TEXT, f"not found; there are {', '.join(sorted(self.routes))}\n".encode()

    def _is_local(self) -> bool:
        """By its address; and by the name it asked for, or else any page in a browser here could ask."""
        peer = ipaddress.ip_address(str(self.client_address[0]).partition("%")[0])
        peer = getattr(peer, "ipv4_mapped", None) or peer
        host = self.headers.get("Host", "")
        return peer.is_loopback and host.removesuffix(f":{host.rpartition(':')[2]}") in LOCAL_NAMES

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Probes come every few seconds; they are not worth a line."""

"""A Binding leaves in time or not at all, and what has not left when it is given up never does. Over real sockets."""

import asyncio
import queue
import select
import socket
import ssl
import threading
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

from koordpy.cluster.kube.cluster import KubeCluster
from koordpy.cluster.kube.transport import Transport
from koordpy.cluster.protocol import BindRequest
from koordpy.errors import Unreachable
from tests.cluster.test_transport import StubAccess

ANSWER = b"HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
Ask = Callable[[KubeCluster], Awaitable[None]]


class Peer:
    """Accepts one connection. answers: or it says nothing. received: all that came. ended: how the connection did."""

    def __init__(self, answers: bool) -> None:
        self.received = b""
        self.ended = ""
        self._answers = answers
        self.came = asyncio.Event()
        self._over = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while chunk := await reader.read(2**16):
                self.received += chunk
                self.came.set()
                if self._answers and self.received.endswith(b"}"):
                    writer.write(ANSWER)
            self.ended = "closed"
        except ConnectionResetError:
            self.ended = "reset"
        finally:
            writer.close()
            self._over.set()

    async def over(self) -> None:
        async with asyncio.timeout(10):
            await self._over.wait()


def asked(peer: Peer, ask: Ask, access: Callable[[int], StubAccess] = StubAccess) -> None:
    async def main() -> None:
        server = await asyncio.start_server(peer.serve, "127.0.0.1", 0)
        transport = Transport(access(server.sockets[0].getsockname()[1]))
        try:
            await ask(KubeCluster(transport))
        finally:
            await transport.close()
            server.close()

    asyncio.run(main())


def _contexts(folder: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """The server's and the client's, which believes the server's own certificate."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    begin = datetime.now(UTC) - timedelta(days=1)
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    made = made.serial_number(1).not_valid_before(begin).not_valid_after(begin + timedelta(days=3))
    alternative = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    signed = made.add_extension(alternative, critical=False).sign(key, hashes.SHA256())
    pem = serialization.Encoding.PEM
    form = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    both = folder / "both.pem"
    both.write_bytes(signed.public_bytes(pem) + key.private_bytes(pem, *form))
    there = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    there.load_cert_chain(both)
    return there, ssl.create_default_context(cafile=str(both))


def bind(within_s: float | None) -> BindRequest:
    return BindRequest("default", "p", "uid-1", "n1", {"a": "b"}, within_s)


def test_the_api_server_is_told_how_long_it_may_work_on_a_bind() -> None:
    peer = Peer(answers=True)
    asked(peer, lambda cluster: cluster.bind(bind(3.9)))
    line, _, rest = peer.received.partition(b"\r\n")
    assert line == b"POST /api/v1/namespaces/default/pods/p/binding?timeout=3900ms HTTP/1.1"
    assert b'"uid":"uid-1"' in rest


def test_without_a_lease_a_bind_is_a_request_like_any_other() -> None:
    peer = Peer(answers=True)
    asked(peer, lambda cluster: cluster.bind(bind(None)))
    assert peer.received.startswith(b"POST /api/v1/namespaces/default/pods/p/binding HTTP/1.1")


def test_a_bind_that_is_given_up_takes_its_connection_along() -> None:
    """A polite farewell would let the kernel deliver what has not left yet, whenever the network comes back."""

    async def ask(cluster: KubeCluster) -> None:
        began = time.monotonic()
        with pytest.raises(Unreachable):
            await cluster.bind(bind(0.3))
        assert 0.2 < time.monotonic() - began < 5
        await peer.over()

    peer = Peer(answers=False)
    asked(peer, ask)
    assert peer.ended == "reset"


def test_over_tls_it_does_not_wait_for_the_other_ends_farewell(tmp_path: Path) -> None:
    """A server that hangs sends none; asyncio would go on delivering for 30 s."""
    there, here = _contexts(tmp_path)
    torn_down = queue.Queue[bool]()

    def hang(listening: socket.socket) -> None:
        connection, _ = listening.accept()
        with there.wrap_socket(connection, server_side=True) as secured:
            secured.recv(2**16)
            events = select.poll()
            events.register(secured, select.POLLERR)  # POLLHUP comes unasked
            torn_down.put(bool(events.poll(3000)))

    async def main(port: int) -> None:
        access = StubAccess(port)
        access.host, access.ssl_context = f"https://127.0.0.1:{port}", here
        transport = Transport(access)
        with pytest.raises(Unreachable):
            await KubeCluster(transport).bind(bind(0.5))
        assert await asyncio.to_thread(torn_down.get, True, 10)
        await transport.close()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=hang, args=[listening], daemon=True)
        thread.start()
        asyncio.run(main(listening.getsockname()[1]))
        thread.join(10)


def test_a_bind_that_is_cancelled_takes_its_connection_along() -> None:
    async def ask(cluster: KubeCluster) -> None:
        task = asyncio.ensure_future(cluster.bind(bind(30)))
        await peer.came.wait()
        task.cancel()
        await asyncio.wait([task])
        await peer.over()

    peer = Peer(answers=False)
    asked(peer, ask)
    assert peer.ended == "reset"


def test_a_process_that_was_stopped_before_it_sent_a_bind_sends_nothing_when_it_goes_on() -> None:
    """Whatever is ready is served before any timeout is looked at; so the body itself looks at the time."""

    async def ask(cluster: KubeCluster) -> None:
        with pytest.raises(Unreachable, match="too late to be sent"):
            await cluster.bind(bind(10))

    peer = Peer(answers=True)
    asked(peer, ask, StoppedAccess)
    assert b"uid-1" not in peer.received


class StoppedAccess(StubAccess):
    """The process is stopped for a minute while it asks for credentials."""

    async def headers(self) -> dict[str, str]:
        loop = asyncio.get_running_loop()
        true = loop.time
        loop.time = lambda: true() + 60  # type: ignore[method-assign]
        return await super().headers()

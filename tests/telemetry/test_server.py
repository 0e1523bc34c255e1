"""What the telemetry server answers to whom."""

import http.client
import socket
from collections.abc import Iterator

import pytest

from koordpy.telemetry.server import TEXT, TelemetryServer


@pytest.fixture
def server() -> Iterator[TelemetryServer]:
    serving = TelemetryServer(
        "0.0.0.0", 0, {"/healthz": lambda: (200, TEXT, b"ok\n")}, {"/debug/check": lambda: (200, TEXT, b"right\n")}
    )
    yield serving
    serving.close()


def ask(server: TelemetryServer, path: str, host: str = "127.0.0.1", **headers: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection(host, server.port, timeout=10)
    try:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def test_this_machine_may_ask_anything(server: TelemetryServer) -> None:
    assert ask(server, "/debug/check") == (200, "right\n")
    assert ask(server, "/debug/check", Host=f"localhost:{server.port}") == (200, "right\n")
    assert ask(server, "/healthz?verbose=1") == (200, "ok\n")


def test_a_page_in_a_browser_here_may_not_ask_what_is_private(server: TelemetryServer) -> None:
    status, text = ask(server, "/debug/check", Host="evil.example.test")
    assert status == 403
    assert "kubectl port-forward" in text
    assert ask(server, "/healthz", Host="evil.example.test")[0] == 200


def test_another_machine_may_not_ask_what_is_private(server: TelemetryServer) -> None:
    """It asks by an address of this machine that is not loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing
        except OSError:
            pytest.skip("this machine has no address but loopback")
        own = probe.getsockname()[0]
    if own.startswith("127."):
        pytest.skip("this machine has no address but loopback")
    assert ask(server, "/debug/check", own)[0] == 403
    assert ask(server, "/healthz", own)[0] == 200


def test_what_is_not_there_is_told_without_naming_what_is_private(server: TelemetryServer) -> None:
    assert ask(server, "/debug") == (404, "not found; there are /healthz\n")

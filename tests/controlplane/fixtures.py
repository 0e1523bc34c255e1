"""The pytest fixtures of the real control plane, and the line in the summary that says how many tests used it.

conftest.py loads this module as a plugin.  Without the binaries these fixtures skip and say how to get them; with
KOORDPY_REQUIRE_CONTROLPLANE=1 they fail instead, so that a CI job cannot pass by not testing.
"""

from __future__ import annotations

import os
import secrets
import subprocess
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from .server import ControlPlane, find_assets, why_absent
from .supervisor import wait_until

REPOSITORY: Final = Path(__file__).resolve().parents[2]
SCHEDULER: Final = "system:serviceaccount:koordpy-system:koordpy-scheduler"
SCHEDULER_GROUPS: Final = (
    "system:serviceaccounts",
    "system:serviceaccounts:koordpy-system",
    "system:authenticated",
)
PREFIXED: Final = ("/api/v1/nodes", "/apis/scheduling.koordinator.sh/v1alpha1/devices")
"""Collections without namespaces, where a test's objects are known by the prefix of their names."""

USED: Final = "kube-apiserver"
"""The property of a test's report that says it ran on the real API server; reports also travel between processes."""


@pytest.fixture(scope="session")
def control_plane_assets() -> Path:
    """The folder with the control plane's binaries; skips, or fails if they are required, where there is none."""
    assets = find_assets()
    if assets is not None:
        return assets
    reason = f"This test needs a real kube-apiserver. {why_absent()}"
    if os.environ.get("KOORDPY_REQUIRE_CONTROLPLANE") == "1":
        pytest.fail(f"{reason} KOORDPY_REQUIRE_CONTROLPLANE=1 forbids skipping it.", pytrace=False)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def control_plane(control_plane_assets: Path) -> Iterator[ControlPlane]:
    """The session's control plane, with the Device CRD, and with the scheduler's account and rights as deployed."""
    with ControlPlane(users=[(SCHEDULER, SCHEDULER_GROUPS)]) as running:
        running.apply_file(REPOSITORY / "deploy" / "crds" / "device.yaml")
        running.apply_file(REPOSITORY / "deploy" / "rbac.yaml")
        wait_until("the scheduler's rights", partial(_may_list, running, PREFIXED))
        yield running


@pytest.fixture
def namespace(control_plane: ControlPlane) -> Iterator[str]:
    """A fresh namespace; its pods go afterwards, and so do Nodes and Devices whose names start with it and a dash."""
    name = f"test-{secrets.token_hex(4)}"
    control_plane.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    yield name
    at_once = {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0}
    control_plane.request("DELETE", f"/api/v1/namespaces/{name}/pods", at_once)
    for collection in PREFIXED:
        _, found = control_plane.request("GET", collection)
        for each in found["items"]:
            if each["metadata"]["name"].startswith(f"{name}-"):
                control_plane.request("DELETE", f"{collection}/{each['metadata']['name']}", at_once)


def pytest_runtest_call(item: pytest.Item) -> None:
    """Note on the test that it runs on the real API server: its fixtures are set up by now, none has skipped it."""
    if "control_plane_assets" in getattr(item, "fixturenames", ()):
        item.user_properties.append((USED, True))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print how many tests used the real API server, or why none did."""
    reports = (report for category in terminalreporter.stats.values() for report in category)
    count = sum((USED, True) in getattr(report, "user_properties", ()) and report.when == "call" for report in reports)
    if count:
        sentence = f"{count} tests ran on the real kube-apiserver ({_version()})"
    else:
        sentence = f"no test ran on the real kube-apiserver: {why_absent() or 'none of those selected uses it'}"
    terminalreporter.write_line(sentence)


def _may_list(control_plane: ControlPlane, collections: Sequence[str]) -> bool:
    return all(control_plane.request("GET", each, user=SCHEDULER)[0] == 200 for each in collections)


def _version() -> str:
    assets = find_assets()
    if assets is None:
        return "version unknown"
    asked = subprocess.run([assets / "kube-apiserver", "--version"], capture_output=True, text=True, check=False)
    return asked.stdout.strip().removeprefix("Kubernetes ") or "version unknown"

"""What one run starts with: a fresh control plane, its nodes, the whole backlog of pods, and one scheduler of two."""

import asyncio
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any, Final

import aiohttp
import msgspec
import yaml

from koordpy.config.expand import default_configuration, resolve
from koordpy.framework.registry import Registry
from koordpy.testing import node_manifest, pod_manifest
from tests.controlplane.build import binary
from tests.controlplane.fixtures import PREFIXED, REPOSITORY, SCHEDULER, SCHEDULER_GROUPS
from tests.controlplane.server import ControlPlane, ControlPlaneError, collection_path
from tests.controlplane.supervisor import LOOPBACK, free_ports, wait_until

NAMESPACE: Final = "bench"
POD_REQUESTS: Final = {"cpu": "100m", "memory": "200Mi"}
NODE_CPU: Final = "32"
NODE_MEMORY: Final = "256Gi"
NODE_PODS: Final = 110
CLIENT_QPS: Final = 5000
"""Of kube-scheduler, whose default of 50 would decide the result."""
ALONE: Final = REPOSITORY / "config" / "scheduler.yaml"
"""The default profile, and no election."""
CREATES_IN_FLIGHT: Final = 32
SCHEDULER_NAME: Final = resolve(default_configuration())[0].scheduler_name


class Side(StrEnum):
    """Who schedules."""

    KOORDPY = "koordpy"
    KUBE_SCHEDULER = "kube-scheduler"


@dataclass(frozen=True, slots=True)
class Size:
    """How many of each."""

    nodes: int
    pods: int


@contextmanager
def fresh_control_plane() -> Iterator[ControlPlane]:
    """One that allows many requests at once, with koordpy's CRD, account and rights, whoever is going to schedule."""
    with ControlPlane(users=[(SCHEDULER, SCHEDULER_GROUPS)], benchmark=True) as running:
        running.apply_file(REPOSITORY / "deploy" / "crds" / "device.yaml")
        running.apply_file(REPOSITORY / "deploy" / "rbac.yaml")
        wait_until("the scheduler's rights", partial(_may_list, running))
        running.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        yield running


@asynccontextmanager
async def admin_session(control_plane: ControlPlane) -> AsyncIterator[aiohttp.ClientSession]:
    """Connections that stay open; control_plane.request opens a new one for each request."""
    tls = ssl.create_default_context(cafile=control_plane.ca_file)
    async with aiohttp.ClientSession(
        control_plane.url,
        connector=aiohttp.TCPConnector(limit=2 * CREATES_IN_FLIGHT, ssl=tls),
        headers={"Authorization": f"Bearer {control_plane.admin_token}", "Accept-Encoding": "identity"},
        read_bufsize=2**18,
    ) as session:
        yield session


async def create_backlog(session: aiohttp.ClientSession, size: Size) -> None:
    """All nodes, then all pods. *Raises* ControlPlaneError if one is refused."""
    await _create_all(
        session,
        (
            node_manifest(f"node-{index:05}", cpu=NODE_CPU, memory=NODE_MEMORY, pods=NODE_PODS)
            for index in range(size.nodes)
        ),
    )
    await _create_all(
        session,
        (
            pod_manifest(f"pod-{index:06}", namespace=NAMESPACE, requests=POD_REQUESTS, scheduler_name=SCHEDULER_NAME)
            for index in range(size.pods)
        ),
    )


def start(side: Side, control_plane: ControlPlane, log: Path) -> subprocess.Popen[bytes]:
    """Start the scheduler and return at once: whoever asked it whether it is ready would take CPU from it."""
    command = _koordpy(control_plane) if side is Side.KOORDPY else _kube_scheduler(control_plane)
    return control_plane.start_process(command, log)


def koordpy_plugins() -> tuple[str, ...]:
    """Of the profile that the bench runs."""
    registry = Registry()
    return tuple(name for name in resolve(default_configuration(), registry)[0].plugins if name in registry)


def kube_scheduler_defaults(control_plane: ControlPlane) -> Mapping[str, Any]:
    """The configuration that kube-scheduler makes of the bench's, with everything that the file does not say."""
    written = control_plane.folder / "kube-scheduler.defaults.yaml"
    configuration = _kube_scheduler_configuration(control_plane)
    command = [str(binary("kube-scheduler")), f"--config={configuration}", f"--write-config-to={written}"]
    subprocess.run(command, check=True, capture_output=True)
    defaults: dict[str, Any] = yaml.safe_load(written.read_text())
    return defaults


def kubernetes_version() -> str:
    """As kube-scheduler's binary says."""
    asked = subprocess.run([binary("kube-scheduler"), "--version"], check=True, capture_output=True, text=True)
    return asked.stdout.strip().removeprefix("Kubernetes ")


def _koordpy(control_plane: ControlPlane) -> list[str]:
    (port,) = free_ports(1)
    command = [sys.executable, "-m", "koordpy", "scheduler", f"--kubeconfig={control_plane.kubeconfig(SCHEDULER)}"]
    command.append(f"--config={ALONE}")
    return [*command, f"--bind-address={LOOPBACK}", f"--port={port}"]


def _kube_scheduler(control_plane: ControlPlane) -> list[str]:
    (port,) = free_ports(1)
    # It serves on the same address as the API server, so the same certificate will do; else it would make a key first.
    certificate = control_plane.ca_file
    pair = [f"--tls-cert-file={certificate}", f"--tls-private-key-file={certificate.with_suffix('.key')}"]
    command = [str(binary("kube-scheduler")), f"--config={_kube_scheduler_configuration(control_plane)}"]
    return [*command, f"--bind-address={LOOPBACK}", f"--secure-port={port}", *pair]


def _kube_scheduler_configuration(control_plane: ControlPlane) -> Path:
    path = control_plane.folder / "kube-scheduler.yaml"
    connection = {"kubeconfig": str(control_plane.kubeconfig()), "qps": CLIENT_QPS, "burst": CLIENT_QPS}
    configuration = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
        "clientConnection": connection,
        "profiles": [{"schedulerName": SCHEDULER_NAME}],
    }
    path.write_text(yaml.safe_dump(configuration))
    return path


async def _create_all(session: aiohttp.ClientSession, manifests: Iterable[Mapping[str, Any]]) -> None:
    remaining = iter(manifests)

    async def create_some() -> None:
        for manifest in remaining:
            body = msgspec.json.encode(manifest)
            headers = {"Content-Type": "application/json"}
            async with session.post(collection_path(manifest), data=body, headers=headers) as answer:
                text = await answer.text()
            if answer.status != 201:
                raise ControlPlaneError(f"{manifest['kind']} {manifest['metadata']['name']} is refused: {text}")

    async with asyncio.TaskGroup() as group:
        for _ in range(CREATES_IN_FLIGHT):
            group.create_task(create_some())


def _may_list(control_plane: ControlPlane) -> bool:
    """Also that the API server has set up what it keeps of Devices: the first to ask is told to come back later."""
    return all(control_plane.request("GET", each, user=SCHEDULER)[0] == 200 for each in PREFIXED)

"""A fresh control plane, and the objects of a workload in it."""

import asyncio
import ssl
import subprocess
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import Any, Final

import aiohttp
import msgspec

from tests.controlplane.build import binary
from tests.controlplane.fixtures import PREFIXED, REPOSITORY, SCHEDULER, SCHEDULER_GROUPS
from tests.controlplane.server import ControlPlane, ControlPlaneError, collection_path
from tests.controlplane.supervisor import wait_until
from tests.perf.workloads import NAMESPACE

CREATES_IN_FLIGHT: Final = 32


class Meta(msgspec.Struct, rename="camel"):
    """What a created object got of the API server."""

    name: str
    uid: str
    resource_version: str


class _Created(msgspec.Struct):
    metadata: Meta


_CREATED: Final = msgspec.json.Decoder(_Created)


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


async def create(session: aiohttp.ClientSession, manifest: Mapping[str, Any]) -> Meta:
    """*Raises* ControlPlaneError if it is refused."""
    headers = {"Content-Type": "application/json"}
    path = collection_path(manifest)
    async with session.post(path, data=msgspec.json.encode(manifest), headers=headers) as answer:
        body = await answer.read()
    if answer.status != 201:
        name, text = manifest["metadata"]["name"], body.decode(errors="replace")
        raise ControlPlaneError(f"{manifest['kind']} {name} is refused: {text}")
    return _CREATED.decode(body).metadata


async def create_all(session: aiohttp.ClientSession, manifests: Iterable[Mapping[str, Any]]) -> list[Meta]:
    """As many at once as the API server likes, begun in their order. *Returns* them in their order."""
    remaining = enumerate(manifests)
    created: dict[int, Meta] = {}

    async def create_some() -> None:
        for number, manifest in remaining:
            created[number] = await create(session, manifest)

    async with asyncio.TaskGroup() as group:
        for _ in range(CREATES_IN_FLIGHT):
            group.create_task(create_some())
    return [created[number] for number in sorted(created)]


def kubernetes_version() -> str:
    """As kube-scheduler's binary says."""
    asked = subprocess.run([binary("kube-scheduler"), "--version"], check=True, capture_output=True, text=True)
    return asked.stdout.strip().removeprefix("Kubernetes ")


def _may_list(control_plane: ControlPlane) -> bool:
    """Also that the API server has set up what it keeps of Devices: the first to ask is told to come back later."""
    return all(control_plane.request("GET", each, user=SCHEDULER)[0] == 200 for each in PREFIXED)

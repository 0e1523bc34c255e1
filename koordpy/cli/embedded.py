"""The cluster of `koordpy scheduler --embedded FOLDER`: filled from manifests, with a kubelet, served to kubectl."""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Final

from koordpy.clock import Clock
from koordpy.cluster.embedded.cluster import EmbeddedCluster
from koordpy.cluster.embedded.patch import merge
from koordpy.cluster.kinds import NAMESPACE
from koordpy.errors import ApiError, ConfigError, KoordpyError
from koordpy.scenario.embedded import EmbeddedWorld
from koordpy.scenario.files import REST, Manifest, matching, read_all
from koordpy.scenario.manifests import KINDS
from koordpy_api import Problem

if TYPE_CHECKING:
    from koordpy.cluster.embedded.server import EmbeddedServer

logger = logging.getLogger("koordpy.cli")

_NAMESPACED: Final = frozenset(kind.name for kind in KINDS.values() if kind.namespaced) | {"Event", "Lease"}


@asynccontextmanager
async def embedded(folder: Path, port: int | None, clock: Clock, rng: Random) -> AsyncIterator[EmbeddedCluster]:
    """A cluster that lives as long as the block. port: where kubectl reaches it; 0: a free one, None: nowhere.

    Raises: KoordpyError if the folder cannot be loaded, or nobody can listen there.
    """
    world = EmbeddedWorld(clock, rng.getrandbits(64))
    made = await fill(world, folder)
    counted = ", ".join(f"{number} {kind}" for kind, number in sorted(made.items()))
    logger.info("embedded cluster of %s: %s", folder, counted or "empty")
    server = None if port is None else await _serve(world.cluster, port)
    kubelet = asyncio.create_task(world.kubelet((), Random(rng.getrandbits(64))))
    kubelet.add_done_callback(_told)
    try:
        yield world.cluster
    finally:
        if server is not None:
            await server.stop()
        kubelet.cancel()
        await asyncio.wait([kubelet])
        await world.cluster.close()


async def fill(world: EmbeddedWorld, folder: Path) -> Counter[str]:
    """Apply what stands in the folder's files, but for scenario.yaml, and make the namespaces that it names.

    Returns: how many of which kind. Raises: KoordpyError that tells every mistake of every file.
    """
    written = manifests_of(folder)
    await make_namespaces(world, written)
    wrong: list[str] = []
    made: Counter[str] = Counter()
    for manifest in written:
        here = {"namespace": world.namespace} if manifest.document["kind"] in _NAMESPACED else {}
        try:
            await world.apply(merge(manifest.document, {"metadata": here | manifest.document["metadata"]}))
            made[manifest.document["kind"]] += 1
        except ApiError as error:
            wrong.append(str(manifest.refused(error.message)))
    if wrong:
        raise KoordpyError("\n".join(wrong))
    return made


def manifests_of(folder: Path) -> list[Manifest]:
    """Raises: KoordpyError that tells every mistake of every file."""
    if not folder.is_dir():
        raise ConfigError("command line", [Problem("--embedded", str(folder), "no such folder; it holds manifests")])
    return read_all(folder, matching(folder, [REST]))


async def make_namespaces(world: EmbeddedWorld, written: Sequence[Manifest]) -> None:
    """Those that objects live in, for nobody writes a Namespace to try something out."""
    lived_in = {str(each.document["metadata"].get("namespace") or world.namespace) for each in written}
    for name in sorted(lived_in):
        await world.apply({"apiVersion": NAMESPACE.api_version, "kind": NAMESPACE.name, "metadata": {"name": name}})


async def _serve(cluster: EmbeddedCluster, port: int) -> "EmbeddedServer":
    from koordpy.cluster.embedded.server import EmbeddedServer  # and aiohttp.web, which nobody else need wait for

    server = EmbeddedServer(cluster)
    try:
        await server.start(port)
    except OSError as error:
        problem = Problem("--serve", str(port), f"nobody can listen there: {error.strerror}")
        raise ConfigError("command line", [problem]) from None
    logger.info("kubectl --server http://127.0.0.1:%d get pods -A", server.port)
    return server


def _told(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        logger.error("the kubelet died; Pods stay as they are", exc_info=error)

"""The cluster of `koordpy scheduler --embedded FOLDER`: filled from manifests, with a kubelet, served to kubectl."""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from koordpy.clock import Clock
from koordpy.cluster.embedded.cluster import EmbeddedCluster
from koordpy.errors import ConfigError, KoordpyError
from koordpy.scenario.embedded import EmbeddedWorld
from koordpy.scenario.files import REST, Manifest, matching, read_all, repeated
from koordpy.scenario.rehearsal import apply_all, make_namespaces
from koordpy_api import Problem

if TYPE_CHECKING:
    from koordpy.cluster.embedded.server import EmbeddedServer

logger = logging.getLogger("koordpy.cli")


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
    if wrong := [*await make_namespaces(world, written), *await apply_all(world, written)]:
        raise KoordpyError("\n".join(wrong))
    for warning in repeated(written):
        logger.warning("%s", warning)
    return Counter(manifest.document["kind"] for manifest in written)


def manifests_of(folder: Path) -> list[Manifest]:
    """Raises: KoordpyError that tells every mistake of every file."""
    if not folder.is_dir():
        raise ConfigError("command line", [Problem("--embedded", str(folder), "no such folder; it holds manifests")])
    return read_all(folder, matching(folder, [REST]))


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

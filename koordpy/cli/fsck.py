"""koordpy fsck: what is wrong with the books of a cluster."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from koordpy.cluster.protocol import Cluster

FOUND = 1


def fsck(
    kubeconfig: Annotated[
        str, typer.Option(help="How to reach the API server; default: the configuration's, else as kubectl.")
    ] = "",
    embedded: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="No Kubernetes: look at this folder's manifests instead.")
    ] = None,
    config: Annotated[
        Path | None, typer.Option(help="Ask the plugins of this KubeSchedulerConfiguration, not the default ones.")
    ] = None,
) -> None:
    """Tell what the objects of a cluster say that cannot be right: cards given twice, unknown minors, and so on.

    Reads everything and writes nothing. Exit status 1 if there is something to tell.
    """
    from koordpy.checks.books import audit
    from koordpy.config.load import load_whole
    from koordpy.errors import ConfigError
    from koordpy.framework.registry import Registry
    from koordpy.telemetry import logs
    from koordpy_api import Problem

    logs.set_up("error")
    if kubeconfig and embedded is not None:
        raise ConfigError("command line", [Problem("--kubeconfig", kubeconfig, "not together with --embedded")])
    registry = Registry()
    loaded = load_whole(config, registry)

    async def look() -> None:
        async with _cluster(embedded, kubeconfig or loaded.configuration.client_connection.kubeconfig) as cluster:
            books = await audit(cluster, loaded, registry)
        for finding in books.findings:
            typer.echo(str(finding))
        number = len(books.findings)
        told = f"{number} finding{'' if number == 1 else 's'}" if number else "nothing found"
        typer.echo(f"{told}; nodes: {books.nodes}, pods on them: {books.pods}", err=True)
        if number:
            raise typer.Exit(FOUND)

    asyncio.run(look())


@asynccontextmanager
async def _cluster(folder: Path | None, kubeconfig: str) -> "AsyncIterator[Cluster]":
    if folder is not None:
        from koordpy.cli.embedded import fill
        from koordpy.clock import SystemClock
        from koordpy.scenario.embedded import EmbeddedWorld

        world = EmbeddedWorld(SystemClock())
        await fill(world, folder)
        yield world.cluster
        return
    from koordpy.cluster.kube import credentials
    from koordpy.cluster.kube.cluster import KubeCluster
    from koordpy.cluster.kube.transport import Transport

    cluster = KubeCluster(Transport(await credentials.load(kubeconfig, environ=os.environ)))
    try:
        yield cluster
    finally:
        await cluster.close()

"""koordpy scheduler: run until SIGTERM."""

import asyncio
import logging
from pathlib import Path
from random import Random, SystemRandom
from typing import Annotated

import typer

from koordpy.config.expand import default_configuration
from koordpy.config.load import load
from koordpy.config.validate import check_start
from koordpy.telemetry import logs

logger = logging.getLogger("koordpy.cli")


def scheduler(
    config: Annotated[Path | None, typer.Option(help="A KubeSchedulerConfiguration file.")] = None,
    kubeconfig: Annotated[
        str, typer.Option(help="How to reach the API server; default: the file's, $KUBECONFIG, in-cluster.")
    ] = "",
    bind_address: Annotated[str, typer.Option(help="Where /healthz, /readyz and /metrics listen.")] = "0.0.0.0",  # noqa: S104 - probes come from outside the Pod
    port: Annotated[int, typer.Option(help="Their port; 0 takes a free one.", min=0, max=65535)] = 10251,
    seed: Annotated[int | None, typer.Option(help="Of the choice among equally good nodes; default: random.")] = None,
    log_level: Annotated[str, typer.Option(help="debug, info, warning or error.")] = "info",
) -> None:
    """Schedule the Pods that name one of the profiles, until SIGTERM or SIGINT."""
    if log_level not in logs.LEVELS:
        raise typer.BadParameter(f"{log_level!r}; one of {', '.join(logs.LEVELS)}", param_hint="--log-level")
    logs.set_up(log_level)
    configuration = load(config) if config else default_configuration()
    for warning in check_start(configuration, str(config or "default configuration")):
        logger.warning("%s", warning)
    rng = Random(SystemRandom().getrandbits(64) if seed is None else seed)
    from koordpy.cli.serve import serve  # takes seconds; a file that is refused need not wait for it

    asyncio.run(serve(configuration, kubeconfig, (bind_address, port), rng))

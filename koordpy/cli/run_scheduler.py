"""koordpy scheduler: run until SIGTERM."""

import logging
import signal
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from random import Random, SystemRandom
from typing import Annotated, NoReturn

import typer

logger = logging.getLogger("koordpy.cli")


def scheduler(
    config: Annotated[
        str | None, typer.Option(help="A KubeSchedulerConfiguration file; default: $KOORDPY_CONFIG, else one profile.")
    ] = None,
    kubeconfig: Annotated[
        str | None,
        typer.Option(help="How to reach the API server; default: $KOORDPY_KUBECONFIG, the file's, as kubectl."),
    ] = None,
    embedded: Annotated[
        str | None,
        typer.Option(metavar="FOLDER", help="No Kubernetes: a cluster in this process, of this folder's manifests."),
    ] = None,
    serve: Annotated[
        int | None,
        typer.Option(metavar="PORT", help="Let kubectl reach that cluster on 127.0.0.1; 0 takes a free port."),
    ] = None,
    bind_address: Annotated[
        str | None, typer.Option(help="Where /healthz, /readyz and /metrics listen; default: 0.0.0.0.")
    ] = None,
    port: Annotated[
        int | None, typer.Option(help="Their port, 0 takes a free one; default: 10251.", min=0, max=65535)
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Of the choice among equally good nodes; default: random.")] = None,
    check_invariants: Annotated[
        bool | None,
        typer.Option("--check-invariants", help="Count again every minute what is believed, and log every difference."),
    ] = None,
    log_level: Annotated[str | None, typer.Option(help="debug, info, warning or error; default: info.")] = None,
    log_format: Annotated[str | None, typer.Option(help="text, or json for one object a line; default: text.")] = None,
) -> None:
    """Schedule the Pods that name one of the profiles, until SIGTERM or SIGINT.

    Each option can also be given as KOORDPY_CONFIG, KOORDPY_KUBECONFIG, …; the command line comes first.
    """
    _run(dict(locals()))


def _run(flags: Mapping[str, object]) -> NoReturn:
    """flags: option → what was given, or None."""
    # Importing and reading lists takes seconds; whoever ends the process before it schedules anything ends it well.
    if threading.current_thread() is threading.main_thread():  # elsewhere Python allows no handler
        signal.signal(signal.SIGTERM, lambda _signum, _frame: sys.exit(0))
    from koordpy.config.load import load_whole
    from koordpy.config.settings import read_settings
    from koordpy.config.validate import check_start
    from koordpy.framework.registry import Registry
    from koordpy.telemetry import logs

    settings = read_settings(flags)
    logs.set_up(settings.log_level, settings.log_format)
    registry = Registry()
    loaded = load_whole(Path(settings.config) if settings.config else None, registry)
    for warning in [*check_start(loaded.configuration, settings.config or "default configuration"), *loaded.warnings]:
        logger.warning("%s", warning)
    rng = Random(SystemRandom().getrandbits(64) if settings.seed is None else settings.seed)
    from koordpy.cli import event_loop
    from koordpy.cli.serve import serve as run  # takes seconds; a file that is refused need not wait for it

    sys.exit(event_loop.run(run(loaded, registry, settings, rng)))

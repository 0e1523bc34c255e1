"""koordpy demo: a scenario played on a cluster in this process, and cards that fill up."""

import logging
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated, NoReturn

import typer

FAILED = 1
ENDED_BY_SIGNAL = 128


def demo(
    folder: Annotated[Path, typer.Option(help="A folder with scenario.yaml and the manifests that it applies.")] = Path(
        "config/demo"
    ),
    seed: Annotated[int, typer.Option(help="Of the order of arrivals and of every choice among equals.")] = 0,
    speed: Annotated[float, typer.Option(help="2 is twice as fast; 0 does not wait at all.")] = 1.0,
) -> None:
    """Play FOLDER/scenario.yaml without Kubernetes, and show where Pods and cards end up, and why some do not.

    Exit status 1 if the scenario fails, or if the cards, counted again from the Pods' annotations, are not what the
    scheduler believes, or hold more than there is; 2, before anything is shown, if there is a mistake in the folder.
    """
    try:
        from koordpy.cli.performance import Interrupted, perform  # takes a second, which --help need not wait for
        from koordpy.telemetry import logs

        logs.set_up("error")
        for handler in logging.getLogger().handlers:
            handler.setLevel(logging.ERROR)  # a scenario hears more of koordpy, which is not for the screen
        try:
            well = perform(folder, seed, speed)
        except Interrupted as error:
            _end("interrupted", ENDED_BY_SIGNAL + error.number)
    except KeyboardInterrupt:
        _end("interrupted", ENDED_BY_SIGNAL + signal.SIGINT)
    except OSError as error:
        _end(f"koordpy: cannot write: {error.strerror}", FAILED)
    if not well:
        sys.exit(FAILED)


def _end(why: str, code: int) -> NoReturn:
    """Where standard output takes nothing any more, what is left for it goes nowhere."""
    with suppress(OSError):
        print(why, file=sys.stderr)
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)

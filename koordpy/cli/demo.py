"""koordpy demo: a scenario played on a cluster in this process, and cards that fill up."""

import logging
import sys
from pathlib import Path
from typing import Annotated

import typer

FAILED = 1


def demo(
    folder: Annotated[Path, typer.Option(help="A folder with scenario.yaml and the manifests that it applies.")] = Path(
        "config/demo"
    ),
    seed: Annotated[int, typer.Option(help="Of the order of arrivals and of every choice among equals.")] = 0,
    speed: Annotated[float, typer.Option(help="2 is twice as fast; 0 does not wait at all.", min=0.0)] = 1.0,
) -> None:
    """Play FOLDER/scenario.yaml without Kubernetes, and show where Pods and cards end up, and why some do not.

    Exit status 1 if the scenario fails, or if the cards, counted again from the Pods' annotations, are not what the
    scheduler believes, or hold more than there is.
    """
    from koordpy.cli.performance import perform  # takes a second, which --help need not wait for
    from koordpy.telemetry import logs

    logs.set_up("error")
    for handler in logging.getLogger().handlers:
        handler.setLevel(logging.ERROR)  # a scenario hears more of koordpy, which is not for the screen
    if not perform(folder, seed, speed):
        sys.exit(FAILED)

"""koordpy demo: a scenario played on a cluster in this process, and cards that fill up; or the articles' cards."""

import logging
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Annotated, NoReturn

import typer

FAILED = 1
ENDED_BY_SIGNAL = 128

app = typer.Typer(invoke_without_command=True)


@app.callback()
def demo(
    context: typer.Context,
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
    if context.invoked_subcommand is not None:
        _refuse_options_before(context, context.invoked_subcommand)
        return

    def play() -> bool:
        from koordpy.cli.performance import Interrupted, perform  # takes a second, which --help need not wait for

        _be_quiet()
        try:
            return perform(folder, seed, speed)
        except Interrupted as error:
            _end("interrupted", ENDED_BY_SIGNAL + error.number)

    _to_its_end(play)


@app.command("articles")
def articles(
    file: Annotated[Path, typer.Option(help="The runs, and what the articles say of each.")] = Path(
        "config/demo-articles/runs.yaml"
    ),
    config: Annotated[
        Path, typer.Option(help="The scheduler's configuration; try config/profiles/spread.yaml.")
    ] = Path("config/profiles/binpack.yaml"),
    seed: Annotated[int, typer.Option(help="Of the order of arrivals and of every choice among equals.")] = 0,
) -> None:
    """Count the cards that the articles' pods take, beside what the articles say. A few seconds.

    Exit status 1 if books and annotations differ, or a card gives more than it has; never because an article errs.
    """

    def count() -> bool:
        from koordpy.cli.articles import count_articles

        _be_quiet()
        return count_articles(file, config, seed)

    _to_its_end(count)


def _refuse_options_before(context: typer.Context, command: str) -> None:
    """They would be read and mean nothing."""
    for name in context.params:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise typer.BadParameter(f"--{name} before `{command}` is the demo's own; write it behind `{command}`")


def _be_quiet() -> None:
    """A scenario hears more of koordpy, which is not for the screen."""
    from koordpy.telemetry import logs

    logs.set_up("error")
    for handler in logging.getLogger().handlers:
        handler.setLevel(logging.ERROR)


def _to_its_end(show: Callable[[], bool]) -> None:
    """Whatever ends it, the terminal is left with a word and the exit status says it."""
    try:
        well = show()
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

"""koordpy debug: what a running scheduler tells only to its own machine."""

import urllib.error
import urllib.request
from typing import Annotated

import typer

WRONG = 1
UNREACHABLE = 2
PATIENCE_S = 40.0

app = typer.Typer(
    help="Ask a scheduler that runs on this machine, or behind kubectl port-forward.", no_args_is_help=True
)


@app.callback()
def debug() -> None:
    """Ask a scheduler that runs on this machine, or behind kubectl port-forward."""


@app.command()
def check(
    port: Annotated[int, typer.Option(help="Where the scheduler's telemetry listens.", min=1, max=65535)] = 10251,
) -> None:
    """Let a running scheduler count again what it believes, and tell where that is not what the objects say.

    Exit status 1 if something is wrong: that is a bug; restart it, and it reads everything anew. 2 if nobody answers.
    """
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/debug/check", timeout=PATIENCE_S) as answer:
            typer.echo(answer.read().decode(), nl=False)
    except urllib.error.HTTPError as error:
        typer.echo(error.read().decode(), nl=False)
        raise typer.Exit(WRONG if error.code == 500 else UNREACHABLE) from None
    except OSError as error:
        typer.echo(f"koordpy: nobody answers on 127.0.0.1:{port}: {error}; is --port right?", err=True)
        raise typer.Exit(UNREACHABLE) from None

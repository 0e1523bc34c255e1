"""The list of commands, and their exit codes."""

import sys
from typing import Final

import typer

from koordpy.cli import check, config, debug, demo, fsck, plugins, run_scheduler, version
from koordpy.errors import KoordpyError

BAD_REQUEST: Final = 2

app = typer.Typer(
    name="koordpy",
    help="A Kubernetes scheduler for GPU clusters, run beside kube-scheduler.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("scheduler")(run_scheduler.scheduler)
app.add_typer(demo.app, name="demo")
app.add_typer(plugins.app, name="plugins")
app.command("check")(check.check)
app.command("fsck")(fsck.fsck)
app.add_typer(debug.app, name="debug")
app.add_typer(config.app, name="config")
app.command("version")(version.version)


def main() -> None:
    """Run the command; an error that we raise on purpose is told in its own words, without a traceback."""
    try:
        app()
    except KoordpyError as error:
        print(f"koordpy: {error}", file=sys.stderr)
        sys.exit(BAD_REQUEST)

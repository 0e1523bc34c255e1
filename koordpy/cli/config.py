"""koordpy config: is a configuration right, what does it come to, and what may stand in it."""

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

if TYPE_CHECKING:
    from koordpy.config.load import Loaded
    from koordpy.framework.registry import Registry

MISTAKES: Final = 1

app = typer.Typer(help="KubeSchedulerConfiguration files.", no_args_is_help=True)


@app.command()
def check(files: Annotated[list[Path], typer.Argument(metavar="FILE…")]) -> None:
    """Tell every mistake of every file; exit status 1 if `koordpy scheduler` would refuse one of them.

    Everything is tried that needs no cluster, the construction of the plugins too.
    """
    from koordpy.errors import KoordpyError
    from koordpy.framework.registry import Registry

    refused = 0
    for path in files:
        try:
            warnings = _try(path, Registry())
        except KoordpyError as error:
            refused += 1
            typer.echo(str(error), err=True)
        else:
            for warning in warnings:
                typer.echo(f"warning: {warning}", err=True)
            typer.echo(f"{path}: ok")
    if refused:
        raise typer.Exit(MISTAKES)


@app.command()
def show(file: Annotated[Path | None, typer.Argument(help="Default: what holds without a file.")] = None) -> None:
    """Print what a file comes to, as a v1 file that means the same: every default, every point of every profile."""
    from koordpy.config import document
    from koordpy.config.load import load_whole
    from koordpy.config.show import effective
    from koordpy.framework.registry import Registry

    registry = Registry()
    loaded = load_whole(file, registry)
    for warning in [*loaded.configuration.converted, *loaded.warnings]:
        typer.echo(f"warning: {warning}", err=True)
    for line in _remarks(loaded, registry):
        typer.echo(f"# {line}")
    typer.echo(document.write(effective(loaded, registry)), nl=False)


@app.command()
def schema() -> None:
    """Print the JSON schema of the file, with the arguments of all plugins that are known here, for editors."""
    from koordpy.config.defaults import POINTS_OF
    from koordpy.config.schema import schema as schema_of
    from koordpy.framework.registry import Registry

    registry = Registry()
    typer.echo(json.dumps(schema_of(registry, {*registry.names, *POINTS_OF}), indent=2))


def _try(path: Path, registry: "Registry") -> list[str]:
    """The warnings. Raises: KoordpyError as a start would."""
    from koordpy.config.load import load_whole
    from koordpy.config.validate import check_start
    from koordpy.framework.build import build_all

    loaded = load_whole(path, registry)
    warnings = [*check_start(loaded.configuration, str(path)), *loaded.warnings]
    with _logged(warnings):
        build_all(loaded.profiles, registry, lambda kind, name, problem: None)
    return warnings


@contextmanager
def _logged(texts: list[str]) -> Iterator[None]:
    """What koordpy logs meanwhile goes into texts."""

    class Collector(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            texts.append(record.getMessage())

    logger, handler = logging.getLogger("koordpy"), Collector(logging.WARNING)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


def _remarks(loaded: "Loaded", registry: "Registry") -> list[str]:
    """What YAML has no place for: who accounts for which resources, and what this version leaves out."""
    from koordpy.config.plugin_args import read_args
    from koordpy.config.show import left_out

    lines = []
    for profile in loaded.profiles:
        about = f"profile {profile.scheduler_name}:"
        if missing := left_out(profile, registry):
            lines.append(f"{about} left out, for this version does not have them yet: {', '.join(missing)}")
        for name in profile.plugins:
            if name in registry:
                declaration = registry.declaration(name)
                resources = declaration.accounted(read_args(declaration.args_model, profile.args.get(name, {})))
                if resources:
                    lines.append(f"{about} {name} accounts for {', '.join(sorted(resources))}")
    return lines

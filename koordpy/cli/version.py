"""koordpy version"""

import typer

from koordpy_api import API_VERSION


def version() -> None:
    """Print the version of koordpy and of its plugin API."""
    from importlib.metadata import version as version_of

    typer.echo(f"koordpy {version_of('koordpy')} (plugin API {API_VERSION})")

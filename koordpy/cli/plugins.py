"""koordpy plugins: what is installed, whether it works, and what one plugin is made of."""

from collections.abc import Sequence
from typing import Annotated

import typer

app = typer.Typer(help="The scheduler's plugins that are installed here.", no_args_is_help=True)


@app.command("list")
def list_() -> None:
    """Every installed plugin: its distribution, how it is asked about nodes, and where a profile may enable it."""
    from koordpy.errors import PluginError
    from koordpy.framework.describe import ONE_BY_ONE, looks_at_nodes, points_in_order
    from koordpy.framework.registry import Registry

    registry = Registry()
    rows = []
    for name in registry.names:
        owners = ", ".join(offer.owner for offer in registry.offers(name))
        nodes = ""
        try:
            declaration = registry.declaration(name)
            nodes, points = looks_at_nodes(declaration), ", ".join(points_in_order(declaration))
        except PluginError:
            points = "BROKEN; see koordpy plugins check"
        rows.append((name, owners, nodes, points or "none; it only listens"))
    _table(("NAME", "DISTRIBUTION", "NODES", "POINTS"), rows)
    if any("one by one" in nodes for _, _, nodes, _ in rows):
        typer.echo(f"\n{ONE_BY_ONE}")


@app.command()
def check() -> None:
    """Import, check and construct every installed plugin; exit status 1 if one of them cannot be used."""
    from koordpy.errors import KoordpyError
    from koordpy.framework.build import try_out
    from koordpy.framework.registry import Registry

    registry = Registry()
    broken = 0
    for name in registry.names:
        try:
            try_out(name, registry)
        except KoordpyError as error:
            broken += 1
            typer.echo(f"broken  {error}")
        else:
            typer.echo(f"ok      {name} {registry.declaration(name).origin}".rstrip())
    if broken:
        typer.echo(f"{broken} of {len(registry.names)} plugins cannot be used; a profile that names one does not start")
        raise typer.Exit(1)


@app.command()
def show(name: Annotated[str, typer.Argument(help="A plugin's name, as in YAML.")]) -> None:
    """One plugin: points, arguments, what its hooks cost, and where each of them is."""
    from koordpy.framework import describe
    from koordpy.framework.registry import Registry

    registry = Registry()
    declaration = registry.declaration(name)
    about = (declaration.plugin.__doc__ or "").strip().partition("\n")[0]
    typer.echo(f"{name}   {about}".rstrip())
    (offer,) = registry.offers(name)[:1]
    nodes = describe.looks_at_nodes(declaration)
    facts = [
        ("distribution", f"{offer.distribution} {offer.version}"),
        ("class", offer.value),
        ("points", ", ".join(describe.points_in_order(declaration)) or "none; it only listens"),
        ("nodes", nodes.replace("one by one", describe.ONE_BY_ONE) if nodes else "looks at none"),
        ("accounts for", describe.accounted_by_default(declaration)),
        ("annotations", ", ".join(declaration.annotations) or "keeps none of running Pods"),
    ]
    _table((), facts)
    typer.echo("\nhooks, in the order in which a Pod meets them")
    _table((), list(describe.hooks_in_order(declaration)))
    model = declaration.args_model
    fields = describe.arg_fields(model)
    typer.echo(f"\narguments: {model.__name__}" if fields else "\narguments: none")
    if fields and model.__doc__:
        typer.echo("  " + " ".join(model.__doc__.split()))
    _table((), [(each.path, each.type, _default(each.default), each.about) for each in fields])


def _default(text: str | None) -> str:
    return "required" if text is None else f"= {text}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Columns as wide as their widest cell; the rows of a headless table are indented."""
    lines = [head, *rows] if head else rows
    if not lines:
        return
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    for line in lines:
        cells = "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        typer.echo(f"{'' if head else '  '}{cells}".rstrip())

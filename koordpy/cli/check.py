"""koordpy check: what is wrong with files, before anybody applies them."""

import sys
from pathlib import Path
from typing import Annotated

import typer

PROBLEMS = 1


def check(
    files: Annotated[list[str], typer.Argument(metavar="FILE…", help="Files; folders of *.yaml, *.yml; - is stdin.")],
    config: Annotated[
        Path | None, typer.Option(help="Ask the plugins of this KubeSchedulerConfiguration, not the default ones.")
    ] = None,
) -> None:
    """Tell every mistake in Pods, workloads, Devices, Nodes and configurations, with its line."""
    from koordpy.checks.files import Plugins, Weight
    from koordpy.checks.files import check as check_files
    from koordpy.telemetry import logs

    logs.set_up("error")
    report = check_files(files, sys.stdin.buffer.read, Plugins(config))
    for finding in report.findings:
        typer.echo(str(finding))
    mistakes, warnings = report.count(Weight.MISTAKE), report.count(Weight.WARNING)
    told = [f"{mistakes} problem{'' if mistakes == 1 else 's'}"] if mistakes else ["no problem"]
    told += [f"{warnings} warning{'' if warnings == 1 else 's'}"] if warnings else []
    typer.echo(f"{', '.join(told)}; objects: {report.objects}, files: {report.files}", err=True)
    if mistakes:
        raise typer.Exit(PROBLEMS)

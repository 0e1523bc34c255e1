"""`koordpy debug check`: a running scheduler counts again what it believes."""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.cli.test_commands import koordpy
from tests.controlplane.supervisor import free_ports

DEMO = Path(__file__).parents[2] / "config" / "demo"


@contextmanager
def running(*options: str) -> Iterator[int]:
    """A scheduler of the demo's folder; the port of its telemetry."""
    (port,) = free_ports(1)
    command = [sys.executable, "-m", "koordpy", "scheduler", "--embedded", str(DEMO), "--bind-address", "127.0.0.1"]
    with subprocess.Popen([*command, "--port", str(port), *options], stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            for line in process.stderr:
                if "ready:" in line:
                    break
            yield port
        finally:
            process.terminate()


def test_a_scheduler_whose_books_are_right_says_so() -> None:
    with running("--check-invariants") as port:
        done = koordpy("debug", "check", "--port", str(port))
    assert done.returncode == 0, done.stdout
    assert re.fullmatch(r"0 differences; counted again: \d+ nodes, \d+ pods, \d+ assumed_pods\n", done.stdout)


def test_nobody_there_is_told_with_the_port() -> None:
    (port,) = free_ports(1)
    done = koordpy("debug", "check", "--port", str(port))
    assert done.returncode == 2
    assert f"nobody answers on 127.0.0.1:{port}" in done.stderr

"""Where and with what a bench was made: never the machine's name, never a path."""

import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from types import MappingProxyType
from typing import Final

from tests.controlplane.fixtures import REPOSITORY
from tests.perf.history import Around
from tests.perf.procfs import cpu_model, memory_of_machine

LIBRARIES: Final = ("koordpy", "numpy", "msgspec", "aiohttp")
OURS: Final = ("docs/performance.md", "docs/performance")
_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


def look_around(
    target: str,
    arguments: Sequence[str],
    more: Mapping[str, str] = _NOTHING,
    notes: Mapping[str, str] = _NOTHING,
) -> Around:
    """target: of make. arguments: the command line behind it. more: further versions."""
    versions = {"Python": platform.python_version(), **{name: version(name) for name in LIBRARIES}, **more}
    return Around(
        date=datetime.now(UTC).strftime("%Y-%m-%dT%H:%MZ"),
        commit=_commit(),
        cores=os.cpu_count() or 0,
        cpu=cpu_model(),
        memory_gib=round(memory_of_machine() / 2**30, 1),
        versions=versions,
        command=_command(target, list(arguments)),
        notes=dict(notes),
    )


def _command(target: str, arguments: list[str]) -> str:
    """Without where its result goes, which is a path and changes nothing."""
    if "--history" in arguments:
        at = arguments.index("--history")
        del arguments[at : at + 2]
    return f"make {target}" + (f" ARGS='{' '.join(arguments)}'" if arguments else "")


def _commit() -> str:
    """Of the tree that was measured; with a + if it had changes, but those that benches themselves make."""
    try:
        head = _git("rev-parse", "--short=12", "HEAD").strip()
        changed = [line[3:] for line in _git("status", "--porcelain", "--untracked-files=no").splitlines()]
    except (OSError, subprocess.CalledProcessError):  # not a checkout
        return "unknown"
    return head + "+" * any(not each.startswith(OURS) for each in changed)


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=REPOSITORY, check=True, capture_output=True, text=True).stdout

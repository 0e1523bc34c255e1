"""Distributions under this folder → wheels → a folder to put on PYTHONPATH. Needs no package index."""

import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from zipfile import ZipFile

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
UV = next(
    (path for path in (Path(sys.executable).with_name("uv"), ROOT / ".venv/bin/uv") if path.exists()),
    Path(shutil.which("uv") or "uv"),
)


def install(sources: Sequence[Path], folder: Path) -> Path:
    """The folder `site` with all of them in it, as pip would leave them there."""
    wheels = [make_wheel(source, folder) for source in sources]
    site = folder / "site"
    command: list[str | Path] = [
        UV,
        "pip",
        "install",
        "--quiet",
        "--offline",
        "--no-deps",
        "--no-cache",
        "--target",
        site,
    ]
    done = subprocess.run([*command, "--python", sys.executable, *wheels], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return site


def make_wheel(source: Path, folder: Path) -> Path:
    """What a build backend makes of a pyproject.toml and the modules beside it; by hand: backends need an index."""
    project = tomllib.loads((source / "pyproject.toml").read_text())["project"]
    stem = f"{project['name'].replace('-', '_')}-{project['version']}"
    wheel = folder / f"{stem}-py3-none-any.whl"
    info = f"{stem}.dist-info"
    entries = "".join(
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in points.items())
        for group, points in project["entry-points"].items()
    )
    with ZipFile(wheel, "w") as archive:
        modules = [path for path in source.rglob("*.py") if "tests" not in path.relative_to(source).parts]
        for module in modules:
            archive.write(module, module.relative_to(source))
        archive.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
        )
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/entry_points.txt", entries)
        files = [*archive.namelist(), f"{info}/RECORD"]
        archive.writestr(f"{info}/RECORD", "".join(f"{name},,\n" for name in files))
    return wheel


def python(site: Path, *words: str, given: str = "") -> subprocess.CompletedProcess[str]:
    """Run the host where `site` is installed too. given: its standard input."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(site), str(ROOT)]),
        "NO_COLOR": "1",
        "COLUMNS": "500",
    }
    return subprocess.run(
        [sys.executable, *words],
        cwd=ROOT,
        env=environment,
        input=given,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )

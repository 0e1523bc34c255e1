"""Each distribution builds, and works where nothing else of koordpy is installed. Needs a package index."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# An environment of another Python has none of its own.
UV = next(
    (path for path in (Path(sys.executable).with_name("uv"), ROOT / ".venv/bin/uv") if path.exists()),
    Path(shutil.which("uv") or "uv"),
)
FOLDERS = {
    "koordpy": ROOT,
    "koordpy_api": ROOT / "plugins/api",
    "koordpy_nodefit": ROOT / "plugins/nodefit",
    "koordpy_deviceshare": ROOT / "plugins/deviceshare",
}


def run(command: Sequence[str | Path], **more: str) -> str:
    environment = {name: text for name, text in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=110, check=False, env={**environment, **more}
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("wheels")
    for source in FOLDERS.values():
        run([UV, "build", "--quiet", "--wheel", "--out-dir", folder, source])
    return {name: next(folder.glob(f"{name}-*.whl")) for name in FOLDERS}


def environment(folder: Path, *wheels: Path) -> Path:
    """A virtual environment with these wheels and what they require; its python."""
    run([UV, "venv", "--quiet", "--python", sys.executable, folder])
    python = folder / "bin/python"
    constraints = ROOT / "constraints.txt"
    run([UV, "pip", "install", "--quiet", "--python", python, "--constraint", constraints, *wheels])
    return python


def test_every_wheel_is_typed_and_carries_no_tests(wheels: dict[str, Path]) -> None:
    for name, wheel in wheels.items():
        names = run([sys.executable, "-m", "zipfile", "-l", wheel])
        assert f"{name}/py.typed" in names
        assert "tests/" not in names


def test_the_api_and_its_plugins_can_be_imported_where_the_host_is_not_installed(
    wheels: dict[str, Path], tmp_path: Path
) -> None:
    alone = [wheels[name] for name in ("koordpy_api", "koordpy_nodefit", "koordpy_deviceshare")]
    python = environment(tmp_path / "plugins", *alone)
    code = (
        "import importlib.util, importlib.metadata as metadata\n"
        "import koordpy_api, koordpy_nodefit, koordpy_deviceshare\n"
        "assert importlib.util.find_spec('koordpy') is None\n"
        "points = metadata.entry_points(group='koordpy.scheduler')\n"
        "print(*sorted(point.load().__name__ for point in points))\n"
    )
    assert run([python, "-I", "-c", code]) == "DeviceShare NodeResourcesFit\n"


def test_the_whole_product_installs_and_its_command_runs(wheels: dict[str, Path], tmp_path: Path) -> None:
    python = environment(tmp_path / "product", *wheels.values())
    assert run([python.with_name("koordpy"), "version"]).startswith("koordpy 0.")
    code = (
        "from koordpy.framework.registry import Registry; print(*[Registry().load(n) and n for n in Registry().names])"
    )
    names = run([python, "-I", "-c", code]).split()
    assert {"DefaultBinder", "DeviceShare", "NodeResourcesFit", "PrioritySort", "TaintToleration"} <= {*names}

"""Play every bug: the tests of the plugin, with a copy of it that has one, must fail; then say which test found it."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from tests.mutants.seeds import PACKAGE, SEEDS, Seed

TESTS: Final = PACKAGE.parent / "tests"
REPOSITORY: Final = PACKAGE.parents[2]
TIMEOUT_S: Final = 600


def main() -> int:
    if found := _found_by(None):
        print(f"without any bug the tests fail already: {found[0]}")
        return 1
    alive = 0
    for seed in SEEDS:
        found = _found_by(seed)
        alive += not found
        print(f"{seed.name} ({seed.module}): " + ("NOT FOUND by any test" if not found else "found by"), flush=True)
        for test in found:
            print(f"    {test}")
    print(f"{len(SEEDS) - alive} of {len(SEEDS)} bugs found")
    return 1 if alive else 0


def _found_by(seed: Seed | None) -> list[str]:
    """The tests that fail."""
    with tempfile.TemporaryDirectory(prefix="koordpy-mutant-") as folder:
        copy = Path(folder) / PACKAGE.name
        shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
        if seed is not None:
            seed.apply(copy)
        environ = {**os.environ, "PYTHONPATH": folder, "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=no", str(TESTS)]
        done = subprocess.run(
            command, cwd=REPOSITORY, env=environ, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        )
    lines = done.stdout.splitlines()
    found = [line.removeprefix("FAILED ").partition(" - ")[0] for line in lines if line.startswith("FAILED ")]
    if done.returncode not in (0, 1):
        raise SystemExit(f"pytest ended with {done.returncode}\n{done.stdout}{done.stderr}")
    return found


if __name__ == "__main__":
    sys.exit(main())

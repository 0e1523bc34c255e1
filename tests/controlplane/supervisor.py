"""Own the processes and the run folder of one control plane, so that neither outlives the tests.

The tests start this file as a process of its own and hold the other end of its stdin.  Once that end is closed, by
`Supervisor.close` or by the kernel because the tests were killed, it ends every process with SIGKILL (a graceful stop
of kube-apiserver hangs once etcd is gone) and removes the folder.  Standard library only: it runs with `python -I -S`.

Two kinds of process: its own children, which also die with it where the platform has PR_SET_PDEATHSIG, and watched
ones.  A watched process is a child of the tests, who want its Popen.  It starts behind a gate: it becomes the wanted
program only after the supervisor knows it, so there is no moment at which killing the tests would leave it running.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Final

FOLDER_PREFIX: Final = "koordpy-controlplane-"
LOOPBACK: Final = "127.0.0.1"
PR_SET_PDEATHSIG: Final = 1
END_TIMEOUT_S: Final = 10.0
POLL_S: Final = 0.02
START_TIMEOUT_S: Final = 120.0
"""What a busy machine may take for what normally takes 4 s."""
LOG_TAIL_BYTES: Final = 4000


class SupervisorError(Exception):
    """The supervisor could not do what it was asked."""


class Supervisor:
    """The tests' side: starts the supervising process and asks it for things.  Safe to use from several threads."""

    def __init__(self) -> None:
        """Start it; `folder` is the run folder, which exists until `close`."""
        self._process = subprocess.Popen(
            [*_this_file(), "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        self._lock = threading.Lock()
        self._watched: list[subprocess.Popen[bytes]] = []
        self.folder = Path(str(self._answer()["folder"]))

    @property
    def pid(self) -> int:
        """The process id of the supervising process."""
        return self._process.pid

    def start(self, command: Sequence[str], log: Path) -> int:
        """Start a child of the supervisor with its output in log; *returns* its process id."""
        return int(self._ask({"start": list(command), "log": str(log)})["pid"])

    def exit_status(self, pid: int) -> int | None:
        """None while this child runs, else its exit status."""
        status = self._ask({"poll": pid})["exit"]
        return None if status is None else int(status)

    def start_watched(
        self, command: Sequence[str], log: Path, environ: Mapping[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        """Start a child of this process, with its output in log, that the supervisor ends with the rest."""
        with log.open("ab") as output:
            process = subprocess.Popen(
                [*_this_file(), "gate", *command],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                env=environ,
                start_new_session=True,
            )
        self._watched.append(process)
        self._ask({"watch": process.pid})
        gate = process.stdin
        assert gate is not None
        with contextlib.suppress(BrokenPipeError), gate:
            gate.write(b"\n")
        process.stdin = None
        return process

    def close(self) -> None:
        """End everything and remove the folder; a second call does nothing."""
        for process in self._watched:
            process.kill()
            process.wait()
        questions, answers = self._process.stdin, self._process.stdout
        assert questions is not None and answers is not None
        with contextlib.suppress(BrokenPipeError), self._lock:
            questions.close()
        self._process.wait(timeout=2 * END_TIMEOUT_S)
        answers.close()
        shutil.rmtree(self.folder, ignore_errors=True)  # only if the supervisor was killed itself

    def _ask(self, question: Mapping[str, Any]) -> dict[str, Any]:
        with self._lock:
            assert self._process.stdin is not None
            try:
                self._process.stdin.write(json.dumps(question) + "\n")
                self._process.stdin.flush()
            except (BrokenPipeError, ValueError) as error:
                raise SupervisorError("The supervisor of the control plane is gone; start another.") from error
            answer = self._answer()
        if "error" in answer:
            raise SupervisorError(str(answer["error"]))
        return answer

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SupervisorError("The supervisor of the control plane is gone; its own output says why.")
        answer: dict[str, Any] = json.loads(line)
        return answer


def wait_until(
    what: str,
    ready: Callable[[], bool],
    exit_status: Callable[[], int | None] = lambda: None,
    log: Path | None = None,
) -> None:
    """Poll until ready.  *Raises* SupervisorError, with the end of log, if the process ends or time runs out."""
    deadline = time.monotonic() + START_TIMEOUT_S
    while not ready():
        status = exit_status()
        if status is not None or time.monotonic() > deadline:
            how = f"waited {START_TIMEOUT_S:.0f} s" if status is None else f"it ended with status {status}"
            tail = "" if log is None else log.read_bytes()[-LOG_TAIL_BYTES:].decode(errors="replace")
            raise SupervisorError(f"Waiting for {what}: {how}. {tail}")
        time.sleep(POLL_S)


def free_ports(count: int) -> list[int]:
    """Ports that nobody used a moment ago, each another."""
    with contextlib.ExitStack() as open_sockets:
        sockets = [open_sockets.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind((LOOPBACK, 0))
        return [int(each.getsockname()[1]) for each in sockets]


def accepts(port: int) -> bool:
    """Whether something listens there."""
    with contextlib.suppress(OSError), socket.create_connection((LOOPBACK, port), timeout=1):
        return True
    return False


class Brood:
    """The supervisor's side: the processes that end with it."""

    def __init__(self) -> None:
        """Own nothing yet."""
        self._children: dict[int, subprocess.Popen[bytes]] = {}
        self._watched: dict[int, int | None] = {}
        self._tie = _tie_to_parent()

    def answer(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """Do one request; *returns* the reply for its asker, a refusal included."""
        try:
            match question:
                case {"start": [*command], "log": str(log)}:
                    return {"pid": self._start([str(part) for part in command], Path(log))}
                case {"poll": int(pid)}:
                    return {"exit": self._children[pid].poll()}
                case {"watch": int(pid)}:
                    # A handle, not the number: a number may be another process by the time everything ends.
                    self._watched[pid] = os.pidfd_open(pid) if hasattr(os, "pidfd_open") else None
                    return {}
                case _:
                    return {"error": f"The supervisor does not know the request {question}."}
        except (OSError, KeyError) as error:
            return {"error": f"{type(error).__name__}: {error}"}

    def end(self) -> None:
        """SIGKILL to all, then wait, so that nobody writes to the folder any more."""
        for child in self._children.values():
            child.kill()
        for pid, handle in self._watched.items():
            _kill_watched(pid, handle)
        for child in self._children.values():
            child.wait()

    def _start(self, command: Sequence[str], log: Path) -> int:
        # Settings of the tester's shell must not reach the servers: etcd reads every ETCD_ variable as a flag.
        environ = {key: value for key, value in os.environ.items() if not key.startswith("ETCD_")}
        with log.open("ab") as output:
            child = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environ, preexec_fn=self._tie
            )
        self._children[child.pid] = child
        return child.pid


def serve(questions: IO[str], answers: IO[str]) -> None:
    """Answer one JSON object per line until questions ends, then end everything."""
    folder = Path(tempfile.mkdtemp(prefix=FOLDER_PREFIX))
    brood = Brood()
    try:
        for reply in _replies(folder, brood, questions):
            answers.write(json.dumps(reply) + "\n")
            answers.flush()
    except BrokenPipeError:
        pass  # the tests are gone: that is what this process is for
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a second one must not cut this short
        brood.end()
        shutil.rmtree(folder, ignore_errors=True)


def pass_gate(command: Sequence[str]) -> None:
    """Become command once a byte arrives on stdin; end if stdin ends first, because then the tests are gone."""
    if not os.read(0, 1):
        return
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and an exec would pass that on
    os.execvp(command[0], list(command))


def _replies(folder: Path, brood: Brood, questions: IO[str]) -> Iterator[dict[str, Any]]:
    yield {"folder": str(folder)}
    for line in questions:
        yield brood.answer(json.loads(line))


def _this_file() -> list[str]:
    return [sys.executable, "-I", "-S", str(Path(__file__).resolve())]


def _tie_to_parent() -> Callable[[], None] | None:
    """What a child runs to die with its parent; None where the platform has no such thing."""
    if not sys.platform.startswith("linux"):
        return None
    library = ctypes.CDLL(None)
    parent = os.getpid()

    def tie() -> None:
        library.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it died before the tie was made
            os._exit(1)

    return tie


def _kill_watched(pid: int, handle: int | None) -> None:
    with contextlib.suppress(ProcessLookupError):
        if handle is None:
            os.kill(pid, signal.SIGKILL)
        else:
            signal.pidfd_send_signal(handle, signal.SIGKILL)
            select.select([handle], [], [], END_TIMEOUT_S)


def main(arguments: Sequence[str]) -> None:
    """The command line: `serve`, or `gate COMMAND...`."""
    if arguments[0] == "gate":
        pass_gate(arguments[1:])
        return
    # Ctrl-C goes to the tests; they close stdin.  A SIGTERM meant for this process must still clean up.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    serve(sys.stdin, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1:])

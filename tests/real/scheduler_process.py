"""`koordpy scheduler` as a process of its own, against the tests' control plane."""

import http.client
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.controlplane.fixtures import SCHEDULER
from tests.controlplane.server import ControlPlane
from tests.controlplane.supervisor import free_ports, wait_until

ALONE: Final = Path(__file__).parents[2] / "config" / "scheduler.yaml"
"""A test that kills one scheduler and starts the next does not want to wait for the first one's lease."""


class SchedulerProcess:
    """One life of the scheduler; its log goes to `log`. environ: None is that of the tests.

    Without a --config it takes part in no election.
    """

    def __init__(
        self,
        control_plane: ControlPlane,
        log: Path,
        options: Sequence[str] = (),
        environ: Mapping[str, str] | None = None,
    ) -> None:
        (self.port,) = free_ports(1)
        kubeconfig = control_plane.kubeconfig(SCHEDULER)
        command = [sys.executable, "-m", "koordpy", "scheduler", "--kubeconfig", str(kubeconfig), "--seed", "7"]
        if "--config" not in options:
            options = [*options, "--config", str(ALONE)]
        command += ["--bind-address", "127.0.0.1", "--port", str(self.port), *options]
        self.log = log
        self.process: subprocess.Popen[bytes] = control_plane.start_process(command, log, environ)

    def wait_ready(self) -> None:
        wait_until("koordpy scheduler", lambda: self.get("/readyz")[0] == 200, self.process.poll, self.log)

    def wait_log(self, text: str) -> None:
        """Returns within a millisecond of the text's being logged; /readyz would be too slow to strike in a bind."""
        while self.process.poll() is None and text not in self.log.read_text():
            threading.Event().wait(0.001)

    def get(self, path: str) -> tuple[int, str]:
        """Status and body; 0 if nobody answers."""
        try:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=5) as answer:
                    return answer.status, answer.read().decode()
            except urllib.error.HTTPError as error:
                with error:
                    return error.code, error.read().decode()
        except (OSError, http.client.HTTPException):  # the process may end in the middle of its answer
            return 0, ""

    def terminate(self) -> int:
        """SIGTERM; the exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=30)

    def kill(self) -> None:
        """SIGKILL, in the middle of whatever it does."""
        self.process.kill()
        self.process.wait(timeout=30)


@contextmanager
def running_scheduler(
    control_plane: ControlPlane, log: Path, options: Sequence[str] = ()
) -> Iterator[SchedulerProcess]:
    """A scheduler that is ready, until the end of the block."""
    running = SchedulerProcess(control_plane, log, options)
    try:
        running.wait_ready()
        yield running
    finally:
        if running.process.poll() is None:
            running.kill()

"""A leader whose API server falls silent: it ends with the status that says why, and nothing is called hung."""

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from koordpy.cluster.embedded.faults import Fault
from tests.cli.test_embedded import TELEMETRY
from tests.cluster.test_leader_thread import Far, far

__all__ = ["far"]

CONFIG = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaseDuration: 3s, renewDeadline: 1500ms, retryPeriod: 500ms}
profiles: [{schedulerName: koordpy-scheduler}]
"""
PATIENCE_S = 60.0


class Process:
    """`koordpy scheduler` against it."""

    def __init__(self, far: Far, folder: Path, config: str) -> None:
        self._log = folder / "log"
        (folder / "config.yaml").write_text(config)
        (folder / "kubeconfig").write_text(json.dumps(kubeconfig(far)))
        words = ["--config", str(folder / "config.yaml"), "--kubeconfig", str(folder / "kubeconfig"), *TELEMETRY]
        with self._log.open("w") as log:
            command = [sys.executable, "-m", "koordpy", "scheduler", *words]
            self.process = subprocess.Popen(command, stdout=log, stderr=log)

    @property
    def log(self) -> str:
        return self._log.read_text()

    def wait_log(self, words: str) -> None:
        until = time.monotonic() + PATIENCE_S
        while words not in self.log:
            assert self.process.poll() is None and time.monotonic() < until, self.log
            threading.Event().wait(0.02)

    def wait_end(self) -> int:
        return self.process.wait(PATIENCE_S)


@contextmanager
def scheduling(far: Far, folder: Path, config: str = CONFIG) -> Iterator[Process]:
    started = Process(far, folder, config)
    try:
        yield started
    finally:
        started.process.kill()
        started.process.wait(PATIENCE_S)


def kubeconfig(far: Far) -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{far.server.port}"}}],
        "users": [{"name": "u", "user": {"token": far.server.token}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }


def silence(far: Far) -> None:
    for verb in ("get", "list", "create", "update", "patch", "bind"):
        far.cluster.faults.add(Fault(verb, delay_s=3600, times=None))


@pytest.mark.parametrize(("is_told", "status"), [(False, 1), (True, 0)], ids=["the lease is lost", "SIGTERM"])
def test_a_leader_whose_api_server_says_nothing_any_more_ends_without_a_false_alarm(
    is_told: bool, status: int, far: Far, tmp_path: Path
) -> None:
    with scheduling(far, tmp_path) as leader:
        leader.wait_log("leading")
        silence(far)
        if is_told:
            leader.process.send_signal(signal.SIGTERM)
        assert leader.wait_end() == status, leader.log
        log = leader.log
    assert "does not move" not in log
    assert "Traceback" not in log and "Timeout (" not in log
    assert ("we do not lead any more" in log) != is_told
    assert "lease left to run out" in log
    if not is_told:
        assert "was not renewed for 1.5 s: no answer within 0.5 s" in log


def test_a_standby_that_is_told_to_end_says_nothing_of_a_lease_that_it_never_had(far: Far, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    with scheduling(far, tmp_path / "a") as leader, scheduling(far, tmp_path / "b") as other:
        until = time.monotonic() + PATIENCE_S
        while "standing by" not in leader.log + other.log:
            assert time.monotonic() < until
            threading.Event().wait(0.02)
        standby = leader if "standing by" in leader.log else other
        silence(far)
        standby.process.send_signal(signal.SIGTERM)
        assert standby.wait_end() == 0
        assert "lease left to run out" not in standby.log


def test_without_an_election_the_watchdog_does_not_go_by_its_deadline(far: Far, tmp_path: Path) -> None:
    alone = CONFIG.replace("{leaseDuration: 3s, renewDeadline: 1500ms, ", "{leaderElect: false, renewDeadline: 0s, ")
    with scheduling(far, tmp_path, alone) as running:
        running.wait_log("ready: ")
        threading.Event().wait(0.5)
        running.process.send_signal(signal.SIGTERM)
        assert running.wait_end() == 0, running.log
    assert "does not move" not in running.log

"""koordpy demo: what a terminal shows and is left with, and what the report tells of what nobody can count."""

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from koordpy.cli.performance import perform
from tests.cli.test_commands import koordpy
from tests.cli.test_demo import DEMO

HIDE, SHOW = "\x1b[?25l", "\x1b[?25h"
CARD = "{type: gpu, id: ID, minor: 0, health: true, resources: {koordinator.sh/gpu-core: '100'}}"
ODD = f"""
apiVersion: v1
kind: Node
metadata: {{name: n1}}
status: {{allocatable: {{cpu: "8", memory: 32Gi, pods: "110"}}}}
---
apiVersion: v1
kind: Node
metadata: {{name: n2}}
status: {{allocatable: {{cpu: "8", memory: 32Gi, pods: "110"}}}}
---
apiVersion: scheduling.koordinator.sh/v1alpha1
kind: Device
metadata: {{name: n1}}
spec: {{devices: [{CARD.replace("ID", "a")}, {CARD.replace("ID", "b")}, {CARD.replace(" minor: 0,", "")}]}}
---
apiVersion: scheduling.koordinator.sh/v1alpha1
kind: Device
metadata: {{name: n2}}
spec: {{devices: [{{type: rdma, id: c, minor: 0, health: true, resources: {{koordinator.sh/rdma: "100"}}}}]}}
---
apiVersion: v1
kind: Pod
metadata: {{name: before}}
spec:
  nodeName: n1
  containers: [{{name: main, image: registry.example.test/old, resources: {{limits: {{nvidia.com/gpu: 1}}}}}}]
"""


def on_a_terminal(
    *words: str, size: tuple[int, int], ended_by: int = 0, environment: Mapping[str, str] | None = None
) -> tuple[int, str]:
    """Exit status and what was drawn. size: rows, columns; ended_by: a signal, sent when the table is first drawn."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
    hidden = {name: text for name, text in os.environ.items() if name not in ("NO_COLOR", "COLUMNS", "LINES")}
    process = subprocess.Popen(
        [sys.executable, "-m", "koordpy", "demo", *words],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**hidden, "TERM": "xterm-256color", **(environment or {})},
        # Tests that run in a shell's background inherit that it is ignored.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )
    os.close(theirs)
    drawn = b""
    with suppress(OSError):  # how a terminal ends
        while chunk := os.read(ours, 65536):
            drawn += chunk
            if ended_by and HIDE.encode() in drawn:
                process.send_signal(ended_by)
                ended_by = 0
    os.close(ours)
    return process.wait(30), drawn.decode().replace("\r", "")


def plain(drawn: str) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", drawn)


def frames(drawn: str) -> list[list[str]]:
    """The lines of each table that was drawn while it was played."""
    played = drawn.partition(HIDE)[2].partition(SHOW)[0]
    return [plain(frame).splitlines() for frame in re.split(r"(?:\x1b\[2K\x1b\[1A)+\x1b\[2K", played)]


@pytest.mark.parametrize("size", [(24, 80), (10, 40), (4, 20)], ids=["24x80", "10x40", "4x20"])
def test_no_table_is_higher_or_wider_than_the_screen_while_it_is_played(size: tuple[int, int]) -> None:
    code, drawn = on_a_terminal("--speed", "20", size=size)
    rows, columns = size
    assert code == 0
    assert all(len(frame) <= rows and len(line) <= columns for frame in frames(drawn) for line in frame)


def test_what_does_not_fit_is_cut_and_counted_and_the_last_table_is_whole() -> None:
    _, drawn = on_a_terminal("--speed", "20", size=(12, 80))
    lines = [line.rstrip() for line in frames(drawn)[-2]]
    assert re.fullmatch(r"article +0 +██████████ +100 % +16Gi of 16Gi +bert-old-0 50, .*…", lines[1])
    assert "and 11 more rows" in lines
    last = plain(drawn.partition(SHOW)[2])
    assert last.count("NODE ") == 1
    assert last.count(" % ") == 16
    assert "…" not in last


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_who_is_ended_says_so_and_leaves_the_terminal_as_it_was(number: signal.Signals) -> None:
    code, drawn = on_a_terminal(size=(24, 80), ended_by=number)
    assert code == 128 + number
    assert (drawn.count(HIDE), drawn.count(SHOW)) == (1, 1)
    last = plain(drawn.partition(SHOW)[2])
    assert last.startswith("NODE ")
    assert last.rstrip().endswith("interrupted")
    assert "Traceback" not in last


def test_where_there_are_no_blocks_a_table_is_drawn_without() -> None:
    done = koordpy("demo", "--folder", str(DEMO), "--speed", "0", environment={"PYTHONIOENCODING": "ascii"})
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(r"0 +##########  100 % ", done.stdout)
    assert re.search(r" #+\.+ +\d+ % ", done.stdout)
    code, drawn = on_a_terminal("--speed", "20", size=(24, 60), environment={"PYTHONIOENCODING": "ascii"})
    assert code == 0
    assert "##########  100 %" in plain(drawn)


def test_where_nothing_can_be_written_that_is_one_line() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "koordpy", "demo", "--speed", "0"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
    assert (done.returncode, done.stderr) == (1, "koordpy: cannot write: No space left on device\n")


def test_many_who_wait_for_the_same_are_told_together(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    steps = "objects: [{node: n1}, {device: n1}]\nsteps: {apply: {pod: p, copies: 200, requests: {cpu: 9}}}\n"
    (tmp_path / "scenario.yaml").write_text(f"title: t\n{steps}expect: {{gone: q}}\n")
    assert perform(tmp_path, 1, 0)
    shown = capsys.readouterr().out
    assert "Waiting: 200\n  p-000, p-001, p-002 and 197 more: 0/1 nodes are available: 1 Insufficient cpu." in shown
    assert len(shown[shown.index("Waiting: ") :].splitlines()) < 10


def test_what_nobody_can_count_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "odd.yaml").write_text(ODD)
    (tmp_path / "scenario.yaml").write_text('title: t\nsteps: [{files: "*"}, {advance: 1s}]\n')
    assert perform(tmp_path, 1, 0)
    shown = capsys.readouterr().out
    assert "node n2 has no card" in shown
    assert re.search(r"^n2 +-$", shown, re.MULTILINE)
    assert "Device n1: spec.devices[2].minor: " in shown
    assert "Device n1: spec.devices[0].minor is '0': a minor that no other device " in shown
    assert "Hold cards nobody knows: 1\n  before on n1 asks for cards, but no annotation says which" in shown


def test_a_scheduler_that_has_crashed_for_good_has_no_books(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    steps = "objects: [{node: n1}, {device: n1}]\nsteps: [{apply: {pod: p, copies: 50}}, {crash: true}]\n"
    (tmp_path / "scenario.yaml").write_text(f"title: t\n{steps}")
    assert perform(tmp_path, 1, 0)
    shown = capsys.readouterr().out
    assert "no scheduler runs at the end" in shown
    placed, waiting = (int(number) for number in re.findall(r"^(?:Placed|Waiting): (\d+)$", shown, re.MULTILINE))
    assert placed + waiting == 50

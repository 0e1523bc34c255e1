"""Minutes in which everything happens, and the scheduler is watched: books right all along, memory flat.

The scheduler is the real program in a process of its own, over HTTP, on the machine's clock; the embedded cluster and
everybody else on it live here. So what grows in its process is its own.
"""

import asyncio
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Final

from koordpy.clock import SystemClock
from koordpy.cluster.embedded.cluster import EmbeddedCluster
from koordpy.cluster.embedded.server import EmbeddedServer
from koordpy.testing import read_object
from koordpy.whatif.cards import count
from koordpy_api.objects import Device, Pod
from tests.cluster.test_many_requests import written
from tests.controlplane.supervisor import free_ports
from tests.soak.actors import ACTS, WEIGHTS, Actors

ACTS_A_SECOND: Final = 30.0
CHECK_EVERY_S: Final = 5.0
CALM_S: Final = 15.0
"""At the end, without faults: until nothing is late any more."""

WARM: Final = 0.3
"""So much of the time may pass before memory has to be flat."""

GROWTH: Final = 1.1
"""So much more than after warming up may be resident at the end, beside SLACK_BYTES."""

SLACK_BYTES: Final = 8 * 2**20


@dataclass(frozen=True, slots=True)
class Plan:
    """minutes: of the machine's time."""

    minutes: float
    seed: int
    nodes: int = 20
    pods: int = 300


@dataclass
class Story:
    """What happened, and what was found. memory: (second, resident bytes, threads, open files)."""

    acts: Counter[str] = field(default_factory=Counter)
    checks: int = 0
    wrong: list[str] = field(default_factory=list)
    memory: list[tuple[float, int, int, int]] = field(default_factory=list)
    metrics: dict[str, float] = field(default_factory=dict)

    def growth(self) -> tuple[int, int]:
        """Resident bytes once it had warmed up, and the most of the last tenth."""
        sizes = [bytes_ for _, bytes_, _, _ in self.memory]
        return sizes[int(len(sizes) * WARM)], max(sizes[-max(1, len(sizes) // 10) :])


@contextmanager
def scheduler(kubeconfig: Path, log: Path, seed: int) -> Iterator[tuple["subprocess.Popen[bytes]", int]]:
    """The process and the port of its telemetry."""
    (port,) = free_ports(1)
    command = [sys.executable, "-m", "koordpy", "scheduler", "--kubeconfig", str(kubeconfig), "--check-invariants"]
    command += ["--seed", str(seed), "--bind-address", "127.0.0.1", "--port", str(port), "--config", str(_alone(log))]
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
    try:
        yield process, port
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _alone(log: Path) -> Path:
    config = log.with_name("config.yaml")
    config.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "leaderElection: {leaderElect: false}\nprofiles: [{schedulerName: koordpy-scheduler}]\n"
    )
    return config


async def soak(plan: Plan, folder: Path) -> Story:
    cluster = EmbeddedCluster(SystemClock(), Random(f"cluster {plan.seed}"))
    server = EmbeddedServer(cluster)
    await server.start()
    kubeconfig, log = folder / "kubeconfig", folder / "scheduler.log"
    kubeconfig.write_text(written(server.port))
    actors, story, rng = Actors(cluster, plan.nodes, plan.pods), Story(), Random(f"acts {plan.seed}")
    for _ in range(3 * plan.nodes):
        actors.act("node comes or changes", rng)
        actors.act("device comes or changes", rng)
    with scheduler(kubeconfig, log, plan.seed) as (process, port):
        try:
            await _ready(process, port, log)
            seconds = plan.minutes * 60
            await asyncio.gather(_act(actors, story, rng, seconds), _watch(actors, story, process, port, seconds))
            actors.calm()
            await asyncio.sleep(CALM_S)
            await _check(actors, story, port)
            story.metrics = _numbers((await _ask(port, "/metrics"))[1])
            if process.poll() is not None:
                story.wrong.append(f"the scheduler ended with {process.returncode}")
        finally:
            await server.stop()
    story.wrong += [line for line in log.read_text().splitlines() if re.search(r"\bERROR\b|Traceback", line)]
    return story


async def _act(actors: Actors, story: Story, rng: Random, seconds: float) -> None:
    loop = asyncio.get_running_loop()
    until = loop.time() + seconds
    while loop.time() < until:
        (name,) = rng.choices(list(ACTS), [WEIGHTS[name] for name in ACTS])
        story.acts[name] += actors.act(name, rng)
        await asyncio.sleep(rng.expovariate(ACTS_A_SECOND))


async def _watch(actors: Actors, story: Story, process: "subprocess.Popen[bytes]", port: int, seconds: float) -> None:
    loop = asyncio.get_running_loop()
    began = loop.time()
    while (now := loop.time() - began) < seconds and process.poll() is None:
        await _check(actors, story, port)
        story.memory.append((now, *_cost(process.pid)))
        await asyncio.sleep(CHECK_EVERY_S)


async def _check(actors: Actors, story: Story, port: int) -> None:
    """What the scheduler says of its own books, and what the annotations say of the cards."""
    status, text = await _ask(port, "/debug/check")
    story.checks += status == 200
    if status != 200:
        story.wrong.append(f"/debug/check: {status} {text.strip()}")
    devices = [read_object(Device, each) for each in actors.documents(Device.KIND)]
    pods = [read_object(Pod, each) for each in actors.documents(Pod.KIND)]
    cards = count(devices, pods)
    story.wrong += [
        f"{node} card {card.minor} gives more than it has: {card.shares}"
        for node, each in cards.nodes.items()
        for card in each
        if card.exceeded
    ]


async def _ready(process: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
    async with asyncio.timeout(60):
        while (await _ask(port, "/readyz"))[0] != 200:
            if process.poll() is not None:
                raise RuntimeError(f"the scheduler did not start; see {log}")
            await asyncio.sleep(0.2)


async def _ask(port: int, path: str) -> tuple[int, str]:
    return await asyncio.to_thread(_get, f"http://127.0.0.1:{port}{path}")


def _get(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url, timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except OSError as error:
        return 0, str(error)


def _cost(pid: int) -> tuple[int, int, int]:
    """Resident bytes, threads, open files."""
    proc = Path(f"/proc/{pid}")
    pages = int((proc / "statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE"), len(list((proc / "task").iterdir())), len(list((proc / "fd").iterdir()))


def _numbers(text: str) -> dict[str, float]:
    lines = (line.rpartition(" ") for line in text.splitlines() if line[:1] != "#")
    return {name: float(value) for name, _, value in lines}


def report(plan: Plan, story: Story, took_s: float) -> str:
    """For people."""
    done = ", ".join(f"{number} {name}" for name, number in story.acts.most_common())
    lines = [f"{took_s:.0f} s, seed {plan.seed}: {sum(story.acts.values())} acts: {done}"]
    told = {
        "attempts": "scheduler_schedule_attempts_total",
        "binds sent again": "koordpy_bind_retries_total",
        "differences": "koordpy_invariant_differences_total",
    }
    for words, name in told.items():
        found = {key.removeprefix(name): value for key, value in story.metrics.items() if key.startswith(name)}
        lines.append(f"{words}: " + ", ".join(f"{value:g} {key}".strip() for key, value in sorted(found.items())))
    lines.append(f"{story.checks} recounts without a difference")
    every = max(1, len(story.memory) // 10)
    lines += [
        f"  after {at:5.0f} s: {bytes_ / 2**20:6.1f} MiB, {threads} threads, {files} open files"
        for at, bytes_, threads, files in [*story.memory[::every], story.memory[-1]]
    ]
    warm, late = story.growth()
    lines.append(f"resident memory: {warm / 2**20:.1f} MiB once warm, {late / 2**20:.1f} MiB at the end")
    return "\n".join([*lines, *(f"WRONG: {each}" for each in story.wrong[:50])])


def is_clean(story: Story) -> bool:
    warm, late = story.growth()
    return not story.wrong and late <= warm * GROWTH + SLACK_BYTES


def play(plan: Plan) -> tuple[bool, str]:
    """Was it clean, and what is to be told?"""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        story = asyncio.run(soak(plan, Path(folder)))
    return is_clean(story), report(plan, story, time.monotonic() - began)

"""What measuring costs an attempt: `python -m tests.perf.metering` compares cycles with and without it, in one run.

All kinds take turns, so that a machine that is busy with something else is so for all of them.
"""

import argparse
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count
from random import Random
from typing import Final

from koordpy.clock import SystemClock
from koordpy.framework.measuring import SAMPLED_ATTEMPTS, Meter
from koordpy.framework.runner import Framework
from koordpy.scheduler.outcome import Placed
from koordpy.telemetry.metrics import Metrics
from koordpy.testing import CycleHarness, make_device, make_node, make_pod
from koordpy_api.koordinator import GPU_CORE, GPU_MEMORY_RATIO
from koordpy_api.objects import KubeObject

SIZES: Final = (1, 10, 100, 1000)
ROUNDS: Final = 2000


def cluster(nodes: int) -> Iterator[KubeObject]:
    """Every eighth node has cards."""
    for number in range(nodes):
        yield make_node(f"n{number}", cpu=64)
        if number % 8 == 0:
            yield make_device(f"n{number}", 8)


def frameworks(plain: Framework) -> Sequence[Framework]:
    """Without measuring; with it; and with every hook timed."""
    meter = Meter(plain.profile, Metrics(), SystemClock().monotonic)
    measured = replace(plain, meter=meter)
    return plain, measured, replace(measured, chains=meter.timed(measured.chains))


def compare(nodes: int, rounds: int) -> tuple[float, float, float]:
    """Median seconds of a cycle without measuring; how many times as long with it, and with every hook timed.

    Ratios are of cycles of one round, which place equal Pods one after the other.
    """
    harness = CycleHarness(cluster(nodes))
    kinds, rng, names = frameworks(harness.framework), Random(0), count()
    took: tuple[list[float], ...] = ([], [], [])
    for _ in range(rounds):
        card: dict[str, int] = {GPU_CORE: 25, GPU_MEMORY_RATIO: 25} if rng.random() < 0.5 else {}
        for kind in rng.sample(range(3), 3):
            pod = make_pod(f"p{next(names)}", requests={"cpu": "100m", **card})
            harness.framework = kinds[kind]
            started = time.perf_counter()
            placed = harness.schedule(pod)
            took[kind].append(time.perf_counter() - started)
            assert isinstance(placed, Placed)
            harness.forget(placed)
    plain, *others = took
    ratios = (statistics.median(a / b for a, b in zip(other, plain, strict=True)) for other in others)
    measured, timed = ratios
    return statistics.median(plain), measured, timed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    rounds = parser.parse_args().rounds
    print("nodes    without   with   each hook timed   one attempt of ten timed")
    for nodes in SIZES:
        plain, measured, timed = compare(nodes, max(rounds // nodes, 60))
        mixed = measured + SAMPLED_ATTEMPTS * (timed - measured)
        print(f"{nodes:5} {plain * 1e6:8.0f} us {measured:6.3f} {timed:17.3f} {mixed:26.3f}")


if __name__ == "__main__":
    main()

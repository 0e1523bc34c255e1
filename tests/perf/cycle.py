"""The command behind `make bench-cycle`: the scheduling cycle by itself, in this process, with no server and no wire.

An attempt is what the scheduler's loop does with a pod between taking it from the queue and sending its bind: the
snapshot, PreFilter to Permit of the default profile, and holding the pod in the cache; metered as in the scheduler,
each plugin timed in one attempt of ten. Every node has 8 cards, and some have pods. Pods are read, and a few of them
placed, before the clock starts. What is told is the median of the rounds, each with pods of the same kinds on the same
cluster.
"""

import argparse
import gc
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from random import Random
from typing import Final

from koordpy.cli.collector import THRESHOLDS
from koordpy.clock import SystemClock
from koordpy.framework.measuring import SAMPLED_ATTEMPTS, Meter
from koordpy.framework.runner import Framework
from koordpy.scheduler.outcome import Placed
from koordpy.scheduler.scheduler import timed_twin
from koordpy.telemetry.metrics import Metrics
from koordpy.testing import CycleHarness, pod_manifest, read_object
from koordpy_api.objects import Pod
from tests.options import some_of, some_seconds, whole, wholes
from tests.perf import page
from tests.perf.around import look_around
from tests.perf.cycle_pods import ASKS, ROOM, Ask, objects
from tests.perf.history import HISTORY, Quantity, Record, Run, append, medians
from tests.perf.targets import CYCLE, judged, verdict, verdicts

SIZES: Final = (500, 5_000, 15_000)
SIGNATURES: Final = (1, 100, 0)
"""How many kinds of pods; 0: no two are alike."""
ROUNDS: Final = 5
SEVERAL: Final = 3
"""A median of fewer rounds is held against no target."""
ROUND_S: Final = 1.5
ROUND_PODS: Final = 2_000
"""A round ends with the first of the two."""
WARM_UP: Final = 10
"""The first attempts of a round see that all was taken back, the first of all that there are cards."""
LEAST_NODES: Final = 2 * (WARM_UP + 1)
"""With fewer, nothing is left of the pods that ask for everything once the clock starts."""


class Refused(Exception):
    """A pod that was to be placed was not."""


def most_pods(ask: str, nodes: int, wanted: int) -> int:
    """Of a round, once the clock runs. Those that ask for everything may be fewer than wanted.

    *Raises* Refused where the cluster is too small.
    """
    room = ROOM[ask](nodes) - WARM_UP
    if ask == "everything" and nodes >= LEAST_NODES:
        return min(wanted, room)
    if ask == "everything":
        raise Refused(f"{nodes} nodes are too few for pods of {ask!r}: at least {LEAST_NODES}")
    if wanted > room:
        raise Refused(
            f"{nodes} nodes are too few for pods of {ask!r}: they have room for {ROOM[ask](nodes)}, and a round has "
            f"{wanted + WARM_UP}, {WARM_UP} of them before the clock starts. Take more nodes, or at most --pods {room}"
        )
    return wanted


class Cycles:
    """A cluster, and rounds of attempts on it."""

    def __init__(self, nodes: int) -> None:
        self._harness = CycleHarness(objects(nodes))
        plain = self._harness.framework
        metrics = Metrics()
        self._usual = replace(plain, meter=Meter(plain.profile, metrics, SystemClock().monotonic))
        self._timed = timed_twin(self._usual)
        self._samples = Random(0)
        self._numbers = 0
        gc.collect()
        gc.freeze()  # as the scheduler does once it has read everything

    def round(self, ask: Ask, signatures: int, seconds: float, most: int) -> float:
        """Pods a second, once WARM_UP pods were placed. All of them are taken back at the end.

        *Raises* Refused if one has no place.
        """
        pods = [_pod(self._numbers + number, ask, signatures) for number in range(WARM_UP + most)]
        self._numbers += len(pods)
        placed: list[Placed] = []
        began = took = 0.0
        for number, pod in enumerate(pods):
            if number == WARM_UP:
                began = time.perf_counter()
            self._harness.framework = self._framework()
            match self._harness.schedule(pod):
                case Placed() as held:
                    placed.append(held)
                case refused:
                    raise Refused(f"{pod.metadata.name} has no place: {refused.status.message}")
            if number >= WARM_UP and (took := time.perf_counter() - began) >= seconds:
                break
        for held in placed:
            self._harness.forget(held)
        return (len(placed) - WARM_UP) / took

    def _framework(self) -> Framework:
        return self._timed if self._samples.random() < SAMPLED_ATTEMPTS else self._usual


def _pod(number: int, ask: Ask, signatures: int) -> Pod:
    asked = ask(number % signatures if signatures else number)
    affinity = asked.pop("affinity", None)
    name = f"pod-{number:06}"
    manifest = pod_manifest(name, uid=name, **asked)
    if affinity is not None:
        manifest["spec"]["affinity"] = affinity
    return read_object(Pod, manifest)


def measure(nodes: int, options: argparse.Namespace) -> Iterator[Run]:
    """All that is asked for at one size; every combination has its turn in every round."""
    before = gc.get_threshold()
    gc.set_threshold(*THRESHOLDS)  # as the scheduler, too
    try:
        cycles = Cycles(nodes)
        for number in range(1, options.rounds + 1):
            for ask in options.asks:
                for signatures in options.signatures:
                    most = most_pods(ask, nodes, options.pods)
                    per_s = cycles.round(ASKS[ask], signatures, options.seconds, most)
                    yield Run(number, _named(nodes, signatures, ask), {Quantity.PODS_PER_S: per_s})
    finally:
        gc.unfreeze()
        gc.set_threshold(*before)


def _named(nodes: int, signatures: int, ask: str) -> str:
    kinds = f"{signatures} signature{'s' * (signatures != 1)}" if signatures else "all different"
    return f"{nodes} nodes, {kinds}, {ask}"


def main(arguments: Sequence[str]) -> int:
    """The command line; *returns* the exit status: 1 if it could not be measured, whatever the numbers."""
    parser = command_line()
    options = parser.parse_args(arguments)
    try:
        for nodes, ask in product(options.nodes, options.asks):
            most_pods(ask, nodes, options.pods)
    except Refused as error:
        parser.error(str(error))
    runs: list[Run] = []
    for nodes in options.nodes:
        try:
            found = list(measure(nodes, options))
        except Refused as error:
            print(f"bench-cycle: {nodes} nodes: {error}", file=sys.stderr)
            return 1
        _tell(found, options.rounds)
        runs += found
    counts = is_whole(options)
    around = look_around("bench-cycle", arguments)
    size = (max(options.nodes), options.pods)
    record = Record(CYCLE, "the scheduling cycle by itself", *size, counts, around, runs, medians(runs))
    _judge(record, options.rounds)
    if options.history or counts:
        append(options.history or HISTORY, record)
    if counts and not options.history:
        page.write()
    return 0


def is_whole(options: argparse.Namespace) -> bool:
    """All that is measured when nobody says anything, and nothing of it shorter."""
    asked = (options.nodes, options.signatures, options.asks)
    long = options.rounds >= ROUNDS and options.seconds >= ROUND_S and options.pods >= ROUND_PODS
    return asked == (SIZES, SIGNATURES, tuple(ASKS)) and long


def _tell(found: Sequence[Run], rounds: int) -> None:
    often = f"median of {rounds}" if rounds > 1 else "one round"
    for what, numbers in medians(found).items():
        rates = sorted(run.numbers[Quantity.PODS_PER_S] for run in found if run.contestant == what)
        range_ = f", {rates[0]:,.0f} to {rates[-1]:,.0f}" if rounds > 1 else ""
        print(f"{what:44} {numbers[Quantity.PODS_PER_S]:8,.0f} pods/s ({often}{range_})", flush=True)


def _judge(record: Record, rounds: int) -> None:
    found = list(judged([record]))
    if found and rounds < SEVERAL:
        print(f"no verdicts: the targets are for the median of {SEVERAL} rounds or more")
    elif found:
        print(*map(verdict, found), verdicts(found), sep="\n")


def command_line() -> argparse.ArgumentParser:
    """What it refuses, it refuses before anything has started."""
    parser = argparse.ArgumentParser(
        prog="bench-cycle",
        description="Measure the scheduling cycle by itself.",
        epilog="Exits with 0 once all is measured, targets met or missed; with 1 if something could not be measured.",
    )
    parser.add_argument("--nodes", type=wholes(1), default=SIZES, help="a list (default 500,5000,15000)")
    parser.add_argument("--signatures", type=wholes(0), default=SIGNATURES, help="kinds of pods; 0: no two alike")
    parser.add_argument("--asks", type=some_of(ASKS, "kind of pods"), default=tuple(ASKS), help=f"of {', '.join(ASKS)}")
    parser.add_argument("--rounds", type=whole(1), default=ROUNDS, help="of each (default %(default)s)")
    parser.add_argument(
        "--seconds", type=some_seconds, default=ROUND_S, help="of a round, at most (default %(default)s)"
    )
    parser.add_argument("--pods", type=whole(1), default=ROUND_PODS, help="of a round, at most (default %(default)s)")
    parser.add_argument(
        "--history", type=Path, help="where to append the result; default: docs/performance, if nothing is left out"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

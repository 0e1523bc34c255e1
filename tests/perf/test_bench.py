"""A bench of a few pods on the real control plane, and one of the cycle by itself: does the whole chain still work?"""

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from koordpy_api.koordinator import GPU_MEMORY
from koordpy_api.quantity import value_of
from tests.perf import bench, cycle
from tests.perf.cycle_pods import ASKS, ROOM, cards
from tests.perf.history import Quantity, read
from tests.perf.targets import CYCLE


@pytest.mark.usefixtures("control_plane_assets")
def test_koordpy_and_the_ceiling_place_a_few_pods_with_cards(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    history = tmp_path / "history.jsonl"
    who = ["--contestants", "koordpy,ceiling", "--history", str(history)]
    assert bench.main(["--workloads", "gpu-shares", "--quick", "--nodes", "2", "--pods", "20", *who]) == 0
    (record,) = read(history)
    assert (record.workload, record.is_whole, set(record.medians)) == ("gpu-shares", False, {"koordpy", "ceiling"})
    for numbers in record.medians.values():
        assert (numbers[Quantity.EVENTS], numbers[Quantity.LEFT_OUT]) == (20, 0)
        assert numbers[Quantity.PODS_PER_S] > 0 < numbers[Quantity.PEAK_MB]
    told = capsys.readouterr().out
    assert "no verdicts: the targets speak of 500 nodes and 8000 pods" in told and "\ntarget " not in told


def test_the_cycle_is_measured_with_every_kind_of_pod(tmp_path: Path) -> None:
    history = tmp_path / "history.jsonl"
    assert cycle.main(["--nodes", "40", "--rounds", "2", "--pods", "20", "--history", str(history)]) == 0
    (record,) = read(history)
    assert (record.workload, len(record.medians), len(record.runs)) == (CYCLE, 9, 18)


def refused(main: Callable[[Sequence[str]], int], arguments: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What is told by a command that nothing came of."""
    with pytest.raises(SystemExit) as ended:
        main(arguments.split())
    told = capsys.readouterr()
    assert (ended.value.code, told.out) == (2, "")
    return told.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("--pairs -1", "--pairs: '-1' is no whole number of at least 1"),
        ("--pairs 0", "--pairs: '0' is no whole number of at least 1"),
        ("--pairs two", "--pairs: 'two' is no whole number of at least 1"),
        ("--nodes -3", "--nodes: '-3' is no whole number of at least 1"),
        ("--pods 0", "--pods: '0' is no whole number of at least 10"),
        ("--workloads basic,basics", "no workload is called 'basics'; there are basic, signatures-100, "),
        ("--contestants ceilings", "no contestant is called 'ceilings'; there are koordpy, kube-scheduler, "),
        ("--workloads steady,memory --contestants ceiling", "ceiling has no turn at steady or memory"),
    ],
)
def test_a_bench_of_nothing_is_refused_before_it_starts(
    arguments: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert told in refused(bench.main, arguments, capsys)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("--rounds 0", "--rounds: '0' is no whole number of at least 1"),
        ("--nodes 0", "--nodes: '0' is no list of whole numbers of at least 1, as 500,5000"),
        ("--nodes -5", "--nodes: '-5' is no list of whole numbers of at least 1, as 500,5000"),
        ("--nodes 500,many", "--nodes: '500,many' is no list of whole numbers of at least 1, as 500,5000"),
        ("--signatures -1", "--signatures: '-1' is no list of whole numbers of at least 0"),
        ("--seconds nan", "--seconds: 'nan' is no number of seconds above 0"),
        ("--pods 0", "--pods: '0' is no whole number of at least 1"),
        ("--asks card", "no kind of pods is called 'card'; there are plain, cards, everything"),
        ("--nodes 50", "50 nodes are too few for pods of 'cards': they have room for 1550, and a round has 2010"),
        ("--nodes 50", "Take more nodes, or at most --pods 1540"),
        ("--nodes 21 --pods 1", "21 nodes are too few for pods of 'everything': at least 22"),
    ],
)
def test_a_cycle_of_nothing_is_refused_before_it_starts(
    arguments: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert told in refused(cycle.main, arguments, capsys)


@pytest.mark.parametrize("signatures", [1, 100, 0])
@pytest.mark.parametrize(("ask", "nodes"), [("plain", 2), ("cards", 2), ("everything", 30)])
def test_a_cluster_that_is_said_to_be_large_enough_is(ask: str, nodes: int, signatures: int) -> None:
    most = cycle.most_pods(ask, nodes, ROOM[ask](nodes) - cycle.WARM_UP)
    assert cycle.Cycles(nodes).round(ASKS[ask], signatures, math.inf, most) > 0


def test_the_pods_of_the_last_round_ask_for_as_much_of_a_card_as_those_of_the_first() -> None:
    first, last = (value_of(cards(kind)["requests"][GPU_MEMORY]) for kind in (0, 200_000))
    assert first < last < 1.02 * first


def test_a_cycle_with_fewer_or_shorter_rounds_than_usual_does_not_count_for_the_page() -> None:
    parser = cycle.command_line()
    assert cycle.is_whole(parser.parse_args([]))
    for shorter in ("--rounds 4", "--seconds 0.1", "--pods 100", "--nodes 5000"):
        assert not cycle.is_whole(parser.parse_args(shorter.split()))


def test_a_bench_with_fewer_pairs_than_usual_does_not_count_for_the_page() -> None:
    def whole(arguments: str) -> set[bool]:
        return {each.is_whole for each in bench.chosen(bench.command_line().parse_args(arguments.split()))}

    assert whole("") == whole("--pairs 5") == {True}
    assert whole("--workloads basic --pairs 4") == whole("--quick") == whole("--contestants ceiling") == {False}

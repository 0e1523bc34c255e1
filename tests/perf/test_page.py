"""From records to docs/performance.md."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.perf.history import HISTORY, Around, Quantity, Record, Run, append, latest, medians, read
from tests.perf.page import PAGE, page, write
from tests.perf.targets import Judged, judged
from tests.perf.targets import verdicts as told
from tests.perf.workloads import WORKLOADS

AROUND = Around("2030-01-01T00:00Z", "0123456789ab", 2, "some processor", 8.0, {"Python": "3"}, "make bench", {})


def numbers(per_s: float, cpu_ms: float = 1.0) -> Mapping[Quantity, float]:
    return {Quantity.PODS_PER_S: per_s, Quantity.CPU_MS: cpu_ms}


def record(workload: str, *runs: Run, is_whole: bool = True) -> Record:
    return Record(workload, "says", 5000, 10000, is_whole, AROUND, list(runs), medians(runs))


def basic(ours: float = 1000.0, cpu_ms: float = 0.4) -> Record:
    runs = [
        *(Run(number, "koordpy", numbers(ours, cpu_ms)) for number in (1, 2)),
        *(Run(number, "kube-scheduler", numbers(400.0, 2.0)) for number in (1, 2)),
        *(Run(number, "ceiling", numbers(1100.0)) for number in (1, 2)),
    ]
    return record("basic", *runs)


def verdicts(*records: Record) -> dict[str, bool]:
    return {each.target.what: each.is_met for each in judged(records)}


def test_a_fast_and_cheap_scheduler_meets_its_targets() -> None:
    assert verdicts(basic()) == {
        "pods/s, of its ceiling": True,
        "pods/s, of kube-scheduler's": True,
        "CPU a pod, of kube-scheduler's": True,
    }


@pytest.mark.parametrize(("ours", "cpu_ms"), [(719, 0.4), (1000, 0.51)])
def test_a_result_below_its_target_is_missed_and_the_page_says_so(ours: float, cpu_ms: float) -> None:
    assert not all(verdicts(basic(ours, cpu_ms)).values())
    assert "**missed**" in page([basic(ours, cpu_ms)])
    assert "**missed**" not in page([basic()])


def test_ratios_are_of_runs_of_one_round() -> None:
    runs = [Run(number, who, numbers(rate)) for who, rates in RATES.items() for number, rate in enumerate(rates, 1)]
    assert record("basic", *runs).ratio(Quantity.PODS_PER_S, "koordpy", "ceiling") == pytest.approx(0.5)


RATES = {"koordpy": (100.0, 500.0, 50.0), "ceiling": (200.0, 1000.0, 100.0)}


def test_cards_are_judged_beside_what_is_quoted_of_koordinator() -> None:
    more = {Quantity.LEFT_OUT: 1.0}
    met = verdicts(record("gpu-shares", Run(1, "koordpy", {**numbers(600.0, 0.8), **more})))
    assert met == {"pods/s": True, "CPU a pod": False, "pods left out": False}


def test_the_cycle_is_judged_at_5000_nodes_with_cards() -> None:
    names = ("500 nodes, 1 signature, cards", "5000 nodes, 1 signature, plain", "5000 nodes, 100 signatures, cards")
    (only,) = judged([record("cycle", *(Run(1, name, numbers(2_000.0)) for name in names))])
    assert only == Judged("cycle", only.target, 2_000.0)
    assert not only.is_met


def test_the_history_is_read_as_it_was_written_and_small_runs_do_not_reach_the_page(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    assert read(path) == []
    written = [basic(900.0), basic(), record("basic", Run(1, "koordpy", numbers(5.0)), is_whole=False)]
    for each in written:
        append(path, each)
    assert read(path) == written
    assert list(latest(read(path))) == [written[1]]


def test_the_page_and_its_picture_are_made_of_the_history_alone(tmp_path: Path) -> None:
    history, written, drawn = tmp_path / "history.jsonl", tmp_path / "page.md", tmp_path / "overview.png"
    write(history, written, drawn)
    assert not written.exists()
    append(history, basic())
    write(history, written, drawn)
    assert written.read_text() == page(read(history))
    assert drawn.read_bytes().startswith(b"\x89PNG")


def test_a_line_without_a_run_is_named_and_hides_no_result(tmp_path: Path) -> None:
    history, written, drawn = tmp_path / "history.jsonl", tmp_path / "page.md", tmp_path / "overview.png"
    append(history, record("basic"))
    write(history, written, drawn)
    assert not written.exists()
    for each in (basic(), record("basic"), record("cycle")):
        append(history, each)
    write(history, written, drawn)
    assert page([basic()]).strip() in written.read_text()
    assert written.read_text().endswith(
        "Nothing was measured in these of its lines: line 1 (basic, 2030-01-01, `make bench`), "
        "line 3 (basic, 2030-01-01, `make bench`), line 4 (cycle, 2030-01-01, `make bench`).\n"
    )


def test_the_last_line_of_a_bench_names_the_targets_that_are_missed() -> None:
    assert told(list(judged([basic()]))) == "3 of 3 targets are met"
    missed = told(list(judged([basic(cpu_ms=0.51)])))
    assert missed == "2 of 3 targets are met, 1 MISSED (basic: CPU a pod, of kube-scheduler's)"


@pytest.mark.skipif(not HISTORY.exists(), reason="nothing was measured yet")
def test_the_page_in_docs_is_what_the_history_says() -> None:
    assert PAGE.read_text() == page(read(HISTORY))
    assert {each.workload for each in latest(read(HISTORY))} == {*WORKLOADS, "cycle"}

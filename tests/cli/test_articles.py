"""koordpy demo articles: what the articles' pods take, counted; and that it is counted."""

import re
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.cli.test_commands import koordpy, refused
from tests.cli.test_demo import HEAD, shown

REPOSITORY = Path(__file__).parents[2]
RUNS = REPOSITORY / "config" / "demo-articles" / "runs.yaml"
PROFILES = REPOSITORY / "config" / "profiles"

FOUR_QUARTERS = """
price: 1000000
runs:
  - article: "2.1"
    title: four quarters for four cards
    objects:
      - {node: node, copies: 2}
      - {device: node, copies: 2, gpus: 2}
    groups:
      - title: quarters
        pods: {pod: quarter, copies: 4, requests: {koordinator.sh/gpu-core: 25, koordinator.sh/gpu-memory-ratio: 25}}
        cards: 9
"""


def count(file: Path, profile: str = "binpack", *options: str) -> CompletedProcess[str]:
    return koordpy("demo", "articles", "--file", str(file), "--config", str(PROFILES / f"{profile}.yaml"), *options)


@pytest.fixture(scope="module")
def counted() -> CompletedProcess[str]:
    return count(RUNS)


@pytest.fixture
def four(tmp_path: Path) -> Path:
    file = tmp_path / "runs.yaml"
    file.write_text(FOUR_QUARTERS, encoding="utf-8")
    return file


def row(printed: str, title: str) -> list[str]:
    """The numbers behind the title."""
    found = re.search(rf"^(?:\d\.\d|   ) {re.escape(title)}((?: +[\d.]+)+)$", printed, re.MULTILINE)
    assert found, printed
    return found[1].split()


@pytest.mark.parametrize(
    ("title", "numbers"),
    [
        # run, wait, cards of the article, in use, asked by those that wait, million of the article, million here
        ("small inference, a quarter of a card", "200 0 50 50 3.00 3.00"),
        ("medium inference, half a card's compute and 8Gi", "60 0 30 30 1.80 1.80"),
        ("training, two whole cards", "10 0 20 20 1.20 1.20"),
        ("whole cards", "200 300 500 200 300 30.00 30.00"),
        ("468 quarters and 32 halves", "500 0 133 133 7.98 7.98"),
        ("500 fifths", "500 0 133 100 7.98 6.00"),
        ("before: whole cards, 150 queries/s each", "100 0 100 100 6.00 6.00"),
        ("after: quarters, 140 queries/s each", "100 0 25 25 1.50 1.50"),
        ("quarters, as many queries as before", "108 0 27 1.62"),
    ],
)
def test_the_pods_take_as_many_cards_as_they_must(counted: CompletedProcess[str], title: str, numbers: str) -> None:
    assert (counted.returncode, counted.stderr) == (0, "")
    assert row(counted.stdout, title) == numbers.split()


def test_all_300_that_wait_are_told_why(counted: CompletedProcess[str]) -> None:
    waiting = counted.stdout[counted.stdout.index("500 services for 200 cards: 300 pods wait, and each is told") :]
    assert "\n  0/25 nodes are available: 25 Insufficient gpu devices.\n" in waiting
    assert waiting.count("pods wait") == 1
    assert re.search(r"card 7  asks core 100, memory 16Gi  free core 0, memory 0 .*; held by service-\d+\n", waiting)


def test_the_page_shows_what_it_prints(counted: CompletedProcess[str]) -> None:
    lines = shown(REPOSITORY / "docs" / "demo.md")
    of_articles = [line for line in lines[lines.index(HEAD) :] if not line.startswith("seed 0, profile ")]
    assert len(of_articles) > 15
    assert not set(of_articles) - set(counted.stdout.splitlines())


def test_books_and_annotations_agree_after_each_run(counted: CompletedProcess[str]) -> None:
    assert counted.stdout.endswith("no card gives more than it has; the scheduler's own books say the same\n")


@pytest.mark.parametrize(("profile", "cards"), [("binpack", 1), ("latency", 2), ("spread", 4)])
def test_the_profile_decides_how_many_cards_are_touched(four: Path, profile: str, cards: int) -> None:
    done = count(four, profile)
    assert row(done.stdout, "quarters") == ["4", "0", "9", str(cards), "9.00", f"{cards}.00"]
    assert done.returncode == 0  # an article that errs is no failure


def test_a_seed_is_another_order_and_the_same_count(four: Path) -> None:
    assert row(count(four, "binpack", "--seed", "7").stdout, "quarters") == ["4", "0", "9", "1", "9.00", "1.00"]


def test_a_mistake_in_the_runs_is_told_with_its_line(four: Path) -> None:
    four.write_text(FOUR_QUARTERS.replace("cards: 9", "card: 9"), encoding="utf-8")
    assert "runs.yaml:12: runs[0].groups[0].card" in refused("demo", "articles", "--file", str(four))


def test_runs_that_are_not_there_are_told_where_there_are_some(tmp_path: Path) -> None:
    text = refused("demo", "articles", "--file", str(tmp_path / "none.yaml"))
    assert "no such file; a checkout of koordpy has config/demo-articles/runs.yaml" in text


def test_an_option_of_the_demo_is_not_let_pass_unread() -> None:
    done = koordpy("demo", "--seed", "3", "articles")
    assert done.returncode == 2
    assert "--seed" in done.stderr and "behind" in done.stderr

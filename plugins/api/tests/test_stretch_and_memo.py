"""Scores stretched to a hundred, and what is remembered of the last Pod."""

import re
from itertools import count
from typing import Any

import numpy as np
import pytest

from koordpy.testing import make_pod
from koordpy_api import Status
from koordpy_api.columns import LIMIT, Verdicts, floor_div, stretch
from koordpy_api.memo import latest
from koordpy_api.objects import Pod


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("most", [1, 2, 3, 7, 99, 100, 101, 655, 656, 1023, 1024, 1025, 5_000, 2**40])
def test_stretching_is_an_integer_division_however_it_is_done(most: int, reverse: bool) -> None:
    scores = np.unique(np.append(np.linspace(0, most, 50).astype(np.int64), most))
    divided = [score * 100 // most for score in scores.tolist()]
    stretch(scores, reverse=reverse)
    assert scores.tolist() == ([100 - each for each in divided] if reverse else divided)


@pytest.mark.parametrize(("reverse", "expected"), [(False, 0), (True, 100)])
def test_zeros_stay_or_are_the_best(reverse: bool, expected: int) -> None:
    scores = np.zeros(3, dtype=np.int64)
    stretch(scores, reverse=reverse)
    assert scores.tolist() == [expected] * 3


def test_no_scores_at_all_stay_so() -> None:
    scores = np.zeros(0, dtype=np.int64)
    stretch(scores)
    assert scores.tolist() == []


@pytest.mark.parametrize(
    ("scores", "error", "said"),
    [
        ([3, 4], TypeError, "stretch: scores are list; int64 is wanted, one per row"),
        (np.zeros(2), TypeError, "stretch: scores are float64[2]; int64 is wanted, one per row"),
        (np.zeros((2, 2), np.int64), TypeError, "stretch: scores are int64[2, 2]; int64 is wanted, one per row"),
        (np.array([-3, -2]), ValueError, f"stretch: a score is -2; 0 to {LIMIT} is wanted"),
        (np.array([-3, 7]), ValueError, f"stretch: a score is -3; 0 to {LIMIT} is wanted"),
        (np.array([-3, 2**30]), ValueError, f"stretch: a score is -3; 0 to {LIMIT} is wanted"),
        (np.array([0, 2**60]), ValueError, f"stretch: a score is {2**60}; 0 to {LIMIT} is wanted"),
    ],
    ids=[
        "a list",
        "fractions",
        "a table",
        "all negative",
        "one negative",
        "one negative beside a high one",
        "too high to be stretched",
    ],
)
def test_scores_that_cannot_be_stretched_are_told_with_what_would_be_right(
    scores: Any, error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=f"^{re.escape(said)}$"):
        stretch(scores)


@pytest.mark.parametrize(
    ("dividends", "divisors", "error", "said"),
    [
        ([1.5], [1], TypeError, "floor_div: dividends are float64[1]; int64 is wanted"),
        ([1], [True], TypeError, "floor_div: divisors are bool[1]; int64 is wanted"),
        ([1, -7], [2, 2], ValueError, "floor_div: the lowest of the dividends is -7; none may be below 0"),
        ([1, 7], [2, -2], ValueError, "floor_div: the lowest of the divisors is -2; none may be below 1"),
        ([1, 7], [2, 0], ValueError, "floor_div: the lowest of the divisors is 0; none may be below 1"),
    ],
    ids=["fractions", "flags", "a negative dividend", "a negative divisor", "by nothing"],
)
def test_what_floor_div_cannot_divide_is_told_with_what_would_be_right(
    dividends: Any, divisors: Any, error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=f"^{re.escape(said)}$"):
        floor_div(np.array(dividends), np.array(divisors))


def test_verdicts_are_made_of_flags_only() -> None:
    with pytest.raises(TypeError, match=r"^Verdicts.where: refused is int64\[2\]; bool is wanted, one per row$"):
        Verdicts.where(np.array([0, 2]), Status.unschedulable("full"))


def test_of_the_last_pod_only_is_remembered_and_by_identity() -> None:
    asked: list[Pod] = []

    @latest
    def name_of(pod: Pod) -> str:
        asked.append(pod)
        return pod.metadata.name

    first, same, other = make_pod("a"), make_pod("a"), make_pod("b")
    assert [name_of(pod) for pod in (first, first, same, other, other, first)] == ["a", "a", "a", "b", "b", "a"]
    assert [id(pod) for pod in asked] == [id(pod) for pod in (first, same, other, first)]


def test_what_raises_is_asked_again() -> None:
    times = count(1)

    @latest
    def ask(pod: Pod) -> str:
        if next(times) == 1:
            raise ValueError("no")
        return "yes"

    pod = make_pod("a")
    with pytest.raises(ValueError, match="no"):
        ask(pod)
    assert ask(pod) == "yes"

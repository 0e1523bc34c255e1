"""Scores stretched to a hundred, and what is remembered of the last Pod."""

from itertools import count

import numpy as np
import pytest

from koordpy.testing import make_pod
from koordpy_api.columns import stretch
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

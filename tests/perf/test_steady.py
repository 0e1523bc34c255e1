"""What is said of a run in which pods arrive evenly."""

from typing import Any

import pytest

from tests.perf.history import Quantity
from tests.perf.steady import lags
from tests.perf.watching import PodWatch, WrongResult


def test_a_run_without_any_event_is_no_measurement() -> None:
    session: Any = None  # nobody asks anything
    watch = PodWatch(session, revisions=[1], moments=[0.0])
    watch.came = watch.bound = {"probe": 0.0, "first": 0.0}
    with pytest.raises(WrongResult, match="no pod has an Event"):
        lags(watch, {"probe": 1}, "probe")


def test_a_pod_whose_event_was_given_up_counts_among_the_binds_and_not_among_the_events() -> None:
    session: Any = None  # nobody asks anything
    watch = PodWatch(session, revisions=[1, 2, 3, 4], moments=[0.0, 1.0, 9.0, 10.0])
    watch.came = {"probe": 0.0, "first": 0.0, "second": 1.0, "third": 2.0}
    watch.bound = {"probe": 0.0, "first": 1.0, "second": 2.0, "third": 6.0}

    found = lags(watch, {"probe": 1, "second": 3, "third": 4}, "probe")

    assert (found[Quantity.BIND_P50_S], found[Quantity.BIND_MAX_S]) == (1.0, 4.0)
    assert (found[Quantity.EVENT_P50_S], found[Quantity.EVENT_MAX_S], found[Quantity.EVENT_END_S]) == (7.0, 7.0, 4.0)

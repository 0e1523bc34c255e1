"""What a plugin may count and show, and what the host makes of it."""

from collections.abc import Iterator

import pytest
from prometheus_client.parser import text_string_to_metric_families

from koordpy.config.expand import ResolvedProfile
from koordpy.framework.build import build_all
from koordpy.framework.registry import Registry
from koordpy.telemetry.metrics import Metrics, PluginMetrics
from koordpy_api import Gauge, Handle, NoArgs
from tests.framework.scripted_plugins import plugin

NAMES = ("PrioritySort", "Shows", "DefaultBinder")


def gauge(*rooms: str) -> Gauge:
    return Gauge("koordpy_rooms", "Rooms.", ("room",), [((room,), 1.0) for room in rooms])


def rooms(metrics: PluginMetrics) -> set[str]:
    metrics.freeze()
    lines = metrics.exposition().decode().splitlines()
    return {line.split('"')[1] for line in lines if line.startswith("koordpy_rooms{")}


def test_plugins_of_all_profiles_declare_in_one_place() -> None:
    def remember(self: object, args: NoArgs, handle: Handle) -> None:
        counter = handle.metrics.counter("koordpy_made_total", "Made.", ("by",))
        counter.inc("Shows")
        handle.metrics.gauges("Shows", tuple, lambda frozen: [gauge("hall")])

    registry = Registry(given={"Shows": plugin(__init__=remember)})
    metrics = Metrics()
    profiles = [ResolvedProfile.of(name, NAMES, registry) for name in ("one", "two")]
    build_all(profiles, registry, lambda kind, name, problem: None, metrics.plugins)
    metrics.plugins.freeze()
    text = metrics.exposition().decode()
    assert 'koordpy_made_total{by="Shows"} 2.0' in text
    assert text.count('koordpy_rooms{room="hall"} 1.0') == 1
    assert text.count("# TYPE koordpy_rooms gauge") == 1


def test_a_gauge_shows_what_was_handed_out_and_no_more_than_that() -> None:
    metrics, known = PluginMetrics(), ["hall"]
    metrics.gauges("A", lambda: tuple(known), lambda frozen: [gauge(*frozen)])
    assert rooms(metrics) == {"hall"}
    known[:] = ["attic"]
    assert rooms(metrics) == {"attic"}


def test_before_the_first_time_there_is_nothing_to_show() -> None:
    metrics = PluginMetrics()
    metrics.gauges("A", lambda: (), lambda frozen: [gauge("hall")])
    assert metrics.exposition() == b""


@pytest.mark.parametrize("at", ["freeze", "read", "the second series"])
def test_gauges_that_break_are_left_out_and_complained_of_once(at: str, caplog: pytest.LogCaptureFixture) -> None:
    def broken(*_frozen: object) -> list[Gauge]:
        raise RuntimeError("no")

    def half() -> Iterator[tuple[tuple[str, ...], float]]:
        yield ("hall",), 1.0
        raise RuntimeError("no")

    metrics = PluginMetrics()
    whole = Gauge("koordpy_halves", "Halves.", ("room",), half())
    read = {"freeze": lambda frozen: [gauge("hall")], "read": broken}.get(at, lambda frozen: [whole])
    metrics.gauges("A", broken if at == "freeze" else tuple, read)
    metrics.gauges("B", tuple, lambda frozen: [gauge("attic")])
    for _ in range(2):
        assert rooms(metrics) == {"attic"}
    assert [record.getMessage() for record in caplog.records] == ["the gauges of A cannot be read and are left out"]


def test_a_counter_of_the_same_name_with_other_labels_is_refused() -> None:
    metrics = PluginMetrics()
    metrics.counter("koordpy_made_total", "Made.", ("by",))
    with pytest.raises(ValueError, match="koordpy_made_total has the labels by already"):
        metrics.counter("koordpy_made_total", "Made.")


def test_a_counter_without_labels_counts_too() -> None:
    metrics = PluginMetrics()
    counter = metrics.counter("koordpy_made_total", "Made.")
    counter.add(0)
    counter.inc()
    counter.add(2)
    assert metrics.registry.get_sample_value("koordpy_made_total") == 3


def test_what_is_odd_in_a_label_is_written_as_prometheus_reads_it() -> None:
    metrics, odd = PluginMetrics(), 'a "back\\slash"\nand a line'
    metrics.gauges("A", tuple, lambda frozen: [gauge(odd)])
    metrics.freeze()
    (family,) = text_string_to_metric_families(metrics.exposition().decode())
    assert [sample.labels["room"] for sample in family.samples] == [odd]

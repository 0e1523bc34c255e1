"""What Prometheus reads: the host's metrics of families.py, and what plugins declare.

The only door to prometheus_client. Plugins' gauges are written here by hand; see _write_gauge.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, TypeVar

from prometheus_client import CollectorRegistry, Counter, disable_created_metrics
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

from koordpy.telemetry import instruments
from koordpy.telemetry.families import Families
from koordpy_api import metrics as api

logger = logging.getLogger("koordpy.metrics")

T = TypeVar("T")
CONTENT_TYPE = CONTENT_TYPE_LATEST


@dataclass(frozen=True, slots=True)
class PluginCounter:
    """koordpy_api.metrics.Counter."""

    labels: tuple[str, ...]
    text: str
    counter: Counter
    _series: dict[tuple[str, ...], Counter] = field(default_factory=dict)  # finding one takes a lock and far longer

    def inc(self, *labels: str) -> None:
        self.add(1, *labels)

    def add(self, amount: int, *labels: str) -> None:
        if (series := self._series.get(labels)) is None:
            series = self._series[labels] = self.counter.labels(*labels) if labels else self.counter
        series.inc(amount)


@dataclass(frozen=True, slots=True)
class Declared:
    """One metric of a plugin, for people."""

    name: str
    type: str
    labels: tuple[str, ...]
    text: str


@dataclass(slots=True)
class _Gauges:
    """What one plugin shows. frozen: what it last handed out; None before the first time, or if it broke."""

    freeze: Callable[[], Any]
    read: Callable[[Any], Iterable[api.Gauge]]
    frozen: Any = None


class PluginMetrics:
    """koordpy_api.metrics.Metrics: what plugins declare. Counters are in `registry`, a registry of their own."""

    def __init__(self) -> None:
        # Else there would be a gauge beside each counter, which no Go program shows.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = CollectorRegistry()
        self._counters: dict[str, PluginCounter] = {}
        self._gauges: dict[str, _Gauges] = {}
        self._complained: set[str] = set()

    def counter(self, name: str, help: str, labels: Sequence[str] = ()) -> PluginCounter:  # noqa: A002
        if (known := self._counters.get(name)) is None:
            known = PluginCounter(tuple(labels), help, Counter(name, help, labels, registry=self.registry))
            self._counters[name] = known
        elif known.labels != tuple(labels):
            raise ValueError(f"metric {name} has the labels {', '.join(known.labels)} already")
        return known

    def gauges(self, name: str, freeze: Callable[[], T], read: Callable[[T], Iterable[api.Gauge]]) -> None:
        self._gauges.setdefault(name, _Gauges(freeze, read))

    def declared(self) -> list[Declared]:
        """What plugins show at this moment, whether or not there is anything of it."""
        self.freeze()
        counters = [Declared(name, "counter", each.labels, each.text) for name, each in sorted(self._counters.items())]
        shown = [each for each in self._gauges.values() if each.frozen is not None]
        gauges = (gauge for each in shown for gauge in each.read(each.frozen))
        return counters + [Declared(each.name, "gauge", each.labels, each.help) for each in gauges]

    def freeze(self) -> None:
        """Let every plugin hand out what its gauges are to show. On the scheduler's loop, between two cycles."""
        for name, gauges in self._gauges.items():
            try:
                gauges.frozen = gauges.freeze()
            except Exception:  # noqa: BLE001  a plugin may raise anything, and schedules on
                gauges.frozen = None
                self._complain(name)

    def exposition(self) -> bytes:
        """Prometheus' text format; gauges as they were at the last freeze. On the thread of whoever scrapes."""
        return generate_latest(self.registry) + "".join(self._written()).encode()

    def _written(self) -> Iterator[str]:
        """What each plugin shows, whole or not at all."""
        for name, gauges in self._gauges.items():
            if gauges.frozen is None:
                continue
            try:
                labelled: dict[tuple[str, ...], str] = {}
                yield "".join([_write_gauge(gauge, labelled) for gauge in gauges.read(gauges.frozen)])
            except Exception:  # noqa: BLE001
                self._complain(name)

    def _complain(self, name: str) -> None:
        if name not in self._complained:
            self._complained.add(name)
            logger.exception("the gauges of %s cannot be read and are left out", name)


def _write_gauge(gauge: api.Gauge, labelled: dict[tuple[str, ...], str]) -> str:
    """labelled: label values → how they are written, for all gauges with the same labels.

    prometheus_client would write each label again for each sample: seconds for 40,000 cards with seven gauges.
    """
    lines = [f"# HELP {gauge.name} {_escaped(gauge.help)}\n# TYPE {gauge.name} gauge\n"]
    for values, value in gauge.series:
        if (written := labelled.get(values)) is None:
            pairs = zip(gauge.labels, values, strict=True)
            written = ",".join(f'{label}="{_escaped(each, quotes=True)}"' for label, each in pairs)
            labelled[values] = written
        lines.append(f"{gauge.name}{{{written}}} {value}\n")
    return "".join(lines)


def _escaped(text: str, *, quotes: bool = False) -> str:
    text = text.replace("\\", "\\\\").replace("\n", "\\n")
    return text.replace('"', '\\"') if quotes else text


class _FamiliesCollector(Collector):
    """The host's own metrics, as prometheus_client wants them."""

    def __init__(self, families: Families) -> None:
        self._families = families

    def collect(self) -> Iterator[Metric]:
        for family in self._families.all():
            match family:
                case instruments.Counter():
                    yield _counter(family)
                case instruments.Gauge():
                    yield _gauge(family)
                case instruments.Histogram():
                    yield _histogram(family)


def _counter(family: instruments.Counter) -> Metric:
    metric = CounterMetricFamily(family.name, family.text, labels=family.label_names)
    for labels, cell in family.series():
        metric.add_metric(labels, cell.value)
    return metric


def _gauge(family: instruments.Gauge) -> Metric:
    metric = GaugeMetricFamily(family.name, family.text, labels=family.label_names)
    for labels, cell in family.series():
        metric.add_metric(labels, cell.value)
    return metric


def _histogram(family: instruments.Histogram) -> Metric:
    metric = HistogramMetricFamily(family.name, family.text, labels=family.label_names)
    bounds = [*map(floatToGoString, family.bounds), "+Inf"]
    for labels, cell in family.series():
        counted = list(zip(bounds, accumulate(cell.counts), strict=True))
        metric.add_metric(labels, counted, cell.total)
    return metric


class Metrics(Families):
    """One registry per scheduler."""

    def __init__(self) -> None:
        super().__init__()
        self.registry = CollectorRegistry()
        self.plugins = PluginMetrics()
        # The one switch: what plugins say of the cluster would be counted twice if a standby said it, too. Until there
        # is an election, whoever runs leads.
        self.is_leading = True
        self.registry.register(_FamiliesCollector(self))
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)

    def exposition(self) -> bytes:
        """Prometheus' text format; plugins' gauges as they were at the last `plugins.freeze`."""
        text = generate_latest(self.registry)
        return text + self.plugins.exposition() if self.is_leading else text

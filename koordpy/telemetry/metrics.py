"""Every metric of the host on one page, kube-scheduler's names first. The only door to prometheus_client."""

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector

from koordpy_api import metrics as api

logger = logging.getLogger("koordpy.metrics")

T = TypeVar("T")
CONTENT_TYPE = CONTENT_TYPE_LATEST


@dataclass(frozen=True, slots=True)
class PluginCounter:
    """koordpy_api.metrics.Counter."""

    labels: tuple[str, ...]
    counter: Counter

    def inc(self, *labels: str) -> None:
        self.add(1, *labels)

    def add(self, amount: int, *labels: str) -> None:
        (self.counter.labels(*labels) if labels else self.counter).inc(amount)


@dataclass(slots=True)
class _Gauges:
    """What one plugin shows. frozen: what it last handed out; None before the first time, or if it broke."""

    freeze: Callable[[], Any]
    read: Callable[[Any], Iterable[api.Gauge]]
    frozen: Any = None


class PluginMetrics:
    """koordpy_api.metrics.Metrics: what plugins declare. Counters are in `registry`, a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._counters: dict[str, PluginCounter] = {}
        self._gauges: dict[str, _Gauges] = {}
        self._complained: set[str] = set()

    def counter(self, name: str, help: str, labels: Sequence[str] = ()) -> PluginCounter:  # noqa: A002
        if (known := self._counters.get(name)) is None:
            known = PluginCounter(tuple(labels), Counter(name, help, labels, registry=self.registry))
            self._counters[name] = known
        elif known.labels != tuple(labels):
            raise ValueError(f"metric {name} has the labels {', '.join(known.labels)} already")
        return known

    def gauges(self, name: str, freeze: Callable[[], T], read: Callable[[T], Iterable[api.Gauge]]) -> None:
        self._gauges.setdefault(name, _Gauges(freeze, read))

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


class Metrics:
    """One registry per scheduler, so that two of them in one process never mix their counts."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.plugins = PluginMetrics()
        # The one switch: what plugins say of the cluster would be counted twice if a standby said it, too. Until there
        # is an election, whoever runs leads.
        self.is_leading = True
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)
        self.schedule_attempts = Counter(
            "scheduler_schedule_attempts_total",
            "Attempts to schedule Pods, by result (scheduled, unschedulable, error) and profile.",
            ("result", "profile"),
            registry=self.registry,
        )
        self.attempt_duration = Histogram(
            "scheduler_scheduling_attempt_duration_seconds",
            "From the pop to the end of the bind, or to the refusal.",
            ("result", "profile"),
            buckets=[0.001 * 2**power for power in range(15)],
            registry=self.registry,
        )
        self.pending_pods = Gauge(
            "scheduler_pending_pods",
            "Pods in the queue: active, backoff, unschedulable, gated.",
            ("queue",),
            registry=self.registry,
        )
        self.cache_size = Gauge(
            "scheduler_cache_size",
            "What the scheduler believes: nodes, pods, assumed_pods.",
            ("type",),
            registry=self.registry,
        )
        self.unreadable_objects = Counter(
            "koordpy_unreadable_objects_total",
            "Times an object could not be read in full, by kind.",
            ("kind",),
            registry=self.registry,
        )
        self.bind_retries = Counter(
            "koordpy_bind_retries_total",
            "Bindings sent again because the API server gave no usable answer.",
            registry=self.registry,
        )
        self.events = Counter(
            "koordpy_events_total",
            "Kubernetes Events, by what became of them (written, dropped).",
            ("outcome",),
            registry=self.registry,
        )

    def exposition(self) -> bytes:
        """Prometheus' text format; plugins' gauges as they were at the last `plugins.freeze`."""
        text = generate_latest(self.registry)
        return text + self.plugins.exposition() if self.is_leading else text

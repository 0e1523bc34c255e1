"""Every metric of the host on one page, kube-scheduler's names first. The only door to prometheus_client."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector

CONTENT_TYPE = CONTENT_TYPE_LATEST


class Metrics:
    """One registry per scheduler, so that two of them in one process never mix their counts."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
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
        """Prometheus' text format."""
        return generate_latest(self.registry)

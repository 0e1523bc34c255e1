"""Every metric of the host, declared: kube-scheduler's under its names, labels and buckets, then our own.

Source: pkg/scheduler/metrics/metrics.go. docs/metrics.md is made from this page.
"""

from collections.abc import Iterator
from typing import Final

from koordpy.telemetry.instruments import Counter, Gauge, Histogram, exponential

ATTEMPT_S: Final = exponential(0.001, 2, 15)
POINT_S: Final = exponential(0.0001, 2, 12)
PLUGIN_S: Final = exponential(0.00001, 1.5, 20)
WHOLE_S: Final = exponential(0.01, 2, 20)
MOST_ATTEMPTS: Final = 15


class Attempts:
    """What an attempt costs and how it ends."""

    def __init__(self) -> None:
        self.schedule_attempts = Counter(
            "scheduler_schedule_attempts_total",
            "Attempts to schedule Pods, by result (scheduled, unschedulable, error) and profile.",
            ("result", "profile"),
            "stable",
        )
        self.attempt_duration = Histogram(
            "scheduler_scheduling_attempt_duration_seconds",
            "From the pop to the end of the bind, or to the refusal.",
            ("result", "profile"),
            "stable",
            ATTEMPT_S,
        )
        self.algorithm_duration = Histogram(
            "scheduler_scheduling_algorithm_duration_seconds",
            "From the pop until a node is held; refused attempts do not count.",
            (),
            "alpha",
            ATTEMPT_S,
        )
        self.sli_duration = Histogram(
            "scheduler_pod_scheduling_sli_duration_seconds",
            "From a Pod's first time among the active ones to its bind, by attempts (1 to 14, 15+).",
            ("attempts",),
            "beta",
            WHOLE_S,
        )
        self.pod_attempts = Histogram(
            "scheduler_pod_scheduling_attempts",
            "How many attempts a bound Pod took.",
            (),
            "stable",
            exponential(1, 2, 5),
        )
        self.scheduled_after_flush = Counter(
            "scheduler_pod_scheduled_after_flush_total",
            "Pods that were bound only after five minutes of waiting had sent them back: a hint was missing.",
            (),
            "alpha",
        )
        self.tasks = Gauge(
            "scheduler_goroutines",
            "Work under way beside the loop; operation is binding.",
            ("operation",),
            "beta",
        )

    def bound(self, attempts: int, seconds: float) -> None:
        """seconds: since the Pod's first time among the active ones."""
        told = str(attempts) if attempts < MOST_ATTEMPTS else f"{MOST_ATTEMPTS}+"
        self.sli_duration.labels(told).observe(seconds)
        self.pod_attempts.observe(attempts)


class Points:
    """What extension points and plugins cost."""

    def __init__(self) -> None:
        self.point_duration = Histogram(
            "scheduler_framework_extension_point_duration_seconds",
            "All plugins of one extension point together; Filter and Score for all nodes together.",
            ("extension_point", "status", "profile"),
            "stable",
            POINT_S,
        )
        self.plugin_duration = Histogram(
            "scheduler_plugin_execution_duration_seconds",
            "One call of one plugin, in one attempt of ten; of calls per node, one of sixteen.",
            ("plugin", "extension_point", "status"),
            "alpha",
            PLUGIN_S,
        )
        self.plugin_evaluations = Counter(
            "scheduler_plugin_evaluation_total",
            "Calls of a plugin at PreFilter, Filter, PreScore and Score that it did not skip.",
            ("plugin", "extension_point", "profile"),
            "beta",
        )
        self.permit_wait = Histogram(
            "scheduler_permit_wait_duration_seconds",
            "How long a Pod waited at Permit, by what came of it.",
            ("result",),
            "beta",
            ATTEMPT_S,
        )


class Beliefs:
    """What is in the queue and in the cache, and why it moves."""

    def __init__(self) -> None:
        self.pending_pods = Gauge(
            "scheduler_pending_pods",
            "Pods in the queue: active, backoff, unschedulable, gated.",
            ("queue",),
            "stable",
        )
        self.incoming_pods = Counter(
            "scheduler_queue_incoming_pods_total",
            "Pods that entered a queue (active, backoff, unschedulable), by the event that sent them there.",
            ("queue", "event"),
            "stable",
        )
        self.unschedulable_pods = Gauge(
            "scheduler_unschedulable_pods",
            "Pods that wait because this plugin, perhaps among others, refused them.",
            ("plugin", "profile"),
            "beta",
        )
        self.inflight_events = Gauge(
            "scheduler_inflight_events",
            "Events kept for the attempts under way, and those attempts as PodPopped.",
            ("event",),
            "alpha",
        )
        self.hint_duration = Histogram(
            "scheduler_queueing_hint_execution_duration_seconds",
            "One call of a queueing hint, by what it said (Queue, QueueSkip, Error).",
            ("plugin", "event", "hint"),
            "alpha",
            PLUGIN_S,
        )
        self.event_duration = Histogram(
            "scheduler_event_handling_duration_seconds",
            "One change of the cluster until cache, plugins and queue have heard of it.",
            ("event",),
            "alpha",
            POINT_S,
        )
        self.cache_size = Gauge(
            "scheduler_cache_size",
            "What the scheduler believes: nodes, pods, assumed_pods.",
            ("type",),
            "alpha",
        )

    def incoming(self, queue: str, event: str) -> None:
        self.incoming_pods.labels(queue, event).inc()

    def hint_asked(self, plugin: str, event: str, hint: str, seconds: float) -> None:
        self.hint_duration.labels(plugin, event, hint).observe(seconds)

    def event_handled(self, event: str, seconds: float) -> None:
        self.event_duration.labels(event).observe(seconds)


class Own:
    """What only koordpy tells, and what Kubernetes programs tell that are no scheduler."""

    def __init__(self) -> None:
        self.leader = Gauge(
            "leader_election_master_status",
            "1 where this process leads, 0 where it stands by; name is the lease's. None without an election.",
            ("name",),
            "alpha",
        )
        self.unreadable_objects = Counter(
            "koordpy_unreadable_objects_total",
            "Times an object could not be read in full, by kind.",
            ("kind",),
            "koordpy",
        )
        self.watch_silence = Gauge(
            "koordpy_watch_last_event_age_seconds",
            "How long ago the API server last said something of a resource; bookmarks come every minute.",
            ("resource",),
            "koordpy",
        )
        self.bind_retries = Counter(
            "koordpy_bind_retries_total",
            "Bindings sent again because the API server gave no usable answer.",
            (),
            "koordpy",
        )
        self.overcommitted_nodes = Gauge(
            "koordpy_overcommitted_nodes",
            "Nodes whose Pods ask for more cpu, memory, ephemeral storage or Pods than there is: a race with another "
            "scheduler, or a node that shrank.",
            (),
            "koordpy",
        )
        self.differences = Counter(
            "koordpy_invariant_differences_total",
            "Differences found between what the scheduler believes and the objects; each is a bug.",
            (),
            "koordpy",
        )
        self.events = Counter(
            "koordpy_events_total",
            "Kubernetes Events, by what became of them (written, dropped).",
            ("outcome",),
            "koordpy",
        )
        self.events_waiting = Gauge(
            "koordpy_events_waiting",
            "Kubernetes Events that are not written yet. From 20,000 on, the oldest Scheduled are dropped.",
            (),
            "koordpy",
        )


class Families(Attempts, Points, Beliefs, Own):
    """All of them; one of each per scheduler, so that two schedulers in one process never mix their counts."""

    def __init__(self) -> None:
        for part in (Attempts, Points, Beliefs, Own):
            part.__init__(self)

    def all(self) -> Iterator[Counter | Gauge | Histogram]:
        """In the order of this page."""
        for family in vars(self).values():
            if isinstance(family, Counter | Gauge | Histogram):
                yield family

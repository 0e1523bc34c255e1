"""The host's metrics: upstream's names, labels and buckets, and what a scrape reads."""

from collections.abc import Mapping
from typing import Final

import pytest
from prometheus_client.parser import text_string_to_metric_families

from koordpy.telemetry.instruments import Counter, Gauge, Histogram, exponential
from koordpy.telemetry.left_out import LEFT_OUT
from koordpy.telemetry.metrics import Metrics
from tests.docs import metrics_page

Row = tuple[str, str, tuple[float, float, int] | None, str]

# Written down from the description of kube-scheduler 1.36, apart from the code: type, labels, buckets, stability.
UPSTREAM: Final[Mapping[str, Row]] = {
    "schedule_attempts_total": ("counter", "result profile", None, "stable"),
    "scheduling_attempt_duration_seconds": ("histogram", "result profile", (0.001, 2, 15), "stable"),
    "scheduling_algorithm_duration_seconds": ("histogram", "", (0.001, 2, 15), "alpha"),
    "event_handling_duration_seconds": ("histogram", "event", (0.0001, 2, 12), "alpha"),
    "preemption_victims": ("histogram", "", (1, 2, 7), "stable"),
    "preemption_attempts_total": ("counter", "", None, "stable"),
    "pending_pods": ("gauge", "queue", None, "stable"),
    "inflight_events": ("gauge", "event", None, "alpha"),
    "goroutines": ("gauge", "operation", None, "beta"),
    "pod_scheduling_sli_duration_seconds": ("histogram", "attempts", (0.01, 2, 20), "beta"),
    "pod_scheduling_attempts": ("histogram", "", (1, 2, 5), "stable"),
    "pod_scheduled_after_flush_total": ("counter", "", None, "alpha"),
    "framework_extension_point_duration_seconds": (
        "histogram",
        "extension_point status profile",
        (0.0001, 2, 12),
        "stable",
    ),
    "plugin_execution_duration_seconds": ("histogram", "plugin extension_point status", (0.00001, 1.5, 20), "alpha"),
    "plugin_evaluation_total": ("counter", "plugin extension_point profile", None, "beta"),
    "queueing_hint_execution_duration_seconds": ("histogram", "plugin event hint", (0.00001, 1.5, 20), "alpha"),
    "queue_incoming_pods_total": ("counter", "queue event", None, "stable"),
    "permit_wait_duration_seconds": ("histogram", "result", (0.001, 2, 15), "beta"),
    "cache_size": ("gauge", "type", None, "alpha"),
    "unschedulable_pods": ("gauge", "plugin profile", None, "beta"),
    "preemption_goroutines_duration_seconds": ("histogram", "result", (0.01, 2, 20), "alpha"),
    "preemption_goroutines_execution_total": ("counter", "result", None, "alpha"),
    "batch_attempts_total": ("counter", "profile result", None, "alpha"),
    "batch_cache_flushed_total": ("counter", "profile reason", None, "alpha"),
    "get_node_hint_duration_seconds": ("histogram", "hinted profile", (0.00001, 2, 12), "alpha"),
    "store_schedule_results_duration_seconds": ("histogram", "profile", (0.00001, 2, 12), "alpha"),
    "async_api_call_execution_total": ("counter", "call_type result", None, "alpha"),
    "async_api_call_execution_duration_seconds": ("histogram", "call_type result", (0.001, 2, 15), "alpha"),
    "pending_async_api_calls": ("gauge", "call_type", None, "alpha"),
    "resourceclaim_creates_total": ("counter", "status", None, "alpha"),
    "dra_bindingconditions_allocations_total": ("counter", "profile driver status", None, "alpha"),
    "dra_bindingconditions_wait_duration_seconds": ("histogram", "profile driver status", (0.1, 2, 14), "alpha"),
    "podgroup_schedule_attempts_total": ("counter", "result profile", None, "alpha"),
    "podgroup_scheduling_attempt_duration_seconds": ("histogram", "result profile", (0.001, 2, 15), "alpha"),
    "podgroup_scheduling_algorithm_duration_seconds": ("histogram", "", (0.001, 2, 15), "alpha"),
    "volume_binder_cache_requests_total": ("counter", "operation", None, "alpha"),
    "volume_scheduling_stage_error_total": ("counter", "operation", None, "alpha"),
}


@pytest.mark.parametrize("name", UPSTREAM)
def test_a_metric_of_upstreams_is_the_same_here_or_left_out_by_name(name: str) -> None:
    declared = {each.name: each for each in Metrics().all()}
    family = declared.get(f"scheduler_{name}")
    left_out = f"scheduler_{name}" in [each for names in LEFT_OUT.values() for each in names]
    assert left_out is (family is None)
    if family is not None:
        kind, labels, buckets, stability = UPSTREAM[name]
        bounds = family.bounds if isinstance(family, Histogram) else None
        assert (type(family).__name__.lower(), sorted(family.label_names)) == (kind, sorted(labels.split()))
        assert (bounds, family.stability) == (buckets and exponential(*buckets), stability)


def test_every_other_metric_of_the_host_says_that_it_is_koordpys() -> None:
    upstream = {*(f"scheduler_{name}" for name in UPSTREAM), "leader_election_master_status"}
    others = [each for each in Metrics().all() if each.name not in upstream]
    assert others
    assert all(each.name.startswith("koordpy_") and each.stability == "koordpy" for each in others)


def test_the_page_of_metrics_is_not_stale() -> None:
    assert metrics_page.PAGE.read_text() == metrics_page.page(), "run python -m tests.docs.metrics_page"


def test_a_scrape_reads_what_was_written() -> None:
    metrics = Metrics()
    metrics.schedule_attempts.labels("scheduled", 'a "name"').inc()
    for seconds in (0.0005, 0.001, 0.0015, 1000):
        metrics.attempt_duration.labels("error", "p").observe(seconds)
    metrics.pending_pods.labels("active").set(7)
    metrics.bound(attempts=14, seconds=1)
    metrics.bound(attempts=15, seconds=1)
    value = metrics.registry.get_sample_value
    assert value("scheduler_schedule_attempts_total", {"result": "scheduled", "profile": 'a "name"'}) == 1
    assert value("scheduler_pending_pods", {"queue": "active"}) == 7
    name, labels = "scheduler_scheduling_attempt_duration_seconds", {"result": "error", "profile": "p"}
    buckets = [value(f"{name}_bucket", {**labels, "le": le}) for le in ("0.001", "0.002", "16.384", "+Inf")]
    assert (buckets, value(f"{name}_count", labels), value(f"{name}_sum", labels)) == ([2, 3, 3, 4], 4, 1000.003)
    slis = [value("scheduler_pod_scheduling_sli_duration_seconds_count", {"attempts": each}) for each in ("14", "15+")]
    assert slis == [1, 1]
    assert value("koordpy_bind_retries_total") == 0, "there from the start, so that a rate of it is"
    families = {each.name: each.type for each in text_string_to_metric_families(metrics.exposition().decode())}
    assert families["scheduler_schedule_attempts"] == "counter"
    assert families[name] == "histogram"


def test_a_gauge_that_is_replaced_keeps_what_is_gone_at_zero() -> None:
    gauge = Gauge("g", "", ("a",), "koordpy")
    gauge.replace([(("x",), 1), (("y",), 2)])
    gauge.replace([(("y",), 3)])
    assert {labels: cell.value for labels, cell in gauge.series()} == {("x",): 0, ("y",): 3}


def test_too_few_labels_are_refused() -> None:
    with pytest.raises(ValueError, match="has the labels a, b"):
        Counter("c_total", "", ("a", "b"), "koordpy").labels("x")

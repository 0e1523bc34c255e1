"""The metrics of kube-scheduler that are not here, by what they would measure; docs/metrics.md names them."""

from collections.abc import Mapping
from typing import Final

LEFT_OUT: Final[Mapping[str, tuple[str, ...]]] = {
    "preemption": (
        "scheduler_preemption_victims",
        "scheduler_preemption_attempts_total",
        "scheduler_preemption_goroutines_duration_seconds",
        "scheduler_preemption_goroutines_execution_total",
    ),
    "opportunistic batching": (
        "scheduler_batch_attempts_total",
        "scheduler_batch_cache_flushed_total",
        "scheduler_get_node_hint_duration_seconds",
        "scheduler_store_schedule_results_duration_seconds",
    ),
    "the asynchronous API dispatcher": (
        "scheduler_async_api_call_execution_total",
        "scheduler_async_api_call_execution_duration_seconds",
        "scheduler_pending_async_api_calls",
    ),
    "dynamic resource allocation": (
        "scheduler_resourceclaim_creates_total",
        "scheduler_dra_bindingconditions_allocations_total",
        "scheduler_dra_bindingconditions_wait_duration_seconds",
    ),
    "Pod groups": (
        "scheduler_podgroup_schedule_attempts_total",
        "scheduler_podgroup_scheduling_attempt_duration_seconds",
        "scheduler_podgroup_scheduling_algorithm_duration_seconds",
    ),
    "volumes": (
        "scheduler_volume_binder_cache_requests_total",
        "scheduler_volume_scheduling_stage_error_total",
    ),
    "the page /metrics/resources": ("kube_pod_resource_request", "kube_pod_resource_limit"),
}
"""What koordpy does not have yet, and so does not measure."""

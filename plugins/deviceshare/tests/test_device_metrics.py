"""What DeviceShare counts and shows, read as a scrape reads it."""

from collections.abc import Mapping

import pytest
from prometheus_client.parser import text_string_to_metric_families

from koordpy.telemetry.metrics import Metrics
from koordpy.testing import gpu, make_device, make_pod
from koordpy_api.koordinator import GPU_MODEL, NVIDIA_GPU
from koordpy_api.objects import Pod
from koordpy_deviceshare import metrics as device_metrics
from koordpy_deviceshare.args import DeviceShareArgs
from koordpy_deviceshare.scheduling import DeviceShare

from .deviceshare_stage import GI, HALF, Host

GAUGES = (
    *(f"device_gpu_{what}_{unit}" for what in ("total", "used", "free") for unit in ("core", "memory_bytes")),
    "device_gpu_health",
)


class Scraped(Host):
    """Half a card of two is in use, the other card is sick, if nothing else is said."""

    def __init__(self) -> None:
        super().__init__()
        self.show_node("node")
        self.device = make_device("node", [gpu(0, uuid="A"), gpu(1, uuid="B", health=False)], labels={GPU_MODEL: "T4"})
        self.list_device(self.device)

    def scrape(self) -> dict[str, dict[tuple[str, ...], float]]:
        """Gauge → label values → value."""
        self.metrics.freeze()
        return {
            metric.name: {tuple(sample.labels.values()): sample.value for sample in metric.samples}
            for metric in text_string_to_metric_families(self.metrics.exposition().decode())
            if metric.name.startswith("device_gpu_")
        }

    def results(self) -> Mapping[str, float | None]:
        value = self.metrics.registry.get_sample_value
        return {result: value(device_metrics.ALLOCATIONS, {"result": result}) for result in ("success", "failure")}

    def refuse(self, pod: Pod, *plugins: str) -> None:
        self.plugin.pod_refused(pod, frozenset(plugins or {"DeviceShare"}))


@pytest.fixture
def host() -> Scraped:
    return Scraped()


# ------------------------------------------------------------------------ gauges


def test_every_card_has_its_amounts_under_node_minor_uuid_and_model(host: Scraped) -> None:
    host.bind(make_pod(requests=HALF))
    seen = host.scrape()
    well, sick = ("node", "0", "A", "T4"), ("node", "1", "B", "T4")
    assert seen == {
        "device_gpu_total_core": {well: 100, sick: 0},
        "device_gpu_total_memory_bytes": {well: 16 * GI, sick: 0},
        "device_gpu_used_core": {well: 50, sick: 0},
        "device_gpu_used_memory_bytes": {well: 8 * GI, sick: 0},
        "device_gpu_free_core": {well: 50, sick: 0},
        "device_gpu_free_memory_bytes": {well: 8 * GI, sick: 0},
        "device_gpu_health": {well: 1, sick: 0},
    }


def test_all_gauges_have_the_same_series(host: Scraped) -> None:
    seen = host.scrape()
    assert set(seen) == set(GAUGES)
    assert len({frozenset(series) for series in seen.values()}) == 1


def test_a_card_that_turns_sick_keeps_its_series_and_what_is_held_of_it(host: Scraped) -> None:
    host.bind(make_pod(requests=HALF))
    host.change_device(host.device, make_device("node", [gpu(0, uuid="A", health=False)]))
    seen = {name: series["node", "0", "A", ""] for name, series in host.scrape().items()}
    assert (seen["device_gpu_total_core"], seen["device_gpu_used_core"], seen["device_gpu_free_core"]) == (0, 50, 0)
    assert seen["device_gpu_health"] == 0


def test_a_card_that_vanishes_loses_its_series_held_or_not(host: Scraped) -> None:
    host.bind(make_pod(requests=HALF))
    host.change_device(host.device, make_device("node", [gpu(5, uuid="E")]))
    assert set(host.scrape()["device_gpu_health"]) == {("node", "5", "E", "")}


@pytest.mark.parametrize("what", ["its Device", "its Node"])
def test_a_node_loses_its_series_with(host: Scraped, what: str) -> None:
    if what == "its Device":
        host.delete_device(host.device)
    else:
        host.hide_node("node")
    assert all(series == {} for series in host.scrape().values())


def test_a_device_without_a_node_is_not_shown() -> None:
    host = Host()
    host.list_device(make_device("nowhere", 1))
    assert host.plugin.books.shown() == []


def test_two_profiles_show_every_card_once(host: Scraped) -> None:
    DeviceShare(DeviceShareArgs(), host)
    host.metrics.freeze()
    assert host.metrics.exposition().count(b"# TYPE device_gpu_health gauge") == 1


# ---------------------------------------------------------------------- counters


def test_both_results_are_there_from_the_start(host: Scraped) -> None:
    assert host.results() == {"success": 0, "failure": 0}


def test_a_pod_that_is_given_its_cards_counts_as_success(host: Scraped) -> None:
    host.hold(make_pod(requests={NVIDIA_GPU: 1}))
    assert host.results() == {"success": 1, "failure": 0}


def test_a_pod_without_devices_counts_nowhere(host: Scraped) -> None:
    pod = make_pod(requests={"cpu": 1})
    host.hold(pod)
    host.refuse(pod, "NodeResourcesFit")
    assert host.results() == {"success": 0, "failure": 0}


def test_a_pod_that_is_refused_for_ever_fails_once(host: Scraped) -> None:
    pod = make_pod(requests={NVIDIA_GPU: 8})
    for _ in range(5):
        host.refuse(pod, "NodeResourcesFit", "DeviceShare")
    assert host.results()["failure"] == 1


def test_a_new_spec_may_fail_again(host: Scraped) -> None:
    host.refuse(make_pod(requests={NVIDIA_GPU: 8}))
    host.refuse(make_pod(requests={NVIDIA_GPU: 9}))
    assert host.results()["failure"] == 2


def test_other_cards_may_refuse_the_same_pod_again_and_a_heartbeat_does_not(host: Scraped) -> None:
    pod = make_pod(requests={NVIDIA_GPU: 8})
    host.refuse(pod)
    host.change_device(host.device, host.device)
    host.refuse(pod)
    assert host.results()["failure"] == 1
    host.list_device(more := make_device("second", 1))
    host.refuse(pod)
    host.delete_device(more)
    host.refuse(pod)
    assert host.results()["failure"] == 3


def test_pods_of_one_name_fail_each_for_itself(host: Scraped) -> None:
    for uid in ("u1", "u2"):
        host.refuse(make_pod("db-0", uid=uid, requests={NVIDIA_GPU: 8}))
    assert host.results()["failure"] == 2


def test_what_is_remembered_of_failures_is_bounded(host: Scraped, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_metrics, "REMEMBERED", 2)
    first = make_pod("first", requests={NVIDIA_GPU: 8})
    for pod in (first, make_pod("second"), make_pod("third"), first):
        host.refuse(pod)
    assert host.results()["failure"] == 4


# -------------------------------------------------------------------------- host


def test_only_who_leads_exports_what_plugins_know() -> None:
    metrics = Metrics()
    metrics.plugins.counter("koordpy_something_total", "Something.").inc()
    assert b"koordpy_something_total 1.0" in metrics.exposition()
    metrics.is_leading = False
    assert b"koordpy_something_total" not in metrics.exposition()
    assert b"scheduler_pending_pods" in metrics.exposition()

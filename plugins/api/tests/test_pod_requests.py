"""What a Pod asks for. Rows with an id like B01 are those of the kube-scheduler cases."""

from typing import Any

import msgspec
import pytest

from koordpy.testing import make_pod, pod_manifest
from koordpy_api import QuantityError
from koordpy_api.objects import Pod
from koordpy_api.resources import (
    add,
    counted,
    held_requests,
    non_zero_requests,
    parse_amounts,
    pod_requests,
    subtract,
)

MI = 1024**2


def asks(**requests: str | int) -> dict[str, Any]:
    return {"requests": requests}


def sidecar(**requests: str | int) -> dict[str, Any]:
    return {"requests": requests, "restartPolicy": "Always"}


def row(name: str, *values: Any) -> Any:
    return pytest.param(*values, id=name)


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        row(
            "B01 init containers take the maximum",
            {
                "containers": [asks(cpu="300m", memory="100Mi"), asks(cpu="200m", memory="100Mi")],
                "init_containers": [asks(cpu="800m", memory="50Mi")],
            },
            {"cpu": 800, "memory": 200 * MI},
        ),
        row(
            "B02 sidecars add to the main sum and to later init containers",
            {"containers": [asks(cpu="500m")], "init_containers": [sidecar(cpu="100m"), asks(cpu="700m")]},
            {"cpu": 800},
        ),
        row(
            "B03 an init container before the sidecar does not see it",
            {"containers": [asks(cpu="500m")], "init_containers": [asks(cpu="700m"), sidecar(cpu="100m")]},
            {"cpu": 700},
        ),
        row(
            "B04 two sidecars and an init container between them",
            {
                "containers": [asks(cpu="100m")],
                "init_containers": [sidecar(cpu="50m"), asks(cpu="200m"), sidecar(cpu="150m")],
            },
            {"cpu": 300},
        ),
        row(
            "B05 pod-level requests replace cpu and memory only",
            {
                "containers": [{"requests": {"cpu": "100m", "memory": "64Mi", "acme.io/npu": 1}}],
                "resources": {"cpu": 2, "memory": "1Gi", "acme.io/npu": 9},
            },
            {"cpu": 2000, "memory": 1024 * MI, "acme.io/npu": 1},
        ),
        row(
            "B06 a pod-level request and the overhead add up",
            {"requests": {"cpu": "100m"}, "resources": {"cpu": 1}, "overhead": {"cpu": "50m"}},
            {"cpu": 1050},
        ),
        row("B07 containers that ask for nothing ask for nothing", {"containers": [asks(), asks(), asks()]}, {}),
        row(
            "B08 each container asks for something else",
            {"containers": [asks(cpu="250m"), asks(memory="100Mi")]},
            {"cpu": 250, "memory": 100 * MI},
        ),
        row("B09 an explicit zero is left out", {"requests": {"cpu": 0, "memory": 0}}, {}),
        row(
            "B10 an init container that asks for nothing adds nothing",
            {"containers": [asks(cpu="50m", memory="50Mi")], "init_containers": [asks()]},
            {"cpu": 50, "memory": 50 * MI},
        ),
        row("B11 pod-level cpu alone", {"containers": [asks(), asks()], "resources": {"cpu": 1}}, {"cpu": 1000}),
        row("B12 cpu is rounded up to a milli", {"requests": {"cpu": "0.1m"}}, {"cpu": 1}),
        row("memory is rounded up to a byte", {"requests": {"memory": "100m"}}, {"memory": 1}),
        row(
            "pod-level hugepages replace the containers'",
            {"requests": {"hugepages-2Mi": "4Mi"}, "resources": {"hugepages-2Mi": "8Mi"}},
            {"hugepages-2Mi": 8 * MI},
        ),
        row(
            "the overhead is added to the peak of the init containers",
            {"requests": {"cpu": 1}, "init_containers": [asks(cpu=3)], "overhead": {"cpu": "250m"}},
            {"cpu": 3250},
        ),
        row(
            "the maximum is taken for each resource alone",
            {"requests": {"cpu": 2}, "init_containers": [asks(cpu=1, memory="1Gi")]},
            {"cpu": 2000, "memory": 1024 * MI},
        ),
        row(
            "several init containers run one after the other",
            {"requests": {"cpu": 1}, "init_containers": [asks(cpu=2), asks(cpu=3), asks(cpu=1)]},
            {"cpu": 3000},
        ),
        row(
            "a limit without a request is a request",
            {"containers": [{"limits": {"acme.io/npu": 2, "cpu": 4}, "requests": {"cpu": 1}}]},
            {"acme.io/npu": 2, "cpu": 1000},
        ),
        row(
            "a limit beside an explicit zero is no request",
            {"containers": [{"limits": {"cpu": 4}, "requests": {"cpu": 0}}]},
            {},
        ),
    ],
)
def test_the_requests_of_a_pod_are_upstreams(pod: dict[str, Any], expected: dict[str, int]) -> None:
    assert pod_requests(make_pod(**pod)) == expected


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        row(
            "B07 every container that mentions neither gets both defaults",
            {"containers": [asks(), asks(), asks()]},
            {"cpu": 300, "memory": 629145600},
        ),
        row(
            "B08 a container gets a default only for what it does not mention",
            {"containers": [asks(cpu="250m"), asks(memory="100Mi")]},
            {"cpu": 350, "memory": 314572800},
        ),
        row("B09 an explicit zero stays zero", {"requests": {"cpu": 0, "memory": 0}}, {"cpu": 0, "memory": 0}),
        row(
            "B10 init containers get defaults too, and the maximum still holds",
            {"containers": [asks(cpu="50m", memory="50Mi")], "init_containers": [asks()]},
            {"cpu": 100, "memory": 209715200},
        ),
        row(
            "B11 with pod-level cpu only memory is defaulted",
            {"containers": [asks(), asks()], "resources": {"cpu": 1}},
            {"cpu": 1000, "memory": 419430400},
        ),
        row(
            "with pod-level cpu, memory that one container mentions is not defaulted for the other",
            {"containers": [asks(memory="100Mi"), asks()], "resources": {"cpu": 1}},
            {"cpu": 1000, "memory": 100 * MI},
        ),
        row(
            "the overhead is added to the defaults",
            {"overhead": {"cpu": "50m", "memory": "10Mi"}},
            {"cpu": 150, "memory": 210 * MI},
        ),
        row(
            "other resources are not counted here",
            {"requests": {"cpu": 1, "memory": "1Gi", "acme.io/npu": 1}},
            {"cpu": 1000, "memory": 1024 * MI},
        ),
    ],
)
def test_scoring_counts_defaults_for_what_a_container_does_not_mention(
    pod: dict[str, Any], expected: dict[str, int]
) -> None:
    assert non_zero_requests(make_pod(**pod)) == expected


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        row("defaults for what a container does not mention", {}, {"cpu": 100, "memory": 200 * MI}),
        row(
            "every resource as it is asked for, zeros too",
            {"requests": {"cpu": 0, "memory": "1Mi", "acme.io/npu": 2}},
            {"cpu": 0, "memory": MI, "acme.io/npu": 2},
        ),
        row(
            "amounts that the Pod sets itself are left out, its overhead is not",
            {"requests": {"cpu": 1}, "resources": {"cpu": 4, "memory": "4Gi"}, "overhead": {"cpu": "50m"}},
            {"cpu": 1050, "memory": 200 * MI},
        ),
    ],
)
def test_what_a_pod_counts_where_a_node_is_scored_by_how_full_it_is(
    pod: dict[str, Any], expected: dict[str, int]
) -> None:
    assert counted(make_pod(**pod)).scored == expected


def status(name: str = "main", **amounts: Any) -> dict[str, Any]:
    """has: what it has now; promised: what its node promised it."""
    allocated = {"allocatedResources": amounts["promised"]} if "promised" in amounts else {}
    return {"name": name, "resources": {"requests": amounts["has"]}, **allocated}


def resized(spec: dict[str, Any], status: dict[str, Any]) -> Pod:
    return msgspec.convert({**pod_manifest(**spec), "status": status}, Pod)


INFEASIBLE = {"conditions": [{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}]}


@pytest.mark.parametrize(
    ("spec", "told", "expected"),
    [
        row(
            "B13 the largest of what is asked, what it has and what it was promised",
            {"requests": {"cpu": "500m"}},
            {"containerStatuses": [status(has={"cpu": "800m"}, promised={"cpu": "600m"})]},
            {"cpu": 800},
        ),
        row(
            "what it asks while it has less",
            {"requests": {"cpu": 2}},
            {"containerStatuses": [status(has={"cpu": 1}, promised={"cpu": "1500m"})]},
            {"cpu": 2000},
        ),
        row(
            "what it has and was promised if its node can never give more",
            {"requests": {"cpu": 9}},
            {"containerStatuses": [status(has={"cpu": 1}, promised={"cpu": "1500m"})]} | INFEASIBLE,
            {"cpu": 1500},
        ),
        row(
            "a status that does not say what it has counts for nothing",
            {"requests": {"cpu": 1}},
            {"containerStatuses": [{"name": "main", "allocatedResources": {"cpu": 3}}]},
            {"cpu": 1000},
        ),
        row(
            "a sidecar is resized too, and an ordinary init container is not",
            {"requests": {"cpu": 1}, "init_containers": [sidecar(cpu=1), asks(cpu=1)]},
            {"initContainerStatuses": [status("init", has={"cpu": 3}), status("init-1", has={"cpu": 7})]},
            {"cpu": 4000},
        ),
        row(
            "pod-level amounts are resized alike",
            {"requests": {"cpu": 1}, "resources": {"cpu": 2}},
            {"resources": {"requests": {"cpu": 3}}, "allocatedResources": {"cpu": "2500m"}},
            {"cpu": 3000},
        ),
        row(
            "a pod without amounts of its own has none from its status",
            {"requests": {"cpu": 1}},
            {"resources": {"requests": {"cpu": 3}}},
            {"cpu": 1000},
        ),
        row("the overhead comes on top", {"requests": {"cpu": 1}, "overhead": {"cpu": 1}}, {}, {"cpu": 2000}),
    ],
)
def test_on_its_node_counts(spec: dict[str, Any], told: dict[str, Any], expected: dict[str, int]) -> None:
    pod = resized(spec, told)
    requests, non_zero = held_requests(pod)
    assert requests == expected
    assert non_zero["cpu"] == expected["cpu"]


def test_b15_a_pod_that_waits_is_asked_about_by_its_spec() -> None:
    pod = resized({"requests": {"cpu": "500m"}}, {"containerStatuses": [status(has={"cpu": 2})]})
    assert pod_requests(pod) == {"cpu": 500}


def test_what_is_finer_than_its_unit_is_rounded_up_once_in_the_sum_of_the_pod() -> None:
    pod = make_pod(containers=[{"requests": {"cpu": "0.1m", "memory": "0.5"}} for _ in range(4)])
    assert pod_requests(pod) == {"cpu": 1, "memory": 2}
    assert held_requests(pod)[0] == {"cpu": 1, "memory": 2}


def test_pods_that_ask_the_same_share_what_was_counted() -> None:
    first, second = make_pod("a", requests={"cpu": "1"}), make_pod("b", requests={"cpu": "1"})
    assert pod_requests(first) is pod_requests(second)


@pytest.mark.parametrize(
    ("has", "promised"),
    [
        pytest.param({"cpu": 1}, {}, id="as its kubelet says"),
        pytest.param({"cpu": 1}, {"cpu": 1}, id="as it was promised too"),
        pytest.param({"cpu": "1000m"}, {}, id="though it is written otherwise"),
    ],
)
def test_a_running_pod_that_has_what_it_asks_counts_as_it_asks(has: dict[str, Any], promised: dict[str, Any]) -> None:
    pod = resized({"requests": {"cpu": 1}}, {"containerStatuses": [status(has=has, promised=promised)]})
    assert held_requests(pod)[0] == {"cpu": 1000}


def test_a_request_that_is_no_quantity_is_an_error_that_shows_it() -> None:
    with pytest.raises(QuantityError, match="'much' is not a quantity"):
        pod_requests(make_pod(requests={"cpu": "much"}))


def test_only_cpu_is_counted_in_thousandths() -> None:
    assert parse_amounts({"cpu": "2", "memory": "2", "acme.io/cpu": "2"}) == {
        "cpu": 2000,
        "memory": 2,
        "acme.io/cpu": 2,
    }


def test_what_reaches_zero_by_subtraction_is_left_out_but_a_debt_is_not() -> None:
    assert subtract({"cpu": 5, "memory": 3}, {"cpu": 5, "disk": 1}) == {"memory": 3, "disk": -1}


def test_sums_leave_their_arguments_alone() -> None:
    left = {"cpu": 1}
    assert add(left, {"cpu": 2, "memory": 3}) == {"cpu": 3, "memory": 3}
    assert left == {"cpu": 1}

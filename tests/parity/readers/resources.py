"""kube-scheduler, kind resources: what a pod asks for."""

from koordpy_api.resources import non_zero_requests, pod_requests
from tests.parity.frame import Case, Legend, Outcome, compare
from tests.parity.readers.short_form import pod_of


def read(case: Case, legend: Legend) -> Outcome:
    pod = pod_of(case)
    got = {"requests": pod_requests(pod), "nonzero": non_zero_requests(pod)}
    return compare(case["expect"], {name: got[name] for name in case["expect"]})

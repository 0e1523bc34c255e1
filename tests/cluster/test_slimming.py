"""Pods as the informer remembers them: the same, but small."""

from typing import Any

import msgspec
import pytest

from koordpy.cluster import slimming
from koordpy.cluster.slimming import SlimPods
from koordpy.testing import pod_manifest
from koordpy_api.objects import Pod

PREFIXES = ("scheduling.koordinator.sh/",)


def decoded(name: str, node_name: str = "", **more: Any) -> Pod:
    """As it comes from an API server: nothing in it belongs to another Pod."""
    manifest = pod_manifest(name, requests={"cpu": "1"}, **more)
    if node_name:
        manifest["spec"]["nodeName"] = node_name
    return msgspec.json.decode(msgspec.json.encode(manifest), type=Pod)


def test_a_pod_is_equal_to_what_it_was_before_sharing() -> None:
    slim = SlimPods(PREFIXES)
    for pod in (decoded("a"), decoded("b", node_name="n1", labels={"app": "web"}), decoded("c", node_name="n2")):
        assert slim.share(pod) == pod


def test_pods_of_one_template_share_all_but_their_names() -> None:
    slim = SlimPods(PREFIXES)
    first, second = (slim.share(decoded(name, node_name=f"n-{name}", labels={"app": "web"})) for name in "ab")
    assert first.spec.containers is second.spec.containers
    assert first.metadata.labels is second.metadata.labels
    assert first.status is second.status
    assert (first.spec.node_name, second.spec.node_name) == ("n-a", "n-b")
    waiting, other = (slim.share(decoded(name)) for name in "cd")
    assert waiting.spec is other.spec
    assert waiting.spec.containers is first.spec.containers


def test_of_a_pod_on_a_node_only_declared_annotations_are_kept() -> None:
    slim = SlimPods(PREFIXES)
    annotations = {"scheduling.koordinator.sh/device-allocated": "{}", "example.com/notes": "long"}
    kept = slim.keep(decoded("a", node_name="n1", annotations=annotations))
    assert kept.metadata.annotations == {"scheduling.koordinator.sh/device-allocated": "{}"}


def test_a_pod_that_waits_keeps_all_annotations() -> None:
    pod = decoded("a", annotations={"example.com/notes": "long"})
    assert SlimPods(PREFIXES).keep(pod) is pod


def test_more_templates_than_can_be_remembered_change_nothing_but_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slimming, "_MOST", 10)
    slim = SlimPods(PREFIXES)
    for number in range(100):
        pod = decoded(f"p{number}", labels={"number": str(number)})
        assert slim.share(pod) == pod


def test_a_label_and_a_status_that_say_the_same_are_two_things() -> None:
    slim = SlimPods(PREFIXES)
    labelled, waiting = decoded("a", labels={"phase": "Pending"}), decoded("b")
    waiting = msgspec.structs.replace(waiting, status=msgspec.structs.replace(waiting.status, phase="Pending"))
    assert [slim.share(pod) for pod in (labelled, waiting, labelled)] == [labelled, waiting, labelled]
    assert slim.share(waiting).status.phase == "Pending"

"""ImageLocality: rather a node that has the Pod's images already."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from koordpy.testing import CycleHarness, build_profile, make_node
from koordpy_api.objects import Node, Pod
from tests.intree.scenes import pod_of, same_scores, score

MIB = 1024 * 1024


def row(name: str, *values: Any) -> Any:
    return pytest.param(*values, id=name)


def running(*images: str, init: Sequence[str] = (), volumes: Sequence[str] = ()) -> Pod:
    def containers(names: Sequence[str]) -> list[dict[str, str]]:
        return [{"name": f"c{number}", "image": image} for number, image in enumerate(names)]

    listed = [{"name": f"v{number}", "image": {"reference": image}} for number, image in enumerate(volumes)]
    return pod_of({"containers": containers(images), "initContainers": containers(init), "volumes": listed})


def nodes(**images: Mapping[str, int]) -> list[Node]:
    """Node → image → size in MiB."""
    return [
        make_node(name, images={image: size * MIB for image, size in listed.items()}) for name, listed in images.items()
    ]


@pytest.mark.parametrize(
    ("listed", "pod", "scores"),
    [
        row(
            "J01 two containers, of which one image is on one node of two",
            {"a": {"r.io/a:latest": 40}, "b": {"r.io/b:latest": 250}},
            running("r.io/a", "r.io/b"),
            {"a": 0, "b": 5},
        ),
        row(
            "J02 more than 1000 Mi a container is as good as 1000",
            {"a": {"huge:v1": 4000}, "b": {}},
            running("huge:v1", "x"),
            {"a": 100, "b": 0},
        ),
        row(
            "J03 an image that all have counts in full on each",
            {"a": {"x:2": 500}, "b": {"x:2": 500}},
            running("x:2"),
            {"a": 48, "b": 48},
        ),
        row(
            "J05 image volumes count, and are no containers",
            {"a": {"d:latest": 300}, "b": {}},
            running("app", volumes=["d"]),
            {"a": 12, "b": 0},
        ),
        row(
            "init containers are containers", {"a": {"x:1": 1000}}, running("y:1", init=["x:1"]), {"a": 49}
        ),
        row("an image that two containers run counts twice", {"a": {"x:1": 500}}, running("x:1", "x:1"), {"a": 49}),
        row("another tag is another image", {"a": {"x:1": 500}}, running("x:2"), {"a": 0}),
        row(
            "the port of a registry is no tag",
            {"a": {"r.io:5000/x:latest": 500}},
            running("r.io:5000/x"),
            {"a": 48},
        ),
        row("a digest is taken as it is", {"a": {"x@sha256:ab": 500}}, running("x@sha256:ab"), {"a": 48}),
    ],
)  # fmt: skip
def test_the_more_of_its_images_a_node_has_the_better(
    listed: Mapping[str, Mapping[str, int]], pod: Pod, scores: Mapping[str, int]
) -> None:
    assert score("ImageLocality", nodes(**listed), pod) == scores


def test_an_image_is_worth_more_the_more_nodes_have_it_and_what_comes_and_goes_is_noticed() -> None:
    a, b, c = nodes(a={"x:1": 900}, b={}, c={"x:1": 900})
    (b_with_it,) = nodes(b={"x:1": 900})
    harness = CycleHarness([a, b], build_profile(["PrioritySort", "ImageLocality", "DefaultBinder"]))
    pod = running("x:1")

    def scores() -> list[int]:
        same_scores(harness, "ImageLocality", pod)
        hook = dict(harness.framework.chains["score"])["ImageLocality"]
        return [hook(None, pod, node) for node in harness.cache.update_snapshot().nodes]

    assert scores() == [43, 0]
    harness.update(b, b_with_it)
    assert scores() == [89, 89]
    harness.add(c)
    assert scores() == [89, 89, 89]
    harness.delete(a)
    assert scores() == [89, 89]
    harness.update(b_with_it, b)
    assert sorted(scores()) == [0, 43]

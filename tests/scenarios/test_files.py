"""Manifests in files beside a scenario: which are applied by which step, in which order, and what a bad one is told."""

from pathlib import Path

import pytest

from koordpy.cluster.embedded.cluster import EmbeddedCluster
from koordpy.errors import KoordpyError
from koordpy.scenario.language import parse
from koordpy.scenario.runner import play
from koordpy.virtual_time import run
from koordpy_api.objects import Pod
from tests.scenarios.worlds import embedded_world

POD = """
apiVersion: v1
kind: Pod
metadata: {name: NAME}
spec: {containers: [{name: main, image: registry.example.test/none}]}
"""


def pods(*names: str) -> str:
    return "---".join(POD.replace("NAME", name) for name in names)


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text)


def arrivals(cluster: EmbeddedCluster) -> list[str]:
    """Names of all Pods in the order of their creation."""
    found = [each.document["metadata"] for each in cluster.store.list(Pod.KIND).items]
    return [meta["name"] for meta in sorted(found, key=lambda meta: int(meta["resourceVersion"]))]


def played(folder: Path, steps: str, seed: int = 0) -> list[str]:
    world = embedded_world(folder, seed)
    run(play(parse(f"title: t\nsteps: {steps}\n", "test.yaml"), world, folder, seed))
    return arrivals(world.cluster)


def test_each_file_is_applied_once_and_the_rest_by_the_last_step(tmp_path: Path) -> None:
    write(tmp_path, b=pods("b1", "b2"), a=pods("a"), c=pods("c"), scenario="title: not a manifest")
    (tmp_path / "d.json").write_text(
        '{"apiVersion": "v1", "kind": "PodList", "items": [' + _json("d1") + "," + _json("d2") + "]}"
    )
    (tmp_path / "notes.txt").write_text("no manifest")
    assert played(tmp_path, '[{files: [b.yaml, "[bc].yaml"]}, {files: "*"}]') == ["b1", "b2", "c", "a", "d1", "d2"]


def _json(name: str) -> str:
    return f'{{"metadata": {{"name": "{name}"}}, "spec": {{"containers": [{{"name": "m", "image": "i"}}]}}}}'


def test_a_namespace_comes_before_what_lives_in_it(tmp_path: Path) -> None:
    namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: team}\n"
    write(tmp_path, a=POD.replace("{name: NAME}", "{name: p, namespace: team}"), z=namespace)
    assert played(tmp_path, '[{files: "*"}]') == ["p"]


def test_what_arrives_within_a_time_comes_in_an_order_drawn_from_the_seed(tmp_path: Path) -> None:
    names = [f"p{number}" for number in range(8)]
    write(tmp_path, many=pods(*names))
    orders = [played(tmp_path, "[{files: many.yaml, over: 10s}]", seed) for seed in (1, 1, 2)]
    assert orders[0] == orders[1]
    assert orders[0] != orders[2]
    assert sorted(orders[2]) == names


def test_what_arrives_within_a_time_is_there_when_that_is_over(tmp_path: Path) -> None:
    steps = "[{apply: {pod: p, copies: 20}, over: 1m}, {delete: pod/p-007}]"
    assert len(played(tmp_path, steps)) == 19


def test_every_mistake_in_every_file_is_told_with_its_line_before_anything_happens(tmp_path: Path) -> None:
    write(
        tmp_path,
        a=pods("fine").replace("containers: [", "containers: {") + "\n",
        b=pods("fine") + "---\nkind: Pod\nmetadata: {name: p}\nspec: {}\n",
        c="apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n",
    )
    world = embedded_world(tmp_path)
    steps = '[{apply: {pod: early}}, {files: "*"}]'
    with pytest.raises(KoordpyError) as told:
        run(play(parse(f"title: t\nsteps: {steps}\n", "test.yaml"), world, tmp_path))
    lines = str(told.value).splitlines()
    assert [line.partition(": ")[0] for line in lines] == ["a.yaml:5", "b.yaml:7", "b.yaml:9", "c.yaml:1", "c.yaml:1"]
    assert arrivals(world.cluster) == []


def test_a_pattern_that_nothing_is_called_by_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(KoordpyError, match="is called so"):
        played(tmp_path, "[{files: pods/*.yaml}]")


def test_an_object_that_the_cluster_refuses_is_told_with_its_place(tmp_path: Path) -> None:
    write(tmp_path, a=pods("fine", "no_name"))
    with pytest.raises(KoordpyError, match=r"a\.yaml:\d+: Pod no_name: the cluster refuses it: .*Invalid value"):
        played(tmp_path, '[{files: "*"}]')

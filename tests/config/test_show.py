"""What a file comes to, printed as a file that means the same; and the schema of what may stand in one."""

from pathlib import Path
from typing import Any

import pytest

from koordpy.config import document
from koordpy.config.catalogue import UpstreamCatalogue
from koordpy.config.defaults import POINTS_OF
from koordpy.config.load import load_whole, parse_whole
from koordpy.config.schema import schema
from koordpy.config.show import effective, left_out
from koordpy.framework.registry import Registry
from koordpy_api import NoArgs, PluginArgs

REPOSITORY = Path(__file__).parents[2]
HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
TWO = (
    HEAD
    + """
leaderElection: {leaseDuration: 1m30s, renewDeadline: 61.5s}
clientConnection: {qps: 0.5}
profiles:
- schedulerName: a
  percentageOfNodesToScore: 30
  plugins:
    multiPoint: {enabled: [{name: TaintToleration, weight: 7}]}
    score: {disabled: [{name: DeviceShare}], enabled: [{name: NodeResourcesFit, weight: 4}]}
  pluginConfig:
  - name: NodeResourcesFit
    args:
      ignoredResources: [b.io/y, a.io/x]
      scoringStrategy:
        type: RequestedToCapacityRatio
        requestedToCapacityRatio: {shape: [{utilization: 0, score: 0}, {utilization: 100, score: 10}]}
  - {name: DynamicResources, args: {filterTimeout: 0s}}
- schedulerName: b
  plugins: {score: {disabled: [{name: '*'}]}}
"""
)
EXTENDERS = HEAD + "extenders: [{bindVerb: b, httpTimeout: 3s, managedResources: [{name: a.io/x}]}]\n"


@pytest.mark.parametrize("catalogue", [Registry(), UpstreamCatalogue()], ids=["the installed", "upstream's"])
@pytest.mark.parametrize("text", [HEAD, TWO, EXTENDERS], ids=["nothing said", "two profiles", "extenders"])
def test_what_is_shown_reads_as_what_it_was_made_of(text: str, catalogue: Any) -> None:
    first = parse_whole(text, "first", catalogue)
    shown = document.write(effective(first, catalogue))
    again = parse_whole(shown, "shown", catalogue)
    assert document.write(effective(again, catalogue)) == shown
    assert again.warnings == []
    for one, other in zip(first.profiles, again.profiles, strict=True):
        missing = {*left_out(one, catalogue)}
        assert other.scheduler_name == one.scheduler_name
        assert other.percentage_of_nodes_to_score == one.percentage_of_nodes_to_score
        assert other.points == {
            point: tuple(name for name in names if name not in missing) for point, names in one.points.items()
        }
        assert other.weights == {name: weight for name, weight in one.weights.items() if name not in missing}


def test_the_defaults_are_written_out() -> None:
    shown = effective(load_whole(None, Registry()), Registry())
    assert (shown["parallelism"], shown["leaderElection"]["leaseDuration"]) == (16, "15s")
    election = shown["leaderElection"]
    assert (election["resourceNamespace"], election["resourceName"]) == ("koordpy-system", "koordpy-scheduler")
    (profile,) = shown["profiles"]
    assert profile["schedulerName"] == "koordpy-scheduler"
    assert {"name": "TaintToleration", "weight": 3} in profile["plugins"]["score"]["enabled"]
    (fit,) = (config["args"] for config in profile["pluginConfig"] if config["name"] == "NodeResourcesFit")
    assert fit["kind"] == "NodeResourcesFitArgs"
    assert fit["scoringStrategy"]["resources"] == [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}]


class Acme:
    """A plugin of somebody else."""

    class Args(PluginArgs):
        limit: int = 3

    def __init__(self, args: Args, handle: object) -> None: ...


class Plain:
    Args = NoArgs

    def __init__(self, args: NoArgs, handle: object) -> None: ...


def test_the_schema_has_every_key_and_the_arguments_of_every_known_plugin() -> None:
    registry = Registry(given={"Acme": Acme, "Plain": Plain})
    described = schema(registry, {*registry.names, *POINTS_OF})
    assert described["properties"]["leaderElection"]["$ref"] == "#/$defs/LeaderElection"
    assert described["$defs"]["LeaderElection"]["properties"]["leaseDuration"]["type"] == "string"
    assert "multiPoint" in described["$defs"]["Plugins"]["properties"]
    named = [branch["if"]["properties"]["name"]["const"] for branch in described["$defs"]["PluginConfig"]["allOf"]]
    assert {"Acme", "NodeResourcesFit", "DeviceShare", "PodTopologySpread"} <= {*named}
    assert "Plain" not in named
    assert described["$defs"]["Acme.Args"]["properties"]["limit"]["type"] == "integer"


def test_every_reference_of_the_schema_leads_somewhere() -> None:
    described = schema(Registry(), POINTS_OF)

    def references(part: Any) -> list[str]:
        if isinstance(part, dict):
            own = [part["$ref"]] if "$ref" in part else []
            return own + [each for value in part.values() for each in references(value)]
        return [each for item in part for each in references(item)] if isinstance(part, list) else []

    for reference in references(described):
        assert reference.removeprefix("#/$defs/") in described["$defs"]


@pytest.mark.parametrize("path", sorted(REPOSITORY.glob("config/*.yaml")), ids=lambda path: str(path.name))
def test_the_examples_of_the_repository_hold_without_a_remark(path: Path) -> None:
    assert load_whole(path, Registry()).warnings == []

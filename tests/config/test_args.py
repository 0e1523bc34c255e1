"""pluginConfig: the arguments of every plugin of the default set, built or not, are read and checked."""

from typing import Any

import pytest

from koordpy.config.defaults import ARGS_KINDS
from koordpy.config.expand import resolve
from koordpy.config.load import Loaded, parse, parse_whole
from koordpy.config.plugin_args import read_args
from koordpy.errors import ConfigError
from koordpy.framework.registry import Registry

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
RATIO = "RequestedToCapacityRatio"


def row(name: str, *values: Any) -> Any:
    return pytest.param(*values, id=name)


def loaded(plugin: str, args: str) -> Loaded:
    text = f"{HEAD}profiles:\n- schedulerName: a\n  pluginConfig:\n  - name: {plugin}\n    args: {args}\n"
    return parse_whole(text, "conf.yaml", Registry())


def constraint(**more: str) -> str:
    fields = {"maxSkew": "1", "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"} | more
    return "{" + ", ".join(f"{key}: {value}" for key, value in fields.items()) + "}"


def added(terms: str) -> str:
    return f"{{addedAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: {{nodeSelectorTerms: {terms}}}}}}}"


def expression(**more: str) -> str:
    fields = {"key": "pool", "operator": "In", "values": "[a]"} | more
    return added("[{matchExpressions: [{" + ", ".join(f"{key}: {value}" for key, value in fields.items()) + "}]}]")


@pytest.mark.parametrize(
    ("plugin", "args", "complaint"),
    [
        row(
            "a key that nobody knows", "InterPodAffinity", "{hardWeight: 1}", ".hardWeight is '1': unknown field; known"
        ),
        row(
            "another kind",
            "InterPodAffinity",
            "{kind: NodeAffinityArgs}",
            ".kind is 'NodeAffinityArgs': args for plugin InterPodAffinity were not of type InterPodAffinityArgs, "
            "got NodeAffinityArgs",
        ),
        row(
            "another version",
            "InterPodAffinity",
            "{apiVersion: kubescheduler.config.k8s.io/v1beta2}",
            ".apiVersion is 'kubescheduler.config.k8s.io/v1beta2': decoding args for plugin InterPodAffinity: only",
        ),
        row(
            "arguments for a plugin without any", "NodeName", "{x: 1}", " is '{\"x\":1}': plugin NodeName takes no arg"
        ),
        row(
            "a percentage of preemption",
            "DefaultPreemption",
            "{minCandidateNodesPercentage: 101}",
            ".minCandidateNodesPercentage is '101': not in valid range [0, 100]",
        ),
        row(
            "a number of preemption",
            "DefaultPreemption",
            "{minCandidateNodesAbsolute: -1}",
            ".minCandidateNodesAbsolute is '-1': not in valid range [0, inf)",
        ),
        row(
            "no candidates at all",
            "DefaultPreemption",
            "{minCandidateNodesPercentage: 0, minCandidateNodesAbsolute: 0}",
            ".minCandidateNodesPercentage is '0': cannot be zero at the same time as minCandidateNodesAbsolute",
        ),
        row(
            "a hard weight",
            "InterPodAffinity",
            "{hardPodAffinityWeight: 101}",
            ".hardPodAffinityWeight is '101': not in valid range [0, 100]",
        ),
        row(
            "balanced weights",
            "NodeResourcesBalancedAllocation",
            "{resources: [{name: cpu, weight: 2}]}",
            ".resources[0].weight is '2': must be 1",
        ),
        row(
            "a balanced resource twice",
            "NodeResourcesBalancedAllocation",
            "{resources: [{name: cpu}, {name: cpu}]}",
            ".resources[1].name is 'cpu': Duplicate",
        ),
        row(
            "constraints beside System",
            "PodTopologySpread",
            f"{{defaultConstraints: [{constraint()}]}}",
            ".defaultingType is 'System': not allowed when .defaultConstraints are not empty; write List",
        ),
        row(
            "a constraint with a selector",
            "PodTopologySpread",
            f"{{defaultingType: List, defaultConstraints: [{constraint(labelSelector='{}')}]}}",
            ".defaultConstraints[0].labelSelector: Forbidden: constraint must not define a selector, as they deduced",
        ),
        row(
            "a skew of zero",
            "PodTopologySpread",
            f"{{defaultingType: List, defaultConstraints: [{constraint(maxSkew='0')}]}}",
            ".defaultConstraints[0].maxSkew is '0': not in valid range (0, inf)",
        ),
        row(
            "an empty topology key",
            "PodTopologySpread",
            f"{{defaultingType: List, defaultConstraints: [{constraint(topologyKey=chr(39) * 2)}]}}",
            ".defaultConstraints[0].topologyKey is '\"\"': Required: can not be empty",
        ),
        row(
            "an action that is not there",
            "PodTopologySpread",
            "{defaultingType: List, defaultConstraints: [{maxSkew: 1, topologyKey: zone}]}",
            ".defaultConstraints[0].whenUnsatisfiable is '\"\"': Required: can not be empty",
        ),
        row(
            "an unknown action",
            "PodTopologySpread",
            f"{{defaultingType: List, defaultConstraints: [{constraint(whenUnsatisfiable='Never')}]}}",
            ".defaultConstraints[0].whenUnsatisfiable is 'Never': supported values: DoNotSchedule, ScheduleAnyway",
        ),
        row(
            "a constraint twice",
            "PodTopologySpread",
            f"{{defaultingType: List, defaultConstraints: [{constraint()}, {constraint(maxSkew='2')}]}}",
            ".defaultConstraints[1] is '{zone, ScheduleAnyway}': Duplicate",
        ),
        row(
            "a negative time-out",
            "VolumeBinding",
            "{bindTimeoutSeconds: -1}",
            ".bindTimeoutSeconds is '-1': invalid BindTimeoutSeconds, should not be a negative value",
        ),
        row(
            "a shape of a gate that is off",
            "VolumeBinding",
            "{shape: [{utilization: 0, score: 0}]}",
            ".shape: unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring",
        ),
        row(
            "a negative limit",
            "DynamicResources",
            "{filterTimeout: -1s}",
            ".filterTimeout is '-1s': must be greater than or equal to zero",
        ),
        row(
            "a time-out below a second",
            "DynamicResources",
            "{bindingTimeout: 999ms}",
            ".bindingTimeout is '999ms': must be greater than or equal to 1s",
        ),
        row(
            "no term",
            "NodeAffinity",
            added("[]"),
            ".addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeS",
        ),
        row(
            "a key that is no label",
            "NodeAffinity",
            expression(key="a b"),
            ".addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].key",
        ),
        row(
            "no values for In",
            "NodeAffinity",
            expression(values="[]"),
            ".addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].val",
        ),
        row(
            "Gt with a text",
            "NodeAffinity",
            expression(operator="Gt"),
            ".addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].val",
        ),
        row(
            "a preferred weight",
            "NodeAffinity",
            "{addedAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 0, preference: {}}]}}",
            ".addedAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight is '0': must be in the range",
        ),
        row(
            "an ignored group with a slash",
            "NodeResourcesFit",
            "{ignoredResourceGroups: [a.io/b]}",
            ".ignoredResourceGroups[0] is 'a.io/b': resource group name can't contain '/'",
        ),
        row(
            "an ignored resource that is no name",
            "NodeResourcesFit",
            "{ignoredResources: [ok, a b]}",
            ".ignoredResources[1] is 'a b': name part must consist of alphanumeric characters",
        ),
        row(
            "an unknown strategy",
            "NodeResourcesFit",
            "{scoringStrategy: {type: Most}}",
            ".scoringStrategy.type is 'Most': must be 'LeastAllocated', 'MostAllocated' or 'RequestedToCapacityRatio'",
        ),
        row(
            "a weight of 101",
            "NodeResourcesFit",
            "{scoringStrategy: {resources: [{name: cpu, weight: 101}]}}",
            ".scoringStrategy.resources[0].weight is '101': resource weight of cpu not in valid range (0, 100]",
        ),
        row(
            "a ratio without a shape",
            "NodeResourcesFit",
            f"{{scoringStrategy: {{type: {RATIO}}}}}",
            f".scoringStrategy.requestedToCapacityRatio is 'null': must be specified when type is {RATIO}",
        ),
        row(
            "a shape without the ratio",
            "NodeResourcesFit",
            "{scoringStrategy: {requestedToCapacityRatio: {shape: [{utilization: 0, score: 0}]}}}",
            f".scoringStrategy.requestedToCapacityRatio: must be nil when type is not {RATIO}",
        ),
        row(
            "a shape without points",
            "NodeResourcesFit",
            f"{{scoringStrategy: {{type: {RATIO}, requestedToCapacityRatio: {{shape: []}}}}}}",
            ".scoringStrategy.requestedToCapacityRatio.shape: at least one point must be specified",
        ),
        row(
            "a shape that does not rise",
            "NodeResourcesFit",
            f"{{scoringStrategy: {{type: {RATIO}, requestedToCapacityRatio: "
            "{shape: [{utilization: 50, score: 1}, {utilization: 50, score: 2}]}}}",
            ".scoringStrategy.requestedToCapacityRatio.shape[1].utilization is '50': values must be sorted in",
        ),
        row(
            "a score of a shape",
            "NodeResourcesFit",
            f"{{scoringStrategy: {{type: {RATIO}, requestedToCapacityRatio: "
            "{shape: [{utilization: 0, score: 11}]}}}",
            ".scoringStrategy.requestedToCapacityRatio.shape[0].score is '11': not in valid range [0, 10]",
        ),
        row(
            "an unknown allocator",
            "DeviceShare",
            "{allocator: densest}",
            ".allocator is 'densest': unknown; it is one of default, binpack, spread",
        ),
        row(
            "an unknown strategy of DeviceShare",
            "DeviceShare",
            "{scoringStrategy: {type: RequestedToCapacityRatio}}",
            ".scoringStrategy.type is 'RequestedToCapacityRatio': scoring strategy RequestedToCapacityRatio is not",
        ),
        row(
            "a device resource without a weight",
            "DeviceShare",
            "{scoringStrategy: {type: LeastAllocated, resources: [{name: koordinator.sh/rdma}]}}",
            ".scoringStrategy.resources[0].weight is '0': resource weight of koordinator.sh/rdma not in valid",
        ),
    ],
)
def test_arguments_that_cannot_work_are_refused_in_upstreams_words(plugin: str, args: str, complaint: str) -> None:
    with pytest.raises(ConfigError) as refused:
        loaded(plugin, args)
    assert str(refused.value).startswith(f"conf.yaml:7: profiles[0].pluginConfig[0].args{complaint}")


def test_two_numbers_that_may_not_both_be_zero_are_both_told() -> None:
    with pytest.raises(ConfigError) as refused:
        loaded("DefaultPreemption", "{minCandidateNodesPercentage: 0, minCandidateNodesAbsolute: 0}")
    assert len(str(refused.value).splitlines()) == 2


def test_everything_that_is_wrong_with_a_shape_is_told_at_once() -> None:
    points = "[{utilization: 101, score: 11}, {utilization: 50, score: -1}]"
    with pytest.raises(ConfigError) as refused:
        loaded(
            "NodeResourcesFit",
            f"{{scoringStrategy: {{type: {RATIO}, requestedToCapacityRatio: {{shape: {points}}}}}}}",
        )
    assert [line.partition(".shape")[2] for line in str(refused.value).splitlines()] == [
        "[0].utilization is '101': not in valid range [0, 100]",
        "[0].score is '11': not in valid range [0, 10]",
        "[1].score is '-1': not in valid range [0, 10]",
        "[1].utilization is '50': values must be sorted in increasing order",
    ]


@pytest.mark.parametrize(
    ("plugin", "args"),
    [
        row("upstream's example of node affinity", "NodeAffinity", expression()),
        row(
            "a preferred term", "NodeAffinity", "{addedAffinity: {preferredDuringSchedulingIgnoredDuringExecution: []}}"
        ),
        row(
            "a list of constraints",
            "PodTopologySpread",
            f"{{defaultingType: List, defaultConstraints: [{constraint()}]}}",
        ),
        row("limits switched off", "DynamicResources", "{filterTimeout: 0s, bindingTimeout: 1s}"),
        row("one number of preemption", "DefaultPreemption", "{minCandidateNodesPercentage: 0}"),
        row("an empty list of balanced resources", "NodeResourcesBalancedAllocation", "{resources: []}"),
        row("head and nulls", "InterPodAffinity", "{kind: InterPodAffinityArgs, hardPodAffinityWeight: null}"),
        row("weight zero is one", "NodeResourcesFit", "{scoringStrategy: {resources: [{name: cpu, weight: 0}]}}"),
        row("Koordinator's own default of the allocator", "DeviceShare", "{allocator: ''}"),
        row("models that are not shared", "DeviceShare", "{gpuShareUnsupportedModels: [{vendor: nvidia, model: T4}]}"),
        row("NUMA alignment off", "DeviceShare", "{disableDeviceNUMATopologyAlignment: true}"),
        row(
            "anything for a plugin that nobody knows", "Elsewhere", "{apiVersion: acme.io/v7, kind: What, x: {y: null}}"
        ),
    ],
)
def test_arguments_that_upstream_takes_are_taken(plugin: str, args: str) -> None:
    assert plugin in loaded(plugin, args).profiles[0].args


def test_the_head_of_the_arguments_is_not_handed_on() -> None:
    head = "apiVersion: kubescheduler.config.k8s.io/v1, kind: InterPodAffinityArgs"
    assert loaded("InterPodAffinity", f"{{{head}, hardPodAffinityWeight: 5}}").profiles[0].args == {
        "InterPodAffinity": {"hardPodAffinityWeight": 5}
    }


@pytest.mark.parametrize("plugin", sorted(ARGS_KINDS))
def test_the_defaults_of_every_kind_of_arguments_can_be_written_out_and_read_again(plugin: str) -> None:
    model = Registry().args_model(plugin)
    assert model is not None
    written = model().model_dump(by_alias=True, exclude_none=True, mode="json")
    assert read_args(model, written) == model()
    assert read_args(model, written).not_in_effect() == []


def test_arguments_that_nothing_uses_are_told() -> None:
    (warning,) = loaded("InterPodAfinity", "{}").warnings
    assert warning == (
        "conf.yaml:6: profiles[0].pluginConfig[0].name is 'InterPodAfinity': these arguments are not used: "
        "no plugin has this name; did you mean InterPodAffinity?"
    )


def test_python_spelling_is_no_key_of_the_arguments() -> None:
    with pytest.raises(ConfigError, match="hard_pod_affinity_weight is '1': unknown field; did you mean hardPodAffin"):
        loaded("InterPodAffinity", "{hard_pod_affinity_weight: 1}")


@pytest.mark.parametrize(
    ("name", "place"),
    [("EBSLimits", ""), ("InterPodAffinity", ""), ("", ".name")],
    ids=["removed", "twice", "nameless"],
)
def test_an_entry_that_cannot_be_meant_is_refused(name: str, place: str) -> None:
    listed = f"[{{name: InterPodAffinity}}, {{name: '{name}'}}]"
    with pytest.raises(ConfigError) as refused:
        parse(f"{HEAD}profiles: [{{pluginConfig: {listed}}}]\n", "conf.yaml")
    assert str(refused.value).startswith(f"conf.yaml:3: profiles[0].pluginConfig[1]{place}")


def test_o30_what_an_extender_accounts_for_is_ignored_by_every_profile_instead_of_what_the_file_says() -> None:
    text = (
        f"{HEAD}extenders: [{{managedResources: [{{name: a.io/npu, ignoredByScheduler: true}}, {{name: a.io/x}}]}}]\n"
        "profiles:\n- schedulerName: a\n"
        "  pluginConfig: [{name: NodeResourcesFit, args: {ignoredResources: [b.io/y]}}]\n"
        "- schedulerName: b\n"
    )
    first, second = resolve(parse(text, "conf.yaml"))
    assert first.args == second.args == {"NodeResourcesFit": {"ignoredResources": ["a.io/npu"]}}


@pytest.mark.parametrize(
    ("args", "told"),
    [
        row("nothing set", "{}", []),
        row("an allocator", "{allocator: binpack}", []),
        row(
            "a strategy",
            "{scoringStrategy: {type: MostAllocated, resources: [{name: koordinator.sh/rdma, weight: 1}]}}",
            [],
        ),
        row(
            "a strategy that looks at nothing",
            "{scoringStrategy: {type: MostAllocated}}",
            ["scoringStrategy.resources"],
        ),
        row(
            "a resource that no Device reports",
            "{scoringStrategy: {type: MostAllocated, resources: [{name: koordinator.sh/gpu-memroy, weight: 1}]}}",
            ["scoringStrategy.resources"],
        ),
        row("models", "{gpuShareUnsupportedModels: [{model: T4}]}", []),
        row("NUMA nodes", "{disableDeviceNUMATopologyAlignment: true}", ["disableDeviceNUMATopologyAlignment"]),
    ],
)
def test_what_device_share_does_not_do_yet_is_named(args: str, told: list[str]) -> None:
    model = Registry().args_model("DeviceShare")
    assert model is not None
    said = read_args(model, loaded("DeviceShare", args).profiles[0].args["DeviceShare"]).not_in_effect()
    assert [text.partition(":")[0] for text in said] == told

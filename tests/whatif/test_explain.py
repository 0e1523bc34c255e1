"""Why a Pod fits nowhere: the real plugins asked again; and whether a scheduler's books say what annotations say."""

from collections.abc import Sequence

from koordpy.config.load import Loaded, load_whole, parse_whole
from koordpy.framework.registry import Registry
from koordpy.testing import make_device, make_node, make_pod
from koordpy.whatif.cards import count
from koordpy.whatif.explain import Belief, CardAnswer, cards_of, devices_asked
from koordpy.whatif.recount import cards_believed, differences
from koordpy_api.koordinator import GPU_CORE, GPU_MEMORY, GPU_MEMORY_RATIO
from koordpy_api.objects import Device, KubeObject, Pod
from koordpy_api.objects.pod import PodResourceClaim
from tests.whatif.test_cards import GI, holding

CORDONED = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}


def believe(*objects: KubeObject, loaded: Loaded | None = None) -> Belief:
    belief = Belief(loaded or load_whole(None, Registry()), Registry())
    belief.learn({kind: [each for each in objects if type(each) is kind] for kind in belief.kinds})
    return belief


def two_nodes() -> list[KubeObject]:
    """n1 has a card that is half held and a free one; n2 has none."""
    return [
        make_node("n1"),
        make_node("n2"),
        make_device("n1", 2),
        holding("old", 0, core=50, ratio=50, memory=8 * GI),
    ]


def test_each_node_has_the_refusal_of_the_first_plugin_that_refused() -> None:
    explained = believe(*two_nodes(), make_node("n3", taints=[CORDONED])).explain(
        make_pod("new", requests={"koordinator.sh/gpu": "200"})
    )
    assert explained is not None
    told = {node: (refusal.plugin, refusal.message) for node, refusal in explained.nodes.items() if refusal}
    assert told["n1"] == ("DeviceShare", "Insufficient gpu devices")
    assert told["n2"][0] == "DeviceShare"
    assert told["n3"][0] == "TaintToleration"
    assert explained.fits == []


def test_its_sentence_is_the_schedulers() -> None:
    explained = believe(*two_nodes()).explain(make_pod("new", requests={"koordinator.sh/gpu": "200"}))
    assert explained is not None
    assert explained.message == "0/2 nodes are available: 1 Insufficient gpu devices, 1 node(s) had no Device."


def test_every_card_says_what_was_asked_what_is_free_and_how_many_hold_it() -> None:
    explained = believe(*two_nodes()).explain(make_pod("new", requests={"koordinator.sh/gpu": "200"}))
    assert explained is not None
    refusal = explained.nodes["n1"]
    assert refusal is not None
    half, whole = cards_of(refusal)
    assert (half.minor, half.holders, half.free[GPU_CORE], half.free[GPU_MEMORY]) == (0, 1, 50, 8 * GI)
    assert half.asked == {GPU_CORE: 100, GPU_MEMORY_RATIO: 100, GPU_MEMORY: 16 * GI}
    assert sorted(half.short_of) == sorted(half.asked)
    assert (whole.minor, whole.holders, whole.short_of) == (1, 0, [])
    assert (half.held_by, whole.held_by) == (("default/old",), ())
    assert devices_asked(refusal) == {"gpu": 2}


def test_a_pod_that_fits_by_now_is_told_where() -> None:
    explained = believe(*two_nodes()).explain(make_pod("new", requests={"koordinator.sh/gpu": "100"}))
    assert explained is not None
    assert explained.fits == ["n1"]
    assert explained.message == ""


def test_what_pre_filter_refuses_is_settled_before_any_node() -> None:
    explained = believe(*two_nodes()).explain(make_pod("new", requests={"koordinator.sh/gpu-core": "50"}))
    assert explained is not None
    assert explained.settled is not None
    assert explained.settled.plugin == "DeviceShare"
    assert explained.message.startswith("0/2 nodes are available: invalid resource device requests")


def test_a_demand_that_nobody_hears_is_a_refusal_too() -> None:
    pod = make_pod("new")
    claims = [PodResourceClaim("gpu")]
    claiming = Pod(pod.metadata, spec=type(pod.spec)(scheduler_name="koordpy-scheduler", resource_claims=claims))
    explained = believe(*two_nodes()).explain(claiming)
    assert explained is not None
    assert "spec.resourceClaims" in explained.message


def test_without_nodes_it_says_so() -> None:
    explained = believe().explain(make_pod("new"))
    assert explained is not None
    assert explained.message == "no nodes available to schedule pods"


def test_a_pod_of_another_scheduler_is_not_ours_to_explain() -> None:
    assert believe(*two_nodes()).explain(make_pod("new", scheduler_name="default-scheduler")) is None


def test_what_cannot_be_read_is_told_and_the_rest_counts() -> None:
    belief = believe(*two_nodes(), make_node("n4", cpu="lots"))
    assert [(kind, name) for kind, name, _ in belief.problems] == [("Node", "n4")]
    explained = belief.explain(make_pod("new"))
    assert explained is not None
    assert list(explained.nodes) == ["n1", "n2"]


# -- the books of a scheduler -----------------------------------------------------------------------------------------


def books(*objects: KubeObject, loaded: Loaded | None = None) -> dict[str, list[CardAnswer]]:
    """What plugins that were told of these objects believe of the cards."""
    belief = believe(*objects, loaded=loaded)
    return cards_believed(belief.frameworks, belief.nodes)


def wrong(objects: Sequence[KubeObject], believed: Sequence[KubeObject]) -> list[str]:
    counted = count(
        [each for each in objects if isinstance(each, Device)], [each for each in objects if isinstance(each, Pod)]
    )
    return differences(counted, books(*believed))


def test_books_that_heard_of_every_pod_agree() -> None:
    assert wrong(two_nodes(), two_nodes()) == []


def test_a_pod_that_the_books_missed_is_found_by_card() -> None:
    more = [*two_nodes(), holding("missed", 1, core=25, ratio=25, memory=4 * GI)]
    assert wrong(more, two_nodes()) == [
        "n1 card 1: 1 pods hold it, the scheduler believes 0",
        f"n1 card 1: 75 of {GPU_CORE} is free, the scheduler believes 100",
        f"n1 card 1: {12 * GI} of {GPU_MEMORY} is free, the scheduler believes {16 * GI}",
        f"n1 card 1: 75 of {GPU_MEMORY_RATIO} is free, the scheduler believes 100",
    ]


def test_a_card_that_is_given_twice_is_wrong_whatever_the_books_say() -> None:
    twice = [*two_nodes(), *(holding(name, 1, core=60, ratio=50, memory=8 * GI) for name in "ab")]
    assert wrong(twice, twice) == [f"n1 card 1: more {GPU_CORE} is given away than there is"]


def test_a_full_node_or_a_taint_hides_no_card() -> None:
    objects = [make_node("n1", pods=0, taints=[CORDONED]), make_device("n1", 2)]
    assert [each.minor for each in books(*objects)["n1"]] == [0, 1]


def test_without_a_plugin_that_counts_cards_nothing_is_believed() -> None:
    text = (
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "profiles: [{schedulerName: koordpy-scheduler, plugins: {multiPoint: {disabled: [{name: DeviceShare}]}}}]\n"
    )
    assert books(*two_nodes(), loaded=parse_whole(text, "conf.yaml", Registry())) == {}

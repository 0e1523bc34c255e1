"""After any order of events, the books equal a recount from the pods, and listeners heard a story that adds up."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from koordpy.cache.cache import Cache
from koordpy.cache.columns import Columns
from koordpy.cache.snapshot import Snapshot
from koordpy.testing import columns_of, make_node, make_pod
from koordpy_api import Kept
from koordpy_api.resources import add
from tests.cache.ledger import Ledger

NODES = st.sampled_from(["n1", "n2", "n3"])
PODS = st.sampled_from(["a", "b", "c", "d"])
CPU = st.integers(0, 3)


class AnyOrder(RuleBasedStateMachine):
    """What the API server and the scheduler may do, in any order, also where it makes no sense."""

    def __init__(self) -> None:
        super().__init__()
        self.ledger = Ledger()
        self.cache = Cache([self.ledger])
        self.placed: dict[str, tuple[str, int, bool]] = {}
        self.known: dict[str, None] = {}
        self.kept_cpu: Kept[str, Columns] = Kept(lambda name, columns, rows: columns.requested(name)[rows])
        self.kept: list[tuple[Snapshot, list[str], list[dict[str, int]]]] = []

    @rule(name=NODES, cpu=CPU)
    def a_node_comes_or_changes(self, name: str, cpu: int) -> None:
        self.cache.set_node(make_node(name, cpu=cpu))
        self.known.setdefault(name)

    @rule(name=NODES)
    def a_node_goes(self, name: str) -> None:
        self.cache.remove_node(name)
        self.known.pop(name, None)

    @rule(name=PODS, node=NODES, cpu=CPU)
    def a_pod_is_assumed(self, name: str, node: str, cpu: int) -> None:
        if name not in self.placed:
            self.cache.assume(make_pod(name, uid=name, requests={"cpu": cpu}), node)
            self.placed[name] = node, cpu, True

    @rule(name=PODS)
    def a_pod_is_forgotten(self, name: str) -> None:
        self.cache.forget(name)
        if self.placed.get(name, ("", 0, False))[2]:
            del self.placed[name]

    @rule(name=PODS, node=NODES, cpu=CPU)
    def an_assigned_pod_comes_or_changes(self, name: str, node: str, cpu: int) -> None:
        self.cache.set_pod(make_pod(name, uid=name, node=node, requests={"cpu": cpu}))
        self.placed[name] = node, cpu, False

    @rule(name=PODS)
    def a_pod_goes(self, name: str) -> None:
        self.cache.remove_pod(name)
        self.placed.pop(name, None)

    @rule()
    def a_cycle_takes_a_snapshot(self) -> None:
        snapshot = self.cache.update_snapshot().kept()
        nodes = snapshot.nodes
        self.kept.append((snapshot, [node.name for node in nodes], [dict(node.requested) for node in nodes]))

    @invariant()
    def every_node_counts_its_pods(self) -> None:
        for name in ("n1", "n2", "n3"):
            expected = {pod: cpu for pod, (node, cpu, _) in self.placed.items() if node == name}
            info = self.cache.node(name)
            if info is None:
                assert not expected
                assert name not in self.known
                continue
            counted = {uid: pod.requests.get("cpu", 0) for uid, pod in info.pods.items()}
            assert counted == {uid: cpu * 1000 for uid, cpu in expected.items()}
            recount: dict[str, int] = {}
            for pod in info.pods.values():
                recount = add(recount, pod.requests)
            assert {key: amount for key, amount in info.requested.items() if amount} == recount
            assert expected or name in self.known, "an empty ghost was kept"

    @invariant()
    def the_sizes_are_counts(self) -> None:
        assumed = sum(assumed for *_, assumed in self.placed.values())
        sizes = {"nodes": len(self.known), "pods": len(self.placed), "assumed_pods": assumed}
        assert self.cache.sizes() == sizes

    @invariant()
    def the_listener_believes_the_same(self) -> None:
        assert self.ledger.pods == {uid: node for uid, (node, *_) in self.placed.items()}
        assert self.ledger.nodes == set(self.known)

    @invariant()
    def the_snapshot_has_the_known_nodes_and_finds_them(self) -> None:
        snapshot = self.cache.update_snapshot()
        assert [node.name for node in snapshot.nodes] == list(self.known)
        assert all(snapshot.get(node.name) is node for node in snapshot.nodes)

    @invariant()
    def the_columns_are_what_the_nodes_say(self) -> None:
        columns = self.cache.update_snapshot().columns
        right = columns_of(columns.nodes)
        for read in (Columns.requested, Columns.non_zero_requested, Columns.allocatable):
            assert read(columns, "cpu").tolist() == read(right, "cpu").tolist()
        assert columns.pods.tolist() == right.pods.tolist()
        assert not list(columns.wrong())
        kept = self.kept_cpu.of("cpu", columns)
        assert kept.tolist() == right.requested("cpu").tolist()

    @invariant()
    def snapshots_that_were_kept_did_not_change(self) -> None:
        for snapshot, names, requested in self.kept:
            assert [node.name for node in snapshot.nodes] == names
            assert [dict(node.requested) for node in snapshot.nodes] == requested
            assert [snapshot.rows[name] for name in names] == list(range(len(names)))


TestAnyOrder = AnyOrder.TestCase
TestAnyOrder.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)

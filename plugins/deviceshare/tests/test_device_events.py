"""Any sequence of events: no card is given twice, the books are what the pods say, and every undo restores."""

from dataclasses import replace

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from koordpy.testing import gpu, make_device, make_pod
from koordpy_api.koordinator import DEVICE_ALLOCATED, GPU, GPU_CORE, GPU_MEMORY, GPU_MEMORY_RATIO, NVIDIA_GPU
from koordpy_api.objects import Device, Pod
from koordpy_deviceshare.model import SHARED_DIMENSIONS, Health

from .deviceshare_stage import Amounts, Host, assigned

MINORS = (0, 1, 2, 63)
NODES = ("node", "second")

nodes = st.sampled_from(NODES)
percents = st.integers(1, 100)
asked = st.one_of(
    st.builds(lambda n: {NVIDIA_GPU: n}, st.integers(1, 3)),
    st.builds(lambda p: {GPU: p}, percents),
    st.builds(lambda c, r: {GPU_CORE: c, GPU_MEMORY_RATIO: r}, percents, percents),
    st.builds(lambda c, b: {GPU_CORE: c, GPU_MEMORY: b}, percents, st.integers(1, 20 * 1024**3)),
)
listed = st.lists(
    st.builds(
        lambda minor, health, memory: gpu(minor, health=health, memory=memory),
        st.sampled_from(MINORS),
        st.booleans() | st.just(True),
        st.sampled_from(["16Gi", "24Gi", "23028Mi", "1001"]),
    ),
    max_size=5,
)
foreign = st.sampled_from(
    [
        '{"gpu":[{"minor":0,"resources":{"koordinator.sh/gpu-core":"30","koordinator.sh/gpu-memory-ratio":"40"}}]}',
        '{"gpu":[{"minor":1,"resources":{"koordinator.sh/gpu-memory":"5Gi"}},{"minor":63,"resources":null}]}',
        '{"gpu":[{"minor":2,"resources":{"kubernetes.io/gpu":"1","koordinator.sh/gpu-memory-ratio":"130"}}]}',
        '{"rdma":[{"minor":0,"resources":{"koordinator.sh/rdma":"1"}}],"gpu":[]}',
        '{"gpu":[{"minor":0,',
        '{"gpu":[{"minor":-1,"resources":{}}]}',
        "null",
    ]
)


class Books(RuleBasedStateMachine):
    """The host and the API server, doing whatever they may do."""

    @initialize(first=listed)
    def begin(self, first: list[dict[str, object]]) -> None:
        self.host = Host()
        self.devices: dict[str, Device] = {}
        self.held: dict[str, tuple[Pod, str]] = {}
        self.bound: dict[str, Pod] = {}
        self.names = 0
        self.list_device("node", first)

    # Devices

    @rule(node=nodes, entries=listed)
    def list_device(self, node: str, entries: list[dict[str, object]]) -> None:
        new = make_device(node, entries)
        if (old := self.devices.get(node)) is None:
            self.host.list_device(new)
        else:
            self.host.change_device(old, new)
        self.devices[node] = new

    @rule(node=nodes)
    def delete_device(self, node: str) -> None:
        if (old := self.devices.pop(node, None)) is not None:
            self.host.delete_device(old)

    # Our own pods

    @rule(node=nodes, requests=asked)
    def hold(self, node: str, requests: Amounts) -> None:
        self.names += 1
        pod = make_pod(f"ours-{self.names}", requests=requests)
        before = self.host.plugin.books.devices_of(node)
        refusal = self.host.hold(pod, node)
        if refusal is not None:
            assert self.host.try_node(pod, node) == refusal
            assert self.host.plugin.books.devices_of(node) == before
            return
        self.held[pod.uid] = (pod, node)
        was = {card.minor: card for card in before.gpus}
        for card in self.host.plugin.books.devices_of(node).gpus:
            if card != was[card.minor]:
                assert card.health is Health.HEALTHY
                assert all(card.used.get(name, 0) <= card.total[name] for name in SHARED_DIMENSIONS)
                if NVIDIA_GPU in requests:
                    assert card.holders == 1

    @rule(node=nodes, requests=asked)
    def hold_and_give_up(self, node: str, requests: Amounts) -> None:
        before = self.host.plugin.books.devices_of(node)
        pod = make_pod("undone", requests=requests)
        self.host.hold(pod, node)
        for _ in range(2):
            self.host.give_up(pod, node)
        assert self.host.plugin.books.devices_of(node) == before

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def echo(self, data: st.DataObject) -> None:
        pod, node = self.held.pop(data.draw(st.sampled_from(sorted(self.held))))
        before = self.host.plugin.books.devices_of(node)
        bound, reported = assigned(pod, node, self.host.plan(pod, node)), self.host.reports.copy()
        self.host.see_again(pod, bound)
        assert self.host.plugin.books.devices_of(node) == before
        assert not self.host.plugin.books.is_assumed(node, pod.uid)
        assert self.host.reports == reported
        self.bound[pod.uid] = bound

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def fail(self, data: st.DataObject) -> None:
        self.host.give_up(*self.held.pop(data.draw(st.sampled_from(sorted(self.held)))))

    @precondition(lambda self: self.held)
    @rule(data=st.data(), text=foreign | st.none())
    def somebody_else_binds(self, data: st.DataObject, text: str | None) -> None:
        pod, node = self.held.pop(data.draw(st.sampled_from(sorted(self.held))))
        self.bound[pod.uid] = assigned(pod, node, text)
        self.host.see_again(pod, self.bound[pod.uid])

    # Anybody's pods

    @rule(node=nodes, text=foreign)
    def arrive(self, node: str, text: str) -> None:
        self.names += 1
        pod = make_pod(f"theirs-{self.names}", node=node, annotations={DEVICE_ALLOCATED: text})
        for _ in range(2):
            self.host.see(pod)
        self.bound[pod.uid] = pod

    @precondition(lambda self: self.bound)
    @rule(data=st.data(), text=foreign | st.none())
    def change(self, data: st.DataObject, text: str | None) -> None:
        old = self.bound[data.draw(st.sampled_from(sorted(self.bound)))]
        new = make_pod(
            old.metadata.name,
            node=old.spec.node_name,
            annotations=None if text is None else {DEVICE_ALLOCATED: text},
        )
        self.host.see_again(old, new)
        self.bound[new.uid] = new

    @precondition(lambda self: self.bound)
    @rule(data=st.data(), finished=st.booleans())
    def leave(self, data: st.DataObject, finished: bool) -> None:
        pod = self.bound.pop(data.draw(st.sampled_from(sorted(self.bound))))
        if finished:
            self.host.see_again(pod, assigned(pod, pod.spec.node_name, phase="Succeeded"))
        self.host.lose(pod)

    @invariant()
    def the_sums_are_what_the_records_say(self) -> None:
        assert self.host.plugin.books.sums() == self.host.plugin.books.recount()

    @invariant()
    def only_listed_healthy_cards_have_a_total(self) -> None:
        for node in NODES:
            entries = self.devices[node].spec.devices if node in self.devices else []
            healthy = {entry.minor for entry in entries if entry.health}
            for card in self.host.plugin.books.devices_of(node).gpus:
                assert not card.total or card.minor in healthy

    def teardown(self) -> None:
        """When all pods are gone, nothing is held."""
        for pod, node in self.held.values():
            self.host.give_up(pod, node)
        for pod in self.bound.values():
            self.host.lose(pod)
        for node in NODES:
            devices = self.host.plugin.books.devices_of(node)
            assert all(card == replace(card, used={}, holders=0) for card in devices.gpus)
            assert self.host.plugin.books.unreadable_on(node) == ()


TestAnySequenceOfEvents = Books.TestCase
TestAnySequenceOfEvents.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)

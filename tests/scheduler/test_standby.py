"""A standby knows everything and does nothing; when it leads it goes on where the leader stopped, never beside it."""

import asyncio
from collections import Counter
from random import Random
from typing import Any

import pytest

from koordpy.cluster.embedded.faults import Fault
from koordpy.framework.runner import Framework
from koordpy.testing import build_profile, device_manifest, node_manifest, pod_manifest
from koordpy_api import Wait
from koordpy_api.koordinator import GPU_CORE, GPU_MEMORY_RATIO, NVIDIA_GPU
from tests.framework.scripted_plugins import plugin
from tests.scheduler.replicas import TERMS, Replica, Replicas, now, play
from tests.scheduler.stage import allocated

NODE = node_manifest("n1")
CARDS = device_manifest("n1", 2)


def card(name: str) -> dict[str, Any]:
    return pod_manifest(name, requests={NVIDIA_GPU: "1"})


def half(name: str) -> dict[str, Any]:
    return pod_manifest(name, requests={GPU_CORE: "50", GPU_MEMORY_RATIO: "50"})


def minors(replicas: Replicas, name: str) -> list[int]:
    return [each["minor"] for each in allocated(replicas.cluster.pod(name))]


def most_on_a_card(replicas: Replicas) -> int:
    books: Counter[tuple[str, int]] = Counter()
    for pod in replicas.cluster.pods():
        for each in allocated(pod) if pod["spec"].get("nodeName") else ():
            books[pod["spec"]["nodeName"], each["minor"]] += int(each["resources"][GPU_MEMORY_RATIO])
    return max(books.values(), default=0)


def believes(replica: Replica) -> dict[str, int]:
    sizes = {**replica.scheduler.cache.sizes(), **replica.scheduler.queue.sizes()}
    return {what: size for what, size in sizes.items() if size}


def test_fc_047_a_standby_books_what_the_leader_binds_and_gives_the_other_card() -> None:
    async def scene(replicas: Replicas) -> None:
        first, second = await replicas.pair()
        replicas.cluster.add(card("p1"))
        await asyncio.sleep(2)
        assert minors(replicas, "p1") == [0]
        assert believes(second) == {"nodes": 1, "pods": 1}
        first.kill()
        await replicas.until(lambda: second.leads)
        replicas.cluster.add(card("p2"))
        await asyncio.sleep(2)
        assert minors(replicas, "p2") == [1]
        assert second.scheduler.invariants.differences() == []

    play(scene, NODE, CARDS)


def test_a_standby_asks_reads_and_writes_nothing_and_shows_no_number_of_a_leader() -> None:
    async def scene(replicas: Replicas) -> None:
        _, second = await replicas.pair()
        for number in range(4):
            replicas.cluster.add(card(f"p{number}"))
        await asyncio.sleep(30)
        assert {request.verb for request in second.requests} == {"list", "watch"}
        assert believes(second) == {"nodes": 1, "pods": 2, "active": 2}
        shown = second.metrics.exposition().decode()
        assert "scheduler_schedule_attempts_total{" not in shown
        assert "device_gpu" not in shown
        assert "scheduler_pending_pods{" not in shown
        assert second.scheduler.is_ready

    play(scene, NODE, CARDS)


def test_it_schedules_at_once_what_waits_when_it_takes_over() -> None:
    async def scene(replicas: Replicas) -> None:
        first, second = await replicas.pair()
        first.kill()
        replicas.cluster.add(card("p1"))
        await replicas.until(lambda: second.leads)
        await replicas.until(lambda: bool(replicas.cluster.node_of("p1")))
        assert second.led_at is not None
        assert now() - second.led_at <= 0.2
        assert "device_gpu" in second.metrics.exposition().decode() or second.metrics.is_leading

    play(scene, NODE, CARDS)


@pytest.mark.parametrize(
    "trouble",
    [Fault("watch pods", "half-closed"), Fault("watch pods", delay_s=45, times=None)],
    ids=["it says nothing more", "it is 45 s behind"],
)
def test_a_standby_whose_watch_has_died_lists_before_it_schedules(trouble: Fault) -> None:
    async def scene(replicas: Replicas) -> None:
        first, second = await replicas.pair()
        second.fault(trouble)
        replicas.cluster.add(card("p1"))
        await asyncio.sleep(2)
        assert minors(replicas, "p1") == [0]
        assert believes(second) == {"nodes": 1}
        await first.terminate()
        replicas.cluster.add(card("p2"))
        await replicas.until(lambda: second.leads)
        await asyncio.sleep(3)
        assert minors(replicas, "p2") == [1]

    play(scene, NODE, CARDS)


def test_a_standby_whose_list_fails_at_takeover_waits_for_it() -> None:
    async def scene(replicas: Replicas) -> None:
        first, second = await replicas.pair()
        second.fault(Fault("watch pods", "half-closed"), Fault("list pods", 500, times=3))
        replicas.cluster.add(card("p1"))
        await asyncio.sleep(2)
        first.kill()
        replicas.cluster.add(card("p2"))
        await replicas.until(lambda: bool(replicas.cluster.node_of("p2")))
        assert minors(replicas, "p2") == [1]
        assert second.leads

    play(scene, NODE, CARDS)


def test_fc_103_a_scheduler_that_died_of_an_exception_is_followed() -> None:
    async def scene(replicas: Replicas) -> None:
        first, second = await replicas.pair()

        def broken(*_: object) -> None:
            raise RuntimeError("the loop's own bug")

        first.scheduler._attempt = broken  # type: ignore[method-assign,assignment]  # no plugin can do this
        replicas.cluster.add(card("p1"))
        await first.ended()
        died = now()
        assert "the loop's own bug" in repr(first.error)
        first.died = True
        await replicas.until(lambda: second.leads)
        assert now() - died <= TERMS.duration_s + TERMS.retry_period_s
        await replicas.until(lambda: bool(replicas.cluster.node_of("p1")), 1)

    play(scene, NODE, CARDS)


def test_fc_105_who_cannot_renew_binds_nothing_after_renew_deadline_and_no_pod_is_bound_twice() -> None:
    async def scene(replicas: Replicas) -> None:
        first, second = await replicas.pair()
        first.fault_of_lease(Fault("update leases", 409, times=None))
        failing = now()
        for number in range(80):
            replicas.cluster.add(pod_manifest(f"p{number}", requests={"cpu": "10m"}))
            await asyncio.sleep(0.5)
        assert first.lost is not None
        assert first.bound, "it went on while it could"
        assert max(when for when, _ in first.bound) <= failing + TERMS.renew_deadline_s
        assert second.led_at is not None
        assert min(when for when, _ in second.bound) >= second.led_at
        for each in (first, second):
            limits = [request.within_s for _, request in each.cluster.binds]
            assert all(limit is not None and 0 < limit < TERMS.duration_s for limit in limits)
        times = Counter(name for each in (first, second) for _, name in each.bound)
        assert set(times.values()) == {1}
        assert len(times) == 80

    play(scene, NODE)


def test_fc_105_a_bind_that_goes_again_does_not_after_renew_deadline() -> None:
    async def scene(replicas: Replicas) -> None:
        first, second = await replicas.pair()
        first.fault_of_lease(Fault("update leases", 429, times=None))
        first.fault(Fault("bind pods", "dropped", times=None))
        failing = now()
        for number in range(40):  # more than are on the wire at once
            replicas.cluster.add(pod_manifest(f"p{number}", requests={"cpu": "10m"}))
        await replicas.until(lambda: second.leads)
        last = max(when for when, _ in first.bound)
        assert 5 < last - failing <= TERMS.renew_deadline_s
        assert len(first.bound) > 80
        await asyncio.sleep(2)
        assert {name for _, name in second.bound} == {name for _, name in first.bound}

    play(scene, NODE)


def test_fc_105_a_bind_on_the_wire_is_given_up_before_anybody_else_leads() -> None:
    async def scene(replicas: Replicas) -> None:
        first, second = await replicas.pair()
        first.cluster.bind_takes_s = 40.0
        first.fault_of_lease(Fault("update leases", "dropped", times=None))
        replicas.cluster.add(card("p1"))
        await replicas.until(lambda: bool(first.cluster.on_the_wire))
        (sent,) = [when for when, _ in first.bound]
        await replicas.until(lambda: not first.cluster.on_the_wire)
        given_up = now()
        await replicas.until(lambda: second.leads)
        assert second.led_at is not None
        assert given_up < second.led_at
        assert given_up - sent < 40
        await first.ended()
        await replicas.until(lambda: bool(replicas.cluster.node_of("p1")), 1)
        assert [name for _, name in first.bound] == ["p1"], "it was not sent again"

    play(scene, NODE, CARDS)


def test_fc_105_what_waits_at_permit_is_let_go_of_and_nobody_is_told_by_who_does_not_lead() -> None:
    def waiting() -> list[Framework]:
        slow = plugin(permit=lambda: Wait(300))
        return [build_profile(("PrioritySort", "Slow", "DefaultBinder"), given={"Slow": slow})]

    async def scene(replicas: Replicas) -> None:
        first, second = await replicas.pair()
        replicas.cluster.add(pod_manifest("p1"))
        await asyncio.sleep(1)
        assert believes(first)["assumed_pods"] == 1
        first.fault_of_lease(Fault("update leases", 500, times=None))
        await replicas.until(lambda: second.leads)
        await first.ended()
        assert believes(first).get("assumed_pods", 0) == 0
        assert replicas.cluster.condition("p1") == {}
        assert replicas.cluster.notes("FailedScheduling") == []

    play(scene, NODE, frameworks=waiting)


def test_fc_106_work_is_finished_before_the_lease_is_given_back_and_the_next_leads_within_retry_period() -> None:
    async def scene(replicas: Replicas) -> None:
        first, second = await replicas.pair()
        first.cluster.bind_takes_s = 5.0
        replicas.cluster.add(card("p1"))
        await replicas.until(lambda: bool(first.cluster.on_the_wire))
        await first.terminate()
        stopped = now()
        assert replicas.cluster.node_of("p1") == "n1"
        assert replicas.holder == ""
        await replicas.until(lambda: second.leads)
        assert now() - stopped <= TERMS.retry_period_s + 0.1
        assert first.error is None

    play(scene, NODE, CARDS)


def test_fc_106_a_lease_is_not_given_back_while_a_bind_has_no_answer() -> None:
    async def scene(replicas: Replicas) -> None:
        first, second = await replicas.pair()
        first.cluster.bind_takes_s = 100.0
        replicas.cluster.add(card("p1"))
        await replicas.until(lambda: bool(first.cluster.on_the_wire))
        await first.terminate()
        assert not first.scheduler.is_settled
        assert replicas.holder == "a"
        await replicas.until(lambda: second.leads)

    play(scene, NODE, CARDS)


SEEDS = 6


def test_in_a_storm_of_kills_lost_leases_and_lost_answers_no_card_is_given_twice() -> None:
    takeovers = 0
    for seed in range(SEEDS):
        rng = Random(seed)

        async def scene(replicas: Replicas, rng: Random = rng) -> None:
            nonlocal takeovers
            for name in "ab":
                replicas.start(name)
            names = [f"half-{number}" for number in range(32)]
            for name in names:
                _trouble(replicas, rng)
                replicas.cluster.add(half(name))
                await asyncio.sleep(rng.uniform(0, 6))
                assert most_on_a_card(replicas) <= 100
                _check_binds(replicas)
            for each in replicas.all:
                each.cluster.faults.clear()
                each.lease.faults.clear()
                each.works = True
            if all(each.died or each.lost for each in replicas.all):
                replicas.start("the last")
            await replicas.until(lambda: all(map(replicas.cluster.node_of, names)), 400)
            assert most_on_a_card(replicas) == 100
            _check_binds(replicas)
            takeovers += sum(each.led_at is not None for each in replicas.all)

        try:
            play(scene, *[node_manifest(f"n{n}") for n in range(2)], *[device_manifest(f"n{n}", 8) for n in range(2)])
        except BaseException:
            print(f"seed {seed}")
            raise
    print(f"\n{SEEDS} storms over 32 half-card pods on 16 cards: {takeovers} takeovers, no card given twice")


def _check_binds(replicas: Replicas) -> None:
    """Each Binding was sent by who led then; terms do not overlap."""
    for each in replicas.all:
        for when, _ in each.bound:
            assert each.led_at is not None and when >= each.led_at
            assert each.lost is None or when <= each.lost[0]


def _trouble(replicas: Replicas, rng: Random) -> None:
    each = rng.choice(replicas.all)
    match rng.randrange(7):
        case 0:
            each.kill()
        case 1:
            each.fault_of_lease(
                Fault("update leases", rng.choice(("lost", "dropped", 409, 500)), times=rng.choice((1, 9, None)))
            )
        case 2:
            each.fault(Fault("bind pods", rng.choice(("lost", "dropped", 500)), rng.uniform(0, 8), rng.choice((1, 4))))
        case 3:
            each.fault(Fault("watch pods", rng.choice(("half-closed", "dropped"))))
        case 4:
            each.fault(Fault("watch pods", delay_s=rng.uniform(0, 10), times=None))
        case 5:
            each.works = not each.works
        case 6:
            each.cluster.faults.clear()
            each.lease.faults.clear()
    for gone in [each for each in replicas.all if each.died or each.lost]:
        if sum(not (each.died or each.lost is not None) for each in replicas.all) < 2:
            replicas.start(f"{gone.name}'")

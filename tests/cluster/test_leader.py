"""Who leads, and until when: one elector, two that want the same Lease, and every way in which a renewal can fail."""

import asyncio
import logging
from collections.abc import Callable
from datetime import timedelta

import pytest

from koordpy.cluster.embedded.faults import Fault
from koordpy.cluster.tenure import FOREVER, LeaseTerms, patience_s
from tests.cluster.election import TERMS, Election, now, play

LEASE_REQUESTS = ("get leases", "update leases", "create leases")


def test_the_first_candidate_makes_the_lease_and_leads_at_once() -> None:
    async def scene(election: Election) -> None:
        first = election.stand("a")
        assert await election.until_led() < 0.1
        spec = election.lease["spec"]
        assert (spec["holderIdentity"], spec["leaseDurationSeconds"], spec["leaseTransitions"]) == ("a", 15, 0)
        assert spec["acquireTime"] == spec["renewTime"] == "2026-01-01T00:00:00.000000Z"
        assert first.elector.tenure.left_s > 14

    play(scene)


def test_it_renews_and_nobody_else_leads_for_an_hour() -> None:
    async def scene(election: Election) -> None:
        first = election.stand("a")
        await election.until_led()
        election.stand("b")
        for _ in range(60):
            await asyncio.sleep(60)
            assert election.leader is first
        spec = election.lease["spec"]
        assert spec["acquireTime"] == "2026-01-01T00:00:00.000000Z"
        assert spec["renewTime"].startswith(("2026-01-01T00:59:5", "2026-01-01T01:00:0"))

    play(scene)


def test_a_part_of_a_second_is_rounded_up_for_others() -> None:
    async def scene(election: Election) -> None:
        election.stand("a")
        await election.until_led()
        assert election.lease["spec"]["leaseDurationSeconds"] == 4

    play(scene, LeaseTerms("koordpy-system", "koordpy-scheduler", 3.5, 2.5, 1.0))


def test_who_has_no_election_leads_for_ever() -> None:
    assert FOREVER.leads
    assert patience_s(FOREVER) is None


def test_a_killed_leader_is_followed_within_lease_duration_and_retry_period() -> None:
    async def scene(election: Election) -> None:
        first = election.stand("a")
        await election.until_led()
        election.stand("b")
        await election.watch(30)
        first.die()
        taken_after_s = await election.until_led()
        assert 0 < taken_after_s <= TERMS.duration_s + TERMS.retry_period_s
        assert election.lease["spec"]["leaseTransitions"] == 1

    spans = play(scene)
    assert [name for _, _, name in spans] == ["a", "b"]


def test_a_successor_of_the_same_process_waits_like_anybody_else() -> None:
    """What its predecessor sent may still be on its way."""

    async def scene(election: Election) -> None:
        election.stand("host_1").works = True
        await election.until_led()
        election.candidates[0].die()
        election.stand("host_2")
        assert await election.until_led() > TERMS.renew_deadline_s

    play(scene)


def test_fc_103_a_leader_whose_loop_stands_still_stops_renewing_and_is_followed() -> None:
    async def scene(election: Election) -> None:
        first = election.stand("a")
        await election.until_led()
        second = election.stand("b")
        await election.watch(20)
        first.works = False
        stopped = now()
        while not second.leads:
            await election.watch(0.1)
        assert now() - stopped <= TERMS.duration_s + TERMS.retry_period_s + 0.2
        ((lost, why),) = first.lost
        assert lost - stopped <= TERMS.renew_deadline_s
        assert why.endswith("was not renewed for 10 s: the scheduler's loop does not move")

    play(scene)


def test_fc_103_a_standby_whose_loop_stands_still_does_not_take_over() -> None:
    async def scene(election: Election) -> None:
        first = election.stand("a")
        await election.until_led()
        election.stand("b").works = False
        third = election.stand("c")
        await election.watch(5)
        first.die()
        await election.watch(30)
        assert election.leader is third

    play(scene)


@pytest.mark.parametrize("minutes", [10, -10], ids=["ten minutes ahead", "ten minutes behind"])
def test_fc_104_the_time_of_day_on_another_machine_makes_no_difference(minutes: int) -> None:
    async def scene(election: Election) -> None:
        first = election.stand("a")
        await election.until_led()
        election.stand("b", ahead=timedelta(minutes=minutes))
        await election.watch(120)
        assert election.leader is first
        first.die()
        assert TERMS.renew_deadline_s < await election.until_led() <= TERMS.duration_s + TERMS.retry_period_s

    spans = play(scene)
    assert [name for _, _, name in spans] == ["a", "b"]


@pytest.mark.parametrize(
    "fault",
    [
        Fault("update leases", 409, times=None),
        Fault("update leases", 429, times=None, retry_after_s=1),
        Fault("update leases", 500, times=None),
        Fault("update leases", "dropped", times=None),
        Fault("update leases", "lost", times=None),
        Fault("update leases", "", delay_s=60, times=None),
    ],
    ids=["409", "429", "500", "the connection breaks", "every answer is lost", "no answer comes"],
)
def test_fc_105_who_cannot_renew_stops_at_renew_deadline_before_anybody_else_leads(fault: Fault) -> None:
    async def scene(election: Election) -> None:
        first = election.stand("a")
        await election.until_led()
        election.stand("b")
        await election.watch(20)
        first.fault(fault)
        failing = now()
        await election.watch(60)
        ((lost, why),) = first.lost
        assert lost - failing <= TERMS.renew_deadline_s
        assert "was not renewed for 10 s" in why

    spans = play(scene)
    assert [name for _, _, name in spans] == ["a", "b"]
    (_, first_ends, _), (second_begins, _, _) = spans
    # Between the two nobody leads: so long is what the first has sent still waited for, and no longer.
    assert second_begins - first_ends >= TERMS.duration_s - TERMS.renew_deadline_s - 0.1


def test_a_renewal_counts_from_when_it_was_sent_and_not_from_its_late_answer() -> None:
    async def scene(election: Election) -> None:
        first = election.stand("a")
        await election.until_led()
        election.stand("b")
        first.cluster.answer_takes_s = 3.0
        await election.watch(30)
        assert election.leader is first
        first.fault(Fault("update leases", "dropped", times=None))
        await election.watch(40)  # which looks at whether one is heard while the other leads

    spans = play(scene)
    assert [name for _, _, name in spans] == ["a", "b"]


def test_one_failed_renewal_of_each_kind_costs_nothing() -> None:
    async def scene(election: Election) -> None:
        first = election.stand("a")
        await election.until_led()
        election.stand("b")
        for answer in (409, 429, 500, "dropped", "lost"):
            first.fault(Fault("update leases", answer))
            await election.watch(15)
            assert election.leader is first
        first.fault(Fault("update leases", delay_s=30))
        await election.watch(30)
        assert election.leader is first
        assert election.lease["spec"]["leaseTransitions"] == 0

    play(scene)


def test_fc_106_a_lease_that_is_given_back_is_taken_within_retry_period() -> None:
    async def scene(election: Election) -> None:
        first = election.stand("a")
        await election.until_led()
        second = election.stand("b")
        await election.watch(10)
        await first.give_back()
        assert not first.leads
        assert election.lease["spec"]["holderIdentity"] == ""
        given_back = now()
        await election.until_led()
        assert second.leads
        assert now() - given_back <= 2.0 + 0.1

    play(scene, LeaseTerms("koordpy-system", "koordpy-scheduler", 60, 40, 2))


def test_fc_106_only_its_holder_gives_a_lease_back() -> None:
    async def scene(election: Election) -> None:
        first = election.stand("a")
        await election.until_led()
        second = election.stand("b")
        await election.watch(10)
        await second.give_back()
        assert election.lease["spec"]["holderIdentity"] == "a"
        assert election.leader is first

    play(scene)


@pytest.mark.parametrize("answer", ["lost", 409, "dropped"])
def test_giving_back_is_tried_and_never_hangs(answer: str) -> None:
    async def scene(election: Election) -> None:
        first = election.stand("a")
        await election.until_led()
        first.fault(Fault("update leases", answer))  # type: ignore[arg-type]
        began = now()
        await first.give_back()
        assert now() - began <= 2.0
        assert not first.leads

    play(scene)


def test_a_lease_whose_acquisition_was_not_answered_is_ours_all_the_same() -> None:
    async def scene(election: Election) -> None:
        first = election.stand("a")
        first.fault(Fault("create leases", "lost"))
        assert await election.until_led() <= TERMS.retry_period_s + 0.1
        assert election.leader is first

    play(scene)


def test_of_two_that_see_it_run_out_at_the_same_moment_one_leads() -> None:
    async def scene(election: Election) -> None:
        first = election.stand("a")
        await election.until_led()
        for name in "bcdef":
            election.stand(name)
        await election.watch(10)
        first.die()
        await election.watch(40)
        assert election.leader is not None
        assert election.lease["spec"]["leaseTransitions"] == 1

    play(scene)


def test_others_go_by_the_duration_that_the_holder_wrote() -> None:
    async def scene(election: Election) -> None:
        slow = LeaseTerms(TERMS.namespace, TERMS.name, 60, 40, 2)
        first = election.stand("a", terms=slow)
        await election.until_led()
        election.stand("b")
        await election.watch(10)
        first.die()
        assert 57 < await election.until_led(70) <= 62

    play(scene)


TAKEN_AWAY: dict[str, Callable[[Election], None]] = {
    "it is deleted": Election.delete,
    "its holder is emptied by hand": Election.empty,
}
by_hand = pytest.mark.parametrize("take_away", TAKEN_AWAY.values(), ids=TAKEN_AWAY)


@by_hand
def test_a_lease_that_is_taken_away_by_hand_stays_its_holders_whenever_that_happens(
    take_away: Callable[[Election], None],
) -> None:
    """The standby looks as often as the holder renews, and sees it first in half of the cases."""

    async def scene(election: Election) -> None:
        first = election.stand("a")
        await election.until_led()
        election.stand("b")
        election.stand("c")
        for _ in range(20):
            await election.watch(5.1)
            take_away(election)
            await election.watch(TERMS.retry_period_s + 0.1)
            assert election.leader is first
            assert election.lease["spec"]["holderIdentity"] == "a"

    play(scene)


@by_hand
@pytest.mark.parametrize("pause_s", [0.1, 1.0, 1.9])
def test_a_lease_that_is_taken_away_from_a_leader_that_hears_nothing_of_it_is_waited_for(
    take_away: Callable[[Election], None], pause_s: float
) -> None:
    async def scene(election: Election) -> None:
        first = election.stand("a")
        await election.until_led()
        second = election.stand("b")
        await election.watch(20 + pause_s)
        for verb in ("get", "update", "create"):
            first.fault(Fault(f"{verb} leases", "dropped", times=None))
        take_away(election)
        began = now()
        await election.watch(9)
        assert election.leader in (first, None)
        while not second.leads:
            await election.watch(0.1)  # which looks at whether the first is still heard
        assert now() - began <= TERMS.duration_s + TERMS.retry_period_s + 0.2

    assert [name for _, _, name in play(scene)] == ["a", "b"]


def test_of_two_standbys_that_wait_for_a_deleted_lease_one_makes_it_anew() -> None:
    async def scene(election: Election) -> None:
        first = election.stand("a")
        await election.until_led()
        for name in "bcd":
            election.stand(name)
        await election.watch(5)
        first.die()
        election.delete()
        assert TERMS.duration_s - 0.1 <= await election.until_led() <= TERMS.duration_s + TERMS.retry_period_s + 0.1

    play(scene)


def test_an_emptied_lease_is_waited_for_by_who_comes_after_it_too() -> None:
    async def scene(election: Election) -> None:
        first = election.stand("a")
        await election.until_led()
        await election.watch(5)
        first.fault(Fault("update leases", "dropped", times=None))
        election.empty()
        election.stand("b")
        await election.watch(9)
        assert election.leader in (first, None)
        await election.until_led()

    assert [name for _, _, name in play(scene)] == ["a", "b"]


def test_a_lease_that_nobody_ever_held_is_taken_at_once() -> None:
    async def scene(election: Election) -> None:
        election.make({})
        first = election.stand("a")
        assert await election.until_led() < 0.1
        assert first.leads

    play(scene)


def test_a_lease_that_is_handed_to_a_standby_by_hand_is_its_own_only_when_the_holders_time_is_over() -> None:
    async def scene(election: Election) -> None:
        first = election.stand("a")
        await election.until_led()
        second = election.stand("b")
        await election.watch(5)
        first.fault(Fault("update leases", "dropped", times=None))
        election.edit({"spec": {"holderIdentity": "b"}})
        await election.watch(8)
        assert not second.leads
        await election.watch(10)
        assert second.leads

    play(scene)


def test_a_lease_that_somebody_labels_or_hands_on_is_looked_at_again() -> None:
    async def scene(election: Election) -> None:
        first = election.stand("a")
        await election.until_led()
        election.edit({"metadata": {"labels": {"team": "gpu"}}})
        await election.watch(5)
        assert election.leader is first
        assert election.lease["metadata"]["labels"] == {"team": "gpu"}
        election.edit({"spec": {"holderIdentity": "an administrator's choice"}})
        await election.watch(5)
        assert election.leader is None
        ((_, why),) = first.lost
        assert why == "the lease koordpy-system/koordpy-scheduler is an administrator's choice's now"

    play(scene)


def test_what_keeps_it_from_the_lease_is_told_and_it_goes_on_trying(caplog: pytest.LogCaptureFixture) -> None:
    async def scene(election: Election) -> None:
        first = election.stand("a")
        first.fault(Fault("get leases", 403, times=10))
        await election.watch(5)
        assert "403" in first.elector.tenure.problem
        assert not first.elector.tenure.was_seen
        await election.until_led()
        assert first.elector.tenure.problem == ""

    play(scene)
    assert len(told(caplog, "lease cannot be had")) == 1, "the same complaint is made again only after half a minute"


def test_the_event_on_the_lease_says_who_leads() -> None:
    async def scene(election: Election) -> None:
        first = election.stand("a")
        await election.until_led()
        await election.watch(1)
        from koordpy.cluster.kinds import EVENT

        (event,) = [each.document for each in first.cluster.store.list(EVENT).items]
        assert (event["reason"], event["note"]) == ("LeaderElection", "a became leader")
        assert event["regarding"]["name"] == "koordpy-scheduler"

    play(scene)


def told(caplog: pytest.LogCaptureFixture, words: str) -> list[dict[str, object]]:
    """The fields of every record of these words."""
    return [record.fields for record in caplog.records if record.getMessage() == words]  # type: ignore[attr-defined]


def test_a_standby_tells_once_who_leads_and_again_when_that_changes(caplog: pytest.LogCaptureFixture) -> None:
    async def scene(election: Election) -> None:
        first = election.stand("a")
        await election.until_led()
        second = election.stand("b")
        await election.watch(20)
        third = election.stand("c")
        await election.watch(20)
        first.die()
        await election.until_led()
        await election.watch(5)
        (third if second.leads else second).die()

    with caplog.at_level(logging.INFO, "koordpy.leader"):
        play(scene)
    first, second, third = [each["leader"] for each in told(caplog, "standing by")]
    assert (first, second) == ("a", "a")
    assert third in ("b", "c")


def test_a_standby_tells_that_a_lease_is_gone_and_how_long_it_waits(caplog: pytest.LogCaptureFixture) -> None:
    async def scene(election: Election) -> None:
        first = election.stand("a")
        await election.until_led()
        election.stand("b")
        await election.watch(5)
        first.die()
        election.delete()
        await election.until_led()

    with caplog.at_level(logging.INFO, "koordpy.leader"):
        play(scene)
    _, gone = told(caplog, "standing by")
    assert gone["seconds"] == 15.0
    assert "the lease is gone, or nobody's, and was not given back" in str(gone["why"])


def test_who_never_had_the_lease_has_nothing_to_give_back_and_says_nothing(caplog: pytest.LogCaptureFixture) -> None:
    async def scene(election: Election) -> None:
        election.stand("a")
        await election.until_led()
        second, unheard = election.stand("b"), election.stand("c")
        for verb in ("get", "update", "create"):
            unheard.fault(Fault(f"{verb} leases", delay_s=60, times=None))
        await election.watch(10)
        second.fault(Fault("get leases", delay_s=60, times=None))
        began = now()
        await second.give_back()
        await unheard.give_back()
        assert now() == began

    play(scene)
    assert told(caplog, "lease left to run out") == []


def test_it_is_told_why_the_first_renewal_failed_and_not_that_the_last_one_was_cut_short(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def scene(election: Election) -> None:
        first = election.stand("a")
        await election.until_led()
        for verb in ("get", "update"):
            first.fault(Fault(f"{verb} leases", delay_s=60, times=None))
        await election.watch(12)
        ((_, why),) = first.lost
        assert why.endswith("was not renewed for 10 s: no answer within 3.3 s")

    play(scene)
    assert [each["why"] for each in told(caplog, "lease cannot be renewed")] == ["no answer within 3.3 s"]

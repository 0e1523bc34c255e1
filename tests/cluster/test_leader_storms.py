"""Three candidates, and everything goes wrong at random: never do two lead, nor is one heard while another leads."""

from random import Random
from typing import Final

import pytest

from koordpy.cluster.embedded.faults import Answer, Fault
from koordpy.cluster.tenure import LeaseTerms
from tests.cluster.election import TERMS, Election, play

SEEDS: Final = 8
TROUBLES: Final = 40
ANSWERS: Final[tuple[Answer, ...]] = ("lost", "dropped", 409, 429, 500, "")
SHORT: Final = LeaseTerms(TERMS.namespace, TERMS.name, 4.0, 3.0, 1.0)


@pytest.mark.parametrize("terms", [TERMS, SHORT], ids=["15 s, 10 s, 2 s", "4 s, 3 s, 1 s"])
def test_in_a_storm_two_never_lead_and_after_it_one_does(terms: LeaseTerms) -> None:
    terms_led = 0
    for seed in range(SEEDS):
        rng = Random(seed)

        async def scene(election: Election, rng: Random = rng) -> None:
            for name in "abc":
                election.stand(name)
            for _ in range(TROUBLES):
                _trouble(election, rng)
                await election.watch(rng.uniform(0, terms.duration_s / 2))
            for each in election.candidates:
                each.cluster.faults.clear()
                each.cluster.answer_takes_s = 0.0
                each.works = True
            if all(each.died or each.lost for each in election.candidates):
                await election.watch(terms.duration_s)
                election.stand("the last")
            await election.until_led(terms.duration_s + terms.retry_period_s + 1)
            await election.watch(terms.duration_s)
            assert election.leader is not None

        try:
            terms_led += len(play(scene, terms, seed))
        except BaseException:
            print(f"seed {seed}")
            raise
    print(f"\n{SEEDS} storms of {TROUBLES} troubles, lease {terms.duration_s:g} s: {terms_led} terms, no two at once")


def _trouble(election: Election, rng: Random) -> None:
    """One thing more goes wrong with one of them, or it recovers."""
    each = rng.choice([candidate for candidate in election.candidates if not candidate.died])
    match rng.randrange(11):
        case 0 | 1 | 2:
            verb, answer = rng.choice(("get", "update", "create")), rng.choice(ANSWERS)
            delay_s = rng.choice((0.0, 0.5, 5.0, 30.0))
            each.fault(Fault(f"{verb} leases", answer, delay_s, rng.choice((1, 3, None))))
        case 3:
            each.cluster.faults.clear()
        case 4:
            each.works = not each.works
        case 5 if election.is_there:  # killed, and started again as another
            each.die()
            election.stand(f"{each.name}'")
        case 6:  # it lost the lease, ended and came back
            if each.lost and election.is_there:
                each.die()
                election.stand(f"{each.name}'")
        case 7:
            each.cluster.answer_takes_s = rng.choice((0.0, 0.3, 0.9, 3.0))
        case 8:
            if election.is_there and election.leader is not None and rng.random() < 0.3:
                election.edit({"metadata": {"labels": {"edited": str(rng.random())}}})
        case 9 if election.is_there:
            election.empty()
        case 10:
            # Who never saw that somebody has it cannot know of a leader once it is gone.
            alive = [candidate for candidate in election.candidates if not candidate.died]
            holder = election.lease["spec"]["holderIdentity"] if election.is_there else ""
            if holder and all(candidate.elector.tenure.holder == holder for candidate in alive):
                election.delete()

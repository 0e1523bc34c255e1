"""Tenure: whether we lead, and how long what we send may still be answered. The line between elector and scheduler."""

import math
from dataclasses import dataclass
from typing import Final, Protocol

from koordpy.clock import Clock

# Of the time between renewDeadline and leaseDuration, what is kept free at its end: a request that is given up has to
# die at the other end too, and no two clocks run equally fast.
MARGIN: Final = 0.1


@dataclass(frozen=True, slots=True)
class LeaseTerms:
    """Which Lease, and its three durations; duration_s > renew_deadline_s > 1.2 * retry_period_s."""

    namespace: str
    name: str
    duration_s: float
    renew_deadline_s: float
    retry_period_s: float

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


class Term(Protocol):
    """What whoever writes to the cluster asks before it does."""

    @property
    def leads(self) -> bool:
        """May something new be begun?"""
        ...

    @property
    def left_s(self) -> float:
        """So long from now another may not lead yet; what we send must be answered, or given up, within it."""
        ...


def patience_s(term: Term) -> float | None:
    """How long a request that is sent now may take; None without a limit."""
    left_s = term.left_s
    return None if left_s == math.inf else max(left_s, 0.0)


class Forever:
    """Without an election: whoever runs leads."""

    @property
    def leads(self) -> bool:
        return True

    @property
    def left_s(self) -> float:
        return math.inf


FOREVER: Final[Term] = Forever()


class Tenure:
    """A term of renewals. The elector's thread writes it, any thread reads it; both limits are swapped as one.

    Both count from when an accepted renewal was *sent*: others saw the change later, and take over no sooner than
    leaseDuration after that.

    holder: whose the Lease is, as last seen. problem: why it cannot be had or kept, empty if nothing is wrong.
    """

    def __init__(self, clock: Clock, terms: LeaseTerms) -> None:
        self.holder = ""
        self.problem = ""
        self.was_seen = False
        self._clock = clock
        self._act_s = terms.renew_deadline_s
        self._answer_s = terms.duration_s - MARGIN * (terms.duration_s - terms.renew_deadline_s)
        self._limits = (-math.inf, -math.inf)

    def renewed(self, sent_s: float) -> None:
        self._limits = (sent_s + self._act_s, sent_s + self._answer_s)

    def end(self) -> None:
        """Given back, or another has it. May be called twice."""
        self._limits = (-math.inf, -math.inf)

    @property
    def leads(self) -> bool:
        return self._clock.monotonic() < self._limits[0]

    @property
    def acts_for_s(self) -> float:
        """How long we lead from now on without another renewal; negative if we do not."""
        return self._limits[0] - self._clock.monotonic()

    @property
    def left_s(self) -> float:
        return self._limits[1] - self._clock.monotonic()

"""Who waits how long before the next attempt. Source: pkg/scheduler/backend/queue (backoff_queue.go)."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Backoff:
    """initial_s doubled for each failure, up to max_s: 1, 2, 4, 8, 10, 10 …"""

    initial_s: int = 1
    max_s: int = 10

    def seconds(self, failures: int) -> int:
        """How long to wait after so many failures."""
        if failures <= 0:
            return 0
        exponent = min(failures - 1, 62)  # beyond, the shift would only make a useless large number
        return min(self.initial_s << exponent, self.max_s)

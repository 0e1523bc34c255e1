"""Objects that could not be read in full: counted each time, logged once per object and place."""

import logging
from collections import OrderedDict
from typing import Final

from koordpy.telemetry.metrics import Metrics
from koordpy_api import Problem

logger = logging.getLogger("koordpy.problems")

# A cluster that is wrong in more places than this is logged again for the oldest of them.
_REMEMBERED: Final = 10_000


class ProblemLog:
    """Never raises; called from watch handlers and plugins."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._seen: OrderedDict[tuple[str, str, str], None] = OrderedDict()
        self.count = 0

    def report(self, kind: str, name: str, problem: Problem) -> None:
        self.count += 1
        self._metrics.unreadable_objects.labels(kind).inc()
        place = (kind, name, problem.path)
        if place in self._seen:
            return
        self._seen[place] = None
        if len(self._seen) > _REMEMBERED:
            self._seen.popitem(last=False)
        logger.warning("%s %s: %s", kind, name, problem)

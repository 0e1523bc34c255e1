"""Objects that could not be read in full: counted each time, logged once per object, place and value."""

import logging
from collections import OrderedDict
from typing import Final

from koordpy.telemetry.metrics import Metrics
from koordpy_api import Problem
from koordpy_api.objects import KubeObject

logger = logging.getLogger("koordpy.problems")

# A cluster with more wrong objects than this is logged again for the oldest of them; so is an object with more wrong
# places, or with one whose value never stays the same.
_REMEMBERED: Final = 10_000
_REMEMBERED_OF_ONE: Final = 50


class ProblemLog:
    """Never raises; called from watch handlers and plugins. Told of deletions, as an ObjectHandler of any kind."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._seen: OrderedDict[tuple[str, str], OrderedDict[tuple[str, str], None]] = OrderedDict()
        self.count = 0

    def report(self, kind: str, name: str, problem: Problem) -> None:
        self.count += 1
        self._metrics.unreadable_objects.labels(kind).inc()
        seen = self._seen.setdefault((kind, name), OrderedDict())
        if (problem.path, problem.value) in seen:
            return
        seen[problem.path, problem.value] = None
        if len(seen) > _REMEMBERED_OF_ONE:
            seen.popitem(last=False)
        if len(self._seen) > _REMEMBERED:
            self._seen.popitem(last=False)
        logger.warning("%s %s: %s", kind, name, problem)

    def added(self, obj: KubeObject) -> None:
        """What is wrong with it is reported by whoever reads it."""

    def updated(self, old: KubeObject, new: KubeObject) -> None:
        """The same."""

    def deleted(self, obj: KubeObject) -> None:
        """Another object under its name may be wrong in the same way."""
        self._seen.pop((obj.KIND.name, obj.key), None)

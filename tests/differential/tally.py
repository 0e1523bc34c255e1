"""What was compared, plugin by plugin, and what was found."""

from collections import Counter
from collections.abc import Sequence

from tests.differential.comparing import EVERYBODY, Difference
from tests.differential.oracle import Answer


class Tally:
    """Counts of one run. Raw scores count where there are several nodes and not all have the same."""

    def __init__(self) -> None:
        self.cases = 0
        self.placed = 0
        self.chosen_from_several = 0
        self.settled: Counter[str] = Counter()
        self.refusals: Counter[str] = Counter()
        self.scores: Counter[str] = Counter()
        self.telling: Counter[str] = Counter()
        self.skipped: Counter[str] = Counter()
        self.found: Counter[tuple[str, str]] = Counter()
        self.meant: Counter[str] = Counter()

    def add(self, upstream: Answer) -> None:
        """A case, as upstream answers it."""
        self.cases += 1
        self.placed += bool(upstream["chosen"])
        self.chosen_from_several += len(upstream["totals"]) > 1
        if upstream["prefilter"]["plugin"]:
            self.settled[upstream["prefilter"]["plugin"]] += 1
        self.refusals.update(refusal["plugin"] for refusal in upstream["refused"].values())
        for plugin, of in upstream["everyNode"].items():
            if of["skipped"]:
                self.skipped[plugin] += 1
            else:
                self.scores[plugin] += len(of["raw"])
                self.telling[plugin] += len({*of["raw"].values()}) > 1

    def differ(self, found: Sequence[Difference], rule: str | None) -> None:
        """One case differs; rule: what names it."""
        if rule is not None:
            self.meant[rule] += 1
        else:
            self.found.update({each.sort for each in found})

    def lines(self, plugins: Sequence[str]) -> list[str]:
        wrong = Counter[str]()
        for (_, plugin), number in self.found.items():
            wrong[plugin] += number
        head = f"{'':<33}{'refused':>9}{'no Pod':>8}{'scores':>9}{'telling':>9}{'skipped':>9}{'different':>11}"
        rows = [
            f"{plugin:<33}{self.refusals[plugin]:>9}{self.settled[plugin]:>8}{self.scores[plugin]:>9}"
            f"{self.telling[plugin]:>9}{self.skipped[plugin]:>9}{wrong[plugin]:>11}"
            for plugin in plugins
        ]
        rest = f"{'the Pod as a whole':<33}{'':>44}{wrong[EVERYBODY]:>11}"
        kinds = [f"different: {number} cases in {what} ({plugin})" for (what, plugin), number in self.found.items()]
        meant = [f"different on purpose: {number} cases by the rule {rule!r}" for rule, number in self.meant.items()]
        placed = (
            f"{self.cases} cases, {self.placed} of them with a node for the Pod, "
            f"{self.chosen_from_several} with several"
        )
        return [head, *rows, rest, placed, *meant, *(kinds or ["nothing differs that no rule names"])]

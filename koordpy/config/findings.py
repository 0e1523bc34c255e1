"""What was found while a configuration was read: mistakes, and what only needs saying."""

from dataclasses import dataclass, field

from koordpy.config.document import Document
from koordpy.errors import ConfigError
from koordpy_api import Problem


@dataclass(frozen=True, slots=True)
class Findings:
    """Collected on the way, so that all mistakes are told at once."""

    mistakes: list[Problem] = field(default_factory=list)
    remarks: list[Problem] = field(default_factory=list)

    def wrong(self, path: str, value: str, right: str) -> None:
        self.mistakes.append(Problem(path, value, right))

    def say(self, path: str, value: str, what: str) -> None:
        self.remarks.append(Problem(path, value, what))

    def raise_mistakes(self, written: Document) -> None:
        """Raises: ConfigError with all of them, if there are any."""
        if self.mistakes:
            raise ConfigError(written.source, self.mistakes, written.lines)

    def warnings(self, written: Document) -> list[str]:
        """The remarks, each with its file and line."""
        return [f"{written.place_of(remark)}: {remark}" for remark in self.remarks]

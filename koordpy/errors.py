"""Every error that koordpy raises on purpose.

KoordpyError
├── ConfigError     a file, flag or variable is wrong: says where, what stands there, what would be right
├── PluginError     a plugin cannot be used: says which, from which distribution, and the way out
└── ClusterError    the API server did not do what was asked
    ├── Unreachable   no answer: the request may or may not have been carried out
    └── ApiError      an answer, with its HTTP status
        ├── NotFound        404
        ├── Conflict        409
        ├── Expired         410: the resourceVersion is too old, list again
        └── TooManyRequests 429: come back after retry_after_s
"""

import asyncio
from collections.abc import Mapping
from typing import Final

from koordpy_api import Problem

# Two of them are no Exception: where nothing awaits, a cancellation can only have been raised by the plugin itself.
PLUGIN_FAULTS: Final = (Exception, SystemExit, GeneratorExit, asyncio.CancelledError)
"""What a plugin's code may raise and is blamed for; the host goes on."""


class KoordpyError(Exception):
    """Base of all errors that koordpy raises on purpose; its text is meant for people."""


class ConfigError(KoordpyError):
    """What a person configured is wrong. One error carries every mistake that was found."""

    def __init__(self, source: str, problems: list[Problem], lines: Mapping[str, int] | None = None) -> None:
        """lines: path → line in the source, where that is known; the text is in their order."""
        known = lines or {}
        told = sorted(problems, key=lambda problem: _line(problem, known))
        super().__init__("\n".join(f"{_place(source, _line(each, known))}: {each}" for each in told))
        self.source = source
        self.problems = problems
        self._lines = known

    def line_of(self, problem: Problem) -> int:
        """0 if it is not known."""
        return _line(problem, self._lines)


class PluginError(KoordpyError):
    """A plugin cannot be used."""


class ClusterError(KoordpyError):
    """The API server did not do what was asked."""


class Unreachable(ClusterError):
    """No answer came: the request may or may not have been carried out."""


class ApiError(ClusterError):
    """The API server answered with an error. `reason` is the Status object's, `message` its sentence."""

    def __init__(self, status: int, reason: str, message: str, retry_after_s: float | None = None) -> None:
        super().__init__(f"{status} {reason}: {message}")
        self.status = status
        self.reason = reason
        self.message = message
        self.retry_after_s = retry_after_s


class NotFound(ApiError):
    """404."""


class Conflict(ApiError):
    """409: already bound, another UID, another resourceVersion, or already there."""


class Expired(ApiError):
    """410: the resourceVersion is too old; list again."""


class TooManyRequests(ApiError):
    """429: come back later."""


def _line(problem: Problem, lines: Mapping[str, int]) -> int:
    """The line of the problem, or of the nearest part of its path that stands in the file; 0 if none does."""
    path = problem.path
    while path and path not in lines:
        path = path[: max(path.rfind("."), path.rfind("["), 0)]
    return lines.get(path, 0)


def _place(source: str, line: int) -> str:
    return f"{source}:{line}" if line else source

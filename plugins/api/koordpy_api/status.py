"""Status: what a plugin answers when it does not simply agree."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from types import MappingProxyType
from typing import Final

NO_DETAILS: Final[Mapping[str, int | str]] = MappingProxyType({})


class Code(IntEnum):
    """Source: kube-scheduler's framework.Code, same numbers."""

    SUCCESS = 0
    ERROR = 1
    UNSCHEDULABLE = 2
    UNSCHEDULABLE_AND_UNRESOLVABLE = 3
    WAIT = 4
    SKIP = 5
    PENDING = 6


@dataclass(frozen=True, slots=True)
class Status:
    """An answer with its reasons. None means success wherever a Status may be returned.

    reasons: texts for people, upstream's where upstream has one; they are counted over nodes.
    details: the same as data (asked, free, capacity, holder), for explain and tests.
    plugin: who said it; others: who else, if several said it together. Filled in by the host.
    """

    code: Code
    reasons: tuple[str, ...] = ()
    details: Mapping[str, int | str] = field(default_factory=lambda: NO_DETAILS)
    plugin: str = ""
    others: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        """Raises: TypeError in the plugin that answers so, before anybody has to word the refusal."""
        if not isinstance(self.code, Code):
            raise TypeError(f"code is a koordpy_api.Code, not {self.code!r}")
        if self.reasons == ():
            return
        if not isinstance(self.reasons, tuple) or not all(isinstance(reason, str) for reason in self.reasons):
            raise TypeError(f"reasons are texts, one argument each, not {self.reasons!r}")

    @classmethod
    def unschedulable(cls, *why: str, details: Mapping[str, int | str] = NO_DETAILS) -> "Status":
        """Not now: other pods leaving this node could help."""
        return cls(Code.UNSCHEDULABLE, why, details)

    @classmethod
    def unresolvable(cls, *why: str, details: Mapping[str, int | str] = NO_DETAILS) -> "Status":
        """Not here: no pod that leaves this node could help."""
        return cls(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, why, details)

    @classmethod
    def error(cls, *why: str, details: Mapping[str, int | str] = NO_DETAILS) -> "Status":
        """Something is broken; the attempt ends and is tried again later."""
        return cls(Code.ERROR, why, details)

    @classmethod
    def skip(cls) -> "Status":
        """This plugin has nothing to do for this pod."""
        return SKIP

    @property
    def is_rejected(self) -> bool:
        """A refusal, as opposed to a breakage. Source: Status.IsRejected."""
        return self.code in (Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, Code.PENDING)

    @property
    def message(self) -> str:
        return ", ".join(map(str, self.reasons))  # a plugin may have put a number there

    def by(self, plugin: str) -> "Status":
        """The same answer, attributed."""
        return Status(self.code, self.reasons, self.details, plugin, self.others)


SKIP: Final = Status(Code.SKIP)

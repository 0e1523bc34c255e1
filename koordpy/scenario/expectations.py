"""What may be expected after a step or at the end; comparison.py says whether it came true."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, model_validator

from koordpy.scenario.manifests import Reference
from koordpy.scenario.parts import Count, Part, Seconds, Texts, Wording, listed


class Bound(Part):
    """On which node, and with which GPUs."""

    node: str
    minors: tuple[int, ...] | None = None

    @model_validator(mode="before")
    @classmethod
    def _bare(cls, value: object) -> object:
        if isinstance(value, Mapping) and isinstance(value.get("minors"), list):
            return {**value, "minors": tuple(value["minors"])}
        return {"node": value} if isinstance(value, str) else value


class Pending(Wording):
    """On no node; `reason` and wording are those of the condition PodScheduled=False."""

    reason: str = "Unschedulable"

    @model_validator(mode="before")
    @classmethod
    def _bare(cls, value: object) -> object:
        return {"reason": value} if isinstance(value, str) else value


class Condition(Wording):
    """One condition of a Pod."""

    type: str
    status: str
    reason: str | None = None


class Event(Wording):
    """An Event about a Pod. `times` counts those that match."""

    pod: str
    reason: str
    type: str | None = None
    times: Count = Count(at_least=1)


class LogLine(Part):
    """A line of koordpy's log that contains all of this. `times` counts such lines."""

    contains: Texts
    times: Count = Count(at_least=1)

    @model_validator(mode="before")
    @classmethod
    def _bare(cls, value: object) -> object:
        return {"contains": value} if isinstance(value, str) else value


def _minor(key: object) -> object:
    """YAML's keys are texts."""
    return int(key) if isinstance(key, str) and key.isdigit() else key


class Amounts(Part):
    """What bound Pods hold of one card, counted from their annotations: percent, percent, bytes as a quantity."""

    core: int | None = None
    ratio: int | None = None
    memory: str | None = None


Minor = Annotated[int, BeforeValidator(_minor)]
Events = Annotated[tuple[Event, ...], BeforeValidator(listed)]
LogLines = Annotated[tuple[LogLine, ...], BeforeValidator(listed)]
Conditions = Annotated[tuple[Condition, ...], BeforeValidator(listed)]


class Expect(Part):
    """All of it must hold at one moment within `within`, and still hold a second later."""

    within: Seconds = 10.0
    bound: dict[str, Bound] = {}
    pending: dict[str, Pending] = {}
    gone: Texts = ()
    books: dict[str, dict[Minor, Amounts]] = {}
    objects: dict[Reference, dict[str, Any]] = {}
    conditions: dict[str, Conditions] = {}
    events: Events = ()
    requests: dict[str, Count] = {}
    hooks: dict[str, Texts] = {}
    calls: dict[str, Count] = {}
    log: LogLines = ()
    metrics: dict[str, Count] = {}
    exit_code: int | None = None
    output: Texts = ()
    not_in_output: Texts = ()

    @model_validator(mode="after")
    def _something(self) -> "Expect":
        if not self.model_fields_set - {"within"}:
            raise ValueError("nothing is expected")
        return self

"""Plugins that answer what a scenario wrote down, and note that they were asked."""

import builtins
import inspect
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, model_validator
from pydantic.alias_generators import to_camel

from koordpy.framework.declaration import spec_of
from koordpy.framework.points import ALL_HOOKS, REGISTRATION_HOOK
from koordpy.scenario.parts import Part, Seconds, keys_of, names_of
from koordpy_api import (
    ActionType,
    Binding,
    ClusterEvent,
    Code,
    CycleState,
    EventRegistration,
    Handle,
    NoArgs,
    PodPatch,
    PostFilterResult,
    PreBindPlan,
    PreFilterResult,
    QueueingHint,
    Status,
    Wait,
    hookimpl,
)
from koordpy_api.events import HintFunction
from koordpy_api.objects import KubeObject, Pod

HOOKS: Final[Mapping[str, str]] = {to_camel(hook): hook for hook in ALL_HOOKS}
"""As a scenario writes it → the hook."""

ACTIONS: Final[Mapping[str, ActionType]] = {
    (action.name or "").replace("_", " ").title().replace(" ", ""): action
    for action in (*ActionType, ActionType.UPDATE, ActionType.ALL)
}
"""As a scenario writes it → what happens to an object."""


class Answer(Part):
    """One answer of one hook or hint; exactly one key. `ok`, `skip` and `queue` may stand alone; so may a number."""

    ok: bool = False
    skip: bool = False
    queue: bool = False
    unschedulable: str = ""
    unresolvable: str = ""
    pending: str = ""
    error: str = ""
    raises: str = ""
    nodes: tuple[str, ...] = ()
    nominate: str = ""
    wait: Seconds = 0.0
    annotations: dict[str, str] = {}
    value: Any = None
    by_node: dict[str, "Answer"] = {}
    by_pod: dict[str, "Answer"] = {}
    in_turn: tuple["Answer", ...] = ()
    events: dict[str, "Answer"] = {}

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: object) -> object:
        if value in ("ok", "skip", "queue"):
            return {value: True}
        if isinstance(value, int):
            return {"value": value}
        if isinstance(value, Mapping):
            lists = {
                key: tuple(each) for key, each in value.items() if key in ("nodes", "inTurn") and isinstance(each, list)
            }
            return {**value, **lists}
        raise ValueError(f"{value!r} is no answer; write ok, skip, a number, or one of {', '.join(names_of(cls))}")

    @model_validator(mode="after")
    def _one(self) -> "Answer":
        if len(keys_of(self)) != 1:
            raise ValueError(f"one answer has one key, here are {', '.join(keys_of(self)) or 'none'}")
        if self.raises and not _is_exception(self.raises):
            raise ValueError(f"{self.raises} is no exception of Python's own")
        for event in self.events:
            _event(event)
        return self


def _hooks(value: object) -> object:
    unknown = sorted(set(value) - set(HOOKS)) if isinstance(value, Mapping) else []
    if unknown:
        raise ValueError(f"{', '.join(map(str, unknown))}: no such hook; there are {', '.join(HOOKS)}")
    if isinstance(value, Mapping) and (events := value.get(_EVENTS)) is not None:
        return {**value, _EVENTS: {"events": events}}
    return value


_EVENTS: Final = to_camel(REGISTRATION_HOOK)
Hooks = Annotated[dict[str, Answer], BeforeValidator(_hooks)]


@dataclass(frozen=True, slots=True)
class Call:
    """A stand-in was asked. attempt: of the Pod, from 1; 0 for hooks outside an attempt."""

    plugin: str
    hook: str
    pod: str
    attempt: int

    def __str__(self) -> str:
        return f"{self.plugin}.{self.hook}"


@dataclass
class CallBook:
    """What the stand-ins of one scenario were asked, and the Handles that they were given."""

    calls: list[Call] = field(default_factory=list)
    handles: dict[str, Handle] = field(default_factory=dict)
    _attempts: dict[str, list[CycleState]] = field(default_factory=dict)

    def note(self, plugin: str, hook: str, given: Mapping[str, Any]) -> int:
        """Returns how often this was asked before."""
        pod: Any = given.get("pod") or given.get("new")
        state = given.get("state")
        name = pod.metadata.name if isinstance(pod, KubeObject) else getattr(pod, "name", "")
        attempt = self._attempt(name, state) if isinstance(state, CycleState) else 0
        call = Call(plugin, hook, name, attempt)
        before = sum((each.plugin, each.hook, each.pod) == (plugin, hook, name) for each in self.calls)
        self.calls.append(call)
        return before

    def first_attempt(self, pod: str) -> list[str]:
        """In order, the calls of the first attempt to place this Pod."""
        return [str(call) for call in self.calls if call.pod == pod and call.attempt == 1]

    def counts(self) -> Counter[str]:
        return Counter(map(str, self.calls))

    def _attempt(self, pod: str, state: CycleState) -> int:
        known = self._attempts.setdefault(pod, [])
        if not any(each is state for each in known):
            known.append(state)
        return next(number for number, each in enumerate(known, 1) if each is state)


def stand_in(name: str, hooks: Mapping[str, Answer], book: CallBook) -> type:
    """A plugin class of these hooks."""

    def construct(self: object, args: NoArgs, handle: Handle) -> None:
        book.handles[name] = handle

    members: dict[str, Any] = {"__init__": construct, "Args": NoArgs}
    for written, answer in hooks.items():
        hook = _registrations(name, answer, book) if written == _EVENTS else _hook(name, written, answer, book)
        members[HOOKS[written]] = staticmethod(hook)
    return type(name, (), members)


def _hook(plugin: str, written: str, answer: Answer, book: CallBook) -> Callable[..., Any]:
    hook = HOOKS[written]
    spec = spec_of(hook)
    names = tuple(inspect.signature(spec).parameters)

    def asked(*args: Any) -> Any:
        given = dict(zip(names, args, strict=True))
        turn = book.note(plugin, written, given)
        return _say(_choose(answer, given, turn), hook, given)

    asked.__name__ = hook
    asked.__wrapped__ = spec  # type: ignore[attr-defined]  # where pluggy reads the arguments' names
    return hookimpl(asked)


def _registrations(plugin: str, answer: Answer, book: CallBook) -> Callable[..., Any]:
    made = [EventRegistration(_event(event), _hint(plugin, hint, book)) for event, hint in answer.events.items()]

    def events_to_register() -> list[EventRegistration]:
        return made

    return hookimpl(events_to_register)


def _hint(plugin: str, answer: Answer, book: CallBook) -> HintFunction:
    def hint(pod: Pod, old: KubeObject | None, new: KubeObject | None) -> QueueingHint:
        turn = book.note(plugin, "hint", {"pod": pod})
        chosen = _choose(answer, {"pod": pod}, turn)
        return QueueingHint.when(chosen.queue) if not chosen.raises else _say(chosen, "hint", {})

    return hint


def _event(text: str) -> ClusterEvent:
    """Node/Add, or Node/Add|UpdateNodeTaint."""
    resource, _, actions = text.rpartition("/")
    unknown = [each for each in actions.split("|") if each not in ACTIONS]
    if not resource or unknown:
        raise ValueError(f"{text!r} is no event; write KIND/ACTION with actions of {', '.join(ACTIONS)}")
    action = ActionType(0)
    for each in actions.split("|"):
        action |= ACTIONS[each]
    return ClusterEvent(resource, action)


def _choose(answer: Answer, given: Mapping[str, Any], turn: int) -> Answer:
    """The answer for this node, this Pod, this time; what is not mentioned is agreed to."""
    if answer.by_pod:
        return _choose(answer.by_pod.get(given["pod"].metadata.name, Answer(ok=True)), given, turn)
    if answer.by_node:
        return _choose(answer.by_node.get(_node_of(given), Answer(ok=True)), given, turn)
    if answer.in_turn:
        return _choose(answer.in_turn[min(turn, len(answer.in_turn) - 1)], given, turn)
    return answer


def _node_of(given: Mapping[str, Any]) -> str:
    return str(given["node_name"] if "node_name" in given else given["node_info"].name)


def _say(answer: Answer, hook: str, given: Mapping[str, Any]) -> Any:
    match keys_of(answer)[0]:
        case "ok":
            return _agreed(hook, given)
        case "skip":
            return None if hook == "bind" else Status.skip()
        case "unschedulable" | "unresolvable" | "error" as key:
            return getattr(Status, key)(getattr(answer, key))
        case "pending":
            return Status(Code.PENDING, (answer.pending,))
        case "raises":
            raise getattr(builtins, answer.raises)("on purpose")
        case "nodes":
            return PreFilterResult(frozenset(answer.nodes))
        case "annotations":
            return PreBindPlan(PodPatch(answer.annotations))
        case "wait":
            return Wait(answer.wait)
        case "nominate":
            return PostFilterResult(answer.nominate)
        case _:
            return answer.value


def _agreed(hook: str, given: Mapping[str, Any]) -> Any:
    if hook == "bind":
        return Binding(given["node_name"])
    if hook == "queue_sort":
        return (given["queued"].queued_at,)
    return 0 if hook == "score" else None


def _is_exception(name: str) -> bool:
    kind = getattr(builtins, name, None)
    return isinstance(kind, type) and issubclass(kind, BaseException)

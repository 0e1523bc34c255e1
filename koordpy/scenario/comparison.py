"""What was expected and what was seen, compared. Nothing here acts or waits; the runner looks again and again."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from koordpy.scenario.expectations import Expect
from koordpy.scenario.observed import Book, Observed, condition
from koordpy.scenario.parts import missing
from koordpy_api.quantity import value_of


def mismatches(expect: Expect, seen: Observed) -> list[str]:
    """What is not as expected, a sentence each."""
    return [sentence for name in CHECKS if name in expect.model_fields_set for sentence in CHECKS[name](expect, seen)]


def _bound(expect: Expect, seen: Observed) -> Iterator[str]:
    for name, wanted in expect.bound.items():
        pod = seen.pod(name)
        node = pod.get("spec", {}).get("nodeName", "")
        if node != wanted.node:
            yield f"pod {name} is bound to {node or 'no node'}, not to {wanted.node}{'' if node else _told(pod)}"
        elif wanted.minors is not None and seen.minors(name) != wanted.minors:
            yield f"pod {name} has the GPUs {list(seen.minors(name))}, not {list(wanted.minors)}"


def _pending(expect: Expect, seen: Observed) -> Iterator[str]:
    for name, wanted in expect.pending.items():
        pod = seen.pod(name)
        said = condition(pod, "PodScheduled")
        if not pod or pod["spec"].get("nodeName"):
            yield f"pod {name} is {'bound to ' + pod['spec']['nodeName'] if pod else 'not there'}, not pending"
        elif (said.get("status"), said.get("reason")) != ("False", wanted.reason):
            yield f"pod {name} is not pending as {wanted.reason}{_told(pod)}"
        elif wrong := wanted.misses(said.get("message", "")):
            yield f"the condition of pod {name} {wrong}"


def _gone(expect: Expect, seen: Observed) -> Iterator[str]:
    yield from (f"pod {name} still exists" for name in expect.gone if seen.pod(name))


def _books(expect: Expect, seen: Observed) -> Iterator[str]:
    books = seen.books()
    for node, cards in expect.books.items():
        for minor, amounts in cards.items():
            book = books.get((node, minor), Book())
            wanted = {"core": amounts.core, "ratio": amounts.ratio}
            wanted["memory"] = None if amounts.memory is None else value_of(amounts.memory)
            for what, amount in wanted.items():
                if amount is not None and getattr(book, what) != amount:
                    yield f"card {minor} of {node} is used by {what} {getattr(book, what)}, not {amount}"


def _objects(expect: Expect, seen: Observed) -> Iterator[str]:
    for ref, wanted in expect.objects.items():
        yield from (f"{ref}: {wrong}" for wrong in _differences(wanted, seen.objects.get(ref, {})))


def _conditions(expect: Expect, seen: Observed) -> Iterator[str]:
    for name, conditions in expect.conditions.items():
        for wanted in conditions:
            said = condition(seen.pod(name), wanted.type)
            if said.get("status") != wanted.status or wanted.reason not in (None, said.get("reason")):
                yield f"pod {name} has {said or f'no condition {wanted.type}'}"
            elif wrong := wanted.misses(said.get("message", "")):
                yield f"the condition {wanted.type} of pod {name} {wrong}"


def _events(expect: Expect, seen: Observed) -> Iterator[str]:
    for wanted in expect.events:
        about = [each for each in seen.events if each["regarding"]["name"] == wanted.pod]
        alike = [each for each in about if each["reason"] == wanted.reason and wanted.type in (None, each["type"])]
        count = sum(not wanted.misses(each["note"]) for each in alike)
        if not wanted.times.allows(count):
            told = [f"{each['type']} {each['reason']}: {each['note']}" for each in about]
            yield f"{count} Events {wanted.reason} of pod {wanted.pod} match, not {wanted.times}; there are {told}"


def _requests(expect: Expect, seen: Observed) -> Iterator[str]:
    for wanted, times in expect.requests.items():
        count = sum(str(each) == wanted or str(each).startswith(f"{wanted} ") for each in seen.requests)
        if not times.allows(count):
            yield f"{count} requests {wanted!r} were sent, not {times}"


def _hooks(expect: Expect, seen: Observed) -> Iterator[str]:
    for name, wanted in expect.hooks.items():
        if (asked := seen.book.first_attempt(name)) != list(wanted):
            yield f"the first attempt of pod {name} called {asked}, not {list(wanted)}"


def _calls(expect: Expect, seen: Observed) -> Iterator[str]:
    counts = seen.book.counts()
    for wanted, times in expect.calls.items():
        if not times.allows(counts[wanted]):
            yield f"{wanted} was called {counts[wanted]} times, not {times}"


def _log(expect: Expect, seen: Observed) -> Iterator[str]:
    for wanted in expect.log:
        count = sum(not missing(wanted.contains, line) for line in seen.log)
        if not wanted.times.allows(count):
            yield f"{count} log lines contain {list(wanted.contains)}, not {wanted.times}"


def _metrics(expect: Expect, seen: Observed) -> Iterator[str]:
    for wanted, value in expect.metrics.items():
        if (number := seen.metrics.get(wanted)) is None or not value.allows(number):
            yield f"the metric {wanted} is {'not there' if number is None else f'{number:g}'}, not {value}"


def _exit_code(expect: Expect, seen: Observed) -> Iterator[str]:
    if seen.finished is None:
        yield f"nothing has ended, so there is no exit code {expect.exit_code}"
    elif seen.finished.exit_code != expect.exit_code:
        yield f"the exit code is {seen.finished.exit_code}, not {expect.exit_code}"


def _output(expect: Expect, seen: Observed) -> Iterator[str]:
    output = seen.finished.output if seen.finished else ""
    yield from (f"the output does not contain {each!r}" for each in expect.output if each not in output)


def _not_in_output(expect: Expect, seen: Observed) -> Iterator[str]:
    output = seen.finished.output if seen.finished else ""
    yield from (f"the output contains {each!r}" for each in expect.not_in_output if each in output)


CHECKS: Final[Mapping[str, Callable[[Expect, Observed], Iterator[str]]]] = {
    "bound": _bound,
    "pending": _pending,
    "gone": _gone,
    "books": _books,
    "objects": _objects,
    "conditions": _conditions,
    "events": _events,
    "requests": _requests,
    "hooks": _hooks,
    "calls": _calls,
    "log": _log,
    "metrics": _metrics,
    "exit_code": _exit_code,
    "output": _output,
    "not_in_output": _not_in_output,
}


def _told(pod: Mapping[str, Any]) -> str:
    """The end of a sentence about a Pod on no node."""
    if not pod:
        return ": there is no such pod"
    said = condition(pod, "PodScheduled")
    told = [said[key] for key in ("reason", "message") if said.get(key)]
    return f": {': '.join(told) or 'nothing was said on it'}"


def _differences(wanted: Mapping[str, Any], found: object, path: str = "") -> Iterator[str]:
    """Every key of `wanted` must be there with its value; null means absent."""
    for key, value in wanted.items():
        place = f"{path}.{key}" if path else key
        there = found.get(key) if isinstance(found, Mapping) else None
        if isinstance(value, Mapping):
            yield from _differences(value, there, place)
        elif there != value:
            yield f"{place} is {there!r}, not {value!r}"

"""What extension points and plugins cost, measured so that measuring itself costs little.

An extension point as a whole is always timed. Single plugins are timed in one attempt of ten: such an attempt runs on a
twin of the Framework whose hooks are wrapped, so the other nine pay nothing; and of a hook that is called per node, one
call of sixteen is timed. Source: pkg/scheduler/framework/runtime (framework.go, metrics_recorder.go).
"""

import functools
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, Concatenate, Final, ParamSpec, Protocol, TypeVar

from koordpy.framework.calls import Chain
from koordpy.framework.points import AWAITABLE_HOOKS, POINTS
from koordpy.framework.verdicts import PostFiltered
from koordpy.telemetry.families import Points
from koordpy.telemetry.instruments import CounterCell, HistogramCell
from koordpy_api import Code, Status, Wait

SAMPLED_ATTEMPTS: Final = 0.1
CALLS_PER_SAMPLE: Final = 16
STATUS: Final[Mapping[Code, str]] = {code: "".join(word.title() for word in code.name.split("_")) for code in Code}
"""Upstream's name of each code."""

SUCCESS: Final = STATUS[Code.SUCCESS]
_WAIT: Final = STATUS[Code.WAIT]
_PER_NODE: Final = frozenset(point.hook for point in POINTS if point.per_node)
LABELS: Final[Mapping[str, str]] = {
    "pre_enqueue": "PreEnqueue",
    "pre_filter": "PreFilter",
    "add_pod": "PreFilterExtensionAddPod",
    "remove_pod": "PreFilterExtensionRemovePod",
    "filter": "Filter",
    "filter_nodes": "Filter",
    "post_filter": "PostFilter",
    "pre_score": "PreScore",
    "score": "Score",
    "score_nodes": "Score",
    "normalize_scores": "ScoreExtensionNormalize",
    "reserve": "Reserve",
    "unreserve": "Unreserve",
    "permit": "Permit",
    "pre_bind": "PreBind",
    "bind": "Bind",
    "post_bind": "PostBind",
}
"""Hook → extension_point, as upstream labels it."""

P = ParamSpec("P")
R = TypeVar("R")


class Meter:
    """What one profile's measurements go into. now: seconds of the monotonic clock."""

    def __init__(self, profile: str, points: Points, now: Callable[[], float]) -> None:
        self.now = now
        self._profile = profile
        self._points = points
        self._durations: dict[tuple[str, str], HistogramCell] = {}

    def point(self, name: str, answer: object, seconds: float) -> None:
        """All plugins of an extension point have been asked."""
        status = SUCCESS if answer is None else _status_of(answer)
        cell = self._durations.get((name, status))
        if cell is None:
            cell = self._points.point_duration.labels(name, status, self._profile)
            self._durations[name, status] = cell
        cell.observe(seconds)

    def evaluations(self, plugin: str, name: str) -> CounterCell:
        """How often the plugin was asked at this point, and had something to say."""
        return self._points.plugin_evaluations.labels(plugin, name, self._profile)

    def permit_waited(self, refusal: Status | None, seconds: float) -> None:
        self._points.permit_wait.labels(_status_of(refusal)).observe(seconds)

    def timed(self, chains: Mapping[str, Chain]) -> dict[str, Chain]:
        """The same chains, each of whose hooks tells how long it takes."""
        return {
            hook_name: tuple((plugin, self._timed(plugin, hook_name, hook)) for plugin, hook in chain)
            if hook_name in LABELS
            else chain
            for hook_name, chain in chains.items()
        }

    def _timed(self, plugin: str, hook_name: str, hook: Callable[..., Any]) -> Callable[..., Any]:
        name, now = LABELS[hook_name], self.now
        cells: dict[str, HistogramCell] = {}

        def observe(answer: object, started: float) -> None:
            seconds = now() - started
            status = SUCCESS if answer is None else _status_of(answer)
            if (cell := cells.get(status)) is None:
                cell = cells[status] = self._points.plugin_duration.labels(plugin, name, status)
            cell.observe(seconds)

        if hook_name in _PER_NODE:
            return _every_sixteenth(hook, observe, now)
        return _each(hook, observe, now, may_await=hook_name in AWAITABLE_HOOKS)


class Measured(Protocol):
    """A Framework, as far as its measuring goes. meter: None while nobody measures."""

    @property
    def meter(self) -> Meter | None: ...


F = TypeVar("F", bound=Measured)


def timed(name: str) -> Callable[[Callable[Concatenate[F, P], R]], Callable[Concatenate[F, P], R]]:
    """For the method that runs an extension point; its answer says how that ended."""

    def decorate(run: Callable[Concatenate[F, P], R]) -> Callable[Concatenate[F, P], R]:
        def measured(self: F, /, *args: P.args, **kwargs: P.kwargs) -> R:
            if (meter := self.meter) is None:
                return run(self, *args, **kwargs)
            started = meter.now()
            answer = run(self, *args, **kwargs)
            meter.point(name, answer, meter.now() - started)
            return answer

        return functools.update_wrapper(measured, run)

    return decorate


def timed_async(
    name: str,
) -> Callable[
    [Callable[Concatenate[F, P], Coroutine[Any, Any, R]]], Callable[Concatenate[F, P], Coroutine[Any, Any, R]]
]:
    """As `timed`, of a method that may await; what it waits for counts."""

    def decorate(
        run: Callable[Concatenate[F, P], Coroutine[Any, Any, R]],
    ) -> Callable[Concatenate[F, P], Coroutine[Any, Any, R]]:
        async def measured(self: F, /, *args: P.args, **kwargs: P.kwargs) -> R:
            if (meter := self.meter) is None:
                return await run(self, *args, **kwargs)
            started = meter.now()
            answer = await run(self, *args, **kwargs)
            meter.point(name, answer, meter.now() - started)
            return answer

        return functools.update_wrapper(measured, run)

    return decorate


Observe = Callable[[object, float], None]
_BROKEN: Final = Status.error("")


def _each(
    hook: Callable[..., Any], observe: Observe, now: Callable[[], float], *, may_await: bool = False
) -> Callable[..., Any]:
    @functools.wraps(hook)
    def call(*args: object) -> Any:
        started = now()
        try:
            answer = hook(*args)
        except BaseException:
            observe(_BROKEN, started)
            raise
        if may_await and inspect.isawaitable(answer):
            return _awaited(answer, observe, started)
        observe(answer, started)
        return answer

    return call


async def _awaited(answer: Awaitable[Any], observe: Observe, started: float) -> Any:
    try:
        result = await answer
    except BaseException:
        observe(_BROKEN, started)
        raise
    observe(result, started)
    return result


def _every_sixteenth(hook: Callable[..., Any], observe: Observe, now: Callable[[], float]) -> Callable[..., Any]:
    """The first call, the seventeenth, …: timing every one of 5,000 would cost about as much as the hook."""
    timed_hook, left = _each(hook, observe, now), 0

    @functools.wraps(hook)
    def call(*args: object) -> Any:
        nonlocal left
        if left:
            left -= 1
            return hook(*args)
        left = CALLS_PER_SAMPLE - 1
        return timed_hook(*args)

    return call


def _status_of(answer: object) -> str:
    """What is no Status is a success."""
    if type(answer) is PostFiltered:
        answer = answer.refusal
    if type(answer) is Status:
        return STATUS[answer.code]
    return _WAIT if type(answer) is Wait else SUCCESS

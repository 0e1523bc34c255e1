"""How one hook is called, and how what goes wrong in it is blamed on its plugin, in kube-scheduler's words.

Beside the loops of runner, filtering, scoring and examining the place where a plugin's exception is caught.
`sys.exit()` in a hook is an exception like any other: it ends the attempt, not the scheduler.
"""

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final

from koordpy.errors import PLUGIN_FAULTS as PLUGIN_FAULTS
from koordpy_api import Code, Status
from koordpy_api.status import SKIP

logger = logging.getLogger("koordpy.framework")

Chain = tuple[tuple[str, Callable[..., Any]], ...]
"""(plugin, bound hook) pairs in profile order."""

UNSPEAKABLE: Final = " (whose text cannot be made)"


def ask(plugin: str, at: str, hook: Callable[..., Any], *args: object) -> Any:
    """The hook's answer; an error of its plugin instead if it raises. at: the point, as upstream says it."""
    try:
        answer = hook(*args)
    except PLUGIN_FAULTS as error:
        return blame(plugin, doing(plugin, at), error)
    return answer if answer is None or answer is SKIP else attribute(plugin, doing(plugin, at), answer)


async def ask_async(plugin: str, at: str, hook: Callable[..., Any], *args: object) -> Any:
    """As `ask`, of a hook that may be async."""
    try:
        answer = hook(*args)
        if inspect.isawaitable(answer):
            answer = await _result(answer)
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise  # the host's own will
        return blame(plugin, doing(plugin, at), error)  # something inside the plugin was cancelled
    except PLUGIN_FAULTS as error:
        return blame(plugin, doing(plugin, at), error)
    return answer if answer is None else attribute(plugin, doing(plugin, at), answer)


def doing(plugin: str, at: str) -> str:
    """What was going on, in upstream's words."""
    return f'running {at} plugin "{plugin}"'


async def _result(answer: Awaitable[Any]) -> Any:
    return await answer


def attribute(plugin: str, what: str, answer: Any) -> Any:
    """A Status with its plugin's name; an error also with `what` was going on, as upstream wraps it. SKIP is SKIP."""
    if not isinstance(answer, Status):
        return answer
    if answer.code is Code.SKIP:
        return SKIP
    if answer.code is Code.ERROR:
        answer = Status.error(f"{what}: {answer.message}", details=answer.details)
    return answer.by(plugin)


def blame(plugin: str, what: str, error: BaseException) -> Status:
    told = text_of(error)
    # With its traceback, if the logger can write the exception at all.
    logger.error("%s: %s", what, told, exc_info=None if told.endswith(UNSPEAKABLE) else error)
    return Status.error(f"{what}: {told}").by(plugin)


def text_of(error: BaseException) -> str:
    """Its type and text; making the text is the plugin's code, too, and may fail."""
    try:
        return f"{type(error).__name__}: {error}"
    except PLUGIN_FAULTS:
        return f"{type(error).__name__}{UNSPEAKABLE}"


def illegal(plugin: str, point: str, answer: object) -> Status:
    """The error that an answer comes to which this point does not know."""
    said = answer.code.name if isinstance(answer, Status) else type(answer).__name__
    return Status.error(f'plugin "{plugin}" answered {said}, which is unsupported at {point}').by(plugin)


def is_refusal_or_error(answer: object) -> bool:
    return isinstance(answer, Status) and (answer.is_rejected or answer.code is Code.ERROR)

"""Who is being called on a thread right now: read from its stack, so that no call costs anything for it.

runner.py, filtering.py, scoring.py, examining.py and calls.py keep the plugin's name in a local variable `plugin`
around every call of a hook, the hook in `hook` or `hook_name`, and what the call is about in `pod`, `obj` or `subject`.
A test holds every hook to that.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Final

from koordpy.framework.points import ALL_HOOKS

_HOSTS: Final = tuple(f"koordpy.framework.{name}" for name in ("runner", "filtering", "scoring", "examining", "calls"))
_INFORMER: Final = "koordpy.cluster.informer"


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """plugin, hook, pod, node: whose code runs, and about what; empty where nobody's does, or it is about none.

    place: the innermost function, its file and line.
    """

    plugin: str
    hook: str
    pod: str
    node: str
    place: str

    def __str__(self) -> str:
        if not self.plugin:
            return f"in no plugin, but in {self.place}"
        about = " on ".join(part for part in (self.pod, self.node) if part)
        about = f" of {about}" if about else ""
        return f"in plugin {self.plugin}, {self.hook}{about}, at {self.place}"


def whereabouts(frame: FrameType) -> Whereabouts:
    """frame: the innermost one of a thread, from sys._current_frames()."""
    plugin = hook = pod = node = ""
    for each in _outwards(frame):
        module, known = each.f_globals.get("__name__"), each.f_locals
        if module in _HOSTS:
            plugin = plugin or _text(known.get("plugin"))
            hook = hook or _hook(known)
            pod, node = pod or _pod(known), node or _node(known)
        elif not plugin and each.f_code.co_name in ALL_HOOKS:
            hook = each.f_code.co_name  # the outermost of them, which the host has called
        elif module == _INFORMER and not plugin and "handler" in known:
            plugin, hook = type(known["handler"]).__qualname__, "told of an object"
    return Whereabouts(plugin, hook, pod, node, _place(frame)) if plugin else Whereabouts("", "", "", "", _place(frame))


def traceback_of(frame: FrameType) -> TracebackType | None:
    """The whole stack, as if something had been raised in its innermost frame."""
    made = None
    for each in _outwards(frame):
        made = TracebackType(made, each, each.f_lasti, each.f_lineno or each.f_code.co_firstlineno)
    return made


def _outwards(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _hook(known: dict[str, Any]) -> str:
    return _text(known.get("hook_name")) or _text(getattr(known.get("hook"), "__name__", ""))


def _pod(known: dict[str, Any]) -> str:
    """A key with a namespace."""
    key = _key(known)
    return key if "/" in key else ""


def _node(known: dict[str, Any]) -> str:
    """The node that is being looked at, or the name of what has no namespace: Nodes, and what is called as they are."""
    key = _key(known)
    return _text(getattr(known.get("node"), "name", "")) or ("" if "/" in key else key)


def _key(known: dict[str, Any]) -> str:
    return _text(known.get("subject")) or _text(getattr(known.get("pod") or known.get("obj"), "key", ""))


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _place(frame: FrameType) -> str:
    code = frame.f_code
    return f"{code.co_qualname} ({Path(code.co_filename).name}:{frame.f_lineno})"

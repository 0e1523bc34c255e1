"""What a plugin's class declares, checked before anything is constructed: every mistake of its author, with the fix.

A class that passes has Args, a constructor that takes (args, handle), and only hooks that exist, with arguments that
the hooks have, without an order of their own, and async only where the host awaits.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final

from koordpy.errors import PluginError
from koordpy.framework.points import ALL_HOOKS, AWAITABLE_HOOKS, EVENT_HOOKS, OBJECT_HOOKS, POINTS, REGISTRATION_HOOK
from koordpy_api import API_VERSION, PluginArgs
from koordpy_api.hooks import admission, auditing, binding, queueing, scheduling
from koordpy_api.markers import PROJECT

SPEC_MODULES: Final = (admission, auditing, queueing, scheduling, binding)
_MARK: Final = f"{PROJECT}_impl"  # what pluggy's HookimplMarker leaves on a function
_ORDERS: Final = ("tryfirst", "trylast", "hookwrapper", "wrapper")


def spec_of(hook: str) -> Callable[..., Any]:
    """The specification of a hook."""
    spec: Callable[..., Any] = next(vars(module)[hook] for module in SPEC_MODULES if hook in vars(module))
    return spec


@dataclass(frozen=True, slots=True)
class Declaration:
    """A plugin class that can be used, as far as one can tell without constructing it.

    origin: who brought it, as "of acme-plugins 1.0"; empty for a class given by hand.
    hooks: hook → the function that implements it.
    """

    name: str
    origin: str
    plugin: type
    args_model: type[PluginArgs]
    annotations: tuple[str, ...]
    hooks: Mapping[str, Callable[..., Any]]

    @property
    def points(self) -> frozenset[str]:
        """The extension points, by their names in YAML, at which a profile may enable it."""
        return frozenset(point.name for point in POINTS if any(hook in self.hooks for hook in point.hooks))

    @property
    def title(self) -> str:
        return _title(self.name, self.origin)

    def accounted(self, args: PluginArgs) -> frozenset[str]:
        """The resources whose fit it decides alone. Raises: PluginError if it cannot say."""
        accounts_for = getattr(self.plugin, "accounts_for", None)
        if accounts_for is None:
            return frozenset()
        try:
            names = accounts_for(args)
        except (Exception, SystemExit) as error:
            raise PluginError(f"{self.title}: accounts_for raises {type(error).__name__}: {error}") from error
        if isinstance(names, str) or not all(isinstance(name, str) for name in _items(names)):
            raise PluginError(f"{self.title}: accounts_for answers {names!r}; a frozenset of resource names is wanted")
        return frozenset(names)


def declare(name: str, plugin: type, origin: str = "") -> Declaration:
    """Raises: PluginError for the first mistake, with the plugin, its distribution and the fix."""
    try:
        _check_version(plugin)
        model = _args_model(plugin)
        _check_constructor(plugin)
        annotations = _annotations(plugin)
        hooks = dict(_hooks(plugin))
        _check_unmarked(plugin, hooks)
    except _Mistake as mistake:
        raise PluginError(f"{_title(name, origin)}: {mistake}") from None
    return Declaration(name, origin, plugin, model, annotations, hooks)


class _Mistake(Exception):
    """What is wrong, as the second half of a sentence that begins with the plugin."""


def _title(name: str, origin: str) -> str:
    return f'plugin "{name}" {origin}'.rstrip()


def _check_version(plugin: type) -> None:
    wanted = getattr(plugin, "API_VERSION", API_VERSION)
    if not isinstance(wanted, int) or isinstance(wanted, bool) or wanted < 1:
        raise _Mistake(f"API_VERSION is {wanted!r}; a number from 1 to {API_VERSION} is known")
    if wanted > API_VERSION:
        raise _Mistake(
            f"is written for plugin API {wanted}, but this koordpy has plugin API {API_VERSION}; "
            "upgrade koordpy, or install an older version of the plugin"
        )


def _args_model(plugin: type) -> type[PluginArgs]:
    model = getattr(plugin, "Args", None)
    if model is None:
        raise _Mistake(
            "has no Args; add the line `Args = NoArgs`, or a subclass of koordpy_api.PluginArgs with what it takes"
        )
    if not (isinstance(model, type) and issubclass(model, PluginArgs)):
        raise _Mistake(f"Args is {model!r}, but must be a subclass of koordpy_api.PluginArgs")
    return model


def _check_constructor(plugin: type) -> None:
    try:
        inspect.signature(plugin).bind(None, None)
    except TypeError as error:
        raise _Mistake(f"its constructor must take (args, handle): {error}") from None
    except ValueError:
        return  # a class written in C tells no signature; constructing it will


def _annotations(plugin: type) -> tuple[str, ...]:
    prefixes = getattr(plugin, "ANNOTATIONS", ())
    if not isinstance(prefixes, tuple | list) or not all(isinstance(prefix, str) and prefix for prefix in prefixes):
        raise _Mistake(f'ANNOTATIONS is {prefixes!r}, but must be a tuple of prefixes, as in ("acme.io/",)')
    return tuple(prefixes)


def _functions(plugin: type) -> Iterator[tuple[str, Any]]:
    for name in dir(plugin):
        if not name.startswith("__") and inspect.isroutine(function := getattr(plugin, name, None)):
            yield name, function


def _hooks(plugin: type) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Everything under @hookimpl, by the name of its hook, and checked."""
    for name, function in _functions(plugin):
        if (options := getattr(function, _MARK, None)) is None:
            continue
        hook = options.get("specname") or name
        _check_hook(hook, function, options)
        takes_self = not isinstance(inspect.getattr_static(plugin, name), staticmethod | classmethod)
        _check_signature(hook, function, takes_self=takes_self)
        yield hook, function


def _check_unmarked(plugin: type, hooks: Mapping[str, object]) -> None:
    """What looks like a hook and is none does nothing, without a word."""
    for name, function in _functions(plugin):
        if name in ALL_HOOKS and name not in hooks and getattr(function, _MARK, None) is None:
            raise _Mistake(
                f"its method {name} has the name of a hook, but no @hookimpl, so it would never be called; "
                f"add the decorator, or call the method _{name}"
            )
    for point in POINTS:
        if lonely := [each for each in point.companions if each in hooks and point.hook not in hooks]:
            raise _Mistake(f"{lonely[0]} is only called beside {point.hook}, which it does not implement")
        if point.at_once in hooks and point.hook not in hooks:
            raise _Mistake(
                f"implements {point.at_once} without {point.hook}, which decides what {point.at_once} must say, "
                f"explains its answers and runs in dry runs; add {point.hook}, with the same answer for one node"
            )


def _check_hook(hook: str, function: Callable[..., Any], options: Mapping[str, Any]) -> None:
    if hook not in ALL_HOOKS:
        near = get_close_matches(hook, ALL_HOOKS, n=1)
        known = f"did you mean {near[0]}?" if near else f"the hooks are {', '.join(ALL_HOOKS)}"
        raise _Mistake(f"implements {hook}, which is no hook; {known}")
    if asked := [order for order in _ORDERS if options.get(order)]:
        raise _Mistake(
            f"{hook} asks for an order of its own ({asked[0]}); the profile's order is the only one. Take "
            f"{asked[0]} out of @hookimpl, and name the plugin earlier or later in the profile"
        )
    if (inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)) and hook not in AWAITABLE_HOOKS:
        raise _Mistake(
            f"{hook} is async, but the scheduling cycle never awaits; only {_awaitable()} may. "
            "What it waits for belongs there, or into a watch of the handle"
        )


def _check_signature(hook: str, function: Callable[..., Any], *, takes_self: bool) -> None:
    known = tuple(inspect.signature(spec_of(hook)).parameters)
    parameters = list(inspect.signature(function).parameters.values())
    if takes_self and not parameters:
        raise _Mistake(f"{hook} takes no self; make it a method, or a staticmethod")
    for parameter in parameters[takes_self:]:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            right = f"name the arguments it wants of {hook}({', '.join(known)})"
            stars = "*" if parameter.kind is parameter.VAR_POSITIONAL else "**"
            raise _Mistake(f"{hook} takes {stars}{parameter.name}; {right}")
        if parameter.name not in known and parameter.default is parameter.empty:
            near = get_close_matches(parameter.name, known, n=1)
            guess = f" (did you mean {near[0]}?)" if near else ""
            raise _Mistake(
                f"{hook} takes an argument {parameter.name} that the hook does not have{guess}; expected "
                f"{hook}({', '.join(known)}), or fewer of these"
            )
        if parameter.name in known and (
            parameter.default is not parameter.empty or parameter.kind is parameter.KEYWORD_ONLY
        ):
            raise _Mistake(f"{hook} takes {parameter.name} by keyword or with a default; hooks are called by position")


def _awaitable() -> str:
    *first, last = (point.hook for point in POINTS if point.may_await)
    return f"{', '.join(first)} and {last}"


def _items(names: Any) -> list[Any]:
    return list(names) if isinstance(names, frozenset | set | tuple | list) else [None]


def kind_of(hook: str) -> str:
    """How often a hook is called, in words: the shape of its cost."""
    if hook in EVENT_HOOKS:
        return "per event"
    if hook in OBJECT_HOOKS:
        return "per object that a person checks"
    if hook == REGISTRATION_HOOK:
        return "once, at start"
    if hook in ("add_pod", "remove_pod"):
        return "per Pod that a dry run moves"
    if any(point.at_once == hook for point in POINTS):
        return "per Pod, all nodes at once"
    return "per node" if any(point.per_node and point.hook == hook for point in POINTS) else "per Pod"

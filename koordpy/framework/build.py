"""A profile → a Framework. pluggy checks the plugins once, here; nothing in the cycle goes through it."""

import inspect
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any

import pluggy
from pydantic import ValidationError

from koordpy.config.expand import ResolvedProfile
from koordpy.config.load import problems_of
from koordpy.errors import ConfigError, PluginError
from koordpy.framework.handle import HostHandle, Report
from koordpy.framework.points import ALL_HOOKS, AWAITABLE_HOOKS
from koordpy.framework.registry import Registry
from koordpy.framework.runner import Chain, Framework
from koordpy_api import NoArgs, PluginArgs
from koordpy_api.hooks import binding, queueing, scheduling
from koordpy_api.markers import PROJECT


@dataclass(frozen=True, slots=True)
class _Chosen:
    name: str
    plugin: type
    args: PluginArgs


def build_all(profiles: Sequence[ResolvedProfile], registry: Registry, report: Report) -> list[Framework]:
    """One Framework per profile of a scheduler. Raises: as build."""
    shared: dict[str, object] = {}
    return [build(profile, registry, report, shared) for profile in profiles]


def build(
    profile: ResolvedProfile, registry: Registry, report: Report, shared: MutableMapping[str, object]
) -> Framework:
    """Import, construct and check the plugins of a profile, and put their hooks in its order.

    shared: what plugins of the same scheduler's profiles have in common; see Handle.shared.

    Raises: PluginError or ConfigError, naming the plugin and what would be right.
    """
    chosen = [_choose(name, profile, registry) for name in profile.plugins]
    accounted: set[str] = set()
    for each in chosen:
        accounted.update(getattr(each.plugin, "accounts_for", _nothing)(each.args))
    handle = HostHandle(frozenset(accounted), report, shared)
    manager = pluggy.PluginManager(PROJECT)
    for specs in (queueing, scheduling, binding):
        manager.add_hookspecs(specs)
    prefixes: dict[str, None] = {}
    for each in chosen:
        _register(manager, each, _construct(each, handle))
        prefixes.update(dict.fromkeys(getattr(each.plugin, "ANNOTATIONS", ())))
    return _framework(profile, manager, handle, tuple(prefixes))


def _framework(
    profile: ResolvedProfile, manager: pluggy.PluginManager, handle: HostHandle, prefixes: tuple[str, ...]
) -> Framework:
    chains = {hook: _chain(manager, hook, profile) for hook in ALL_HOOKS}
    sorters = [name for name, _ in chains["queue_sort"]]
    if len(sorters) != 1:
        raise PluginError(
            f"only one queue sort plugin required for profile with scheduler name {profile.scheduler_name!r}, "
            f"but got {len(sorters)}: {', '.join(sorters) or 'none'}"
        )
    if not chains["bind"]:
        raise PluginError(
            f"at least one bind plugin is needed for profile with scheduler name {profile.scheduler_name!r}"
        )
    return Framework(profile.scheduler_name, chains, profile.weights, prefixes, handle.close())


def _choose(name: str, profile: ResolvedProfile, registry: Registry) -> _Chosen:
    plugin = registry.load(name)
    model = getattr(plugin, "Args", NoArgs)
    if not (isinstance(model, type) and issubclass(model, PluginArgs)):
        raise PluginError(f'plugin "{name}": Args must be a subclass of koordpy_api.PluginArgs')
    try:
        args = model.model_validate(dict(profile.args.get(name, {})))
    except ValidationError as error:
        raise ConfigError(f"pluginConfig of {name}", problems_of(error, prefix="args")) from None
    return _Chosen(name, plugin, args)


def _construct(chosen: _Chosen, handle: HostHandle) -> object:
    try:
        return chosen.plugin(chosen.args, handle)
    except Exception as error:
        raise PluginError(f'initializing plugin "{chosen.name}": {type(error).__name__}: {error}') from error


def _register(manager: pluggy.PluginManager, chosen: _Chosen, instance: object) -> None:
    try:
        manager.register(instance, name=chosen.name)
        manager.check_pending()
    except pluggy.PluginValidationError as error:
        raise PluginError(f'plugin "{chosen.name}": {error}') from None


def _chain(manager: pluggy.PluginManager, hook: str, profile: ResolvedProfile) -> Chain:
    caller = getattr(manager.hook, hook)
    assert caller.spec is not None
    by_name = {impl.plugin_name: impl for impl in caller.get_hookimpls()}
    for impl in by_name.values():
        _check(impl, hook)
    argnames: tuple[str, ...] = tuple(caller.spec.argnames)
    return tuple((name, _positional(by_name[name], argnames)) for name in profile.plugins if name in by_name)


def _check(impl: pluggy.HookImpl, hook: str) -> None:
    if impl.tryfirst or impl.trylast or impl.hookwrapper or impl.wrapper:
        raise PluginError(
            f'plugin "{impl.plugin_name}": {hook} asks for an order of its own (tryfirst, trylast or a wrapper); '
            "the profile's order is the only one"
        )
    if inspect.iscoroutinefunction(impl.function) and hook not in AWAITABLE_HOOKS:
        raise PluginError(
            f'plugin "{impl.plugin_name}": {hook} is async, but the scheduling cycle never awaits; '
            f"only {' and '.join(sorted(AWAITABLE_HOOKS))} may"
        )


def _positional(impl: pluggy.HookImpl, argnames: tuple[str, ...]) -> Callable[..., Any]:
    """The plugin's own method where it takes all arguments, else one that leaves out what it does not want."""
    function: Callable[..., Any] = impl.function
    if tuple(impl.argnames) == argnames:
        return function
    places = [argnames.index(name) for name in impl.argnames]
    return lambda *args: function(*[args[place] for place in places])


def _nothing(_args: PluginArgs) -> Mapping[str, None]:
    return {}

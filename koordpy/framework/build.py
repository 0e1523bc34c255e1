"""A profile → a Framework. pluggy takes in the plugins once, here; nothing in the cycle goes through it."""

import logging
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import pluggy
from pydantic import ValidationError

from koordpy.config.complaints import problems_of
from koordpy.config.expand import ResolvedProfile
from koordpy.config.plugin_args import read_args
from koordpy.errors import ConfigError, PluginError
from koordpy.framework.calls import PLUGIN_FAULTS, Chain, text_of
from koordpy.framework.declaration import SPEC_MODULES, Declaration
from koordpy.framework.describe import ONE_BY_ONE, looks_at_nodes
from koordpy.framework.handle import Common, HostHandle, Report
from koordpy.framework.points import EVENT_HOOKS, OBJECT_HOOKS, POINTS, REGISTRATION_HOOK
from koordpy.framework.registrations import registrations_of
from koordpy.framework.registry import Registry
from koordpy.framework.runner import Framework
from koordpy.telemetry.metrics import PluginMetrics
from koordpy_api import PluginArgs
from koordpy_api.markers import PROJECT

logger = logging.getLogger("koordpy.framework")


@dataclass(frozen=True, slots=True)
class _Chosen:
    declaration: Declaration
    args: PluginArgs

    @property
    def name(self) -> str:
        return self.declaration.name


def build_all(
    profiles: Sequence[ResolvedProfile], registry: Registry, report: Report, metrics: PluginMetrics | None = None
) -> list[Framework]:
    """One Framework per profile of a scheduler. metrics: where plugins declare theirs. Raises: as build."""
    shared: dict[str, object] = {}
    common = Common(metrics=metrics or PluginMetrics())
    frameworks = [build(profile, registry, report, shared, common) for profile in profiles]
    if missing := sorted({name for profile in profiles for name in profile.plugins if name not in registry}):
        logger.warning("left out of the default set, because this version has them not yet: %s", ", ".join(missing))
    used = {name for profile in profiles for name in profile.plugins}
    for profile in profiles:
        slow = [
            name for name in profile.plugins if name in registry and "one" in looks_at_nodes(registry.declaration(name))
        ]
        if slow:
            logger.info("profile %s: %s asked %s", profile.scheduler_name, ", ".join(slow), ONE_BY_ONE)
    for warning in registry.warnings(used):
        logger.warning("%s", warning)
    return frameworks


def build(
    profile: ResolvedProfile,
    registry: Registry,
    report: Report,
    shared: MutableMapping[str, object],
    common: Common | None = None,
) -> Framework:
    """Import, check and construct the plugins of a profile, and put their hooks in its order.

    shared, common: what plugins of the same scheduler's profiles have in common; see Handle.

    Raises: PluginError or ConfigError, naming the plugin, its distribution and what would be right.
    """
    common = common or Common()
    chosen = [_choose(name, profile, registry) for name in profile.plugins if _is_there(name, profile, registry)]
    _check_points(profile, registry, {each.name: each.declaration for each in chosen})
    accounted = frozenset[str]().union(*(each.declaration.accounted(each.args) for each in chosen))
    handle = HostHandle(accounted, report, shared, common)
    manager = _manager()
    for each in chosen:
        _register(manager, each.declaration, _construct(each, handle))
    chains = _chains(manager, profile, [each.name for each in chosen])
    _check_whole(profile.scheduler_name, chains)
    asked = dict(_chain(manager, REGISTRATION_HOOK, profile.plugins))
    subscriptions = handle.close()
    watched = [subscription.kind.KIND for subscription in subscriptions]
    registered = (registrations_of(each.declaration, asked.get(each.name), watched) for each in chosen)
    return Framework(
        profile.scheduler_name,
        chains,
        profile.weights,
        annotation_prefixes=tuple(dict.fromkeys(key for each in chosen for key in each.declaration.annotations)),
        subscriptions=subscriptions,
        registrations=tuple(registration for some in registered for registration in some),
        waiting=common.waiting,
        nodes=common.nodes,
        left_out=frozenset(profile.plugins) - {each.name for each in chosen},
        percentage_of_nodes_to_score=profile.percentage_of_nodes_to_score,
    )


def try_out(name: str, registry: Registry) -> None:
    """Import, check and construct one plugin as a profile without arguments would.

    One whose arguments have no defaults is not constructed. Raises: as build.
    """
    declaration = registry.declaration(name)
    if any(field.is_required() for field in declaration.args_model.model_fields.values()):
        return
    args = declaration.args_model()
    handle = HostHandle(declaration.accounted(args), lambda kind, name, problem: None, {}, Common())
    manager = _manager()
    _register(manager, declaration, _construct(_Chosen(declaration, args), handle))
    registrations_of(declaration, dict(_chain(manager, REGISTRATION_HOOK, [name])).get(name))


# -- the plugins of a profile -----------------------------------------------------------------------------------------


def _is_there(name: str, profile: ResolvedProfile, registry: Registry) -> bool:
    """A plugin that only the default set names may be missing; the file's own wishes may not."""
    if name in registry:
        return True
    if name in profile.named_by_file:
        registry.load(name)  # raises, and says what is installed
    return False


def _choose(name: str, profile: ResolvedProfile, registry: Registry) -> _Chosen:
    declaration = registry.declaration(name)
    try:
        args = read_args(declaration.args_model, profile.args.get(name, {}))
        texts = _not_in_effect(declaration, args)
    except ValidationError as error:
        problems = problems_of(error, "args", declaration.args_model)
        raise ConfigError(f"pluginConfig of {name}", problems) from None
    if texts:
        logger.warning(
            "profile %s: pluginConfig of %s sets what this version does not do yet: %s",
            profile.scheduler_name,
            name,
            "; ".join(texts),
        )
    return _Chosen(declaration, args)


def _not_in_effect(declaration: Declaration, args: PluginArgs) -> list[str]:
    try:
        texts = args.not_in_effect()
    except PLUGIN_FAULTS as error:
        raise PluginError(f"{declaration.title}: not_in_effect raises {text_of(error)}") from error
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise PluginError(f"{declaration.title}: not_in_effect answers {texts!r}; a list of texts is wanted")
    return texts


def _check_points(profile: ResolvedProfile, registry: Registry, chosen: Mapping[str, Declaration]) -> None:
    for point in POINTS:
        for name in profile.points.get(point.name, ()):
            known = registry.points_of(name) if name in chosen else None
            if known is not None and point.name not in known:
                at = ", ".join(each.name for each in POINTS if each.name in known) or "no point"
                raise PluginError(
                    f"{chosen[name].title} is enabled at {point.name}, but implements no hook there; its hooks are "
                    f"those of {at}. Take it out of {point.name}, or mark its {point.hook} with @hookimpl"
                )


def _construct(chosen: _Chosen, handle: HostHandle) -> object:
    declaration = chosen.declaration
    try:
        return declaration.plugin(chosen.args, handle)
    except (Exception, SystemExit) as error:
        raise PluginError(f"initializing {declaration.title}: {type(error).__name__}: {error}") from error


def _manager() -> pluggy.PluginManager:
    manager = pluggy.PluginManager(PROJECT)
    for specs in SPEC_MODULES:
        manager.add_hookspecs(specs)
    return manager


def _register(manager: pluggy.PluginManager, declaration: Declaration, instance: object) -> None:
    try:
        manager.register(instance, name=declaration.name)
        manager.check_pending()
    except pluggy.PluginValidationError as error:
        raise PluginError(f"{declaration.title}: {error}") from None


# -- its chains -------------------------------------------------------------------------------------------------------


def _chains(manager: pluggy.PluginManager, profile: ResolvedProfile, installed: Sequence[str]) -> dict[str, Chain]:
    """A hook of a point is called of the plugins in that point's list; an event reaches every plugin."""
    chains: dict[str, Chain] = {}
    for point in POINTS:
        for hook in point.hooks:
            chains[hook] = _chain(manager, hook, profile.points.get(point.name, ()))
    for hook in (*EVENT_HOOKS, *OBJECT_HOOKS):
        chains[hook] = _chain(manager, hook, installed)
    return chains


def _chain(manager: pluggy.PluginManager, hook: str, names: Sequence[str]) -> Chain:
    caller = getattr(manager.hook, hook)
    assert caller.spec is not None
    by_name = {impl.plugin_name: impl for impl in caller.get_hookimpls()}
    argnames: tuple[str, ...] = tuple(caller.spec.argnames)
    return tuple((name, _positional(by_name[name], argnames)) for name in names if name in by_name)


def _positional(impl: pluggy.HookImpl, argnames: tuple[str, ...]) -> Callable[..., Any]:
    """The plugin's own method where it takes all arguments, else one that leaves out what it does not want."""
    function: Callable[..., Any] = impl.function
    if tuple(impl.argnames) == argnames:
        return function
    places = [argnames.index(name) for name in impl.argnames]
    if not places:
        return _named(function, lambda *args: function())
    chosen = itemgetter(*places)
    if len(places) == 1:
        return _named(function, lambda *args: function(chosen(args)))
    return _named(function, lambda *args: function(*chosen(args)))


def _named(function: Callable[..., Any], call: Callable[..., Any]) -> Callable[..., Any]:
    """The watchdog reads the name of what is being called."""
    call.__name__ = getattr(function, "__name__", call.__name__)
    return call


def _check_whole(scheduler_name: str, chains: Mapping[str, Chain]) -> None:
    """A profile needs exactly one order of the queue, and somebody who binds. Source: runtime.NewFramework."""
    sorters = [name for name, _ in chains["queue_sort"]]
    if len(sorters) != 1:
        raise PluginError(
            f"only one queue sort plugin required for profile with scheduler name {scheduler_name!r}, "
            f"but got {len(sorters)}: {', '.join(sorters) or 'none'}"
        )
    if not chains["bind"]:
        raise PluginError(f"at least one bind plugin is needed for profile with scheduler name {scheduler_name!r}")

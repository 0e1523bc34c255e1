"""A scenario tried out before it is shown: on a cluster that is thrown away, and in no time."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from koordpy.cluster.kinds import NAMESPACE
from koordpy.config.validate import check_start
from koordpy.errors import ApiError, ConfigError, KoordpyError
from koordpy.framework.build import build_all
from koordpy.framework.registry import Registry
from koordpy.scenario.files import Manifest, files_of_steps
from koordpy.scenario.language import Scenario, Step
from koordpy.scenario.life import CONFIG, configured
from koordpy.scenario.manifests import Manifests, kind_and_name
from koordpy.scenario.standins import CallBook, stand_in
from koordpy.scenario.world import World
from koordpy_api import Problem


async def rehearse(scenario: Scenario, world: World, folder: Path) -> list[Manifest]:
    """Build its scheduler, and apply all that it will apply to `world`, which nobody needs afterwards.

    Returns: what stands in the files of its steps.
    Raises: KoordpyError that tells every mistake with its file and line.
    """
    wrong = list(_of_config(scenario))
    written: list[list[Manifest]] = [[] for _ in scenario.steps]
    try:
        written = files_of_steps(folder, [step.files for step in scenario.steps], scenario.source, scenario.lines)
    except KoordpyError as error:
        wrong.append(str(error))
    objects = [manifest for some in written for manifest in some]
    wrong += [*await make_namespaces(world, objects), *await apply_all(world, _forms(scenario, "objects"))]
    for number, step in enumerate(scenario.steps):
        wrong += await apply_all(world, [*_forms(scenario, f"steps[{number}].apply", step), *written[number]])
        await _take_away(world, step)
    if wrong:
        raise KoordpyError("\n".join(wrong))
    return objects


async def apply_all(world: World, written: Sequence[Manifest]) -> list[str]:
    """Returns: what the cluster said to those that it refused."""
    refused = []
    for manifest in written:
        try:
            await world.apply(manifest.placed(world.namespace))
        except ApiError as error:
            refused.append(str(manifest.refused(error.message)))
    return refused


async def make_namespaces(world: World, written: Sequence[Manifest]) -> list[str]:
    """Those that objects live in, for nobody writes a Namespace to try something out. Returns: as apply_all."""
    lived_in = {str(each.document["metadata"].get("namespace") or world.namespace): each for each in reversed(written)}
    refused = []
    for name, first in sorted(lived_in.items()):
        document = {"apiVersion": NAMESPACE.api_version, "kind": NAMESPACE.name, "metadata": {"name": name}}
        try:
            await world.apply(document)
        except ApiError as error:
            refused.append(str(first.refused(error.message)))
    return refused


def _of_config(scenario: Scenario) -> Iterator[str]:
    registry = Registry(given={name: stand_in(name, hooks, CallBook()) for name, hooks in scenario.plugins.items()})
    try:
        loaded = configured(scenario, registry)
        check_start(loaded.configuration, CONFIG)
        build_all(loaded.profiles, registry, lambda _kind, _name, _problem: None)
    except KoordpyError as error:
        if isinstance(error, ConfigError) and error.source == CONFIG:
            yield str(scenario.of_config(error))
        else:
            yield str(ConfigError(scenario.source, [Problem("config", "", str(error))], scenario.lines))


def _forms(scenario: Scenario, path: str, step: Step | None = None) -> list[Manifest]:
    """What stands in the scenario itself."""
    forms: Manifests = scenario.objects if step is None else step.apply
    return [
        Manifest(document, scenario.source, _line(scenario, f"{path}[{index}]"))
        for index, form in enumerate(forms)
        for document in form.expand()
    ]


def _line(scenario: Scenario, path: str) -> int:
    return ConfigError("", [], scenario.lines).line_of(Problem(path, "", ""))


async def _take_away(world: World, step: Step) -> None:
    """What a deletion cannot find now may be there when it is shown."""
    for ref in step.delete:
        try:
            await world.delete(*kind_and_name(ref))
        except ApiError:
            continue

"""What `koordpy scheduler` runs with: flags before environment before file. The only reader of KOORDPY_… variables."""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from koordpy.config.complaints import problems_of
from koordpy.errors import ConfigError
from koordpy_api import Problem

PREFIX: Final = "KOORDPY_"
DEFAULT_PORT: Final = 10251
MAX_PORT: Final = 65535


def _no_service_link(written: Any) -> Any:
    """A Service named koordpy puts KOORDPY_PORT=tcp://10.0.0.1:80 into every Pod beside it; nobody has set that."""
    return DEFAULT_PORT if isinstance(written, str) and written.startswith(("tcp://", "udp://", "sctp://")) else written


class Settings(BaseSettings):
    """kubeconfig: empty if neither flag nor variable is set; then the file's clientConnection.kubeconfig holds.

    embedded: a folder of manifests for a cluster in this process, instead of a kubeconfig; empty: none. serve: the port
    on which that cluster answers kubectl; None: it does not.
    check_invariants: count again every minute what the scheduler believes.
    seed: of the choice among equally good nodes; None: random. port: of telemetry, 0 takes a free one.
    """

    model_config = SettingsConfigDict(env_prefix=PREFIX, env_ignore_empty=True, frozen=True, extra="ignore")

    config: str = ""
    kubeconfig: str = ""
    embedded: str = ""
    serve: Annotated[int | None, Field(ge=0, le=MAX_PORT)] = None
    bind_address: str = "0.0.0.0"  # noqa: S104 - probes come from outside the Pod
    port: Annotated[int, BeforeValidator(_no_service_link), Field(ge=0, le=MAX_PORT)] = DEFAULT_PORT
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["text", "json"] = "text"
    seed: int | None = None
    check_invariants: bool = False


def read_settings(flags: Mapping[str, object]) -> Settings:
    """flags: field → what the command line says; None where it says nothing.

    Raises: ConfigError with every mistake, named by its flag or variable.
    """
    given: dict[str, Any] = {name: value for name, value in flags.items() if value is not None}
    for one, other in (("kubeconfig", "embedded"), ("embedded", "kubeconfig")):
        if given.get(one) and other not in given:
            given[other] = ""  # the command line has chosen the cluster, whatever the environment says
    try:
        settings = Settings(**given)
    except ValidationError as error:
        told = [_renamed(problem, given) for problem in problems_of(error)]
        raise ConfigError("settings", told) from None
    if problem := _clash(settings):
        raise ConfigError("settings", [_renamed(problem, given)])
    return settings


def _clash(settings: Settings) -> Problem | None:
    if settings.kubeconfig and settings.embedded:
        right = "two clusters; either --kubeconfig, for a real one, or --embedded, for one in this process"
        return Problem("embedded", settings.embedded, right)
    if settings.serve is not None and not settings.embedded:
        return Problem("serve", str(settings.serve), "only the cluster of --embedded FOLDER is served")
    return None


def _renamed(problem: Problem, flags: Mapping[str, object]) -> Problem:
    name = f"--{problem.path.replace('_', '-')}" if problem.path in flags else f"{PREFIX}{problem.path.upper()}"
    right = "must be a whole number" if "parse string as an integer" in problem.right else problem.right
    return Problem(name, problem.value, right)

"""KubeSchedulerConfiguration as frozen models, with Kubernetes' field names. Unknown keys are errors.

A first, strict subset: what is not listed is refused rather than ignored.
Source: k8s.io/kube-scheduler/config/v1 (types.go).
"""

from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

API_VERSION: Final = "kubescheduler.config.k8s.io/v1"
KIND: Final = "KubeSchedulerConfiguration"
UPSTREAM_SCHEDULER_NAME: Final = "default-scheduler"


class _Model(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        alias_generator=to_camel,
        validate_by_alias=True,
        validate_by_name=True,
        strict=True,
    )


class PluginConfig(_Model):
    """Arguments of one plugin; its own `Args` model reads them."""

    name: str = Field(min_length=1)
    args: dict[str, Any] = {}


class Profile(_Model):
    """One schedulerName. None: the file does not say."""

    scheduler_name: str | None = Field(default=None, min_length=1)
    plugin_config: tuple[PluginConfig, ...] = Field(default=(), strict=False)


class ClientConnection(_Model):
    kubeconfig: str = ""


class LeaderElection(_Model):
    leader_elect: bool = True


class KubeSchedulerConfiguration(_Model):
    """The whole file, upstream's defaults filled in."""

    api_version: Literal["kubescheduler.config.k8s.io/v1"]
    kind: Literal["KubeSchedulerConfiguration"]
    profiles: tuple[Profile, ...] = Field(default=(Profile(),), strict=False)
    client_connection: ClientConnection = ClientConnection()
    leader_election: LeaderElection = LeaderElection()
    pod_initial_backoff_seconds: int = Field(default=1, gt=0)
    pod_max_backoff_seconds: int = Field(default=10, gt=0)

"""KubeSchedulerConfiguration v1, whole, as frozen models with Kubernetes' field names. Unknown keys are errors.

Here stands what each field is: its type and its default. What it may be, alone and beside others, is in validate.py.
Source: k8s.io/kube-scheduler/config/v1 (types.go) and its defaults.
"""

from decimal import Decimal
from typing import Annotated, Any, Final, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainSerializer,
    PrivateAttr,
    WithJsonSchema,
    model_validator,
)

from koordpy.config.document import Document
from koordpy.config.durations import SECOND, Nanoseconds
from koordpy_api.args import AsTuple, YamlModel

API_VERSION: Final = "kubescheduler.config.k8s.io/v1"
KIND: Final = "KubeSchedulerConfiguration"
UPSTREAM_SCHEDULER_NAME: Final = "default-scheduler"
STAR: Final = "*"

Int32 = Annotated[int, Field(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[int, Field(ge=-(2**63), le=2**63 - 1)]


def _exact(written: Any) -> Any:
    """0.1 in a file is a tenth, not the binary fraction next to it."""
    if isinstance(written, bool) or not isinstance(written, int | float | Decimal):
        raise ValueError("must be a number")
    return Decimal(str(written))


Rate = Annotated[
    Decimal,
    BeforeValidator(_exact),
    Field(allow_inf_nan=False),
    PlainSerializer(lambda rate: int(rate) if rate == int(rate) else float(rate)),
    WithJsonSchema({"type": "number"}),
]
"""A number of requests a second, exact."""


def _zero_is(default: Any) -> AfterValidator:
    """For the few fields where upstream defaults an explicit zero, or an empty text, as well."""
    return AfterValidator(lambda value: value or default)


class Model(YamlModel):
    """Base of all parts."""


class EnabledPlugin(Model):
    """weight counts at score and placementScore only. 0, or none: 1."""

    name: str = ""
    weight: Int32 = 0

    @model_validator(mode="before")
    @classmethod
    def _null_weight_is_zero(cls, written: Any) -> Any:
        """So that it is told apart from no weight: whoever writes null is told what it means, as with 0."""
        return {**written, "weight": 0} if isinstance(written, dict) and written.get("weight", 1) is None else written


class DisabledPlugin(EnabledPlugin):
    """A name, or * for all. Upstream lets a weight stand here, and ignores it."""


class PluginSet(Model):
    """What a profile says of one extension point."""

    enabled: Annotated[tuple[EnabledPlugin, ...], AsTuple] = ()
    disabled: Annotated[tuple[DisabledPlugin, ...], AsTuple] = ()

    @property
    def enabled_names(self) -> tuple[str, ...]:
        return tuple(plugin.name for plugin in self.enabled)

    @property
    def disabled_names(self) -> frozenset[str]:
        return frozenset(plugin.name for plugin in self.disabled)


class Plugins(Model):
    """Per extension point; multi_point stands for all points that a plugin implements."""

    pre_enqueue: PluginSet = PluginSet()
    queue_sort: PluginSet = PluginSet()
    pre_filter: PluginSet = PluginSet()
    filter: PluginSet = PluginSet()
    post_filter: PluginSet = PluginSet()
    pre_score: PluginSet = PluginSet()
    score: PluginSet = PluginSet()
    reserve: PluginSet = PluginSet()
    permit: PluginSet = PluginSet()
    pre_bind: PluginSet = PluginSet()
    bind: PluginSet = PluginSet()
    post_bind: PluginSet = PluginSet()
    multi_point: PluginSet = PluginSet()
    placement_generate: PluginSet = PluginSet()
    placement_score: PluginSet = PluginSet()

    def at(self, point: str) -> PluginSet:
        """point: as in YAML."""
        by_point: dict[str, PluginSet] = {
            field.alias or name: getattr(self, name) for name, field in type(self).model_fields.items()
        }
        return by_point[point]


class PluginConfig(Model):
    """Arguments of one plugin; its own `Args` model reads them."""

    name: str = ""
    args: dict[str, Any] = {}


class Profile(Model):
    """One schedulerName. None: the file does not say."""

    scheduler_name: str | None = None
    percentage_of_nodes_to_score: Int32 | None = None
    plugins: Plugins = Plugins()
    plugin_config: Annotated[tuple[PluginConfig, ...], AsTuple] = ()


class ClientConnection(Model):
    """How the API server is reached. An explicit zero of qps or burst is the default, as upstream."""

    kubeconfig: str = ""
    accept_content_types: str = ""
    content_type: str = "application/vnd.kubernetes.protobuf"
    qps: Annotated[Rate, _zero_is(Decimal(50))] = Decimal(50)
    burst: Annotated[Int32, _zero_is(100)] = 100


class LeaderElection(Model):
    """The Lease by default is ours; upstream's would be taken from a kube-scheduler that runs beside us."""

    leader_elect: bool = True
    lease_duration_ns: Nanoseconds = Field(default=15 * SECOND, alias="leaseDuration")
    renew_deadline_ns: Nanoseconds = Field(default=10 * SECOND, alias="renewDeadline")
    retry_period_ns: Nanoseconds = Field(default=2 * SECOND, alias="retryPeriod")
    resource_lock: Annotated[str, _zero_is("leases")] = "leases"
    resource_name: Annotated[str, _zero_is("koordpy-scheduler")] = "koordpy-scheduler"
    resource_namespace: Annotated[str, _zero_is("koordpy-system")] = "koordpy-system"


class ManagedResource(Model):
    name: str = ""
    ignored_by_scheduler: bool = False


class TLSConfig(Model):
    insecure: bool = False
    server_name: str = ""
    cert_file: str = ""
    key_file: str = ""
    ca_file: str = ""
    cert_data: str = ""
    key_data: str = ""
    ca_data: str = ""


class Extender(Model):
    """A scheduler extender, called over HTTP. koordpy reads and checks it, and does not start with one."""

    url_prefix: str = ""
    filter_verb: str = ""
    prioritize_verb: str = ""
    preempt_verb: str = ""
    bind_verb: str = ""
    weight: Int64 = 0
    enable_https: bool = Field(default=False, alias="enableHTTPS")
    tls_config: TLSConfig | None = None
    http_timeout_ns: Annotated[Nanoseconds, _zero_is(5 * SECOND)] = Field(default=5 * SECOND, alias="httpTimeout")
    node_cache_capable: bool = False
    managed_resources: Annotated[tuple[ManagedResource, ...], AsTuple] = ()
    ignorable: bool = False


class KubeSchedulerConfiguration(Model):
    """The whole file, upstream's defaults filled in."""

    api_version: Literal["kubescheduler.config.k8s.io/v1"]
    kind: Literal["KubeSchedulerConfiguration"]
    parallelism: Int32 = 16
    leader_election: LeaderElection = LeaderElection()
    client_connection: ClientConnection = ClientConnection()
    enable_profiling: bool = True
    enable_contention_profiling: bool = True
    percentage_of_nodes_to_score: Int32 = 0
    pod_initial_backoff_seconds: Int64 = 1
    pod_max_backoff_seconds: Int64 = 10
    profiles: Annotated[tuple[Profile, ...], AsTuple, _zero_is((Profile(),))] = (Profile(),)
    extenders: Annotated[tuple[Extender, ...], AsTuple] = ()
    delay_cache_until_active: bool = False

    _written: Document = PrivateAttr(default=Document("configuration", None))
    _converted: tuple[str, ...] = PrivateAttr(default=())

    @property
    def written(self) -> Document:
        """What it was read from: the file's name, and its lines."""
        return self._written

    @property
    def converted(self) -> tuple[str, ...]:
        """What reading it as v1 needs to say; empty for a file of v1."""
        return self._converted

    def remember(self, written: Document, converted: tuple[str, ...]) -> "KubeSchedulerConfiguration":
        """For who reads it from a file. Returns itself."""
        self._written, self._converted = written, converted
        return self

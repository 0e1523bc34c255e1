"""Objects: plain manifests, or a short form for the three kinds that nearly every scenario needs.

A short form may carry any of the manifest's own sections (metadata, spec, status); they are merged over its defaults.
"""

from collections.abc import Mapping
from typing import Annotated, Final

from pydantic import BeforeValidator, Discriminator, Field, Tag

from koordpy.cluster.embedded.patch import merge
from koordpy.config.defaults import DEFAULT_SCHEDULER_NAME
from koordpy.scenario.parts import Document, Part, amount, listed
from koordpy_api import objects
from koordpy_api.koordinator import GPU_CORE, GPU_MEMORY, GPU_MEMORY_RATIO
from koordpy_api.objects import Device, Kind, KubeObject, Node, Pod

Amounts = dict[str, Annotated[int | str, BeforeValidator(amount)]]

KINDS: Final[Mapping[str, Kind]] = {
    kind.KIND.name.lower(): kind.KIND
    for kind in vars(objects).values()
    if isinstance(kind, type) and issubclass(kind, KubeObject) and kind is not KubeObject
}
"""The kinds that steps and expectations may name, in lower case."""


class Sections(Part):
    """What may be merged over a short form's defaults. copies: so many of it, each with its number behind its name."""

    copies: int = Field(default=0, ge=1)
    metadata: Document = {}
    spec: Document = {}
    status: Document = {}
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}

    def named(self, name: str) -> list[str]:
        """p, or p-000, p-001, …"""
        digits = max(3, len(str(self.copies - 1)))
        return [f"{name}-{number:0{digits}}" for number in range(self.copies)] or [name]

    def over(self, kind: Kind, name: str, defaults: Document) -> Document:
        head: Document = {"name": name}
        head |= {key: getattr(self, key) for key in ("labels", "annotations") if getattr(self, key)}
        document = {"apiVersion": kind.api_version, "kind": kind.name, "metadata": head} | defaults
        written = {"metadata": self.metadata, "spec": self.spec, "status": self.status}
        return merge(document, {key: section for key, section in written.items() if section})


class NodeForm(Sections):
    """A Ready node of 8 cores, 32Gi and 110 pods; `allocatable` adds to that or overrides it."""

    node: str
    allocatable: Amounts = {}

    def expand(self) -> list[Document]:
        room = {"cpu": "8", "memory": "32Gi", "pods": "110"} | {
            key: str(each) for key, each in self.allocatable.items()
        }
        ready = {"type": "Ready", "status": "True"}
        status = {"allocatable": room, "capacity": room, "conditions": [ready]}
        return [self.over(Node.KIND, name, {"spec": {}, "status": status}) for name in self.named(self.node)]


class PodForm(Sections):
    """A Pod with one container. `requests` are its limits too; `boundTo`: on that node already."""

    pod: str
    requests: Amounts = {}
    bound_to: str = ""

    def expand(self) -> list[Document]:
        amounts = {key: str(each) for key, each in self.requests.items()}
        resources = {"resources": {"requests": amounts, "limits": amounts}} if amounts else {}
        spec: Document = {
            "schedulerName": DEFAULT_SCHEDULER_NAME,
            "terminationGracePeriodSeconds": 0,  # no kubelet will confirm a deletion
            "containers": [{"name": "main", "image": "registry.example.test/pause"} | resources],
        }
        spec |= {"nodeName": self.bound_to} if self.bound_to else {}
        return [self.over(Pod.KIND, name, {"spec": spec}) for name in self.named(self.pod)]


class DeviceForm(Sections):
    """The Device of a node with so many equal, healthy GPUs."""

    device: str
    gpus: int = 1
    memory: str = "16Gi"

    def expand(self) -> list[Document]:
        return [
            self.over(Device.KIND, name, {"spec": {"devices": self._cards(name)}}) for name in self.named(self.device)
        ]

    def _cards(self, name: str) -> list[Document]:
        amounts = {GPU_CORE: "100", GPU_MEMORY_RATIO: "100", GPU_MEMORY: self.memory}
        return [
            {"type": "gpu", "id": f"GPU-{name}-{minor}", "minor": minor, "health": True, "resources": amounts}
            for minor in range(self.gpus)
        ]


class PlainMetadata(Part):
    model_config = {"extra": "allow"}

    name: str


class Plain(Part):
    """A manifest as kubectl takes it; the API server, or koordpy, reads the rest."""

    model_config = {"extra": "allow"}

    api_version: str
    kind: str
    metadata: PlainMetadata

    def expand(self) -> list[Document]:
        return [self.model_dump(by_alias=True)]


def _form(value: object) -> str:
    written = value if isinstance(value, Mapping) else {}
    return next((f"<{form}>" for form in ("node", "pod", "device") if form in written), "<manifest>")


Manifest = Annotated[
    Annotated[NodeForm, Tag("<node>")]
    | Annotated[PodForm, Tag("<pod>")]
    | Annotated[DeviceForm, Tag("<device>")]
    | Annotated[Plain, Tag("<manifest>")],
    Discriminator(_form),
]
Manifests = Annotated[tuple[Manifest, ...], BeforeValidator(listed)]


def reference(value: object) -> object:
    """pod/p, as steps and expectations name an object."""
    kind, slash, name = str(value).partition("/")
    if not (isinstance(value, str) and slash and name and kind in KINDS):
        raise ValueError(f"{value!r} names no object; write KIND/NAME with one of {', '.join(sorted(KINDS))}")
    return value


Reference = Annotated[str, BeforeValidator(reference)]


def kind_and_name(ref: str) -> tuple[Kind, str]:
    kind, _, name = ref.partition("/")
    return KINDS[kind], name

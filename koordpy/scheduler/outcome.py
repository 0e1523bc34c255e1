"""How an attempt ends: Placed, NotPlaced, Taken by somebody else, or Dropped because somebody else leads."""

from dataclasses import dataclass

from koordpy.queue.pod_info import QueuedPodInfo
from koordpy.scheduler.diagnosis import Diagnosis
from koordpy_api import CycleState, Status
from koordpy_api.objects import Pod


@dataclass(frozen=True, slots=True)
class Placed:
    """A node was picked and is held. `pod` is the version that was assumed there."""

    queued: QueuedPodInfo
    pod: Pod
    state: CycleState
    node_name: str


@dataclass(frozen=True, slots=True)
class Taken:
    """Somebody else bound the Pod first, or it is gone. Nobody is to be told; what was held for it is let go of."""

    placed: Placed
    why: str


@dataclass(frozen=True, slots=True)
class Dropped:
    """We do not lead any more, and nobody is to be told.

    may_be_written: the bind was sent, so what is held for the Pod stays held until a watch says what became of it.
    """

    placed: Placed
    may_be_written: bool


@dataclass(frozen=True, slots=True)
class NotPlaced:
    """No node: a refusal, or something broke.

    status: the answer as a whole; its message goes to the user.
    held: the node that is still held for the Pod; failure.py lets go of it.
    nominated: the node on which room is being made; "" takes an earlier nomination back, None leaves it.
    """

    queued: QueuedPodInfo
    pod: Pod
    state: CycleState
    status: Status
    diagnosis: Diagnosis | None = None
    held: str = ""
    nominated: str | None = ""

    @classmethod
    def on_node(cls, placed: Placed, status: Status) -> "NotPlaced":
        """The Pod was held on a node and something said no: a refusal is counted over that one node."""
        queued, pod, state, node_name = placed.queued, placed.pod, placed.state, placed.node_name
        if not status.is_rejected:
            return cls(queued, pod, state, status, held=node_name)
        diagnosis = Diagnosis.of(node_name, status)
        return cls(queued, pod, state, diagnosis.status(), diagnosis=diagnosis, held=node_name)

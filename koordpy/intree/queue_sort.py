"""PrioritySort: the more important Pod first, then the one that waits longer."""

from collections.abc import Sequence

from koordpy_api import Handle, NoArgs, Problem, QueuedPod, SortKey, hookimpl
from koordpy_api.koordinator import read_priority
from koordpy_api.objects import KubeObject, Pod


class PrioritySort:
    """Source: kube-scheduler's queuesort plugin.

    Among pods of one spec.priority, Koordinator's label orders them; one that cannot be read counts as 0.
    """

    Args = NoArgs

    def __init__(self, args: NoArgs, handle: Handle) -> None:
        pass

    @hookimpl
    def queue_sort(self, queued: QueuedPod) -> SortKey:
        pod = queued.pod
        within = read_priority(pod.metadata.labels)
        return -pod.spec.priority, 0 if isinstance(within, Problem) else -within, queued.queued_at

    @hookimpl
    def check(self, obj: KubeObject) -> Sequence[Problem]:
        within = read_priority(obj.metadata.labels) if isinstance(obj, Pod) else 0
        return [within] if isinstance(within, Problem) else []

"""PrioritySort: the more important Pod first, then the one that waits longer."""

from koordpy_api import Handle, NoArgs, QueuedPod, SortKey, hookimpl


class PrioritySort:
    """Source: kube-scheduler's queuesort plugin."""

    Args = NoArgs

    def __init__(self, args: NoArgs, handle: Handle) -> None:
        pass

    @hookimpl
    def queue_sort(self, queued: QueuedPod) -> SortKey:
        return -queued.pod.spec.priority, queued.queued_at

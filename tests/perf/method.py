"""What a reader of docs/performance.md must know of how it came about."""

from collections.abc import Mapping
from typing import Final

from tests.perf.contestants import CLIENT_QPS
from tests.perf.workloads import PATTERN, SHARES

_CARDS: Final = ", ".join(f"{PATTERN.count(kind)} want {share:g} of a card" for kind, share in SHARES.items())
METHOD: Final = f"""
- Each turn has a fresh etcd and kube-apiserver on loopback, which allow many requests at once; etcd does not wait for
  the disk. All of it, the bench included, shares one machine's cores: who computes more leaves less for the API server.
- First come the nodes, then all pods, then whoever works on them is started as a process of its own. Those of one round
  work on the same objects one after the other, every other round the other way round. Nobody is asked anything while it
  works.
- koordpy and kube-scheduler run their default profiles and write an Event for each pod; neither elects a leader.
  kube-scheduler has a client limit of {CLIENT_QPS} requests/s; koordpy has none.
- The ceiling schedules nothing: it sends the requests that koordpy would send (a Binding with its annotations, then the
  pod's Event; for a pod that fits nowhere its condition) to nodes that were chosen before it started, 32 at once, as a
  lean asyncio client. The ceiling of binds leaves out the Events.
- A watch on pods notes when each bind is seen. Time begins with the first change of a pod that it sees. Events are
  counted by polling every 50 ms after the last bind. The headline, pods/s to the last Event, is what a cluster has to
  bear; to the last bind is when pods can start.
- Where pods arrive evenly, the bench creates each at its moment. When an Event was stored is known from its
  resourceVersion: the watch on pods, and afterwards the polls, say when the cluster had come to that version.
- CPU is user and system time of the whole process tree from /proc, from the first change to the last Event; "with its
  start" is all since the process began, which reads its lists before the first change. Servers and bench are counted
  from the start of whoever works. Peak memory is VmHWM. A MB is 10^6 bytes.
- For memory, the pods are bound already when the scheduler starts. It has settled once five seconds change less than a
  MB; then more pods come, are scheduled, and it settles again.
- "CPU taken by others" is what went to processes outside of the run, of all that the machine had meanwhile: the larger
  it is, the less the absolute numbers mean.
- After each turn every pod that can be bound is bound (else it is counted as left out), those that fit nowhere know it,
  no node is over its resources, no card over 100 %, and every pod has the cards it asked for; else there is no result.
- gpu-shares: of {len(PATTERN)} pods {_CARDS};
  quarters by core and ratio, halves by core and memory, the others by nvidia.com/gpu. koordpy's profile fills nodes up
  (MostAllocated).
- never-fit: the pods that fit nowhere have a priority class that lets them be first and evict nobody.
- The cycle by itself is measured in one process without any server: snapshot, all plugins of the default profile from
  PreFilter to Permit, and holding the pod in the cache. Ten pods are placed before the clock starts. "plain" pods ask
  for cpu and memory, "cards" also for a part of one, "everything" has something for every plugin.
""".strip()


def unlike(notes: Mapping[str, str]) -> str:
    """Where the two schedulers do not do the same for a pod. notes: as bench.py wrote them down."""
    ours, theirs = (notes.get(f"{who} plugins", "").split() for who in ("koordpy", "kube-scheduler"))
    percent = notes.get("kube-scheduler percentageOfNodesToScore", "0")
    sampling = "its own choice by the number of nodes" if percent == "0" else f"{percent} %"
    sentences = (
        f"koordpy's default profile runs {len(ours)} plugins, kube-scheduler's {len(theirs)}.",
        f"Only kube-scheduler runs: {_names(theirs, ours)}.",
        f"Only koordpy runs: {_names(ours, theirs)}.",
        f"kube-scheduler may stop looking once enough nodes fit: percentageOfNodesToScore is {percent}, {sampling}. "
        "koordpy looks at every node for every pod.",
        "kube-scheduler has the rights of an administrator, koordpy and the ceilings only koordpy's own, which the API "
        "server checks.",
    )
    return "\n".join(f"- {sentence}" for sentence in sentences)


def _names(some: list[str], others: list[str]) -> str:
    return ", ".join(name for name in some if name not in others) or "nothing"

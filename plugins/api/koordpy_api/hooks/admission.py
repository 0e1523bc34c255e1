"""Before anything is scheduled: what a plugin has to say of an object as a person wrote it."""

from collections.abc import Sequence

from koordpy_api.errors import Problem
from koordpy_api.markers import hookspec
from koordpy_api.objects import KubeObject


@hookspec
def check(obj: KubeObject) -> Sequence[Problem]:  # type: ignore[empty-body]
    """What is wrong with this object, as far as this plugin knows?

    Called   for each Pod (also one made from a workload's template), Node and Device of the files that
             `koordpy check` is given; outside of any attempt.
    Returns  every mistake, with its path from the object; none for a kind that is not this plugin's business.
    Raises   any exception is told as a problem of this plugin; the others are still asked.
    Must not await, do I/O, or look at anything but the object: it is not in the cluster.
    Source   koordpy.
    """

"""ImageLocality: rather a node that has the Pod's images already."""

from collections.abc import Iterable

import numpy as np

from koordpy_api import Handle, ImageState, NoArgs, NodeColumns, NodeInfo, hookimpl
from koordpy_api.columns import LIMIT, Amounts, Rows, take
from koordpy_api.objects import Pod

MIB = 1024 * 1024
LEAST = 23 * MIB
MOST_PER_CONTAINER = 1000 * MIB

_REMEMBERED = 256


class ImageLocality:
    """Source: kube-scheduler's imagelocality plugin."""

    Args = NoArgs

    def __init__(self, args: NoArgs, handle: Handle) -> None:
        # How many nodes there are has to be known where only one of them is at hand.
        self._nodes: set[str] = set()
        # (images, most) → the scores of all nodes, until a node changes: with an image more it counts for all.
        self._scores: dict[tuple[tuple[str, ...], int], Amounts] = {}
        self._scores_at: tuple[object, int] = (None, 0)

    @hookimpl
    def node_updated(self, new: NodeInfo) -> None:
        if new.node is None:
            self._nodes.discard(new.name)
        else:
            self._nodes.add(new.name)

    @hookimpl
    def score(self, pod: Pod, node_info: NodeInfo) -> int:
        states = (node_info.images.get(name) for name in images_of(pod))
        total = sum(_worth(state, len(self._nodes)) for state in states if state is not None)
        most = _most(pod)
        return 100 * (min(max(total, LEAST), most) - LEAST) // (most - LEAST)

    @hookimpl
    def score_nodes(self, pod: Pod, columns: NodeColumns, rows: Rows) -> Amounts:
        key, at = (images_of(pod), _most(pod)), (columns.epoch, columns.objects.version)
        if at != self._scores_at or len(self._scores) >= _REMEMBERED:
            self._scores, self._scores_at = {}, at
        if (scores := self._scores.get(key)) is None:
            scores = self._scores[key] = _scores_of(*key, columns)
        return take(scores, rows)


def _scores_of(images: Iterable[str], most: int, columns: NodeColumns) -> Amounts:
    total = np.zeros(len(columns), dtype=np.int64)
    for image in images:
        if (listed := columns.image(image)) is not None:
            has, state = listed
            total += has * _worth(state, len(columns))
    return 100 * (total.clip(LEAST, most) - LEAST) // (most - LEAST)


def images_of(pod: Pod) -> tuple[str, ...]:
    """Names as nodes list them: of all containers and image volumes; twice if twice."""
    spec = pod.spec
    names = [container.image for container in (*spec.init_containers, *spec.containers)]
    names += [volume.image.reference for volume in spec.volumes if volume.image.reference]
    return tuple([name if ":" in name.rpartition("/")[2] else f"{name}:latest" for name in names])


def _worth(state: ImageState, nodes: int) -> int:
    """Its size, in proportion to how many of the nodes have it; a float, so that it is upstream's very number."""
    return min(int(state.size_bytes * (state.node_count / max(nodes, 1))), LIMIT)


def _most(pod: Pod) -> int:
    return MOST_PER_CONTAINER * (len(pod.spec.init_containers) + len(pod.spec.containers))

"""Everything that the cache believes, counted again from the objects. Each difference is a bug."""

from collections.abc import Iterable, Iterator, Mapping

from koordpy.cache.cache import Cache
from koordpy.cache.images import listed
from koordpy_api import NodeInfo, PodInfo, QuantityError
from koordpy_api.objects import Node, Pod
from koordpy_api.resources import Amounts, add, parse_amounts


def recount(cache: Cache, nodes: Iterable[Node], pods: Iterable[Pod]) -> Iterator[str]:
    """nodes, pods: all that the informers hold, as they were last told; pods on no node among them.

    An object that asks or offers what is no quantity may be believed as it was before, so it is passed over.
    """
    by_name = {node.metadata.name: node for node in nodes}
    by_uid = {pod.uid: pod for pod in pods}
    yield from _of_pods(cache, by_uid)
    yield from _of_nodes(cache, by_name)
    yield from _of_images(cache, by_name.values())
    yield from _of_snapshot(cache)


def _of_pods(cache: Cache, pods: Mapping[str, Pod]) -> Iterator[str]:
    for uid, pod in pods.items():
        believed = cache.pod(uid)
        on_node = bool(pod.spec.node_name) and not pod.is_terminated
        if not on_node:
            if believed is not None and not cache.is_assumed(uid):
                yield f"pod {pod.key} is on no node, and counts on {believed.node_name}"
            continue
        try:
            counted = PodInfo.of(pod, cache.annotation_prefixes)
        except QuantityError:
            continue
        if believed is None:
            yield f"pod {pod.key} is on {counted.node_name}, and does not count"
        elif cache.is_assumed(uid):
            yield f"pod {pod.key} is on {counted.node_name}, and is still an assumption on {believed.node_name}"
        elif believed != counted:
            yield f"pod {pod.key} on {counted.node_name} is believed to be {_difference(believed, counted)}"
    for info in cache.pods():
        if info.uid not in pods:
            yield f"pod {info.key} does not exist, and counts on {info.node_name}"


def _difference(believed: PodInfo, counted: PodInfo) -> str:
    names = [name for name in PodInfo.__struct_fields__ if getattr(believed, name) != getattr(counted, name)]
    return "; ".join(f"{name} {getattr(believed, name)!r}, not {getattr(counted, name)!r}" for name in names)


def _of_nodes(cache: Cache, nodes: Mapping[str, Node]) -> Iterator[str]:
    on_node: dict[str, dict[str, PodInfo]] = {}
    for info in cache.pods():
        on_node.setdefault(info.node_name, {})[info.uid] = info
    believed = {node.name: node for node in cache.nodes()}
    for name, node in believed.items():
        yield from _of_node(node, on_node.get(name, {}), nodes.get(name))
    yield from (f"node {name} has pods, and is not known" for name in on_node.keys() - believed.keys())
    for name in nodes.keys() - {name for name in believed if cache.has_node(name)}:
        if (offered := _allocatable(nodes[name])) is not None:
            yield f"node {name} exists with {offered}, and is not known"


def _of_node(node: NodeInfo, pods: Mapping[str, PodInfo], exists: Node | None) -> Iterator[str]:
    if node.pods != pods:
        yield f"node {node.name}: the pods on it are {sorted(node.pods)}, and those that count there {sorted(pods)}"
    requested: Amounts = {}
    non_zero: Amounts = {}
    for pod in node.pods.values():
        requested, non_zero = add(requested, pod.requests), add(non_zero, pod.non_zero_requests)
    if _without_zeros(node.requested) != _without_zeros(requested):
        yield f"node {node.name}: its pods ask for {requested}, and {dict(node.requested)} is believed"
    if _without_zeros(node.non_zero_requested) != _without_zeros(non_zero):
        yield f"node {node.name}: its pods score as {non_zero}, and {dict(node.non_zero_requested)} is believed"
    if exists is None:
        if node.node is not None:
            yield f"node {node.name} is gone, and is believed to be there"
        elif not node.pods:
            yield f"node {node.name} is neither there nor has it pods, and is remembered"
    elif (offered := _allocatable(exists)) is not None:
        if node.node is None or (node.node.spec, node.labels) != (exists.spec, exists.metadata.labels):
            yield f"node {node.name} is not believed to be as it is"
        if node.allocatable != offered:
            yield f"node {node.name}: it offers {offered}, and {dict(node.allocatable)} is believed"


def _of_images(cache: Cache, nodes: Iterable[Node]) -> Iterator[str]:
    counts: dict[str, int] = {}
    for node in nodes:
        if _allocatable(node) is None:
            return  # whether it was understood before, nobody can tell
        for name in listed(node):
            counts[name] = counts.get(name, 0) + 1
    if (believed := cache.image_counts()) != counts:
        wrong = sorted(name for name in counts.keys() | believed.keys() if counts.get(name) != believed.get(name))
        yield f"images {', '.join(wrong)} are not on as many nodes as is believed"


def _of_snapshot(cache: Cache) -> Iterator[str]:
    snapshot = cache.update_snapshot()
    if [node.name for node in snapshot.nodes] != list(cache.order()):
        yield "the snapshot's nodes are not the known ones in their order"
    for row, node in enumerate(snapshot.nodes):
        if snapshot.rows.get(node.name) != row or cache.node(node.name) is not node:
            yield f"node {node.name}: the snapshot has an older one, or not in its place"
    yield from (f"the column is wrong: {what}" for what in snapshot.columns.wrong())
    sizes = {"nodes": len(snapshot.nodes), "pods": len(list(cache.pods()))}
    sizes["assumed_pods"] = sum(cache.is_assumed(info.uid) for info in cache.pods())
    if cache.sizes() != sizes:
        yield f"the sizes are {sizes}, and {cache.sizes()} is told"


def _allocatable(node: Node) -> Amounts | None:
    try:
        return parse_amounts(node.status.allocatable)
    except QuantityError:
        return None


def _without_zeros(amounts: Mapping[str, int]) -> Amounts:
    return {name: amount for name, amount in amounts.items() if amount}

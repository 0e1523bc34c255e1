"""Which toleration covers which taint. Source: k8s.io/component-helpers/scheduling/corev1 (ToleratesTaint)."""

from collections.abc import Iterable

from koordpy_api.objects import Taint, Toleration


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Does this toleration cover this taint? An empty effect or key covers every one."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator in ("", "Equal"):
        return toleration.value == taint.value
    return toleration.operator == "Exists"


def is_tolerated(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    return any(tolerates(toleration, taint) for toleration in tolerations)

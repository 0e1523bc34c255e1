"""All plugins' PreBindPlans → the annotations that travel inside the Binding.

The API server does not look at annotation keys in a Binding, but a bad one would block every later update of the Pod;
so they are checked here. Source: k8s.io/apimachinery/pkg/api/validation (ValidateAnnotations).
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from koordpy_api import PodPatch, PreBindPlan, Status

TOTAL_LIMIT_BYTES: Final = 256 * 1024
_NAME: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?", re.ASCII)
_PREFIX: Final = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*", re.ASCII)


def merge(plans: Sequence[tuple[str, PreBindPlan]]) -> PreBindPlan | Status:
    """One plan out of (plugin, plan) pairs, or an error that names the plugin and the key."""
    annotations: dict[str, str] = {}
    owners: dict[str, str] = {}
    for plugin, plan in plans:
        for key, text in plan.pod.annotations.items():
            if key in owners:
                return Status.error(f"plugins {owners[key]} and {plugin} both write annotation {key}").by(plugin)
            if not is_qualified_name(key):
                return Status.error(f"plugin {plugin} writes annotation {key!r}, which is no qualified name").by(plugin)
            if not _is_text(text):
                return Status.error(f"plugin {plugin} writes annotation {key} as {text!r}, which is no text").by(plugin)
            annotations[key], owners[key] = text, plugin
    size = sum(len(key.encode()) + len(text.encode()) for key, text in annotations.items())
    if size > TOTAL_LIMIT_BYTES:
        return Status.error(f"annotations of {size} bytes, but a Pod takes {TOTAL_LIMIT_BYTES} bytes")
    return PreBindPlan(PodPatch(annotations))


@lru_cache(maxsize=1024)  # plugins write the same few
def is_qualified_name(key: str) -> bool:
    """name, or prefix/name, in any case. Source: k8s.io/apimachinery/pkg/util/validation (IsQualifiedName)."""
    prefix, slash, name = key.rpartition("/")
    if slash and (len(prefix) > 253 or not _PREFIX.fullmatch(prefix.lower())):
        return False
    return _NAME.fullmatch(name) is not None


def _is_text(value: object) -> bool:
    """Half a surrogate pair is none: it has no bytes to send."""
    if not isinstance(value, str):
        return False
    return value.isascii() or not any("\ud800" <= character <= "\udfff" for character in value)

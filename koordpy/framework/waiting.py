"""Pods that Permit holds on their node until every plugin that answered Wait has allowed them.

Source: pkg/scheduler/framework/runtime (waiting_pods_map.go).
"""

import asyncio
from collections.abc import Mapping
from typing import Final

from koordpy_api import Status
from koordpy_api.objects import Pod

MAX_WAIT_S: Final = 15 * 60.0


class WaitingPod:
    """koordpy_api.WaitingPod. Its time begins with `settled`, which the binding cycle awaits at once."""

    def __init__(self, pod: Pod, node_name: str, timeouts_s: Mapping[str, float]) -> None:
        """timeouts_s: plugin → how long it may hold the Pod; more than 15 minutes is 15 minutes."""
        self._pod = pod
        self._node_name = node_name
        self._timeouts_s = {plugin: min(timeout_s, MAX_WAIT_S) for plugin, timeout_s in timeouts_s.items()}
        self._refusal: Status | None = None
        self._news = asyncio.Event()

    @property
    def pod(self) -> Pod:
        return self._pod

    @property
    def node_name(self) -> str:
        return self._node_name

    @property
    def pending_plugins(self) -> frozenset[str]:
        return frozenset(self._timeouts_s)

    @property
    def timeouts_s(self) -> Mapping[str, float]:
        """Of the plugins that have not allowed it yet."""
        return self._timeouts_s

    @property
    def is_settled(self) -> bool:
        return self._refusal is not None or not self._timeouts_s

    def allow(self, plugin: str) -> bool:
        if self.is_settled or plugin not in self._timeouts_s:
            return False
        del self._timeouts_s[plugin]
        self._news.set()
        return True

    def reject(self, plugin: str, why: str) -> bool:
        if self.is_settled:
            return False
        self._refusal = Status.unschedulable(why).by(plugin)
        self._news.set()
        return True

    async def settled(self) -> Status | None:
        """None once everybody has allowed it, or the first refusal; time that is up is one."""
        began = asyncio.get_running_loop().time()
        while not self.is_settled:
            self._news.clear()
            plugin, timeout_s = min(self._timeouts_s.items(), key=lambda each: each[1])
            try:
                async with asyncio.timeout_at(began + timeout_s):
                    await self._news.wait()
            except TimeoutError:
                waited = duration_text(timeout_s)
                self.reject(plugin, f"rejected due to timeout after waiting {waited} at plugin {plugin}")
        return self._refusal


class WaitingPods:
    """By UID; one for all profiles of a scheduler."""

    def __init__(self) -> None:
        self._pods: dict[str, WaitingPod] = {}

    def add(self, pod: WaitingPod) -> None:
        self._pods[pod.pod.uid] = pod

    def all(self) -> list[WaitingPod]:
        return list(self._pods.values())

    def get(self, uid: str) -> WaitingPod | None:
        return self._pods.get(uid)

    def remove(self, uid: str) -> None:
        self._pods.pop(uid, None)

    def reject(self, uid: str, why: str) -> None:
        """By the host, for no plugin; nothing happens if it does not wait."""
        if (waiting := self._pods.get(uid)) is not None:
            waiting.reject("", why)


def duration_text(seconds: float) -> str:
    """1.5s, 10s, 15m0s, 1h0m0s, 250ms. Source: Go's time.Duration.String, which is in upstream's messages."""
    nanos = round(seconds * 1e9)
    if 0 < nanos < 1_000_000_000:
        for unit, size in (("ms", 1_000_000), ("µs", 1_000), ("ns", 1)):
            if nanos >= size:
                return f"{_decimal(nanos, size)}{unit}"
    minutes, rest = divmod(nanos, 60_000_000_000)
    hours, minutes = divmod(minutes, 60)
    text = f"{_decimal(rest, 1_000_000_000)}s"
    if hours:
        return f"{hours}h{minutes}m{text}"
    return f"{minutes}m{text}" if minutes else text


def _decimal(number: int, unit: int) -> str:
    whole, rest = divmod(number, unit)
    fraction = str(rest).zfill(len(str(unit)) - 1).rstrip("0") if rest else ""
    return f"{whole}.{fraction}" if fraction else str(whole)

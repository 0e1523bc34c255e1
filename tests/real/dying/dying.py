"""A plugin with which the scheduler's process ends, as by kill -9, at one step between Reserve and a bind's answer."""

import asyncio
import os
import signal

from koordpy_api import CycleState, Handle, PluginArgs, hookimpl
from koordpy_api.objects import Pod


class DyingArgs(PluginArgs):
    """step: reserve, permit, pre_bind, bind, wire or post_bind. pod: at which Pod that comes there, from 1.

    delay_ms: how long after the Binding was about to be sent, for the step `wire`.
    """

    step: str = ""
    pod: int = 1
    delay_ms: float = 0.0


class Dying:
    """Enabled last everywhere but at bind, where it has to come first."""

    Args = DyingArgs

    def __init__(self, args: DyingArgs, handle: Handle) -> None:
        self._args = args
        self._came = 0

    def _come(self, step: str) -> None:
        if self._args.step != step:
            return
        self._came += 1
        if self._came != self._args.pod:
            return
        if step == "wire":
            asyncio.get_running_loop().call_later(self._args.delay_ms / 1000, _die)
        else:
            _die()

    @hookimpl
    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        self._come("reserve")

    @hookimpl
    def permit(self, state: CycleState, pod: Pod, node_name: str) -> None:
        self._come("permit")

    @hookimpl
    def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> None:
        self._come("pre_bind")

    @hookimpl
    def bind(self, state: CycleState, pod: Pod, node_name: str) -> None:
        self._come("bind")
        self._come("wire")

    @hookimpl
    def post_bind(self, state: CycleState, pod: Pod, node_name: str) -> None:
        self._come("post_bind")


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)

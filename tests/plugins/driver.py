"""Runs where broken distributions are installed: what does each of them come to, and does the host live?

One JSON object a line: plugin names, the message, and which Pods were bound beside it.
"""

import asyncio
import json
import logging
import sys
from typing import Any

from koordpy.config.expand import ResolvedProfile
from koordpy.errors import KoordpyError
from koordpy.framework.build import build_all
from koordpy.framework.registry import Registry
from koordpy.testing import node_manifest, pod_manifest
from tests.scheduler.stage import Stage, perform


def profile(name: str, *plugins: str) -> ResolvedProfile:
    return ResolvedProfile.of(name, ("PrioritySort", *plugins, "DefaultBinder"), Registry())


def outcome(*plugins: str) -> dict[str, Any]:
    """A profile of these plugins beside one without; a Pod for each."""
    told: dict[str, Any] = {"plugins": plugins, "message": "", "bound": []}
    profiles = [profile("koordpy-scheduler")]
    try:
        build_all([profile("broken", *plugins)], Registry(), lambda *said: None)
        profiles.append(profile("broken", *plugins))
    except KoordpyError as error:
        told["message"] = str(error)

    async def scene(stage: Stage) -> None:
        for name, scheduler in (("first", "koordpy-scheduler"), ("asks-it", "broken"), ("last", "koordpy-scheduler")):
            stage.cluster.add(pod_manifest(name, scheduler_name=scheduler))
            await asyncio.sleep(5)
        told["bound"] = [name for name in ("first", "asks-it", "last") if stage.cluster.node_of(name)]
        told["message"] = told["message"] or stage.cluster.condition("asks-it").get("message", "")
        assert not stage.running.done()

    perform(scene, node_manifest("n1"), frameworks=build_all(profiles, Registry(), lambda *said: None))
    return told


class Collector(logging.Handler):
    """Warnings of the host, once each."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.texts: dict[str, None] = {}

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno == logging.WARNING:
            self.texts[record.getMessage()] = None


if __name__ == "__main__":
    collector = Collector()
    logging.getLogger("koordpy").addHandler(collector)
    logging.lastResort = None
    for names in sys.argv[1:]:
        print(json.dumps(outcome(*names.split("+"))))
    print(json.dumps({"warnings": list(collector.texts)}))

"""A client that only writes: what the API server takes from somebody who has nothing to decide and nothing to read.

A process of its own. When all is written it stays, so that its counters can be read, until it is killed.
"""

import argparse
import asyncio
import base64
import gc
import json
import ssl
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import aiohttp
import msgspec

IN_FLIGHT: Final = 32

_Write = tuple[str, str, str, bytes]
"""Method, path, content type, body; tests.perf.plan writes them."""


async def send(session: aiohttp.ClientSession, chains: Sequence[Sequence[_Write]], in_flight: int) -> None:
    """All of them, in_flight at once. *Raises* RuntimeError when one is refused."""
    remaining = iter(chains)

    async def send_some() -> None:
        for chain in remaining:
            for method, path, content_type, body in chain:
                headers = {"Content-Type": content_type}
                async with session.request(method, path, data=body, headers=headers) as answer:
                    text = await answer.read()
                if answer.status >= 300:
                    raise RuntimeError(f"{method} {path} is refused with {answer.status}: {text[:500]!r}")

    async with asyncio.TaskGroup() as group:
        for _ in range(in_flight):
            group.create_task(send_some())


async def run(kubeconfig: Path, plan: Path, in_flight: int) -> None:
    """Until it is killed."""
    config = json.loads(kubeconfig.read_text())  # noqa: ASYNC240 - nothing else happens yet
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    tls = ssl.create_default_context(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
    chains = msgspec.msgpack.decode(plan.read_bytes(), type=list[list[_Write]])  # noqa: ASYNC240
    gc.freeze()
    gc.disable()
    async with aiohttp.ClientSession(
        cluster["server"],
        connector=aiohttp.TCPConnector(limit=in_flight, ssl=tls),
        headers={"Authorization": f"Bearer {user['token']}", "Accept-Encoding": "identity"},
    ) as session:
        await send(session, chains, in_flight)
    await asyncio.Event().wait()


def main(arguments: Sequence[str]) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="ceiling", description=__doc__.partition("\n")[0])
    parser.add_argument("--kubeconfig", type=Path, required=True)
    parser.add_argument("--plan", type=Path, required=True, help="what to write; tests.perf.plan makes it")
    parser.add_argument("--in-flight", type=int, default=IN_FLIGHT)
    options = parser.parse_args(arguments)
    asyncio.run(run(options.kubeconfig, options.plan, options.in_flight))


if __name__ == "__main__":
    main(sys.argv[1:])

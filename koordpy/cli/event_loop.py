"""The event loop under a scheduler: uvloop's where it is installed, else asyncio's own; what runs on it is the same."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run(main: Coroutine[Any, Any, T]) -> T:
    """As asyncio.run. TLS and sockets are a third of what a Pod costs, and uvloop does them in C."""
    try:
        import uvloop
    except ImportError:
        return asyncio.run(main)
    return uvloop.run(main)

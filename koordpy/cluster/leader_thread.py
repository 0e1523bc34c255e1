"""LeaderThread: an Elector apart from the scheduler it speaks for, so that neither a long cycle holds up a renewal nor
a full pool of connections does.
"""

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable
from typing import Final

from koordpy.cluster.leader import Elector
from koordpy.cluster.protocol import Cluster

logger = logging.getLogger("koordpy.leader")

CLOSE_PATIENCE_S: Final = 5.0


class LeaderThread:
    """A thread with an event loop and a connection of its own.

    connect: a connection for this thread alone; it closes it. elect: the candidate over it. may_lead: is there a
    scheduler that works? on_lead, on_lost: called on this thread, each at most once; on_lost with the reason.
    """

    def __init__(
        self,
        connect: Callable[[], Awaitable[Cluster]],
        elect: Callable[[Cluster], Elector],
        may_lead: Callable[[], bool],
        on_lead: Callable[[], None],
        on_lost: Callable[[str], None],
    ) -> None:
        self._connect = connect
        self._elect = elect
        self._may_lead = may_lead
        self._on_lead = on_lead
        self._on_lost = on_lost
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closing: asyncio.Event | None = None
        self._started = threading.Event()
        self._releases = False
        # A daemon: it must not keep a process alive whose scheduler is gone.
        self._thread = threading.Thread(target=self._run, name="leader election", daemon=True)

    def start(self) -> None:
        """Begin to want the Lease."""
        self._thread.start()
        self._started.wait()

    def close(self, *, release: bool) -> None:
        """End it; blocks for a moment. release: give the Lease back, for nothing of ours is on the wire any more.

        May be called twice, and without `start`.
        """
        if not self._thread.is_alive():
            return
        self._releases = release
        loop, closing = self._loop, self._closing
        assert loop is not None and closing is not None
        try:
            loop.call_soon_threadsafe(closing.set)
        except RuntimeError:  # it has just ended
            return
        self._thread.join(CLOSE_PATIENCE_S)

    def _run(self) -> None:
        try:
            asyncio.run(self._main())
        except Exception as error:
            logger.exception("the election ended")
            while isinstance(error, ExceptionGroup):  # of the tasks in which it is run
                error = error.exceptions[0]
            self._on_lost(f"the election ended: {type(error).__name__}: {error}")
        finally:
            self._started.set()

    async def _main(self) -> None:
        self._loop, self._closing = asyncio.get_running_loop(), asyncio.Event()
        self._started.set()
        cluster = await self._connect()
        try:
            elector = self._elect(cluster)
            async with asyncio.TaskGroup() as group:
                campaign = group.create_task(self._campaign(elector))
                await self._closing.wait()
                campaign.cancel()
            if self._releases:
                await elector.release()
        finally:
            await cluster.close()

    async def _campaign(self, elector: Elector) -> None:
        await elector.acquire(self._may_lead)
        self._on_lead()
        async with asyncio.TaskGroup() as group:
            told = group.create_task(elector.announce())
            why = await elector.keep(self._may_lead)
            told.cancel()
        self._on_lost(why)

"""Ingestion of uploaded files, which is completed even if the uploader leaves meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

import structlog

from hocket_bus.messages import Ingested, Progress

from .uploads import UploadedFile

Reply = Progress | Ingested

log = structlog.get_logger(__name__)


class Readings:
    """The ingestions that are running."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def start(
        self, replies: AsyncGenerator[Reply], file: UploadedFile, over: Callable[[], None]
    ) -> AsyncGenerator[Reply]:
        """Start an ingestion; return its replies. A file that cannot be read is undone; `over` is called at the end."""
        came = asyncio.Queue[Reply | None]()
        task = asyncio.create_task(_read(replies, file, over, came))
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return _following(came, task)

    async def close(self) -> None:
        """Cancel the ingestions; their files stay as they are."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.warning("what became of a file that was sent is not known", error=str(error))


async def _read(
    replies: AsyncGenerator[Reply], file: UploadedFile, over: Callable[[], None], came: asyncio.Queue[Reply | None]
) -> None:
    try:
        async with aclosing(replies):
            async for reply in replies:
                if isinstance(reply, Ingested) and reply.failures:
                    file.undo()
                came.put_nowait(reply)
    finally:
        file.settle()
        over()
        came.put_nowait(None)


async def _following(came: asyncio.Queue[Reply | None], task: asyncio.Task[None]) -> AsyncGenerator[Reply]:
    """Yield the replies as they come; raises what has ended them early."""
    while (reply := await came.get()) is not None:
        yield reply
    await asyncio.shield(task)

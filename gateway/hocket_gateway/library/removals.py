"""Removal of documents and their uploaded files, which is completed even if it takes long and the client leaves."""

from __future__ import annotations

import asyncio

import structlog

from hocket_bus.messages import Removed

from .stored import StoredDocuments
from .uploads import Uploads

WAIT_S = 10.0  # behind it the removal goes on without whoever asked

log = structlog.get_logger(__name__)


class Removals:
    """The removals that are running."""

    def __init__(self, documents: StoredDocuments, uploads: Uploads) -> None:
        self._documents, self._uploads = documents, uploads
        self._tasks: dict[str, asyncio.Task[Removed]] = {}

    async def remove(self, name: str) -> Removed | None:
        """Forget a document; None if that takes longer, and continues. Raises HocketError if it failed at once."""
        task = self._tasks.get(name)
        if task is None:
            task = self._tasks[name] = asyncio.create_task(self._remove(name))
            task.add_done_callback(lambda done: self._ended(name, done))
        done, _ = await asyncio.wait({task}, timeout=WAIT_S)
        if done:
            return task.result()
        self._uploads.delete(name)
        return None

    async def close(self) -> None:
        """Stop waiting for removals; the retrieval daemon completes those that it has begun."""
        tasks = [*self._tasks.values()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _remove(self, name: str) -> Removed:
        removed = await self._documents.remove([name])
        self._uploads.delete(name)
        return removed

    def _ended(self, name: str, task: asyncio.Task[Removed]) -> None:
        del self._tasks[name]
        if not task.cancelled() and (error := task.exception()) is not None:
            log.warning("a document was not removed", name=name, error=str(error))

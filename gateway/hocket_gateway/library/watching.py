"""Folders of this device that are read again as soon as something changes in them, while the gateway runs.

Each time a folder is ingested as a whole, which skips what is unchanged and forgets what is gone. So changes while
nobody watched are caught up with.
"""

from __future__ import annotations

import asyncio
import os
import time
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import msgspec
import structlog
from watchfiles import awatch

from hocket_bus import as_json
from hocket_bus.errors import BadConfiguration, BadRequest, HocketError
from hocket_bus.messages import Progress
from hocket_bus.trust.private import write_whole

from ..http.refusals import Refusal
from .stored import StoredDocuments

GATHERED_MS = 1_500  # of changes that come together are one
LOOK_MS = 1_000
AGAIN_S = 300.0  # without a change, for disks that tell of none
RETRY_S = 5.0  # where the retrieval daemon does not answer, or the folder is away
MAX_FOLDERS = 64

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class WatchedFolder:
    """A watched folder and its progress; `problem` is why it was not read at the last attempt."""

    path: Path
    state: Literal["waiting", "reading", "read"] = "waiting"
    passages_done: int = 0  # of the reading under way
    passages_total: int = 0
    failures: list[str] = field(default_factory=list)  # files that cannot be read, and why
    problem: str = ""

    def shown(self) -> dict[str, Any]:
        """Return the folder's state as a client is shown it."""
        return {
            "folder": str(self.path),
            "state": self.state,
            "progress": {"passages": self.passages_done, "of": self.passages_total},
            "failures": self.failures,
            "problem": self.problem,
        }


class Watching:
    """The watched folders; their list is stored in a file. Made and closed on the loop that serves."""

    def __init__(self, file: Path | None, documents: StoredDocuments) -> None:
        """Begin to watch the folders in `file`; without a file nothing is watched. Raises BadConfiguration."""
        self._file = file
        self._documents = documents
        self._folders: dict[Path, WatchedFolder] = {}
        self._tasks: dict[Path, asyncio.Task[None]] = {}
        for path in _listed(file):
            self._begin(path)

    @property
    def is_on(self) -> bool:
        """Tell whether folders may be watched."""
        return self._file is not None

    def shown(self) -> list[dict[str, Any]]:
        """Return all folders, by name."""
        return [folder.shown() for _, folder in sorted(self._folders.items())]

    async def add(self, name: str) -> None:
        """Watch a folder from now on, in place of those below it; one that is watched stays so. Raises Refusal."""
        if self._file is None:
            raise Refusal(403, "this gateway watches no folders", "set watched in serve.toml", "not_allowed")
        path = Path(os.path.realpath(name))  # a link could lead elsewhere tomorrow
        if not os.path.isabs(name) or not os.path.isdir(path):
            text = f"'{name[:200]}' is not a folder of this device"
            raise Refusal(400, text, "send its full path", "bad_name", param="folder")
        if not _may_read(path):
            text = f"the user of this gateway may not read '{name[:200]}'"
            raise Refusal(403, text, "let that user read the folder", "not_allowed", param="folder")
        if above := next((folder for folder in self._folders if folder in path.parents), None):
            text = f"'{name[:200]}' is watched already, as part of {above}"
            raise Refusal(400, text, f"stop watching {above} first", "watched", param="folder")
        below = [folder for folder in self._folders if path in folder.parents]
        if path not in self._folders and len(self._folders) - len(below) >= MAX_FOLDERS:
            raise Refusal(400, f"{MAX_FOLDERS} folders are watched", "remove one first", "too_many")
        if path not in self._folders:
            for folder in below:
                del self._folders[folder]
            self._begin(path)
            self._save(self._file)
            await _ended([self._tasks.pop(folder) for folder in below])

    async def drop(self, name: str) -> None:
        """Stop watching a folder; its documents stay. Raises Refusal."""
        spelled = map(Path, (os.path.normpath(name), os.path.realpath(name)))
        path = next((path for path in spelled if path in self._folders), None)
        if self._file is None or path is None:
            raise Refusal(404, f"'{name[:200]}' is not watched", "see: GET /watched", "not_watched")
        del self._folders[path]
        await _ended([self._tasks.pop(path)])
        self._save(self._file)

    async def close(self) -> None:
        """Stop watching all folders; the list stays."""
        await _ended([*self._tasks.values()])

    def _begin(self, path: Path) -> None:
        folder = self._folders[path] = WatchedFolder(path)
        self._tasks[path] = asyncio.create_task(self._watch(folder))

    def _save(self, file: Path) -> None:
        paths = [str(path) for path in sorted(self._folders)]
        write_whole(file, as_json.indented(paths))

    async def _watch(self, folder: WatchedFolder) -> None:
        while True:
            try:
                await self._read_at_changes(folder)
            except (OSError, HocketError) as error:
                folder.state, folder.problem = "waiting", str(error)[:500]
                log.warning("a watched folder is not read", folder=str(folder.path), error=folder.problem)
            await asyncio.sleep(RETRY_S)

    async def _read_at_changes(self, folder: WatchedFolder) -> None:
        """Read a folder at its changes. They are watched before the first reading, so that none is missed after it."""
        due_s = 0.0
        changes = awatch(folder.path, debounce=GATHERED_MS, rust_timeout=LOOK_MS, yield_on_timeout=True)
        async for changed in changes:
            if changed or time.monotonic() >= due_s:
                await self._read(folder)
                due_s = time.monotonic() + AGAIN_S

    async def _read(self, folder: WatchedFolder) -> None:
        if os.path.realpath(folder.path) != str(folder.path) or not _may_read(folder.path):
            raise BadRequest(f"{folder.path} became a link, or may not be read", "watch the actual folder")
        folder.state = "reading"
        async with aclosing(self._documents.ingest([str(folder.path)])) as replies:
            async for reply in replies:
                if isinstance(reply, Progress):
                    folder.passages_done, folder.passages_total = reply.chunks_done, reply.chunks_total
                else:
                    folder.state, folder.failures, folder.problem = "read", list(reply.failures), ""


def _may_read(folder: Path) -> bool:
    """Tell whether the gateway's user may list it: the retrieval daemon may run as one with more access."""
    return os.access(folder, os.R_OK | os.X_OK)


async def _ended(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)


def _listed(file: Path | None) -> list[Path]:
    if file is None or not file.exists():
        return []
    try:
        return [Path(path) for path in msgspec.json.decode(file.read_bytes(), type=list[str])][:MAX_FOLDERS]
    except (OSError, msgspec.DecodeError) as error:
        raise BadConfiguration(f"{file}: {error}", "fix the file, or remove it") from error

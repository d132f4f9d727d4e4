"""Standard input and output as an editor uses them: the protocol and nothing else."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import threading
from collections.abc import Callable
from contextlib import suppress

from pygls.io_ import run_async

from hocket_client import AsyncClient

from .server import Server

PIECE_BYTES = 1 << 16
_LENGTH = re.compile(rb"content-length\s*:\s*(\d+)\s*", re.IGNORECASE)


def serve(make_client: Callable[[], AsyncClient], *, tokens: int, memory: bool) -> None:
    """Serve until the editor ends it, or is gone."""
    logging.getLogger("pygls").setLevel(logging.ERROR)
    output = Output()
    asyncio.run(_serve(output, make_client, tokens=tokens, memory=memory))


async def _serve(output: Output, make_client: Callable[[], AsyncClient], *, tokens: int, memory: bool) -> None:
    server = Server(make_client, tokens=tokens, memory=memory)
    server.protocol.set_writer(output)
    try:
        await run_async(threading.Event(), Input(), server.protocol, error_handler=server.on_fault)
    except asyncio.IncompleteReadError:
        pass  # the editor is gone
    finally:
        await server.drafts.leave()


class Input:
    """Standard input, read on a thread that nobody has to wait for at the end."""

    def __init__(self) -> None:
        self._stream = asyncio.StreamReader()
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._read, daemon=True).start()

    async def readline(self) -> bytes:
        """Return a line; a header with a message's length is rewritten as the library knows it."""
        await asyncio.sleep(0)  # a request looks at its text before the next message changes that
        line = await self._stream.readline()
        length = _LENGTH.fullmatch(line)
        return b"Content-Length: %s\r\n" % length[1] if length else line

    async def readexactly(self, count: int) -> bytes:
        """Return exactly `count` bytes."""
        return await self._stream.readexactly(count)

    def _read(self) -> None:
        with suppress(RuntimeError):  # the loop has been closed
            with suppress(OSError):  # its terminal is gone
                while piece := os.read(0, PIECE_BYTES):
                    self._loop.call_soon_threadsafe(self._stream.feed_data, piece)
            self._loop.call_soon_threadsafe(self._stream.feed_eof)


class Output:
    """Standard output for the protocol alone: whatever else might print there goes to standard error."""

    def __init__(self) -> None:
        self._descriptor = os.dup(1)
        os.dup2(2, 1)

    def write(self, data: bytes) -> None:
        """Send the data, unless the editor is gone."""
        left = memoryview(data)
        with suppress(OSError):
            while left:
                left = left[os.write(self._descriptor, left) :]

    def close(self) -> None:
        """Close the stream; nothing more is sent."""
        os.close(self._descriptor)
        self._descriptor = -1

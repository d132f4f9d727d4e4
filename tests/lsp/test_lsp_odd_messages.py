"""Laws of messages that are none of the protocol's, or come at a wrong time: each request has an answer.

No test saw a request that was left without one, since the editor of the tests sends through a library that makes none
but right ones. Here the bytes are our own.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from scripted_device import ScriptedDevice

from shortened import shortened
from waiting import WAIT_S

DOCUMENT = {"uri": "file:///home/anna/Meine%20Briefe/%C3%9Cber%20uns.md"}
INLINE, METHOD_NOT_FOUND, INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR = (
    "textDocument/inlineCompletion", -32601, -32602, -32600, -32700,
)  # fmt: skip


def place(document: object, *, line: int = 0, character: object = 4, trigger: int = 1) -> dict[str, object]:
    """What a request for grey text says."""
    at = {"line": line, "character": character}
    return {"textDocument": document, "position": at, "context": {"triggerKind": trigger}}


class RawEditor:
    """Sends bytes, and takes answers by their numbers."""

    def __init__(self, server: asyncio.subprocess.Process) -> None:
        self._server = server

    def send(self, body: object, head: str = "Content-Length: {}\r\n\r\n") -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        assert self._server.stdin is not None
        self._server.stdin.write(head.format(len(data)).encode() + data)

    def tell(self, method: str, **params: object) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    async def ask(self, number: object, method: str, params: object) -> dict[str, Any]:
        self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        return await self.answer(number)

    async def answer(self, number: object) -> dict[str, Any]:
        """The one with this number; what the server says without being asked is passed over."""
        async with asyncio.timeout(WAIT_S):
            while True:
                found = await self._message()
                if "method" not in found and found.get("id") == number:
                    return found

    async def _message(self) -> dict[str, Any]:
        assert self._server.stdout is not None
        head = await self._server.stdout.readuntil(b"\r\n\r\n")
        size = next(int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.startswith(b"Content-Length"))
        found: dict[str, Any] = json.loads(await self._server.stdout.readexactly(size))
        return found

    async def lives(self) -> None:
        """It answers for a document that is open."""
        assert "result" in await self.ask("alive", INLINE, place(DOCUMENT))


@asynccontextmanager
async def raw_editor(device: ScriptedDevice) -> AsyncIterator[RawEditor]:
    command = (sys.executable, "-m", "hocket_tools.main", "lsp", "--endpoint", device.endpoint)
    pipe = asyncio.subprocess.PIPE
    server = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, stderr=asyncio.subprocess.DEVNULL)
    editor = RawEditor(server)
    try:
        assert "result" in await editor.ask(0, "initialize", {"processId": None, "rootUri": None, "capabilities": {}})
        editor.tell("initialized")
        editor.tell("textDocument/didOpen", textDocument={**DOCUMENT, "languageId": "", "version": 0, "text": "The f"})
        yield editor
        assert "result" in await editor.ask("end", "shutdown", None)
        late = await editor.ask("late", INLINE, place(DOCUMENT))
        assert late["error"]["code"] == INVALID_REQUEST
        editor.tell("exit")
        assert await asyncio.wait_for(server.wait(), WAIT_S) == 0
    finally:
        if server.returncode is None:
            server.kill()
            await server.wait()


ODD_REQUESTS: list[tuple[str, object, int]] = [
    ("textDocument/noSuchThing", {}, METHOD_NOT_FOUND),
    (INLINE, place({"uri": "file:///not/open.md"}, trigger=0), INVALID_PARAMS),
    (INLINE, place(DOCUMENT, line=-1, character="x"), 0),
    (INLINE, place(DOCUMENT, line=77, character=999_999), 0),
    (INLINE, place({"uri": "file:///not/open.md"}), 0),
    (INLINE, None, 0),
    (INLINE, [], 0),
    ("textDocument/completion", {"textDocument": 5}, 0),
]


@pytest.mark.slow
def test_each_odd_request_has_an_answer(device: ScriptedDevice) -> None:
    """A result or an error, whatever its number is; and the next request has one, too."""

    async def law() -> None:
        async with raw_editor(device) as editor:
            for at, (method, params, code) in enumerate(ODD_REQUESTS):
                number = at if at % 2 else f"request {at}"
                answer = await editor.ask(number, method, params)
                assert ("result" in answer) != ("error" in answer), (method, params)
                assert code in (0, answer.get("error", {}).get("code")), (method, params)
                await editor.lives()

    asyncio.run(law())


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", PARSE_ERROR),
        (b"[" * 200_000, PARSE_ERROR),
        (b"7", INVALID_REQUEST),
        pytest.param(b"\xff\xfe", PARSE_ERROR, marks=pytest.mark.slow),
        pytest.param(b"[]", INVALID_REQUEST, marks=pytest.mark.slow),
        pytest.param(b"{}", INVALID_REQUEST, marks=pytest.mark.slow),
    ],
)
def test_what_is_no_message_is_answered_without_a_number(device: ScriptedDevice, body: bytes, code: int) -> None:
    """It may have been a request; the server lives on."""

    async def law() -> None:
        async with raw_editor(device) as editor:
            editor.send(body)
            assert (await editor.answer(None))["error"]["code"] == code
            await editor.lives()

    asyncio.run(law())


@pytest.mark.parametrize(
    "head",
    shortened(
        [
            "Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nCONTENT-LENGTH:  {}\r\n\r\n",
            "content-length: {}\r\n\r\n",
            "Content-Length:{}\r\n\r\n",
        ],
        1,
    ),
)
def test_a_length_is_taken_however_it_is_written(device: ScriptedDevice, head: str) -> None:
    async def law() -> None:
        async with raw_editor(device) as editor:
            editor.send({"jsonrpc": "2.0", "id": 1, "method": "no/such", "params": {}}, head)
            assert (await editor.answer(1))["error"]["code"] == METHOD_NOT_FOUND

    asyncio.run(law())


@pytest.mark.slow
def test_documents_come_twice_and_change_as_a_whole(device: ScriptedDevice) -> None:
    """A request taken back, a close of what is not open, and a change of it: the next request is answered."""

    async def law() -> None:
        async with raw_editor(device) as editor:
            opened = {**DOCUMENT, "languageId": "markdown", "version": 1, "text": "Dear Ms Varga,\r\n\r\nthe 😀"}
            editor.tell("textDocument/didOpen", textDocument=opened)
            editor.tell("textDocument/didOpen", textDocument=opened)
            editor.tell("textDocument/didChange", textDocument={"uri": "file:///no", "version": 2}, contentChanges=[])
            editor.tell("textDocument/didClose", textDocument={"uri": "file:///no"})
            whole = [{"text": "x" * 1_000_000 + "\nThe f"}]
            editor.tell("textDocument/didChange", textDocument={**DOCUMENT, "version": 2}, contentChanges=whole)
            editor.tell("$/cancelRequest", id="never asked")
            editor.tell("textDocument/didChange", textDocument=7)
            await editor.lives()

    asyncio.run(law())

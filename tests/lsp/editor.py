"""An editor that speaks to `hocket lsp` over its standard input and output, and counts places for itself."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from lsprotocol import types
from pygls.lsp.client import LanguageClient

from waiting import WAIT_S

UTF_8, UTF_16, UTF_32 = (
    types.PositionEncodingKind.Utf8,
    types.PositionEncodingKind.Utf16,
    types.PositionEncodingKind.Utf32,
)


class Editor:
    """With documents that it calls by their names."""

    def __init__(self, client: LanguageClient) -> None:
        self.client = client
        self.logged: list[str] = []
        self.refreshed = 0  # times that it was told to ask again
        self.encoding = UTF_16
        self._versions: dict[str, int] = {}

        @client.feature(types.WINDOW_LOG_MESSAGE)  # type: ignore[untyped-decorator]
        def _(params: types.LogMessageParams) -> None:
            self.logged.append(params.message)

        @client.feature("workspace/inlineCompletion/refresh")  # type: ignore[untyped-decorator]
        def _(*_: object) -> None:
            self.refreshed += 1

    async def begin(self, encodings: list[types.PositionEncodingKind] | None) -> None:
        general = types.GeneralClientCapabilities(position_encodings=encodings)
        experimental = {"inlineCompletionRefresh": True}
        capabilities = types.ClientCapabilities(general=general, experimental=experimental)
        result = await self.client.initialize_async(types.InitializeParams(capabilities=capabilities))
        self.encoding = types.PositionEncodingKind(result.capabilities.position_encoding)
        self.capabilities = result.capabilities
        self.client.initialized(types.InitializedParams())

    def open(self, name: str, text: str) -> None:
        self._versions[name] = 0
        item = types.TextDocumentItem(uri=uri(name), language_id="text", version=0, text=text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))

    def change(self, name: str, *changes: types.TextDocumentContentChangeEvent) -> None:
        self._versions[name] += 1
        document = types.VersionedTextDocumentIdentifier(self._versions[name], uri(name))
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(document, list(changes)))

    def replace(self, name: str, text: str) -> None:
        self.change(name, types.TextDocumentContentChangeWholeDocument(text))

    def close(self, name: str) -> None:
        document = types.TextDocumentIdentifier(uri(name))
        self.client.text_document_did_close(types.DidCloseTextDocumentParams(document))

    def place(self, text: str, offset: int) -> types.Position:
        """Where an editor says that a character of a text is."""
        lines = re.split(r"\r\n|\r|\n", text[:offset])
        return types.Position(len(lines) - 1, sum(units(letter, self.encoding) for letter in lines[-1]))

    def grey(
        self, name: str, position: types.Position, at: types.Position | None = None, number: int | None = None
    ) -> asyncio.Task[str | None]:
        """Ask for the grey text there, at once; None where there is none. It goes there, or to another place `at`."""
        context = types.InlineCompletionContext(types.InlineCompletionTriggerKind.Automatic)
        params = types.InlineCompletionParams(context, types.TextDocumentIdentifier(uri(name)), position)
        send = self.client.protocol.send_request
        result = asyncio.wrap_future(send(types.TEXT_DOCUMENT_INLINE_COMPLETION, params, msg_id=number))

        async def answered() -> str | None:
            answer = await asyncio.wait_for(result, WAIT_S)
            assert isinstance(answer, types.InlineCompletionList)
            assert all(item.range == types.Range(at or position, at or position) for item in answer.items)
            assert len(answer.items) < 2
            return str(answer.items[0].insert_text) if answer.items else None

        return asyncio.create_task(answered())

    async def told(self, name: str, position: types.Position, at: types.Position | None = None) -> str:
        """The grey text there, asked for until there is one: a slow machine may take longer than the server waits."""
        async with asyncio.timeout(WAIT_S):
            while (grey := await self.grey(name, position, at)) is None:
                await asyncio.sleep(0.05)
        return grey

    async def listed(self, name: str, position: types.Position) -> list[types.CompletionItem]:
        params = types.CompletionParams(types.TextDocumentIdentifier(uri(name)), position)
        result = await asyncio.wait_for(self.client.text_document_completion_async(params), WAIT_S)
        assert isinstance(result, types.CompletionList)
        assert result.is_incomplete
        return list(result.items)


def uri(name: str) -> str:
    return f"file:///drafts/{name}"


def units(letter: str, encoding: types.PositionEncodingKind) -> int:
    codecs = {UTF_8: ("utf-8", 1), UTF_16: ("utf-16-le", 2), UTF_32: ("utf-32-le", 4)}
    codec, size = codecs[encoding]
    return len(letter.encode(codec)) // size


@asynccontextmanager
async def editing(*options: str, encodings: list[types.PositionEncodingKind] | None = None) -> AsyncIterator[Editor]:
    """An editor with a server of its own, which ends as it should and has said nothing but the protocol."""
    client = LanguageClient("editor", "1")
    editor = Editor(client)
    await client.start_io(sys.executable, "-m", "hocket_tools.main", "lsp", *options)
    server = client._server
    assert server is not None
    assert server.stderr is not None
    try:
        await editor.begin(encodings)
        yield editor
        await client.shutdown_async(None)
        client.exit(None)
        await asyncio.wait_for(client.stop(), WAIT_S)  # type: ignore[no-untyped-call]
        assert await server.stderr.read() == b""
        assert server.returncode == 0
    finally:
        if server.returncode is None:
            server.kill()
            await client.stop()  # type: ignore[no-untyped-call]


async def with_editor(
    endpoint: str,
    law: Callable[[Editor], Awaitable[None]],
    *options: str,
    encodings: list[types.PositionEncodingKind] | None = None,
) -> None:
    """Do something in an editor."""
    async with editing("--endpoint", endpoint, *options, encodings=encodings) as editor:
        await law(editor)

"""The language server: editors' notices become drafts, and their requests are answered with suggestions."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInvalidRequest, JsonRpcParseError
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, lsp_method

from hocket_client import AsyncClient, Suggestion

from .answers import inline, listed
from .drafts import Drafts
from .text import Text, Units, unicode

REFRESH = "workspace/inlineCompletion/refresh"  # no part of LSP 3.18: sent to editors that say they take it
TAKES_REFRESH = "inlineCompletionRefresh"  # under `experimental` of an editor's capabilities


class Protocol(LanguageServerProtocol):
    """The protocol, with documents held as drafts: the library's own break lines elsewhere than editors do.

    Every request gets an answer, also one that the library would only log, since an editor waits for it.
    """

    _server: Server

    def structure_message(self, data: dict[str, Any]) -> Any:  # noqa: ANN401 - whatever the library makes of it
        """Return the message; answer one that does not fit the protocol with an error. Raises JsonRpcException."""
        try:
            return super().structure_message(data)
        except JsonRpcException as error:
            if "method" in data and "id" in data:
                self._refuse(data["id"], error)
            raise

    def handle_message(self, message: Any) -> None:  # noqa: ANN401
        """Handle a message; refuse a request after the shutdown, and what is no message at all."""
        if not hasattr(message, "jsonrpc"):
            self._refuse(message.get("id") if isinstance(message, dict) else None, JsonRpcInvalidRequest())
        elif self._shutdown and hasattr(message, "method") and hasattr(message, "id"):
            self._refuse(message.id, JsonRpcInvalidRequest())
        else:
            super().handle_message(message)

    def refuse_what_is_no_json(self) -> None:
        """Answer a message that cannot be parsed, and whose number is therefore unknown."""
        self._refuse(None, JsonRpcParseError())

    def _refuse(self, number: int | str | None, error: JsonRpcException) -> None:
        self._send_data(types.ResponseErrorMessage(id=number, error=error.to_response_error()))

    @lsp_method(types.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: types.DidOpenTextDocumentParams) -> None:
        """Open a document."""
        self._server.on_open(params.text_document)

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: types.DidChangeTextDocumentParams) -> None:
        """Take over changes of a document's text."""
        self._server.changed(params.text_document.uri, list(params.content_changes))

    @lsp_method(types.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: types.DidCloseTextDocumentParams) -> None:
        """Close a document."""
        self._server.drafts.close(params.text_document.uri)


class Server(LanguageServer):
    """A server that answers for the text at the time of a request, and with nothing once that text has changed."""

    protocol: Protocol

    def __init__(self, make_client: Callable[[], AsyncClient], *, tokens: int, memory: bool) -> None:
        super().__init__("hocket", version("hocket"), protocol_cls=Protocol)
        self.drafts = Drafts(make_client, self._report, self._refresh, tokens=tokens, memory=memory)
        self.feature(types.TEXT_DOCUMENT_INLINE_COMPLETION, types.InlineCompletionOptions())(_inline)
        self.feature(types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions())(_listed)

    def on_open(self, item: types.TextDocumentItem) -> None:
        """Open a document."""
        encoding = types.PositionEncodingKind(self.server_capabilities.position_encoding)
        self.drafts.open(item.uri, Text(unicode(item.text), Units(encoding)))

    def changed(self, uri: str, changes: list[types.TextDocumentContentChangeEvent]) -> None:
        """Apply changes to a document's text; the cursor, which only requests state, is guessed until then."""
        draft = self.drafts[uri]
        if draft is not None:
            text, cursor = draft.text, draft.cursor
            for change in changes:
                text, end = text.changed(change)
                cursor = min(cursor, len(text.characters)) if end is None else end
            draft.stand(text, cursor)

    async def asked(self, uri: str, position: types.Position) -> tuple[Text, int, Suggestion | None]:
        """Return the text, the cursor in it, and the suggestion for that place."""
        draft = self.drafts[uri]
        if draft is None:
            return Text("", Units()), 0, None
        text = draft.text
        cursor = text.offset(position)
        draft.stand(text, cursor)
        return text, cursor, await self.drafts.suggestion(uri)

    def on_fault(self, error: Exception, source: type[JsonRpcException]) -> None:
        """Report to the editor a message that could not be handled; the server goes on."""
        if isinstance(error, json.JSONDecodeError | UnicodeDecodeError | RecursionError):
            self.protocol.refuse_what_is_no_json()
        self.report_server_error(error, source)

    def _refresh(self) -> None:
        """Let the editor ask again, where it can be told to; any other gets the new suggestion when it asks next."""
        experimental = self.client_capabilities.experimental
        if isinstance(experimental, Mapping) and experimental.get(TAKES_REFRESH):
            self.protocol.send_request(REFRESH)

    def _report(self, fault: str) -> None:
        self.window_log_message(types.LogMessageParams(types.MessageType.Warning, fault))


async def _inline(ls: Server, params: types.InlineCompletionParams) -> types.InlineCompletionList:
    return inline(*await ls.asked(params.text_document.uri, params.position))


async def _listed(ls: Server, params: types.CompletionParams) -> types.CompletionList:
    return listed(*await ls.asked(params.text_document.uri, params.position))

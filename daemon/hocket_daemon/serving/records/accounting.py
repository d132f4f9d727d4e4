"""The account of what words disclosed, sent to the owner's clients."""

from __future__ import annotations

from pathlib import Path

from hocket_bus.errors import HocketError, Untrusted
from hocket_bus.faults import error_message
from hocket_bus.messages import MAX_DAYS, MAX_DOCUMENTS, MAX_READERS, Account, DocumentBits, ShowAccount
from hocket_bus.sockets import Received, Routes, Server

from ...privacy.budget import today
from ...privacy.disclosure_account import DisclosureAccount, DisclosureBounds, by_day, by_document, read


class Accounting:
    """The account as it is now or, where no bits are counted, as the ledger's file has it."""

    def __init__(
        self, account: DisclosureAccount | None, ledger: Path | None, bounds: DisclosureBounds, server: Server
    ) -> None:
        self._account, self._ledger, self._bounds, self._server = account, ledger, bounds, server

    def add_to(self, routes: Routes) -> None:
        """Register the handler for clients' requests."""
        routes.add([ShowAccount], self._on_show)

    def _on_show(self, event: Received) -> None:
        asked = event.message
        assert isinstance(asked, ShowAccount)
        try:
            if event.user:
                raise Untrusted("the account names this device's documents", "run hocket audit on its machine")
            self._server.send(event.route, self._shown(asked.request))
        except HocketError as error:
            self._server.send(event.route, error_message(error, asked.request))

    def _shown(self, request: bytes) -> Account:
        if self._account is not None:
            written = self._account.entries()
        else:
            written = read(self._ledger) if self._ledger is not None else []
        entries = [each for each in written if each.bits > 0]
        rows = by_document(entries, today())
        shown = [
            DocumentBits(
                document=row.document,
                today=row.today,
                total=row.total,
                peers=dict([*row.peers.items()][:MAX_READERS]),
                last=row.last,
            )
            for row in rows[:MAX_DOCUMENTS]
        ]
        return Account(
            request=request,
            is_counted=self._account is not None,
            documents=shown,
            days=by_day(entries, MAX_DAYS),
            bits_a_day=self._bounds.a_day,
            bits_a_document=self._bounds.a_document,
        )

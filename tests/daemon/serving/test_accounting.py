"""Laws of the account that the owner's clients are shown: bounded in size, and for nobody else."""

from __future__ import annotations

from fakes import FakeServer, received

from hocket_bus.messages import MAX_DOCUMENTS, MAX_READERS, Account, Error, ShowAccount
from hocket_bus.sockets import Routes
from hocket_bus.wire import decode, encode
from hocket_daemon.privacy.disclosure_account import DisclosureAccount, DisclosureBounds
from hocket_daemon.serving.records.accounting import Accounting

BOUNDS = DisclosureBounds(40.0, 100.0)


def shown(account: DisclosureAccount | None, user: str = "") -> Account | Error:
    """Return a client's answer, as it is read."""
    server, routes = FakeServer(), Routes()
    Accounting(account, None, BOUNDS, server).add_to(routes)  # type: ignore[arg-type]
    routes.dispatch(received(ShowAccount(request=b"r" * 16), user=user))
    ((_, message),) = server.sent
    found = decode(encode(message))
    assert isinstance(found, Account | Error)
    return found


def test_an_account_has_a_bounded_size() -> None:
    """Show the documents that disclosed the most, and the first peers."""
    account = DisclosureAccount(None, DisclosureBounds(), lambda: "2026-01-02")
    account.charge("cloud", {f"/{number}.md": float(number) for number in range(MAX_DOCUMENTS + 10)})
    for number in range(MAX_READERS + 5):
        account.charge(f"peer-{number}", {"/1.md": 1.0})
    found = shown(account)
    assert isinstance(found, Account)
    assert len(found.documents) == MAX_DOCUMENTS
    assert min(each.total for each in found.documents) == 11.0  # /1.md is among them with more
    (one,) = [each for each in found.documents if each.document == "/1.md"]
    assert (one.total, len(one.peers)) == (MAX_READERS + 6.0, MAX_READERS)
    assert (found.is_counted, found.bits_a_day, found.bits_a_document) == (True, *BOUNDS)


def test_another_machine_gets_none() -> None:
    """Refuse it with any rights: the account names documents."""
    refused = shown(DisclosureAccount(None, DisclosureBounds()), user="laptop")
    assert isinstance(refused, Error)
    assert refused.code == "untrusted"


def test_without_a_ledger_nothing_was_disclosed() -> None:
    found = shown(None)
    assert isinstance(found, Account)
    assert (found.is_counted, found.documents) == (False, [])


def test_the_longest_names_fit_into_a_message() -> None:
    account = DisclosureAccount(None, DisclosureBounds(), lambda: "2026-01-02")
    names = [f"/{number:04}".ljust(2_000, "x") for number in range(MAX_DOCUMENTS)]
    for number in range(MAX_READERS):
        account.charge(f"{number}".ljust(64, "x"), dict.fromkeys(names, 1.0))
    found = shown(account)
    assert isinstance(found, Account)
    assert len(found.documents) == MAX_DOCUMENTS

"""The account of what words disclosed: bounds hold over days, peers, restarts and kills, and nothing is forgotten."""

from __future__ import annotations

import random
import sqlite3
from math import inf
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from hocket_bus.errors import Unavailable
from hocket_bus.messages import Passage
from hocket_daemon.engine.sampling.capped import capped
from hocket_daemon.privacy.disclosure_account import (
    RESERVE_BITS,
    Disclosed,
    DisclosureAccount,
    DisclosureBounds,
    by_day,
    read,
)
from hocket_daemon.privacy.egress import Ledger
from hocket_daemon.privacy.history import History
from hocket_daemon.serving.search.retrieval import NO_PASSAGES
from hocket_daemon.serving.session_account import MORE_BITS, SessionAccount

BOUNDS = DisclosureBounds(a_day=20.0, a_document=50.0)


class Day:
    """The day, which a test turns."""

    def __init__(self) -> None:
        self.number = 1

    def __call__(self) -> str:
        return f"2026-12-{self.number:02}"


def test_bounds_hold_over_days_peers_and_restarts_with_kills(tmp_path: Path) -> None:
    """A document never says more in a day, or ever, than its bounds, whoever asks and whatever dies in between."""
    draws, day, file = random.Random(5), Day(), tmp_path / "ledger"
    account, said, of_day = DisclosureAccount(file, BOUNDS, day), 0.0, 0.0
    for _ in range(2_000):
        if draws.random() < 0.02:
            day.number, of_day = day.number + 1, 0.0
        if draws.random() < 0.05:
            if draws.random() < 0.5:
                account.write()
            account = DisclosureAccount(file, BOUNDS, day)
        bits = min(draws.random() * 3, account.left("letter"))
        account.charge(draws.choice(["cloud", "group"]), {"letter": bits})
        if draws.random() < 0.3:
            account.refund(day(), "cloud", {})
        said, of_day = said + bits, of_day + bits
        assert of_day <= BOUNDS.a_day + 1e-9
        assert said <= BOUNDS.a_document + 1e-9
    assert said > BOUNDS.a_document - RESERVE_BITS * 20  # kills cost a reserve each, and no more


def test_what_is_written_is_what_was_charged(tmp_path: Path) -> None:
    """By day, peer and document, and equal to a recount; before it is written, the file has more, and never less."""
    draws, file, day = random.Random(6), tmp_path / "ledger", Day()
    account, counted = DisclosureAccount(file, DisclosureBounds(), day), dict[tuple[str, str, str], float]()
    for _ in range(300):
        day.number += draws.random() < 0.05
        peer, name, bits = draws.choice(["cloud", "group"]), draws.choice("abc"), draws.random()
        charged_on = account.charge(peer, {name: bits})
        if draws.random() < 0.3:
            account.refund(charged_on, peer, {name: bits})
            bits = 0.0
        counted[day(), peer, name] = counted.get((day(), peer, name), 0.0) + bits
        filed = {each[:3]: each.bits for each in read(file)}
        assert all(filed[key] >= bits - 1e-9 for key, bits in counted.items() if bits)
    account.write()
    assert {each[:3]: each.bits for each in read(file)} == pytest.approx(counted)
    assert DisclosureAccount(file, DisclosureBounds(), day).left("a") == inf


def test_without_a_file_it_counts_until_it_ends() -> None:
    """And bounds hold as long."""
    account = DisclosureAccount(None, DisclosureBounds(a_day=4.0))
    account.charge("cloud", {"a": 3.0})
    account.write()
    assert account.left("a") == pytest.approx(1.0)
    assert account.left("b") == 4.0


def test_the_ledgers_file_holds_it_beside_the_rest(tmp_path: Path) -> None:
    """In any order, and a ledger from before has nothing of it."""
    file = tmp_path / "ledger"
    ledger, history = Ledger(file), History("seen", file)
    ledger.count("cloud", "", "query", 5)
    ledger.write()
    assert read(file) == []
    account = DisclosureAccount(file, BOUNDS)
    account.charge("cloud", {"a": 1.0})
    ledger.count("cloud", "", "query", 5)
    ledger.write()
    history.write()
    account.write()
    assert [each.bits for each in read(file)] == [1.0]


def test_what_cannot_be_written_down_is_not_said(tmp_path: Path) -> None:
    """The charge fails before a word leaves, and nothing is charged; a broken file does not become an empty one."""
    (tmp_path / "ledger").mkdir()
    account = DisclosureAccount(None, BOUNDS)
    account._path = tmp_path / "ledger"
    with pytest.raises(Unavailable, match="cannot be written"):
        account.charge("cloud", {"a": 1.0})
    assert account.left("a") == BOUNDS.a_day
    broken = tmp_path / "broken"
    broken.write_bytes(b"no database at all, but long enough to be one" * 30)
    with pytest.raises(Unavailable, match="cannot be read"):
        DisclosureAccount(broken, BOUNDS)
    with pytest.raises((Unavailable, sqlite3.Error)):
        read(broken)


def rows(bits: float) -> tuple[np.ndarray, np.ndarray]:  # type: ignore[type-arg]
    """A law that is as much likelier at its first token, and the one that it is compared with."""
    alone = np.array([2.0**-10, 1 - 2.0**-10])
    return capped(np.array([1 - 1e-9, 1e-9]), alone, bits)[None], alone


def test_only_what_becomes_part_of_the_answer_stays_charged() -> None:
    """Give back what another side's word replaced, what was thrown away, and what was drawn behind the end."""
    account = DisclosureAccount(None, DisclosureBounds(a_day=100.0))
    session = SessionAccount(account, "cloud")
    session.read(["letter"])
    law, alone = rows(np.inf)
    for step in range(5):
        session.begin(step)
        session.charge(step, law[:, 0], float(alone[0]), [1.0])
    assert account.left("letter") == pytest.approx(100.0 - 50.0, abs=1e-3)
    session.confirm(0, own=True)
    session.confirm(1, own=False)
    session.begin(2)  # drafted anew: what was drafted behind it is void, too
    assert account.left("letter") == pytest.approx(90.0, abs=1e-3)
    session.charge(2, law[:, 0], float(alone[0]), [1.0])
    session.close()
    session.charge(3, law[:, 0], float(alone[0]), [1.0])  # a pass that ends behind the answer
    assert account.left("letter") == pytest.approx(90.0, abs=1e-3)
    assert session.spent == {"letter": pytest.approx(10.0, abs=1e-3)}


def test_a_document_whose_bits_end_says_nothing_more_and_is_named_once() -> None:
    """Its row is the question's alone from there on; in the next answer it is left out, and others are read."""
    account = DisclosureAccount(None, DisclosureBounds(a_day=3.0))
    found = replace(NO_PASSAGES, passages=[passage("letter"), passage("list")])
    session = SessionAccount(account, "cloud")
    assert session.without_exhausted(found) == found
    session.read(["letter"])
    law, alone = rows(np.inf)
    first = session.capped(law, alone)
    assert first[0, 0] == pytest.approx(2.0**3 * alone[0], rel=1e-6)
    assert session.news() == []
    session.charge(0, first[:, 0], float(alone[0]), [1.0])
    assert account.left("letter") == pytest.approx(0.0, abs=1e-6)
    assert session.capped(law, alone)[0] == pytest.approx(alone, abs=1e-6)
    assert session.news() == ["letter has disclosed its last bits: what follows may be invented"]
    assert session.news() == []
    session.confirm(0, own=True)
    session.close()
    later = SessionAccount(account, "cloud")
    assert [each.document for each in later.without_exhausted(found).passages] == ["list"]
    assert later.news() == [f"letter has too few bits left, so it is left out: {MORE_BITS}"]


def passage(document: str) -> Passage:
    """A passage of a document."""
    return Passage(document=document, title="", ordinal=0, text="a text", score=0.5)


def test_days_are_summed_over_documents_and_peers() -> None:
    """The last ones alone, oldest first."""
    days = ["2026-11-29", "2026-12-01", "2026-11-30", "2026-12-01"]
    entries = [Disclosed(day, f"peer {at}", "letter", 2.0**at) for at, day in enumerate(days)]
    assert list(by_day(entries, 9).items()) == [("2026-11-29", 1.0), ("2026-11-30", 4.0), ("2026-12-01", 10.0)]
    assert list(by_day(entries, 2)) == ["2026-11-30", "2026-12-01"]

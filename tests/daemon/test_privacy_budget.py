"""Laws of a privacy budget: over a day no document tells more than its bound, whatever is charged and whoever dies."""

from __future__ import annotations

import random
import sqlite3
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from hocket_bus.errors import Unavailable
from hocket_daemon.privacy import budget as module
from hocket_daemon.privacy.budget import DAYS, RESERVE, PrivacyBudget
from hocket_daemon.privacy.egress import Ledger, read
from hocket_daemon.privacy.history import CLOUD, History

BOUND = 100.0
NAMES = ["letters/anna.md", "letters/ben.md", "tax 2026.pdf"]


class Day:
    """A day that a test sets."""

    def __init__(self, day: str = "2026-11-28") -> None:
        self.day = day

    def __call__(self) -> str:
        return self.day


def filed(path: Path) -> list[float]:
    with sqlite3.connect(path) as database:
        return [bits for (bits,) in database.execute("SELECT bits FROM disclosed ORDER BY bits")]


@pytest.mark.parametrize("filed_too", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_no_document_tells_more_than_its_bound(tmp_path: Path, seed: int, filed_too: bool) -> None:
    """Random charges, refunds and writes: what was told sums to the bound at most, and what is left says how much."""
    rng, told = random.Random(seed), dict.fromkeys(NAMES, 0.0)
    budget = PrivacyBudget(tmp_path / "ledger" if filed_too else None, BOUND)
    refusals = 0
    for _ in range(400):
        bits = {name: rng.choice([0.0, 0.01, 1.0, 7.5]) for name in rng.sample(NAMES, rng.randrange(1, 4))}
        charge = budget.charge(bits)
        assert charge.refused == {name for name, each in bits.items() if told[name] + each > BOUND + 1e-6}
        if charge.refused:
            refusals += 1
            continue
        moved = {name: each * rng.random() for name, each in bits.items()}
        budget.refund(charge.day, {name: bits[name] - moved[name] for name in bits})
        for name, each in moved.items():
            told[name] += each
        if rng.random() < 0.1:
            budget.write()
        assert all(budget.left(name) == pytest.approx(BOUND - told[name], abs=1e-6) for name in NAMES)
    assert refusals
    assert max(told.values()) > 0.9 * BOUND


def test_a_charge_is_of_all_or_of_none() -> None:
    """Where one document may tell no more the others are not charged either."""
    budget = PrivacyBudget(None, BOUND)
    budget.charge({"a": 99.0})
    assert budget.charge({"a": 2.0, "b": 2.0}).refused == {"a"}
    assert (budget.left("a"), budget.left("b")) == (1.0, BOUND)
    assert budget.charge({"a": 1.0, "b": 2.0}).refused == frozenset()
    assert (budget.left("a"), budget.left("b")) == (0.0, BOUND - 2.0)


@pytest.mark.parametrize("seed", range(5))
def test_a_daemon_that_is_killed_gives_nothing_free(tmp_path: Path, seed: int) -> None:
    """At any charge: behind a restart no more is left than there was, and less by what is written ahead at most."""
    rng, file = random.Random(seed), tmp_path / "ledger"
    budget, killed = PrivacyBudget(file, BOUND), 0
    while budget.left("a") > 5.0:
        budget.charge({"a": rng.random() * 2})
        left = budget.left("a")
        if rng.random() < 0.1:
            budget, killed = PrivacyBudget(file, BOUND), killed + 1
            assert left - RESERVE * BOUND - 1e-9 <= budget.left("a") <= left
    assert killed


def test_a_daemon_that_ends_well_loses_nothing(tmp_path: Path) -> None:
    budget = PrivacyBudget(tmp_path / "ledger", BOUND)
    budget.refund(budget.charge({"a": 10.0}).day, {"a": 7.0})
    budget.write()
    assert filed(tmp_path / "ledger") == [3.0]
    assert PrivacyBudget(tmp_path / "ledger", BOUND).left("a") == BOUND - 3.0


def test_a_token_seldom_waits_for_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many small charges are written a few times."""
    writes, plain = 0, module.__dict__["written"]

    def counted(path: Path, table: str) -> Any:
        nonlocal writes
        writes += 1
        return plain(path, table)

    budget = PrivacyBudget(tmp_path / "ledger", BOUND)
    monkeypatch.setattr(module, "written", counted)
    for _ in range(1000):
        assert not budget.charge({"a": 0.09, "b": 0.05}).refused
    assert 1 <= writes <= 3 / RESERVE


def test_every_day_has_a_bound_of_its_own(tmp_path: Path) -> None:
    """A charge of yesterday is not given back today, and a clock that is put back finds what it had."""
    day, file = Day(), tmp_path / "ledger"
    budget = PrivacyBudget(file, BOUND, day)
    charge = budget.charge({"a": BOUND})
    day.day = "2026-11-29"
    assert budget.left("a") == BOUND
    budget.charge({"a": 30.0})
    budget.refund(charge.day, {"a": 30.0})
    assert budget.left("a") == BOUND - 30.0
    for restarted in (budget, PrivacyBudget(file, BOUND, day)):
        day.day = "2026-11-28"
        assert restarted.left("a") == 0.0
        assert restarted.charge({"a": 1.0}).refused == {"a"}
        day.day = "2026-11-29"
        assert restarted.left("a") <= BOUND - 30.0


def test_old_days_are_dropped(tmp_path: Path) -> None:
    """The latest are kept, and the file grows no more."""
    day, file = Day(), tmp_path / "ledger"
    budget = PrivacyBudget(file, BOUND, day)
    for number in range(2 * DAYS):
        day.day = f"2026-{1 + number // 28:02}-{1 + number % 28:02}"
        budget.charge({"a": 1.0, "b": 1.0})
    assert len(filed(file)) == 2 * DAYS
    assert PrivacyBudget(file, BOUND, day).left("a") <= BOUND - 1.0


def test_it_shares_the_ledgers_file_and_puts_no_names_in(tmp_path: Path) -> None:
    """With what left and which turns were read, whoever wrote first."""
    file = tmp_path / "ledger"
    ledger, history, budget = Ledger(file), History("seen", file), PrivacyBudget(file, BOUND)
    ledger.count("cloud", "s", "drafts", 10)
    for part in (ledger, history, budget):
        part.write()
    budget.charge(dict.fromkeys(NAMES, 1.0))
    history.add("why?", "because", CLOUD)
    history.write()
    assert [entry.size_bytes for entry in read(file)] == [10]
    assert PrivacyBudget(file, BOUND).left(NAMES[0]) < BOUND
    assert PrivacyBudget(file, BOUND).left("another") == BOUND
    assert not any(name.encode() in file.read_bytes() for name in ("anna", "letters", "tax"))
    assert file.stat().st_mode & 0o777 == 0o600


def test_what_cannot_be_written_down_is_not_charged_and_not_allowed(tmp_path: Path) -> None:
    """Nor is a file that is no ledger taken for one on which nothing was told."""
    file = tmp_path / "folder" / "ledger"
    budget = PrivacyBudget(file, BOUND)
    (tmp_path / "folder").write_text("a file")
    with pytest.raises(Unavailable, match="make the ledger's folder writable"):
        budget.charge({"a": 1.0})
    assert budget.left("a") == BOUND
    broken = tmp_path / "broken"
    broken.write_text("this is no database, but it is long enough to be taken for one" * 20)
    with pytest.raises(Unavailable, match="move it away"):
        PrivacyBudget(broken, BOUND)


def test_threads_charge_no_more_than_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two that would meet in the middle of a charge, both before either has charged: one waits for the other."""
    budget, meeting, digest = PrivacyBudget(None, BOUND), threading.Barrier(2), module.__dict__["_digest"]
    refused: list[frozenset[str]] = []

    def record_outcome(document: str) -> bytes:
        with suppress(threading.BrokenBarrierError):  # nobody comes, as it should be
            meeting.wait(timeout=0.2)
        return bytes(digest(document))

    monkeypatch.setattr(module, "_digest", record_outcome)
    threads = [threading.Thread(target=lambda: refused.append(budget.charge({"a": 0.6 * BOUND}).refused)) for _ in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert sorted(map(len, refused)) == [0, 1]
    assert budget.left("a") == pytest.approx(0.4 * BOUND)

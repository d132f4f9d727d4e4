"""A day of questions about three documents: the account is what the answers' records say, whatever is killed."""

from __future__ import annotations

import os
import signal
from collections import Counter
from pathlib import Path

import pytest

from hocket_daemon.privacy.disclosure_account import RESERVE_BITS, read
from hocket_daemon.serving.records import decisions
from hocket_tools.main import run
from hocket_tools.pair import processes
from hocket_tools.pair.home import NAMES, Home
from homes import configured
from waiting import until

NOTES = {
    "lease.md": "The rent of the mill is 780 crowns. Odalys pays it on the third of the month.",
    "boat.md": "The boat lies at pier seven. Its key hangs behind the clock.",
    "bees.md": "Hive four swarmed on the ninth of May. Tamsin caught it with a basket.",
}
ASKED = (
    "What is the rent of the mill?",
    "Where does the boat lie?",
    "When did hive four swarm?",
    "Who caught the swarm?",
)
BOUND = 60.0


@pytest.mark.programs
@pytest.mark.parametrize(
    "questions", [pytest.param(60, marks=pytest.mark.slow), pytest.param(500, marks=[pytest.mark.long])]
)
@pytest.mark.timeout(1_800)
def test_a_day_of_questions_ends_with_the_account_of_its_answers(
    tiny_models: dict[str, Path], tmp_path: Path, questions: int
) -> None:
    """Over two kills of the device, which may have cost the bits that were written ahead; no bound is passed."""
    home = configured(Home(tmp_path / "pair"), tiny_models)
    with_account(home)
    for name, text in NOTES.items():
        (tmp_path / name).write_text(text)
    where = ["--home", str(home.at)]
    try:
        assert run(["up", *where]) == 0
        assert run(["ingest", "--side", "device", *where, *(str(tmp_path / name) for name in NOTES)]) == 0
        assert run(["ingest", "--side", "cloud", *where, str(tmp_path / "boat.md")]) == 0
        killed = {questions // 3, 2 * questions // 3}
        for number in range(questions):
            if number in killed:
                pid = processes.running(home, "device")
                assert pid is not None
                os.kill(pid, signal.SIGKILL)
                until(lambda: processes.running(home, "device") is None)
                assert run(["up", *where]) == 0
            ask(home, number)
    finally:
        processes.stop(home, list(NAMES))
    bits = {each.document: each.bits for each in read(home.ledger())}
    records = [each.record for each in decisions.last(home.decisions("device"), 10_000)]
    recount = Counter[str]()
    for record in records:
        recount.update({each["document"]: each["bits"] for each in record.get("disclosed", [])})
    assert sum(recount.values()) > 1.0
    for name, told in recount.items():
        # A kill costs what was written ahead, and the records of the last seconds.
        assert told - 1e-6 <= bits[name] <= told + len(killed) * (RESERVE_BITS + BOUND / 4)
        assert bits[name] <= BOUND + 1e-6


def with_account(home: Home) -> None:
    """Have the device count its words, within a bound."""
    config = home.config("device")
    text = config.read_text(encoding="utf-8")
    assert text.count("[egress]\n") == 1
    words = f'[egress]\ndrafts = "words"\nbits_a_day = {BOUND}\n'
    config.write_text(text.replace("[egress]\n", words), encoding="utf-8")


def ask(home: Home, number: int) -> None:
    """Ask one question."""
    options = ["--max-tokens", "12", "--seed", str(number), "--unknown", "answer", "--home", str(home.at)]
    assert run(["ask", ASKED[number % len(ASKED)], *options]) == 0

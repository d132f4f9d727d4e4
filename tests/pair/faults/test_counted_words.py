"""With `drafts = "words"` the answer's words are all that leaves of drafts; their bits are counted and bounded."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

import pytest
from harness import WORDS, Pair, pair

from hocket_bus.errors import BadConfiguration
from hocket_bus.messages import CLASS_OF, Done, Draft, Target
from hocket_bus.wire import decode
from hocket_daemon.aggregation.answer_summary import END, MIN_CHARGE
from hocket_daemon.privacy.disclosure_account import DisclosureAccount, DisclosureBounds, read
from hocket_daemon.privacy.egress import EgressSettings
from hocket_daemon.serving.records import decisions
from hocket_daemon.serving.search.evidence import UNKNOWN, WITHHELD
from hocket_daemon.serving.services import Services
from hocket_daemon.serving.session_account import NEXT_TO_NOTHING
from hocket_lab.link.tap import Tap, messages
from waiting import WAIT_S, until

QUESTIONS = [" ".join(WORDS[(i * k + k) % len(WORDS)] for k in range(1, 6)) + "?" for i in range(12)]


def start(made: Pair, **policy: float) -> Tap:
    """A pair with a tap in the wire and a ledger."""
    tap = made.stack.enter_context(Tap(made.endpoint("tap"), made.endpoint("cloud")))
    for side in ("device", "cloud"):
        made.start_retrieval(side)
    made.start_cloud()
    begin(made, **policy)
    return tap


def begin(made: Pair, **policy: float) -> None:
    """Start the device."""
    folder = made.folder
    egress = EgressSettings(ledger=str(folder / "ledger"), drafts="words", **policy)
    made.start_device(link=made.endpoint("tap"), egress=egress, decisions=str(folder / "decisions"))


def ask(made: Pair, question: str, **options: object) -> Done:
    """Ask both sides; the reader must be told nothing."""
    answer, notices = ask_and_listen(made, question, **options)
    assert notices == []
    return answer


def ask_and_listen(made: Pair, question: str, **options: object) -> tuple[Done, list[str]]:
    """Ask both sides; return the answer, and what its reader is told beside it."""
    asked: dict[str, object] = {"max_tokens": 24, "documents": 2, "unknown": "answer", "deadline_s": WAIT_S} | options
    stream = made.client().ask(question, **asked)  # type: ignore[arg-type]
    return stream.result(), stream.notices


def stop(made: Pair, tap: Tap) -> None:
    """All that the device has sent is recorded, its last words, too."""
    assert made.device is not None
    made.device.stop()
    until(tap.ended)


def test_words_alone_leave_and_every_one_is_in_the_account(tiny_models: dict[str, Path]) -> None:
    """No draft, probability or relevance: targets made of words; and the account is the sum of all answers' records."""
    with tempfile.TemporaryDirectory(prefix="hk") as folder:
        with pair(Path(folder), tiny_models, start=False) as made:
            tap = start(made)
            answers = [ask(made, question, require_cloud=True, temperature=0.7) for question in QUESTIONS]
            assert made.device is not None
            until(lambda: made.device.board.facts()["requests in work"] == "0")  # what was drafted ahead is given back
            shown, counted = made.device.board.facts()["disclosed by words"], made.device.board.metrics()
            listed = made.client().account()
            stop(made, tap)
        sent = [decode(frames) for recorded in tap.recorded() for frames in messages(recorded)]
        records = [each.record for each in decisions.last(Path(folder) / "decisions", 100)]
        account = read(Path(folder) / "ledger")
    assert not [message for message in sent if isinstance(message, Draft)]
    targets = [message for message in sent if isinstance(message, Target)]
    assert targets
    assert not any(target.ids for target in targets)
    assert {CLASS_OF[type(message)] for message in sent} <= {"query", "targets", "control"}
    recount: Counter[str] = Counter()
    for record in records:
        recount.update({each["document"]: each["bits"] for each in record["disclosed"]})
    assert {each.document: each.bits for each in account} == pytest.approx(dict(recount), abs=1e-6)
    assert {each.peer for each in account} == {"cloud"}
    assert {each.document: each.total for each in listed.documents} == pytest.approx(dict(recount), abs=1e-6)
    totals = [each.total for each in listed.documents]
    assert totals == sorted(totals, reverse=True)
    assert all(each.peers == {"cloud": each.total} == {"cloud": each.today} for each in listed.documents)
    assert sum(listed.days.values()) == pytest.approx(sum(recount.values()))
    assert listed.is_counted
    assert sum(recount.values()) > 1.0
    assert shown.startswith(f"{sum(recount.values()):.0f} bits of ")
    assert counted["disclosed_bits"] == pytest.approx(sum(recount.values()))
    assert all(answer.aggregation.solo_steps == [] for answer in answers)
    named: list[str] = []
    for record, answer in zip(reversed(records), answers, strict=True):
        charged = record["words"]
        spent = sum(each["bits"] for each in record["disclosed"])
        assert (
            spent - MIN_CHARGE * record["tokens"]
            <= sum(each["bits"] for each in charged)
            <= spent + 0.01 * len(charged)
        )
        assert all(each["bits"] >= MIN_CHARGE for each in charged)
        whole = [each["word"].strip() for each in charged if "\ufffd" not in each["word"]]
        named += whole
        assert [word for word in whole if word not in f"{answer.text}{END}"] == []
    assert named


def test_an_account_of_earlier_answers_is_shown_where_nothing_is_counted(tiny_models: dict[str, Path]) -> None:
    """Show the ledger's entries with the bounds of the settings."""
    day = "2026-01-02"
    with tempfile.TemporaryDirectory(prefix="hk") as folder, pair(Path(folder), tiny_models, start=False) as made:
        for side in ("device", "cloud"):
            made.start_retrieval(side)
        account = DisclosureAccount(made.folder / "ledger", DisclosureBounds(), lambda: day)
        for peer, bits in (("cloud", 3.0), ("group", 1.5)):
            account.charge(peer, {"/a.md": bits, "/b.md": 4.0 * bits, "/c.md": 0.0})
        account.write()
        made.start_cloud()
        egress = EgressSettings(ledger=str(made.folder / "ledger"), bits_a_document=100.0)
        made.start_device(egress=egress)
        shown = made.client().account()
        assert (shown.is_counted, shown.bits_a_day, shown.bits_a_document) == (False, 0.0, 100.0)
        assert [(each.document, each.today, each.total, each.peers, each.last) for each in shown.documents] == [
            ("/b.md", 0.0, 18.0, {"cloud": 12.0, "group": 6.0}, day),
            ("/a.md", 0.0, 4.5, {"cloud": 3.0, "group": 1.5}, day),
        ]


def test_what_is_withheld_is_not_said_to_be_missing(tiny_models: dict[str, Path]) -> None:
    """Nobody knows whether a document without bits has the answer; with bits it is doubted as ever."""
    with tempfile.TemporaryDirectory(prefix="hk") as folder, pair(Path(folder), tiny_models, start=False) as made:
        for side in ("device", "cloud"):
            made.start_retrieval(side, scorers="probability:1")
        made.start_cloud()
        egress = EgressSettings(ledger=str(made.folder / "ledger"), drafts="words", bits_a_day=2.0)
        made.start_device(egress=egress, min_evidence=0.99)
        doubted, notices = ask_and_listen(made, QUESTIONS[0], unknown="say", max_tokens=200)
        assert (doubted.finish, doubted.text) == ("unknown", UNKNOWN)
        assert any("probably not in your documents" in line for line in notices)
        for _ in range(4):
            ask_and_listen(made, QUESTIONS[0], ignore_eos=True, max_tokens=300)
        withheld, notices = ask_and_listen(made, QUESTIONS[0], unknown="say", max_tokens=200)
        assert (withheld.finish, withheld.text) == ("unknown", WITHHELD)
        assert any("has too few bits left" in line for line in notices)
        assert not any("probably not" in line for line in notices)


def test_a_greedy_question_is_drawn_and_one_alone_is_not(tiny_models: dict[str, Path]) -> None:
    """Words that must come have no bound, so with the cloud they are drawn; what stays here is as ever."""
    with tempfile.TemporaryDirectory(prefix="hk") as folder, pair(Path(folder), tiny_models, start=False) as made:
        start(made)
        asked = [(question, {"seed": seed, "ignore_eos": True}) for seed, question in enumerate(QUESTIONS)]
        twice = [[ask(made, question, **options).text for _ in range(2)] for question, options in asked]
        assert any(first != second for first, second in twice)  # noise of the seed would give the same words
        alone = [ask(made, QUESTIONS[0], seed=7, alone=True) for _ in range(2)]
        assert alone[0].token_ids == alone[1].token_ids
        records = [each.record for each in decisions.last(Path(folder) / "decisions", 100)]
    drawn = {record["unit"]: record["drawing"]["temperature"] for record in records}
    assert drawn == {"word": 0.5, "token": 0.0}
    assert all(("disclosed" in record) == (record["unit"] == "word") for record in records)


@pytest.mark.parametrize("bound", ["bits_a_day", pytest.param("bits_a_document", marks=pytest.mark.slow)])
def test_bounds_hold_however_often_a_document_is_asked_about(tiny_models: dict[str, Path], bound: str) -> None:
    """Over two starts: behind its bound a document says no more, and questions are answered all the same.

    The answers are long: one that ends with less than a quarter of the bits left leaves the document out from then on.
    """
    with tempfile.TemporaryDirectory(prefix="hk") as folder:
        with pair(Path(folder), tiny_models, start=False) as made:
            start(made, **{bound: 2.0})
            told = set[str]()
            for _ in range(2):
                for question in QUESTIONS[:2]:
                    asked: dict[str, object] = {"require_cloud": True, "ignore_eos": True, "max_tokens": 300}
                    told.update(ask_and_listen(made, question, **asked)[1])
                assert made.device is not None
                made.device.stop()
                begin(made, **{bound: 2.0})
            assert any("has disclosed its last bits" in line for line in told)
            assert any("has too few bits left" in line for line in told)
        bits = {each.document: each.bits for each in read(Path(folder) / "ledger")}
    assert max(bits.values()) >= 2.0 - NEXT_TO_NOTHING
    assert all(each <= 2.0 + 1e-6 for each in bits.values())


def test_an_answer_that_nobody_else_hears_costs_nothing(tiny_models: dict[str, Path]) -> None:
    """On the road, with a cloud that cannot be reached."""
    with tempfile.TemporaryDirectory(prefix="hk") as folder, pair(Path(folder), tiny_models, start=False) as made:
        made.start_retrieval("device")
        egress = EgressSettings(ledger=str(made.folder / "ledger"), drafts="words")
        device = made.start_device(egress=egress, connect_wait_s=0.1)
        _, notices = ask_and_listen(made, QUESTIONS[1], ignore_eos=True)
        assert any("answering alone" in line for line in notices)
        account = device.services.account
        assert account is not None
        assert account.entries()
        until(lambda: sum(each.bits for each in account.entries()) == pytest.approx(0.0, abs=1e-6))  # behind its end
    assert sum(each.bits for each in read(Path(folder) / "ledger")) == pytest.approx(0.0, abs=1e-6)


def test_a_model_that_writes_no_words_stops_the_start(
    tiny_models: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing else of its drafts may leave, so it could not answer with a cloud."""
    monkeypatch.setattr(Services, "words", "")
    with tempfile.TemporaryDirectory(prefix="hk") as folder, pair(Path(folder), tiny_models, start=False) as made:
        made.start_retrieval("device")
        with pytest.raises(BadConfiguration, match="byte-level BPE"):
            begin(made)

"""Laws of the benchmark of τ: what is asked for is counted as it would leave, and verdicts are those of the rows."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from hocket_bus import wire
from hocket_bus.messages import MemoryRequest, Takeaway
from hocket_daemon.composition.settings import CompositionSettings
from hocket_lab.bench.composition import curves, thresholds, waits
from hocket_lab.bench.composition.thresholds import AUTO, DEFAULT, KEY_S, settings_for
from hocket_lab.reporting.report import Report, Row
from hocket_retrieval.collection import Collection
from hocket_tools.embedding import RememberingEmbedder
from hocket_tools.replay import Replay, Shelf, typed

WORDS = ["harbour", "mill", "market", "orchard", "chapel", "railway", "lighthouse", "quarry", "ferry", "bridge"]


def text(words: int, seed: int = 0) -> str:
    return " ".join(random.Random(seed).choices(WORDS, k=words))


def replayed(tau: str, words: int = 120, *, news: bool = True, opened: int = 0) -> Replay:
    """Every request brings something new, or none does; a word is a token."""
    made = iter(range(1000))

    def extract(_: str) -> list[Takeaway]:
        return [Takeaway(text=f"Sentence {next(made) if news else 0}.", document="d")]

    return typed(
        text(words), settings_for(tau), lambda before: [hash(word) for word in before.split()], extract, opened
    )


def test_memory_is_asked_for_whenever_more_than_so_many_tokens_are_new() -> None:
    """First behind three words, and never for fewer; the words of all queries, one after the other, are the text's."""
    for tau in (0, 5, 10, 20, 40):
        replay = replayed(str(tau))
        assert len(replay.queries) == 1 + (120 - 1 - 3) // max(tau + 1, 3)  # the last word may not be finished
        asked = " ".join(replay.queries).split()
        assert asked == text(120).split()[: len(asked)]
    assert replayed("10").items[-1].takeaway.text == f"Sentence {len(replayed('10').queries) - 1}."


def test_a_threshold_that_sets_itself_asks_less_while_nothing_new_comes() -> None:
    assert len(replayed(AUTO, news=False).queries) < len(replayed("10").queries) < len(replayed(AUTO).queries)


def test_what_is_there_when_a_text_is_opened_is_asked_for_at_once() -> None:
    opened = len(" ".join(text(120).split()[:100]))
    replay = replayed("10", opened=opened)
    assert replay.queries[0] == " ".join(text(120).split()[36:100])
    assert len(replay.queries) == 2


def test_a_hidden_document_is_never_remembered(tmp_path: Path) -> None:
    """Though it is near, and has several passages; as many come as otherwise."""
    embedder = RememberingEmbedder()
    with Collection(tmp_path, embedder) as read:
        about = "The lighthouse of Tarnow was painted in 1874 by two brothers. "
        others = [(f"other-{at}", "", f"In Kelso {text(40, at)} stood. Nobody saw {text(8, at)}.") for at in range(8)]
        read.add([("own", "", about * 20), *others])
        shelf = Shelf(read, embedder)
        query = "the lighthouse of Tarnow"
        assert "own" in {each.document for each in shelf.passages(query, 3)}
        assert "own" in {each.document for each in shelf.takeaways(query, 3, 4)}
        hidden = shelf.without({"own"})
        assert len(hidden.passages(query, 3)) == 3
        assert "own" not in {each.document for each in hidden.passages(query, 3)}
        assert "own" not in {each.document for each in hidden.takeaways(query, 3, 4)}


def test_requests_are_weighed_as_they_leave() -> None:
    replay = Replay((), ("one two three", "four"))
    row = thresholds.asked(replay, "x" * 400)
    settings = CompositionSettings()
    requests = [
        MemoryRequest(session=bytes(16), query=query, k=settings.passages, takeaways=settings.takeaways)
        for query in replay.queries
    ]
    weights = [len(frame) for request in requests for frame in wire.encode(request)]
    assert row == {"requests": 2, "bytes": sum(weights), "minutes": pytest.approx(400 * KEY_S / 60)}


def rows(tau: str, nats: float, requests: int, count: int = 12) -> list[Row]:
    return [
        {"tau": tau, "document": str(at), "nll": at / 3 + nats + 0.001 * (at % 3), "tokens": 10, "gleu": 0.1,
         "bertscore": 0.2, "requests": requests, "bytes": 100 * requests, "minutes": 0.5}
        for at in range(count)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("requests", "nats", "holds"), [(7, 2.0, [True, True]), (8, 1.9, [False, True]), (5, 2.1, [True, False])]
)
def test_auto_is_claimed_to_ask_for_less_and_to_be_no_worse(requests: int, nats: float, holds: list[bool]) -> None:
    report = Report({})
    report.rows = [*rows(DEFAULT, 2.0, 10), *rows(AUTO, nats, requests)]
    thresholds.claim(report)
    assert [claim["holds"] for claim in report.claims] == holds
    summed = {str(row["tau"]): row for row in thresholds.summary(report.rows)}
    assert summed[DEFAULT]["requests_a_minute"] == 20
    assert summed[DEFAULT]["bytes_a_minute"] == 2000
    assert summed[DEFAULT]["saved_low"] is None
    assert summed[AUTO]["requests"] == 12 * requests


def test_curves_are_drawn_of_what_was_typed_with_each_threshold(tmp_path: Path) -> None:
    """What waiting cost is no point of a curve."""
    waited: list[Row] = [{"generator": "extractive", "document": "a", "waiting_s": 0.3, "as_it_comes_s": 0.05}]
    summed = thresholds.summary([*rows("0", 2.0, 20), *rows(DEFAULT, 2.0, 10), *rows(AUTO, 2.0, 12), *waited])
    assert len(summed) == 4
    curves.draw(tmp_path / "tau.png", summed)
    assert (tmp_path / "tau.png").read_bytes().startswith(b"\x89PNG")


def test_the_pair_is_claimed_to_ask_as_the_replay_and_waiting_to_be_slower() -> None:
    report = Report({})
    report.rows = [{"live": "10", "document": name, "requests": 4} for name in "ab"]
    report.rows += [
        {"generator": "extractive", "document": name, "waiting_s": 0.3, "as_it_comes_s": 0.05} for name in "ab"
    ]
    waits.claim(report, {("10", "a"): 4, ("10", "b"): 5})
    assert [claim["holds"] for claim in report.claims] == [False, True]
    assert report.claims[1]["measured"] == pytest.approx(6)

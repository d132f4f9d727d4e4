"""Time in a search: the newest of notes on the same thing counts, or those of the time that is asked for."""

from __future__ import annotations

import os
from datetime import date
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hocket_bus.wire import decode, encode
from hocket_retrieval.collection import Collection
from hocket_retrieval.embedding.embedder import Embedder
from hocket_retrieval.searching.recency import Candidate, Older, settle, time_of
from hocket_retrieval.searching.search import SearchResult
from hocket_retrieval.service import replies
from hocket_retrieval.stores.records import Chunk
from hocket_retrieval.text.dates import Period, asked_period, period_in

OLD, NEW = 1_617_350_000, 1_757_800_000
DAYS = st.dates(date(1950, 1, 1), date(2049, 12, 31))


def found(name: str, text: str, *, score: float = 0.6, place: str = "", vector: int = 0) -> Candidate:
    """A candidate whose vector is the unit vector of this number."""
    unit = np.eye(4, dtype=np.float32)[vector]
    return Candidate(Chunk(1, name, "", 0, text, place, 1, unit), score, text)


@given(day=DAYS)
def test_a_day_is_read_in_each_way_of_writing_it(day: date) -> None:
    """With a month's name, in numbers in both orders, and in one word."""
    period = Period(day.year, day.month, day.day)
    english, german = f"{day:%B}", ("Mai", "Dezember")[day.month % 2]
    for text in (
        f"{day}",
        f"{day:%Y%m%d} notes",
        f"{day.day}.{day.month}.{day.year}",
        f"{day.day} {english} {day.year}",
    ):
        assert period_in(f"Notes {text}") == period, text
    assert period_in(f"{english} {day.day}, {day.year}") == period
    assert asked_period(f"What did we buy in {english}?") == Period(month=day.month)
    assert period_in(f"{day.day}. {german} {day.year}") in (
        Period(day.year, 5, day.day),
        Period(day.year, 12, day.day),
        Period(day.year),
    )


@pytest.mark.parametrize("text", ["call 0471 220 118", "who may come", "march on", "room 12", "IBAN 20259999"])
def test_what_is_no_date_is_none(text: str) -> None:
    """Numbers of other things, and words that are months besides."""
    assert period_in(text) is None


def test_the_newest_counts_and_the_older_is_named() -> None:
    """Their order does not matter; one about another thing, or with fewer of the words, takes no place."""
    old = found("/n/plumber-2021.md", "The plumber is Odo Brandt.")
    new = found("/n/plumber-2025.md", "Our new plumber is Irma Sollberg.", score=0.55)
    other = found("/n/boiler-2026.md", "The plumber came to the boiler.", vector=1)
    for order in ([old, new, other], [new, old, other], [other, old, new]):
        settled = settle("Who is our plumber?", order)
        assert [order[at] for at in settled.kept] == [each for each in order if each is not old]
        (left,) = settled.older
        assert (left.document, left.newer) == (old.chunk.document, new.chunk.document)
        assert left.time < left.newer_time
    assert replies.passages(bytes(16), SearchResult((), "", 3, (left,)), [], 0.0).older[0].time == "2021"
    month, day = (found(f"/n/plumber {time}.md", "The plumber is Odo Brandt.") for time in ("2025-04", "2025-04-15"))
    assert settle("Who is our plumber?", [month, day]).older == [], "a month that holds the day is not before it"
    less = found("/n/plumber-2026.md", "The plumber has no telephone.")
    fuller = found("/n/plumber-2020.md", "The plumber's telephone number is 118.")
    assert settle("What is the plumber's telephone number?", [fuller, less]).older == []


@pytest.mark.parametrize(
    "query", ["Who was the plumber before?", "Which was our first plumber?", "Who were all our plumbers, in total?"]
)
def test_nothing_is_left_out_for_a_question_about_the_past(query: str) -> None:
    """Nor for one about all."""
    notes = [found("/n/plumber-2021.md", "The plumber is Odo."), found("/n/plumber-2025.md", "The plumber is Irma.")]
    assert settle(query, notes).kept == [0, 1]


def test_the_time_that_is_asked_for_counts() -> None:
    """Its notes come first, others of a known time go, and those without one stay; a time of which none is, is none."""
    march, april, undated = (
        found("/n/2025-03-04 gas.md", "Paid 40 euro."),
        found("/n/2025-04-02 gas.md", "Paid 55 euro."),
        found("gas", "Gas is paid monthly."),
    )
    order = [april, undated, march]
    assert settle("How much did we pay for gas in March?", order).kept == [2, 1]
    assert settle("How much did we pay for gas in 2025?", order).kept == [0, 2, 1]
    assert settle("How much did we pay for gas in 1999?", order).kept == [0, 1, 2]


def test_the_time_of_a_passage_is_the_fullest_that_is_told(tmp_path: Path) -> None:
    """By its heading, its file's name, what the document begins with, or else when its file was changed."""
    file = tmp_path / "note.md"
    file.write_text("x")
    os.utime(file, (NEW, NEW))
    for name, text, place, time in (
        ("/journal.md", "x", "§ 2024-05-06", Period(2024, 5, 6)),
        ("/a/2025-09-14 standup.md", "x", "", Period(2025, 9, 14)),
        ("/a/plumber-2021.md", "Plumber\n2021-04-02. Odo", "", Period(2021, 4, 2)),
        ("/a/mail.eml", "Subject: gas\nDate: Tue, 4 Mar 2025 10:00:00 +0100", "", Period(2025, 3, 4)),
        (str(file), "no date", "", Period(2025, 9, 13)),
        ("/a/minutes 2021-04.md", "no date", "", Period(2021, 4)),
        (str(tmp_path / "gone.md"), "no date", "", None),
    ):
        assert time_of(found(name, text, place=place)) == time, name


def test_a_search_leaves_out_the_older_note(collection: Collection, tmp_path: Path) -> None:
    """Two files differ in one value, and the times of the files decide."""
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, text, at in (
        ("a.md", "The cabin's password is heron.", OLD),
        ("b.md", "The cabin's password is otter.", NEW),
    ):
        (folder / name).write_text(text)
        os.utime(folder / name, (at, at))
    collection.ingest([folder])
    found = collection.search("What is the cabin's password?", 2)
    assert [Path(each.document).name for each in found.passages] == ["b.md"]
    assert [(Path(each.document).name, Path(each.newer).name) for each in found.older] == [("a.md", "b.md")]
    assert len(collection.search("What was the cabin's old password?", 2).passages) == 2


def test_a_reply_names_no_more_older_notes_than_a_message_holds() -> None:
    """However many were left out, the other end can read it."""
    older = tuple(Older(f"/n/{number}", Period(2020, 1), "/n/new", Period(2025, 1, 1)) for number in range(200))
    reply = replies.passages(bytes(16), SearchResult((), "probability:x", 1, older), [], 0.0)
    assert [each.document for each in decode(encode(reply)).older] == [f"/n/{number}" for number in range(64)]  # type: ignore[attr-defined]


def test_front_matter_tells_the_day_of_a_note(collection: Collection, tmp_path: Path) -> None:
    """Both files are of one time; their fields are found and read like any text."""
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, day, word in (("a.md", "2025-03-04", "heron"), ("b.md", "2024-03-04", "otter")):
        fields = f'title: "Cabin"\ndate: {day}\ntags: [cabin, "key box"]\nauthor:\n  - Odo Merrow\nempty:\n'
        (folder / name).write_text(f"---\n{fields}---\nThe cabin's password is {word}.\n")
        os.utime(folder / name, (NEW, NEW))
    collection.ingest([folder])
    (found,) = collection.search("What is the cabin's password?", 2).passages
    assert found.text.splitlines() == [
        "date: 2025-03-04",
        "tags: cabin, key box",
        "author: Odo Merrow",
        "",
        "The cabin's password is heron.",
    ]
    assert Path(collection.search("Merrow 2024", 1).passages[0].document).name == "b.md"


def test_an_older_note_is_named_only_beside_an_answer_that_reads_the_newer_one(tmp_path: Path) -> None:
    """Both are found for a question about something else, far behind what answers it."""
    notes = tmp_path / "notes"
    notes.mkdir()
    for day, price in (("2025-01-10", 29), ("2026-08-03", 34)):
        text = f"# Gym\nDate: {day}\nThe gym membership costs {price} euros a month, and the locker has a code."
        (notes / f"gym-{day[:4]}.md").write_text(text)
    (notes / "prices.csv").write_text("item,unit,price_eur\nBirch plywood,sheet,38.90\nPine board,metre,4.20\n")
    with Collection(tmp_path / "state", Embedder()) as collection:
        collection.ingest([notes])
        wood = collection.search("How much does birch plywood cost?", 2)
        gym = collection.search("How much does the gym membership cost?", 2)
    assert Path(wood.passages[0].document).name == "prices.csv"
    assert wood.older == ()
    assert [Path(each.document).name for each in gym.older] == ["gym-2025.md"]

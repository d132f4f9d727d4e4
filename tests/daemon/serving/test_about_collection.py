"""Questions about the collection itself: which are known, and what is said."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hocket_bus.messages import Kind, Surveyed
from hocket_daemon.serving.search.about_collection import MAX_NAMED, Asked, answer, asked_of_collection, files_named


@pytest.mark.parametrize(
    ("query", "asked"),
    [
        ("How many notes do I have?", Asked("count")),
        ("how many documents are there", Asked("count")),
        ("How many PDFs do I have in total?", Asked("count", suffixes=(".pdf",))),
        ("How many of my notes mention Henning?", Asked("count", "Henning")),
        ("Which files mention Henning?", Asked("list", "Henning")),
        ("which files contain “slip way”?", Asked("list", "slip way")),
        ("List all my notes about the boat", Asked("list", "boat")),
        ("What notes do I have?", Asked("list")),
        ("What documents do I have on insurance?", Asked("list", "insurance")),
        ("In which notes is Henning mentioned?", Asked("list", "Henning")),
        ("Summarise note3.md", Asked("summary", "note3", file="note3.md")),
        ("What is in 'my trip.txt'?", Asked("summary", "my trip", file="my trip.txt")),
        ("Wie viele Notizen habe ich?", Asked("count", german=True)),
        ("Welche Dateien erwähnen Henning?", Asked("list", "Henning", german=True)),
        ("What is my newest note?", Asked("newest", number=1)),
        ("Which are my 3 most recent files?", Asked("newest", number=3)),
        ("What did I write last?", Asked("newest", number=5)),
        ("Show me my latest emails", Asked("newest", suffixes=(".eml", ".msg", ".mbox"), number=5)),
        ("Welche Notiz ist die neueste?", Asked("newest", german=True, number=1)),
        ("Was habe ich zuletzt geschrieben?", Asked("newest", german=True, number=5)),
        ("Which notes are from March 2026?", Asked("dated", when="March 2026")),
        ("What did I write last week?", Asked("dated", when="last week")),
        ("How many PDFs do I have from 2025?", Asked("dated", suffixes=(".pdf",), when="2025")),
        ("Welche Notizen sind vom 4. März 2026?", Asked("dated", german=True, when="4. März 2026")),
        ("Was habe ich letzte Woche geschrieben?", Asked("dated", german=True, when="letzte Woche")),
        ("newest notes", Asked("newest", number=5)),
        ("What are my newest 3 notes?", Asked("newest", number=3)),
        ("three newest files", Asked("newest", number=3)),
        ("my last note", Asked("newest", number=1)),
        ("What is my newest md file?", Asked("newest", suffixes=(".md", ".markdown"), number=1)),
        ("Which files were added last?", Asked("newest", number=5)),
        ("Zeig mir meine letzten 3 Notizen", Asked("newest", german=True, number=3)),
        ("Which notes did I write in March?", Asked("dated", when="March")),
        ("which files changed on 2026-11-29", Asked("dated", when="2026-11-29")),
        ("What have I written since Thursday?", Asked("dated", when="since Thursday")),
        ("Was habe ich am 28.11.2026 geschrieben?", Asked("dated", german=True, when="28.11.2026")),
        ("What is my oldest note?", Asked("oldest", number=1)),
        ("Which are my two oldest PDFs?", Asked("oldest", suffixes=(".pdf",), number=2)),
        ("Wie heißt meine älteste Notiz?", Asked("oldest", german=True, number=1)),
        ("What is the name of my newest file?", Asked("newest", number=1)),
        ("Welche Notiz ist die älteste?", Asked("oldest", german=True, number=1)),
        ("How many notes are in the folder trips?", Asked("count", folder="trips")),
        ("how many files do I have in notes/trips", Asked("count", folder="notes/trips")),
        ("Which files are in my trips folder?", Asked("list", folder="trips")),
        ("List all PDFs in the directory 'tax 2025'", Asked("list", suffixes=(".pdf",), folder="tax 2025")),
        ("What is in the folder ~/notes/trips/?", Asked("list", folder="notes/trips")),
        ("Wie viele Dateien sind im Ordner Küche?", Asked("count", german=True, folder="Küche")),
        ("Was ist im Ordner „Reisen“?", Asked("list", german=True, folder="Reisen")),
        ("Fasse note3.md zusammen", Asked("summary", "note3", file="note3.md", german=True)),
    ],
)
def test_a_question_about_the_collection_is_known(query: str, asked: Asked) -> None:
    """By its whole form, in two languages."""
    assert asked_of_collection(query) == asked


@pytest.mark.parametrize(
    "query",
    [
        "What documents do I need for a visa?",
        "How many documents are needed?",
        "How many files does the tool open?",
        "How many notes are there in the scale?",
        "Which documents do I have to bring?",
        "What is in the shed?",
        "What does Henning say?",
        "Who mentions Henning?",
        "What are my notes about?",
        "Which notes mention Henning and say what he paid for the slipway in the spring?",
        "How many eggs do I have?",
        "What is the latest price of the boat?",
        "What are the last words of the letter?",
        "What did I write to Anna?",
        "Which files are in the shed?",
        "What is in the blue folder that Anna gave me?",
        "What is my oldest debt?",
        "Who is the oldest member?",
        "Which notes are from Anna?",
    ],
)
def test_a_question_about_what_documents_say_is_none(query: str) -> None:
    """Its words may be near; its form is another one."""
    assert asked_of_collection(query) is None


def surveyed(*names: str, whole: bool = True) -> Surveyed:
    """The store's answer about files of one kind."""
    kinds = [Kind(".md", len(names))] if names else []
    return Surveyed(request=bytes(16), total=len(names), kinds=kinds, names=list(names), whole=whole)


def test_an_answer_says_the_store_s_number_and_names() -> None:
    """No file twice under one name, none more than MAX_NAMED, and how many are not named."""
    many = [f"/n/{number:03}.md" for number in range(40)]
    for asked, found, said in (
        (Asked("count"), surveyed(*many), "There are 40 documents here (40 .md)."),
        (Asked("count"), surveyed("/n/a.md"), "There is one document here: a.md."),
        (Asked("count"), surveyed(), "There are no such documents here."),
        (
            Asked("list", "Henning"),
            surveyed("/n/a.md", "/n/b.md"),
            "2 documents have “Henning” in them: a.md and b.md.",
        ),
        (
            Asked("list", "Henning"),
            surveyed("/n/a.md", "/m/a.md"),
            "2 documents have “Henning” in them: /n/a.md and /m/a.md.",
        ),
        (Asked("list", "Henning"), surveyed(), "No document here has “Henning” in it."),
        (Asked("count", german=True), surveyed("/n/a.md", "/n/b.md"), "Hier sind 2 Dokumente (2 .md)."),
        (Asked("list", "x"), surveyed("/n/a.md", whole=False), "At least one document has “x” in it: a.md."),
    ):
        assert answer(asked, found) == said
    listed = answer(Asked("list"), surveyed(*many))
    assert listed.count(".md") == MAX_NAMED + 1
    assert f"{40 - MAX_NAMED} more" in listed


def test_an_answer_about_a_folder_names_it() -> None:
    for asked, found, said in (
        (Asked("count", folder="trips"), surveyed("/n/a.md", "/n/b.md"), "There are 2 documents in “trips” (2 .md)."),
        (Asked("list", folder="trips"), surveyed("/n/a.md"), "There is one document in “trips”: a.md."),
        (Asked("list", german=True, folder="Reisen"), surveyed("/n/a.md"), "In „Reisen“ ist ein Dokument: a.md."),
        (Asked("count", suffixes=(".pdf",), folder="x"), surveyed(), "There are no such documents in “x”."),
    ):
        assert answer(asked, found) == said


def test_an_answer_names_no_more_than_it_is_given_room_for() -> None:
    """The others are counted."""
    said = answer(Asked("list"), surveyed("/n/a.md", "/n/b.md", "/n/c.md"), 1)
    assert said.endswith(": a.md and 2 more.")


def test_documents_of_a_time_are_told_with_their_days() -> None:
    """Name one or several documents, no more than were asked for; say that there is none of a time."""
    names, days = ["/n/b.md", "/n/a.md", "/n/c.md"], ["2026-03-04", "2026-03-01", "2026-03"]
    found = replace(surveyed(*names), days=days)
    of_march = replace(found, when="2026-03")
    none = replace(surveyed(), when="2019")
    for asked, outcome, said in (
        (Asked("newest", number=1), found, "The newest document here is b.md (2026-03-04)."),
        (Asked("newest", number=2), found, "The newest documents here are b.md (2026-03-04) and a.md (2026-03-01)."),
        (Asked("newest", number=1), surveyed(), "There are no such documents here."),
        (Asked("oldest", number=1), found, "The oldest document here is b.md (2026-03-04)."),
        (
            Asked("dated", when="March 2026"),
            of_march,
            "3 documents here are from 2026-03: b.md (2026-03-04), a.md (2026-03-01) and c.md (2026-03).",
        ),
        (Asked("dated", when="2019", german=True), none, "Kein Dokument hier ist aus 2019."),
    ):
        assert answer(asked, outcome) == said


def test_a_file_is_named_with_its_suffix_or_without() -> None:
    """One with the suffix goes before others; the case does not matter."""
    names = ["/n/note3.md", "/n/note3.txt", "/n/Other.md"]
    assert files_named("Note3.md", names) == ["/n/note3.md"]
    assert files_named("note3", names) == ["/n/note3.md", "/n/note3.txt"]
    assert files_named("nothing", names) == []

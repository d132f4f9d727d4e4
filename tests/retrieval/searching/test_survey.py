"""Laws of a survey: it finds the documents that a scan of their texts and names finds."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

NOTES = {
    "note0.md": "Henning lent me his brush.",
    "note1.md": "Talked with Henning about the slipway.",
    "a/note2.txt": "Sanded the tiller; brushes are in the shed.",
    "a/Henning.txt": "Phone 0471 118.",
    "ab/note3.txt": "Nobody came.",
}


@pytest.fixture
def noted(collection, tmp_path: Path):
    """A collection of a few notes, and their folder."""
    for name, text in NOTES.items():
        file = tmp_path / "notes" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    collection.ingest([tmp_path / "notes"])
    return collection, tmp_path / "notes"


@pytest.mark.parametrize(
    ("text", "suffixes", "within", "wanted"),
    [
        ("", [], (), sorted(NOTES)),
        ("", [".TXT"], (), ["a/Henning.txt", "a/note2.txt", "ab/note3.txt"]),
        ("", [], ("a",), ["a/Henning.txt", "a/note2.txt"]),
        ("Henning", [], (), ["a/Henning.txt", "note0.md", "note1.md"]),
        ("henning's brush", [], (), ["note0.md"]),
        ("brush", [], (), ["a/note2.txt", "note0.md"]),
        ("Henning", [".md"], (), ["note0.md", "note1.md"]),
        ("Henning", [], ("note0.md", "a"), ["a/Henning.txt", "note0.md"]),
        ("walrus", [], (), []),
    ],
)
def test_documents_are_those_that_a_scan_finds(noted, text, suffixes, within, wanted) -> None:
    """By all words, whole or by their stems, in texts and names of files; by suffix and by folder."""
    collection, folder = noted
    found = collection.survey(text, suffixes, tuple(str(folder / each) for each in within))
    assert [str(Path(name).relative_to(folder)) for name in found.names] == wanted
    assert sum(number for _, number in found.kinds) == len(wanted)
    assert found.whole


DATED = {
    "2026-03-04 meeting.md": "Anna keeps the keys.",
    "2026-03 plans.md": "# Plans",
    "trip.md": "Date: 2026-01-09\n\nThe ferry was late.",
    "passport.md": "Valid until 19 January 2034.",
    "old.md": "Nothing about a time.",
    "prices.csv": "day,price\n2026-01-01,3\n2026-02-01,4",
}


def test_documents_of_a_time_are_those_whose_day_lies_in_it(collection, tmp_path: Path) -> None:
    """By name, by beginning, else by the file; the newest stands first.

    A day to come is no day of a document, and that of a table's first row neither.
    """
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, text in DATED.items():
        (folder / name).write_text(text)
        changed = datetime(2025, 5, 6, 12, tzinfo=UTC).timestamp()
        os.utime(folder / name, (changed, changed))
    collection.ingest([folder])

    def surveyed(when: str = "", **more: object) -> list[tuple[str, str]]:
        found = collection.survey("", [], (), when, order="newest", **more)
        return [(Path(name).name, day) for name, day in zip(found.names, found.days, strict=True)]

    meeting, plans, trip = (
        ("2026-03-04 meeting.md", "2026-03-04"),
        ("2026-03 plans.md", "2026-03"),
        ("trip.md", "2026-01-09"),
    )
    rest = [(name, "2025-05-06") for name in ("old.md", "passport.md", "prices.csv")]
    assert surveyed() == [meeting, plans, trip, *rest]
    assert surveyed("March 2026") == [meeting, plans]
    assert surveyed("2026") == [meeting, plans, trip]
    assert surveyed("6 May 2025") == rest
    assert surveyed("2019") == []
    oldest = collection.survey("", [], (), order="oldest")
    assert [Path(name).name for name in oldest.names] == [name for name, _ in [*rest, trip, plans, meeting]]
    assert collection.survey("keys", [], (), order="newest").days == ["2026-03-04"]
    not_understood = collection.survey("", [], (), "Brandenburg", order="newest")
    assert (not_understood.names, not_understood.when) == ([], "")


def test_a_folder_is_named_by_the_end_of_its_path(collection, tmp_path: Path) -> None:
    """In either case, and by whole parts; what lies deeper counts, too."""
    for name in ("Trips/alps.md", "Trips/2025/sea.md", "work/trips/fair.md", "trips.md", "strips/x.md"):
        path = tmp_path / "notes" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"A note on {path.stem}.")
    collection.ingest([tmp_path / "notes"])
    for folder, expected in (
        ("trips", ["alps.md", "fair.md", "sea.md"]),
        ("work/trips", ["fair.md"]),
        ("Trips/2025", ["sea.md"]),
        ("notes/trips", ["alps.md", "sea.md"]),
        (str(tmp_path / "notes" / "strips").strip("/"), ["x.md"]),
        ("trip", []),
        ("alps.md", []),
        ("", ["alps.md", "fair.md", "sea.md", "trips.md", "x.md"]),
    ):
        found = collection.survey("", [], (), folder=folder)
        assert sorted(Path(name).name for name in found.names) == expected

"""Laws of a survey: it finds the documents that a scan of their texts and names finds."""

from __future__ import annotations

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

"""Laws of a passage's head: a model reads it, and its words find the passage."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hocket_retrieval.text.heads import Placed, headed, searched
from hocket_retrieval.text.lexical import whole_words

NAMES = st.text(st.characters(categories=("L", "N", "P", "Z"), exclude_characters="/"), max_size=12)


def test_a_passage_is_read_below_its_file_its_title_and_its_headings() -> None:
    """Each once, and not where the text begins with it; no page or row, and no folder."""
    place = "p. 3, § Lease › Deposit"
    for text, name, title, at, wanted in (
        ("It was 900 euros.", "/a", "Flat", place, "Flat › Lease › Deposit: It was 900 euros."),
        ("Deposit\nIt was 900 euros.", "/a", "Flat", place, "Flat › Lease: Deposit\nIt was 900 euros."),
        ("# LEASE\nWe let the flat.", "/a", "lease", "§ Lease", "# LEASE\nWe let the flat."),
        ("Anna: 12", "/a", "Phones", "row 3", "Phones: Anna: 12"),
        ("Anna: 12", "/a", "", "", "Anna: 12"),
        ("Phone 0471 118.", "/People/Terje Moen.md", "Terje Moen", "", "Terje Moen: Phone 0471 118."),
        ("New one: Irma.", "/2025-09 plumber.md", "Plumber", "", "2025-09 plumber: New one: Irma."),
        ("No title.", "", "", "", "No title."),
    ):
        assert headed(Placed(name, title, at, text)) == wanted


@given(text=NAMES, folder=NAMES, file=NAMES, title=NAMES, heading=NAMES)
def test_a_passage_is_found_by_each_word_above_it(text: str, folder: str, file: str, title: str, heading: str) -> None:
    """And by its own; a head never changes the text below it."""
    placed = Placed(f"/{folder}/{file}.md", title, f"§ {heading}", text)
    found = {*whole_words(searched(placed))}
    for each in (text, folder, title, heading):
        assert {word for word in whole_words(each) if len(word) > 1} <= found
    assert headed(placed).endswith(text)

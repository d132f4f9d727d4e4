"""Laws of places: where a text stands in its file is known for each of its passages, and never guessed."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hocket_retrieval.collection import Collection
from hocket_retrieval.parsing.formats.content import MAX_SECTIONS, Section
from hocket_retrieval.parsing.formats.headings import MAX_PATH, Headings
from hocket_retrieval.parsing.outline import MAX_PLACES, MAX_ROWS, borders, is_sound, joined, place_of
from hocket_retrieval.parsing.readers import READING
from hocket_retrieval.stores.records import Document, NewChunk, digest
from hocket_retrieval.stores.sqlite.sqlite import SqliteStore
from hocket_retrieval.text.chunking import ENOUGH, spans

WORDS = st.text("ab .\n", max_size=60).map(str.strip)
SECTIONS = st.lists(st.builds(Section, WORDS, st.sampled_from(["", "p. 1", "p. 2, § A", "row 3"]), st.booleans()))


@given(SECTIONS)
def test_an_outline_lies_in_its_text(sections: list[Section]) -> None:
    """Offsets grow, each below the text's length, and the text from each on is its section's."""
    text, outline = joined(sections)
    assert is_sound(outline, len(text))
    named = {}
    at = 0
    for section in sections:
        if section.text:
            at = text.index(section.text, at)
            named[at] = section
            at += len(section.text)
    for offset, place in outline:
        assert named[offset].place == place
    assert "".join(text.split()) == "".join("".join(section.text.split()) for section in sections)


def test_behind_very_many_places_nothing_is_said_of_one() -> None:
    """The last place that is known does not stand for all that comes."""
    text, outline = joined(Section("x", f"p. {number}") for number in range(MAX_PLACES + 5))
    assert len(outline) == MAX_PLACES > MAX_SECTIONS
    assert outline[-1][1] == ""
    assert place_of(outline, len(text) - 1, len(text)) == ""
    assert text.count("x") == MAX_PLACES + 5


def test_the_place_of_a_passage_is_where_most_of_it_stands() -> None:
    """A few words of the section before do not name it; before the first place nothing is known."""
    text, outline = joined([Section("No place."), Section("Few.", "§ A"), Section("A good many words.", "§ A › B")])
    start = text.index("Few")
    assert place_of(outline, start, len(text)) == "§ A › B"
    assert place_of(outline, start, start + 4) == "§ A"
    assert place_of(outline, 0, start) == ""
    assert place_of(outline, 0, start + 4) == ""
    assert place_of((), 0, 5) == ""


def test_rows_of_a_table_are_one_place() -> None:
    """From the first that a passage has to the last, of one table."""
    _, outline = joined([Section("one", "row 2"), Section("two", "row 3"), Section("three", "rows 4–5")])
    assert place_of(outline, 0, 3) == "row 2"
    assert place_of(outline, 0, 8) == "rows 2–3"
    assert place_of(outline, 0, 12) == "rows 2–5"
    _, outline = joined([Section("one", "attachment a.csv, row 2"), Section("two", "attachment a.csv, row 3")])
    assert place_of(outline, 0, 8) == "attachment a.csv, rows 2–3"
    _, outline = joined([Section("one", "attachment a.csv, row 9"), Section("two", "attachment b.csv, row 2")])
    assert place_of(outline, 0, 8) == "attachment a.csv, row 9"


@given(st.lists(st.integers(1, 30), min_size=1, max_size=8), st.integers(8, 64))
def test_a_passage_ends_at_a_heading_once_it_is_long_enough(sizes: list[int], limit: int) -> None:
    """No border lies behind the first quarter of a passage, and no word is lost."""
    text, outline = joined(Section(" ".join([f"w{at}"] * size), f"§ {at}") for at, size in enumerate(sizes))
    ends = borders(outline).better
    passages = list(spans(text, limit, borders(outline)))
    assert " ".join(text[start:end] for start, end in passages).split() == text.split()
    for start, end in passages:
        assert len(text[start:end].split()) <= limit
        for border in ends:
            if start < border < end:
                assert ENOUGH * len(text[start:border].split()) < limit


@given(st.lists(st.integers(1, 30), min_size=1, max_size=12), st.integers(8, 64))
def test_a_row_shares_a_passage_with_no_other(sizes: list[int], limit: int) -> None:
    """Each passage lies in one row, and no word is lost."""
    text, outline = joined(Section(" ".join([f"w{at}"] * size), f"row {at + 2}") for at, size in enumerate(sizes))
    passages = [text[start:end].split() for start, end in spans(text, limit, borders(outline))]
    assert [word for passage in passages for word in passage] == text.split()
    assert all(len({*passage}) == 1 and len(passage) <= limit for passage in passages)
    assert len(passages) == sum(-(-size // limit) for size in sizes)


def test_rows_of_a_long_table_share_passages() -> None:
    """Each would take a vector."""
    sections = [Section(f"n: {at}", f"row {at}") for at in range(MAX_ROWS + 1)]
    text, outline = joined(sections)
    assert len(list(spans(text, 64, borders(outline)))) < MAX_ROWS / 10
    text, outline = joined(sections[1:])
    assert len(list(spans(text, 64, borders(outline)))) == MAX_ROWS


def test_a_path_has_the_headings_above_and_no_more_than_fits() -> None:
    """A heading ends those of its own level and below; the nearest ones are named first."""
    headings = Headings()
    assert headings.path == ""
    for level, name in ((1, "Lease"), (2, "Rent"), (3, "Late\n rent"), (2, "Deposit")):
        headings.enter(level, name)
    assert headings.path == "§ Lease › Deposit"
    for level in range(3, 12):
        headings.enter(level, f"{level} " + "long " * 40)
    assert headings.path.startswith("§ … › ")
    assert "11 long" in headings.path
    assert len(headings.path) <= MAX_PATH + 10


def test_places_go_into_the_store_and_come_with_what_is_found(collection: Collection, tmp_path) -> None:
    file = tmp_path / "Lease.md"
    file.write_text("# Lease\n\nThe tenant is Ada.\n\n## Deposit\n\nIt is two months of rent, " + "paid early. " * 20)
    collection.ingest([file])
    found = {passage.place for passage in collection.search("deposit months rent", 9).passages}
    assert "§ Lease › Deposit" in found
    with collection._store.moment() as moment:
        document = moment.document(str(file))
    assert document is not None
    assert [place for _, place in document.outline] == ["§ Lease", "§ Lease › Deposit"]


@pytest.mark.parametrize("read_before", [True, False])
def test_cut_anew_places_stay_and_what_was_read_without_is_read_again(tmp_path, toy, read_before: bool) -> None:
    """A new length of passages needs no file; a document of an earlier reading gets its places when it is ingested."""
    file = tmp_path / "a.md"
    file.write_text("# Lease\n\nThe tenant is Ada.")
    recipe = f"{toy.fingerprint} words:9" + (f" reading:{READING}" if read_before else "")
    outline = ((0, "§ Lease"),) if read_before else ()
    text = "Lease\n\nThe tenant is Ada."
    key = digest(toy.fingerprint, text)
    (tmp_path / "state").mkdir(mode=0o700)
    with SqliteStore(tmp_path / "state", toy.fingerprint, toy.dimension) as store:
        store.put_vectors([key], toy.documents([text]))
        sha256 = hashlib.sha256(file.read_bytes()).digest()
        store.put_document(Document(str(file), "Lease", text, sha256, recipe, outline), [NewChunk(text, key)])
    toy.embedded.clear()
    with Collection(tmp_path / "state", toy) as collection:
        collection.resume()
        places = [passage.place for passage in collection.search("tenant", 1).passages]
        assert places == (["§ Lease"] if read_before else [""])
        report = collection.ingest([file])
        assert (report.unchanged, report.replaced) == ((1, 0) if read_before else (0, 1))
        assert [passage.place for passage in collection.search("tenant", 1).passages] == ["§ Lease"]
    assert toy.embedded == []

"""Laws of cutting text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hocket_retrieval.text.chunking import _WORD, chunk

LETTERS = st.text(st.sampled_from("aB1 .!?,\n\t'\"这。é-😀ก"), max_size=400)


@given(text=LETTERS | st.text(max_size=200), limit=st.integers(1, 20))
def test_nothing_is_lost_and_no_chunk_is_too_long(text, limit):
    """Joined, chunks hold the text's characters in order, white space apart; none is over the limit or empty."""
    chunks = chunk(text, limit)

    assert "".join("".join(chunks).split()) == "".join(text.split())
    assert all(1 <= len(_WORD.findall(piece)) <= limit for piece in chunks)


@given(text=LETTERS, limit=st.integers(1, 20))
def test_words_survive_where_they_have_spaces(text, limit):
    """Chunks are slices: in order, not overlapping, and only white space lies between them."""
    at = 0
    for piece in chunk(text, limit):
        start = text.index(piece, at)
        assert not text[at:start].strip()
        at = start + len(piece)
    assert not text[at:].strip()


def test_chunks_end_at_sentences():
    """A sentence that fits is never cut, and neighbours share a chunk as long as they fit."""
    text = "One two three. Four five six! Seven eight? Nine ten eleven twelve."

    assert chunk(text, 6) == ["One two three. Four five six!", "Seven eight? Nine ten eleven twelve."]


def test_long_sentences_are_cut_evenly():
    """A sentence over the limit falls into even pieces, not one full piece and a crumb."""
    fragments = chunk(" ".join(f"w{n}" for n in range(70)), 64)

    assert [len(piece.split()) for piece in fragments] == [35, 35]


@pytest.mark.parametrize("text", ["Dr. Smith left.", "J. R. Hale left.", "It cost 3.50 marks.", "See e.g. Rome."])
def test_a_point_inside_a_sentence_is_no_border(text):
    """Abbreviations, initials and decimal points do not end a sentence."""
    assert chunk(f"One two three four. {text}", 4) == ["One two three four.", text]


def test_text_without_spaces_is_cut():
    """Scripts without spaces, and endless runs of letters, keep to the limit too."""
    assert chunk("这是一个句子。这是第二个。", 7) == ["这是一个句子。", "这是第二个。"]
    assert [len(piece) for piece in chunk("x" * 100, 2)] == [64, 36]


def test_nothing_makes_no_chunk():
    """White space alone has no chunks."""
    assert chunk(" \n\t ") == []

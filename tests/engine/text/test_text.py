"""Text as tokens come: pieces join to the whole, no half characters, nothing from a stop string on."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from hocket_daemon.engine.text.detokenizer import Detokenizer, Transcript


def by_byte(ids: list[int]) -> str:
    """A tokenizer with one token per byte, the hardest case for characters."""
    return bytes(ids).decode("utf-8", errors="replace")


@given(st.text(max_size=40))
def test_pieces_join_to_the_text_and_never_split_a_character(text: str) -> None:
    """Byte tokens: every piece is whole characters. What reads as half a character at the end is left out."""
    detokenizer = Detokenizer(by_byte)
    fragments = [detokenizer.add(byte) for byte in text.encode()]
    fragments.append(detokenizer.finish())
    assert "".join(fragments) == text.rstrip("\ufffd")
    assert "\ufffd" in text or all("\ufffd" not in piece for piece in fragments)


def test_a_text_that_ends_within_a_character_keeps_what_stands_before_it() -> None:
    """A token may hold the end of a word and the beginning of a character that never comes."""
    words = {1: b"the end", 2: " of it €".encode()[:-1]}
    detokenizer = Detokenizer(lambda ids: b"".join(words[id] for id in ids).decode(errors="replace"))
    assert [detokenizer.add(1), detokenizer.add(2), detokenizer.finish()] == ["the end", "", " of it "]


@given(st.text(alphabet="abc", max_size=60), st.lists(st.text(alphabet="abc", min_size=1, max_size=4), max_size=3))
def test_the_text_ends_before_the_first_stop_string(text: str, stops: list[str]) -> None:
    """Whatever the tokenisation, what is emitted is the text up to the earliest completed stop string."""
    detokenizer = Detokenizer(by_byte, stops)
    for byte in text.encode():
        detokenizer.add(byte)
        if detokenizer.stopped:
            break
    if not detokenizer.stopped:
        detokenizer.finish()
    ends = [(text.find(stop) + len(stop), text.find(stop)) for stop in stops if stop in text]
    if ends:
        first_end = min(ends)[0]
        assert detokenizer.stopped
        assert detokenizer.text == text[: min(at for end, at in ends if end == first_end)]
    else:
        assert detokenizer.text == text


@given(st.text(max_size=60))
def test_a_real_tokenizer_gives_back_the_text(tiny_models: dict[str, Path], text: str) -> None:
    """Byte-level BPE: encode, then token by token."""
    tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(tiny_models["device"])
    detokenizer = Detokenizer(lambda ids: str(tokenizer.decode(ids, clean_up_tokenization_spaces=False)))
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    joined = "".join([detokenizer.add(token) for token in ids]) + detokenizer.finish()
    assert joined == text or "\ufffd" in text


@given(st.text(alphabet=" \nab", max_size=20))
def test_blanks_before_the_first_word_are_left_out_where_asked(text: str) -> None:
    """And nothing else is."""
    detokenizer = Detokenizer(by_byte, strip=True)
    fragments = [detokenizer.add(byte) for byte in text.encode()] + [detokenizer.finish()]
    assert "".join(fragments) == detokenizer.text == text.lstrip()


@given(
    st.text(alphabet="abc€", min_size=1, max_size=20),
    st.lists(st.text(alphabet="abc", min_size=1, max_size=3), max_size=2),
    st.integers(1, 30),
    st.integers(0, 40),
)
def test_a_text_ends_once_by_eos_stop_or_length(text: str, stops: list[str], max_tokens: int, eos_at: int) -> None:
    """Whichever comes first; nothing is held back then but half a character, and nothing behind a stop is heard."""
    ids = [byte + 1 for byte in text.encode()]
    ids.insert(eos_at, 0)
    transcript = Transcript(Detokenizer(lambda ids: by_byte([token - 1 for token in ids]), stops), [0], max_tokens)
    fragments = []
    for token in ids:
        fragments.append(transcript.add(token))
        if transcript.finish is not None:
            break
    read = by_byte([token - 1 for token in transcript.ids if token]).rstrip("\ufffd")
    found = [read.index(stop) for stop in stops if stop in read]
    assert transcript.text == "".join(fragments) == read[: min(found, default=len(read))]
    match transcript.finish:
        case "eos":
            assert transcript.ids[-1] == 0
        case "stop":
            assert found
        case "length":
            assert len(transcript.ids) == max_tokens
            assert not found
        case None:
            pytest.fail("the last id ends it")

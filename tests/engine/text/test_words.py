"""Laws of words: two tokenizers cut a text alike, and a word's tokens are the same in the text and alone."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hocket_models
from hocket_bus.errors import BadConfiguration
from hocket_daemon.engine.text import words
from hocket_daemon.engine.text.file_tokenizer import FileTokenizer
from hocket_daemon.engine.text.word_tokens import WordTokens

TEXTS = (
    "The rent is 612 euros; water (cold) is not included.  See page 4, please.\n\n- one\n- two: three\n",
    "Die Miete beträgt 612,50 €, zahlbar am Dritten – „pünktlich“, steht da. Straßenbahnhaltestellenschild!\r\nEnde.",
    "Le loyer s'élève à 612 € ; l’eau n’est pas comprise.\tVoilà.",
    "Аренда составляет 612 евро, вода не включена. Платить до третьего числа.",
    "임대료는 612유로이며 수도는 포함되지 않습니다.",
    "房租是六百一十二欧元，不包括水费。请在每月三日之前付款，谢谢！房东住在楼上，电话号码在门上。",
    "家賃は六百十二ユーロです。水道代は含まれていません。毎月三日までに払ってください。",
    "ค่าเช่าหกร้อยสิบสองยูโรไม่รวมค่าน้ำกรุณาชำระก่อนวันที่สามของทุกเดือน",
    "الإيجار ٦١٢ يورو، والماء غير مشمول.",
    "def rent(month: int) -> float:\n    if month in (1, 2):\n        return 612.50  # cold\n    return rents[month]\n",
    'int main(void) {\n\tprintf("%d\\n", rent_of_the_whole_house_in_euros(3));\n\treturn 0;\n}\n',
    "| item | price |\n|---|---|\n| rye loaf | 4.80 |\n\n```\nx = 1\n```\n",
    "👩‍👩‍👧 moved in 🎉🎉 – e\u0301tude, \u00a0no break\u2028line",
    "a" * 130 + " " + "-" * 60,
)
DEVICE = Path(hocket_models.path("device"))


def tokens_in(folder: Path) -> WordTokens:
    """The tokens of a model's tokenizer in words."""
    tokenizer = FileTokenizer(folder)
    return WordTokens(tokenizer, [1], max(tokenizer.get_vocab().values()) + 1)


@pytest.fixture(scope="module", params=["bundled", "cloud", "stranger"])
def tokens(request: pytest.FixtureRequest, tiny_models: dict[str, Path]) -> WordTokens:
    """The tokens of three tokenizers."""
    return tokens_in(tiny_models.get(request.param, DEVICE))


@given(st.binary(max_size=200) | st.text(alphabet="ab \n\t.,é€한😀'", max_size=120).map(str.encode))
def test_words_are_the_text_and_none_is_long(text: bytes) -> None:
    """Whatever the bytes are."""
    found = words.words_of(text)
    assert b"".join(found) == text
    assert all(0 < len(word) <= words.CAP for word in found)


@given(st.text(alphabet="ab \n\t.,é€한😀'\u2019", max_size=200))
def test_what_comes_later_moves_no_cut(text: str) -> None:
    """A word that has ended is the first one of every longer text; no character is cut."""
    raw = text.encode()
    word = words.first_word(raw)
    for end in range(len(raw)):
        earlier = words.first_word(raw[:end])
        assert earlier in (None, word)
    assert all(words.readable(each) == each for each in words.words_of(raw))


@given(st.text(alphabet="ab \n\t\r.,é'", max_size=100))
def test_a_cut_is_where_the_rule_has_one(text: str) -> None:
    """Before a space behind a character, behind a newline before one, softly, or by length."""
    raw, at = text.encode(), 0
    for word in words.words_of(raw)[:-1]:
        at += len(word)
        before, here = raw[:at].decode()[-1], raw[at:].decode()[0]
        hard = (here == " " and not before.isspace()) or (before == "\n" and not here.isspace())
        soft = len(word) >= words.SOFT and before.isalnum() and here in ".,"
        assert hard or soft or len(word) > words.CAP - 4


@given(st.binary(max_size=words.CAP))
def test_what_travels_is_text_of_a_words_length(raw: bytes) -> None:
    """Whatever bytes a model has drawn, and once for all."""
    word = words.readable(raw)
    assert len(word) <= words.CAP
    assert words.readable(word) == word
    assert word.decode().encode() == word


@given(st.lists(st.binary(max_size=words.CAP), max_size=20))
def test_a_number_is_one_words(several: list[bytes]) -> None:
    """Bijective, with the end as the empty word."""
    assert [words.word_of(words.number_of(word)) for word in several] == several
    assert words.word_of(words.number_of(words.END)) == words.END


@pytest.mark.parametrize("text", TEXTS)
def test_no_token_lies_over_a_cut_but_one_by_length(tokens: WordTokens, text: str) -> None:
    """So a word's tokens are those that the whole text has there."""
    raw = text.encode()
    pieces = [tokens.token_bytes[id] for id in tokens._bare.encode(text, add_special_tokens=False).ids]
    assert b"".join(pieces) == raw
    ends = set(np.cumsum([len(piece) for piece in pieces]).tolist())
    at = 0
    for word in words.words_of(raw):
        at += len(word)
        assert at in ends or len(word) >= words.FREE
        spelled = tokens.spelled(words.number_of(word))
        assert b"".join(tokens.token_bytes[id] for id in spelled) == word


@pytest.mark.parametrize("text", TEXTS)
def test_every_word_of_a_text_may_begin_where_it_does(tokens: WordTokens, text: str) -> None:
    """The mask of first tokens lets all texts through, and the end everywhere."""
    before: bytes | None = None
    for word in words.words_of(text.encode()):
        first = tokens.spelled(words.number_of(word))[0]
        assert tokens.beginning(before)[first], (before, word)
        assert tokens.beginning(before)[tokens.end]
        before = word


def test_any_token_may_come_behind_a_word_without_text(tokens: WordTokens) -> None:
    """An answer that may not end goes on behind an end that another side proposes."""
    np.testing.assert_array_equal(tokens.beginning(words.END), tokens.any)


def test_equal_bytes_have_equal_hashes_whatever_the_numbers(tokens: WordTokens) -> None:
    """Of two tokenizers, too: a token's noise depends on its bytes alone."""
    bundled = tokens_in(DEVICE)
    hashes = dict(zip(bundled.token_bytes, bundled.hashes.tolist(), strict=True))
    shared = [id for id, piece in enumerate(tokens.token_bytes) if piece in hashes]
    assert len(shared) > 256
    assert all(int(tokens.hashes[id]) == hashes[tokens.token_bytes[id]] for id in shared)


def test_a_tokenizer_of_another_kind_is_refused(tmp_path: Path) -> None:
    """SentencePiece writes blanks into its tokens: in one line that says what to do."""
    described = json.loads((DEVICE / "tokenizer.json").read_text())
    described["decoder"] = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
    (tmp_path / "tokenizer.json").write_text(json.dumps(described))
    (tmp_path / "tokenizer_config.json").write_text("{}")
    with pytest.raises(BadConfiguration, match="not byte-level BPE"):
        tokens_in(tmp_path)

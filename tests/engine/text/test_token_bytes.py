"""The bytes of an answer's tokens, joined, are the bytes of its text."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from hocket_daemon.engine.text.file_tokenizer import FileTokenizer
from hocket_daemon.engine.text.spelling import AnyTokenizer
from hocket_daemon.engine.text.token_bytes import TokenBytes


def with_fallback() -> PreTrainedTokenizerFast:
    """A tokenizer of words whose other characters are bytes, as sentencepiece makes them."""
    names = ["<unk>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *"▁abcdefgh"]
    model = models.BPE({name: id for id, name in enumerate(names)}, [], unk_token="<unk>", byte_fallback=True)
    backend = Tokenizer(model)
    backend.normalizer = normalizers.Replace(" ", "▁")
    backend.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    backend.add_special_tokens([AddedToken("</s>", special=True)])
    return PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="</s>")


def joined(tokenizer: AnyTokenizer, text: str) -> bytes:
    token_bytes = TokenBytes(tokenizer)
    return b"".join(token_bytes.of(id) for id in tokenizer(text, add_special_tokens=False)["input_ids"])


@given(st.text(max_size=40))
def test_they_join_to_the_text_where_a_token_is_any_bytes(tiny_models: dict[str, Path], text: str) -> None:
    """Byte-level: characters of many tokens, signs and blanks."""
    for tokenizer in (AutoTokenizer.from_pretrained(tiny_models["device"]), FileTokenizer(tiny_models["device"])):
        assert joined(tokenizer, text) == text.encode()


@given(st.text(max_size=40))
def test_they_join_to_the_text_where_what_has_no_token_is_bytes(text: str) -> None:
    """The fallback's names of bytes are bytes."""
    assert joined(with_fallback(), "a" + text).decode(errors="replace") == "a" + text.replace("▁", " ")


def test_a_special_token_is_its_name() -> None:
    """It may be the likeliest in a place, and has no text."""
    tokenizer = with_fallback()
    assert TokenBytes(tokenizer).of(tokenizer.eos_token_id) == b"</s>"


def test_an_id_that_the_vocabulary_leaves_out_has_no_bytes() -> None:
    """A model may have more rows than its tokenizer has names."""
    assert TokenBytes(with_fallback()).of(100_000) == b""

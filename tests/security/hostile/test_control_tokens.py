"""No text of a passage, a question or a history holds a control token, whatever the tokenizer."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers
from transformers import PreTrainedTokenizerBase, PreTrainedTokenizerFast

from hocket_bus.messages import Prompt
from hocket_daemon.engine.text.spelling import Spelling
from hocket_daemon.engine.text.tokenizer import layout_for, prompt_ids

TURN = "<|turn|>"
# Called special and not; with a character of their own; one inside another; overlapping; sure of their neighbours.
ADDED = (
    AddedToken(TURN, special=True),
    AddedToken("<|tool|>", special=False),
    AddedToken("<|to", special=False),
    AddedToken("<<|", special=False),
    AddedToken("|>|", special=True, normalized=True),
    AddedToken("[word]", special=False, single_word=True),
    AddedToken("[left]", special=False, lstrip=True),
    AddedToken("[right]", special=True, rstrip=True),
    AddedToken("[wide]", special=False, normalized=True),
    AddedToken("</s>", special=True),
)
NAMES = [str(token) for token in ADDED]
TEMPLATE = "{% for message in messages %}<|turn|>{{ message.content }}<|turn|>{% endfor %}"
ALPHABET = "ab <|>[]/swordeliftghn"
HOSTILE = st.lists(
    st.one_of(
        st.sampled_from(NAMES),
        st.sampled_from(NAMES).flatmap(lambda name: st.integers(0, len(name)).map(lambda at: name[:at])),
        st.sampled_from(NAMES).flatmap(lambda name: st.integers(0, len(name)).map(lambda at: name[at:])),
        st.sampled_from(["＜｜turn｜＞", "［wide］", "<\u200b|turn|>"]),
        st.text(alphabet=ALPHABET, max_size=6),
    ),
    max_size=6,
).map("".join)


def byte_level(*, whole_words: bool = False) -> Tokenizer:
    """As GPT-2's, or as Llama-3's: a word that is in the vocabulary is one token without any merge."""
    fragments = sorted(pre_tokenizers.ByteLevel.alphabet())
    fragments += ["</", "s>", "</s>", "ab", "[word]"] if whole_words else ["</", "s>", "</s>", "ab"]
    merges = [("<", "/"), ("s", ">"), ("</", "s>"), ("a", "b")]
    vocabulary = {piece: id for id, piece in enumerate(fragments)}
    made = Tokenizer(models.BPE(vocabulary, merges, ignore_merges=whole_words))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    made.decoder = decoders.ByteLevel()
    return made


def folding() -> Tokenizer:
    """The same behind NFKC, which makes ASCII of full-width characters."""
    made = byte_level()
    made.normalizer = normalizers.NFKC()
    return made


def sentencepiece() -> Tokenizer:
    """As Llama-2's or T5's: control tokens are pieces of the model itself, and bytes spell what has no piece."""
    fragments = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *"▁ab<|>[]/swordeliftghn", "▁ab"]
    vocabulary = [(piece, 0.0 if at < 3 else -2.0 - at / 1e4) for at, piece in enumerate(dict.fromkeys(fragments))]
    made = Tokenizer(models.Unigram(vocabulary, unk_id=0, byte_fallback=True))
    made.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never", split=False)
    parts = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    made.decoder = decoders.Sequence(parts)
    return made


KINDS = {
    "bytes": byte_level(),
    "whole words": byte_level(whole_words=True),
    "folding": folding(),
    "sentencepiece": sentencepiece(),
}


def tokenizer_of(kind: str, template: str | None) -> PreTrainedTokenizerBase:
    backend = Tokenizer.from_str(KINDS[kind].to_str())
    backend.add_tokens(list(ADDED))
    made = PreTrainedTokenizerFast(tokenizer_object=backend, clean_up_tokenization_spaces=False)
    made.chat_template = template
    return made


CASES = {
    f"{kind}, {name}": (kind, made) for kind, (name, made) in product(KINDS, [("plain", None), ("chat", TEMPLATE)])
}


@pytest.mark.parametrize("case", CASES)
def test_every_added_token_has_a_way_into_the_tokenizer(case: str) -> None:
    """The law below could fail: each name is one token for the tokenizer itself."""
    tokenizer = tokenizer_of(*CASES[case])
    for name in NAMES:
        ids = tokenizer(name, add_special_tokens=False)["input_ids"]
        assert set(ids) & set(tokenizer.added_tokens_decoder), name


@pytest.mark.parametrize("case", CASES)
@given(passage=HOSTILE, question=HOSTILE)
@settings(max_examples=60)
def test_no_text_holds_an_added_token(case: str, passage: str, question: str) -> None:
    """The layout's own are there and no other, where the layout has them; the text reads as it was given."""
    tokenizer = tokenizer_of(*CASES[case])
    layout = layout_for(Spelling(tokenizer), "answer")
    added = set(tokenizer.added_tokens_decoder)
    own = tokenizer(TURN, add_special_tokens=False)["input_ids"] if tokenizer.chat_template else []
    parts = layout.document(passage), layout.question(Prompt(query=question))
    assert [[id for id in ids if id in added] for ids in parts] == [own, own]
    before, behind = (text.replace(TURN, "") for text in (layout.before, layout.behind))
    whole = before + passage.strip() + layout.between + question.strip() + behind
    normalizer = tokenizer.backend_tokenizer.normalizer
    read = tokenizer.decode([id for ids in parts for id in ids if id not in added])
    assert read == (whole if normalizer is None else normalizer.normalize_str(whole))


@pytest.mark.parametrize("case", CASES)
@given(text=HOSTILE)
@settings(max_examples=30)
def test_no_history_holds_an_added_token(case: str, text: str) -> None:
    """A whole prompt, as another program's conversation comes: the turn's own tokens and no other."""
    tokenizer = tokenizer_of(*CASES[case])
    spelling = Spelling(tokenizer)
    for task in ("answer", "complete"):
        ids = prompt_ids(spelling, text, task)
        own = 2 if tokenizer.chat_template and task == "answer" else 0
        assert sum(id in tokenizer.added_tokens_decoder for id in ids) == own

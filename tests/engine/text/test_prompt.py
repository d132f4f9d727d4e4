"""How a passage and a question become tokens: as text, whatever they say."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers.processors import TemplateProcessing
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from hocket_bus.messages import Prompt
from hocket_daemon.engine.text.spelling import Spelling
from hocket_daemon.engine.text.tokenizer import layout_for, prompt_ids

NAMES = ["<|bos|>", "<|eos|>", "<|pad|>"]
TEMPLATE = "{% for message in messages %}<|bos|>{{ message.content }}<|eos|>{% endfor %}"
HOSTILE = st.lists(st.one_of(st.sampled_from(NAMES), st.text(alphabet="ab <|>", max_size=6)), max_size=6).map("".join)


def tokenizer_of(models: dict[str, Path], template: str | None) -> PreTrainedTokenizerBase:
    tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(models["device"])
    tokenizer.add_special_tokens({"pad_token": NAMES[2], "bos_token": NAMES[0], "eos_token": NAMES[1]})
    tokenizer.chat_template = template
    return tokenizer


@pytest.mark.parametrize(("template", "own"), [(None, 0), (TEMPLATE, 2)], ids=["plain", "chat"])
@given(passage=HOSTILE, question=HOSTILE)
def test_nobody_writes_control_tokens(
    tiny_models: dict[str, Path], template: str | None, own: int, passage: str, question: str
) -> None:
    """The prompt holds the layout's special tokens and no other, and reads as the text that was given."""
    tokenizer = tokenizer_of(tiny_models, template)
    layout = layout_for(Spelling(tokenizer), "answer")
    ids = layout.document(passage)[len(layout.bos) :] + layout.question(Prompt(query=question))
    assert sum(id in tokenizer.all_special_ids for id in ids) == own
    whole = layout.before + passage.strip() + layout.between + question.strip() + layout.behind
    assert tokenizer.decode(ids, clean_up_tokenization_spaces=False) == whole


@pytest.mark.parametrize(
    ("template", "begins"),
    [(None, True), (TEMPLATE, True), (TEMPLATE.replace("<|bos|>", "<|eos|>"), False), ("{{ messages }}", False)],
)
def test_a_text_that_is_gone_on_with_begins_as_the_models_own_prompts_do(
    tiny_models: dict[str, Path], template: str | None, begins: bool
) -> None:
    """A bos token that no prompt begins with is none: Qwen's files name the token that ends a text."""
    tokenizer = tokenizer_of(tiny_models, template)
    bos = (tokenizer.bos_token_id,) if begins else ()
    spelling = Spelling(tokenizer)
    assert layout_for(spelling, "complete").bos == bos
    assert prompt_ids(spelling, "kala", "complete") == [*bos, *spelling.ids("", "kala", "")]


def test_a_tokenizer_that_begins_every_text_itself_is_followed(tiny_models: dict[str, Path]) -> None:
    tokenizer = tokenizer_of(tiny_models, "{{ messages }}")
    bos = tokenizer.bos_token_id
    tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
        single="<|bos|> $A", special_tokens=[("<|bos|>", bos)]
    )
    assert layout_for(Spelling(tokenizer), "complete").bos == (bos,)


@pytest.mark.parametrize("template", [None, TEMPLATE], ids=["plain", "chat"])
@given(passage=st.text(max_size=40))
def test_ordinary_text_is_tokenised_in_one_piece_with_its_layout(
    tiny_models: dict[str, Path], template: str | None, passage: str
) -> None:
    tokenizer = tokenizer_of(tiny_models, template)
    layout = layout_for(Spelling(tokenizer), "answer")
    whole = tokenizer(layout.before + passage.strip(), add_special_tokens=False)["input_ids"]
    if not any(name in passage for name in NAMES):
        assert layout.document(passage) == [*layout.bos, *whole]

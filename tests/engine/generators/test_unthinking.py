"""A model that thinks aloud finds its thought closed and empty: a prompt ends where an answer begins."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoTokenizer

import hocket_models
from hocket_bus.messages import Prompt, Turn
from hocket_daemon.engine.text.chat_template import rendered
from hocket_daemon.engine.text.file_tokenizer import FileTokenizer
from hocket_daemon.engine.text.tokenizer import Worded

TURNS = "{% for each in messages %}[{{ each.role }}]{{ each.content }}\n{% endfor %}"
STRIPS = "{% for each in messages %}[{{ each.role }}]{{ each.content.split('</think>')[-1] }}\n{% endfor %}"
BEGINS = "{% if add_generation_prompt %}[assistant]\n@{% endif %}"
EMPTY = "<think>\n\n</think>\n\n"
OFF = "{% if enable_thinking is defined and enable_thinking is false %}"
ASKED = [("system", "Be kind."), ("user", "kala?"), ("assistant", "mira"), ("user", "duno?")]
CLOSES_ITSELF = {
    "hybrid": (STRIPS + BEGINS.replace("@", OFF + EMPTY + "{% endif %}"), EMPTY),
    "closes at once": (TURNS + BEGINS.replace("@", OFF + "<think></think>{% endif %}"), "<think></think>"),
    "no opening": (STRIPS + BEGINS.replace("@", "{% if thinking %}<think>{% else %}</think>{% endif %}"), "</think>"),
    "always closed": (TURNS + BEGINS.replace("@", EMPTY), EMPTY),
}
KNOWS_NONE = {
    "plain": TURNS + BEGINS.replace("@", ""),
    "no beginning": TURNS,
    "asked to in a system line": (
        "{% if thinking %}Think between <think> and </think>.{% endif %}" + STRIPS + BEGINS.replace("@", "")
    ),
    "off unless it is on": (
        "{% if enable_thinking is defined and enable_thinking %}</think>{% endif %}" + TURNS + BEGINS.replace("@", "")
    ),
}
OPENS = {
    "always": TURNS + BEGINS.replace("@", "<think>\n"),
    "strips, too": STRIPS + BEGINS.replace("@", "<think>\n"),
    "no line behind": TURNS + BEGINS.replace("@", "<think>"),
    "though it is switched off": TURNS + BEGINS.replace("@", "{% if enable_thinking %}{% endif %}<think>\n\n"),
    "until it is switched off": TURNS + BEGINS.replace("@", "{% if thinking is not false %}<think>{% endif %}" + EMPTY),
}
THINKS_FIRST = {
    "strips what it thought": STRIPS + BEGINS.replace("@", ""),
    "says so in a system line": "Think between <think> and </think>.\n" + TURNS + BEGINS.replace("@", ""),
}
EACH = {
    **{name: template for name, (template, _) in CLOSES_ITSELF.items()}, **KNOWS_NONE, **OPENS, **THINKS_FIRST,
}  # fmt: skip


def end_of(template: str) -> str:
    """What stands behind the last turn."""
    return rendered(template, {}, ASKED).partition("duno?\n")[2]


@pytest.mark.parametrize("family", CLOSES_ITSELF)
def test_a_thought_that_is_closed_stays_as_the_template_has_it(family: str) -> None:
    template, closed = CLOSES_ITSELF[family]
    assert end_of(template) == "[assistant]\n" + closed


@pytest.mark.parametrize("family", KNOWS_NONE)
def test_a_model_that_does_not_think_is_asked_as_its_template_has_it(family: str) -> None:
    """Byte for byte, though an earlier turn may lose what is thought in it."""
    assert end_of(KNOWS_NONE[family]) == ("[assistant]\n" if family != "no beginning" else "")


@pytest.mark.parametrize("family", OPENS)
def test_a_thought_that_the_template_opens_is_closed(family: str) -> None:
    assert end_of(OPENS[family]) == "[assistant]\n" + EMPTY


@pytest.mark.parametrize("family", THINKS_FIRST)
def test_a_thought_that_the_model_would_open_is_there_and_empty(family: str) -> None:
    assert end_of(THINKS_FIRST[family]) == "[assistant]\n" + EMPTY


@pytest.mark.parametrize("tag", ["thought", "thinking", "reasoning"])
def test_a_thought_is_closed_by_its_own_tag(tag: str) -> None:
    for template in (*OPENS.values(), *THINKS_FIRST.values()):
        named = template.replace("<think>", f"<{tag}>").replace("</think>", f"</{tag}>")
        assert end_of(named).endswith(f"<{tag}>\n\n</{tag}>\n\n")


@pytest.mark.parametrize("family", EACH)
@given(said=st.sampled_from(["<think>", "a <think>", "</think>", "<think>\n\n</think>"]))
def test_what_somebody_says_opens_and_closes_nothing(family: str, said: str) -> None:
    """A turn is laid out around a text, and what decides is what stands behind it."""
    tokenizer = FileTokenizer(Path(hocket_models.path("device")))
    tokenizer.chat_template = EACH[family]
    layout = Worded(tokenizer).layout("answer")
    for prompt in (Prompt(query=said), Prompt(query="kala?", turns=[Turn(query=said, answer=said)])):
        assert tokenizer.decode(layout.question(prompt)).endswith(f"{prompt.query}\n{end_of(EACH[family])}")


def test_a_passage_is_read_by_the_same_tokens_whether_its_model_thinks() -> None:
    """So what is kept of documents is found again."""
    tokenizer = AutoTokenizer.from_pretrained(hocket_models.path("device"))
    documents = []
    for template in (KNOWS_NONE["plain"], OPENS["always"], OPENS["no line behind"]):
        tokenizer.chat_template = template
        documents.append(Worded(tokenizer).layout("answer").document("The canoe is red."))
    assert documents[0] == documents[1] == documents[2]

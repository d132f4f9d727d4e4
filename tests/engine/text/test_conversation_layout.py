"""How a conversation becomes tokens: as the model's own template has it, and nobody's text as anything but text."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_prompt import HOSTILE, tokenizer_of

from hocket_bus.messages import Prompt, Turn
from hocket_daemon.engine.runtime.sequences import with_room
from hocket_daemon.engine.text.chat_template import rendered
from hocket_daemon.engine.text.spelling import Spelling
from hocket_daemon.engine.text.tokenizer import Layout, layout_for
from shortened import shortened

TURNED = (
    "{% for message in messages %}<|bos|>{{ message.role }}: {{ message.content }}<|eos|>{% endfor %}"
    "{% if add_generation_prompt %}<|bos|>assistant: {% endif %}"
)
STRICT = (
    "{% if messages[0].role == 'system' %}{{ raise_exception('no system line here') }}{% endif %}" + TURNED
)  # as some families have it
DEAF = "{% for message in messages if message.role != 'system' %}" + TURNED.split("%}", 1)[1]
TEMPLATES = {"plain": None, "turned": TURNED, "strict": STRICT, "deaf": DEAF}
TURNS = st.lists(st.builds(Turn, query=HOSTILE, answer=HOSTILE), max_size=3)


@pytest.mark.parametrize("template", shortened(TEMPLATES, 2))
@given(passage=HOSTILE, query=HOSTILE, turns=TURNS, system=HOSTILE)
def test_nobody_writes_control_tokens_in_a_conversation(
    tiny_models: dict[str, Path], template: str, passage: str, query: str, turns: list[Turn], system: str
) -> None:
    """Each turn has the template's own tokens, and all texts are there as they were given, in their order."""
    tokenizer = tokenizer_of(tiny_models, TEMPLATES[template])
    layout = layout_for(Spelling(tokenizer), "answer", system)
    ids = layout.document(passage)[len(layout.bos) :] + layout.question(Prompt(query=query, turns=turns))
    own = (
        0 if template == "plain" else 2 * (1 + 2 * len(turns)) + 1 + 2 * (template == "turned" and bool(system.strip()))
    )
    assert sum(id in tokenizer.all_special_ids for id in ids) == own
    text, at = tokenizer.decode(ids, clean_up_tokenization_spaces=False), 0
    said = [system, passage, *(each for turn in turns for each in (turn.query, turn.answer)), query]
    for part in map(str.strip, said):
        at = text.index(part, at) + len(part)


def test_a_conversation_reads_as_the_template_has_it(tiny_models: dict[str, Path]) -> None:
    """The passage stands in the first turn, so that its stored KV serves every later one."""
    tokenizer = tokenizer_of(tiny_models, TURNED)
    turns = [Turn(query="kala", answer="mira"), Turn(query="duno", answer="limba")]
    first, later = (layout_for(Spelling(tokenizer), "answer", "Be kind.") for _ in range(2))
    ids = [*later.document("tano"), *later.question(Prompt(query="soretu", turns=turns))]
    content = tokenizer.decode(first.document("tano")).split("user: ")[1] + "\n\nkala"
    said = [("system", "Be kind."), ("user", content), ("assistant", "mira"), ("user", "duno"), ("assistant", "limba")]
    whole = rendered(TURNED, tokenizer.special_tokens_map, [*said, ("user", "soretu")])
    assert tokenizer.decode(ids, clean_up_tokenization_spaces=False) == whole
    assert first.document("tano") == later.document("tano")


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("number", [0, 1, 3])
def test_the_querys_own_tokens_are_the_querys(tiny_models: dict[str, Path], template: str, number: int) -> None:
    """Whatever came before it."""
    tokenizer = tokenizer_of(tiny_models, TEMPLATES[template])
    layout = layout_for(Spelling(tokenizer), "answer")
    prompt = Prompt(query="duno limba?", turns=[Turn(query="kala?", answer="mira.")] * number)
    ids = layout.question(prompt)
    assert tokenizer.decode([ids[at] for at in layout.own(prompt)]).strip() == prompt.query


@given(lengths=st.lists(st.integers(1, 40), max_size=6), limit=st.integers(0, 200))
def test_the_latest_turns_that_fit_are_kept(tiny_models: dict[str, Path], lengths: list[int], limit: int) -> None:
    """As many as fit, and none that is older than one that does not."""
    layout: Layout = layout_for(Spelling(tokenizer_of(tiny_models, TURNED)), "answer")
    turns = [Turn(query="kala " * length, answer=str(at)) for at, length in enumerate(lengths)]
    kept = with_room(layout, Prompt(query="duno?", turns=turns, system="Be kind."), limit)
    assert (kept.query, kept.system) == ("duno?", "Be kind.")
    assert kept.turns == turns[len(turns) - len(kept.turns) :]
    sizes = [len(layout.turn(turn, layout.again)) for turn in turns]
    left = limit - len(layout.question(Prompt(query="duno?")))
    assert sum(sizes[len(turns) - len(kept.turns) :]) <= max(left, 0)
    if len(kept.turns) < len(turns):
        assert sum(sizes[len(turns) - len(kept.turns) - 1 :]) > left

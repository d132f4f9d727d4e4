"""Laws of how much is read for a question."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from exact import exact
from hocket_bus.messages import Prompt, Turn
from hocket_daemon.engine.language_model import Shape
from hocket_daemon.engine.reading import FEW, MANY, MAX_WORDS, MIN_WORDS, Reading, reading_of
from hocket_daemon.engine.settings import PREFILL_TOKENS

CONTEXT = exact().context


SMOLLM2 = Shape(layers=30, width=576, heads=9, feed_forward=1536, vocabulary=49_152)
QWEN = Shape(layers=24, width=896, heads=14, feed_forward=4864, vocabulary=151_936)  # 2.5, of half a billion


def model(prefill_tokens: int, context: int, shape: Shape = QWEN):
    return SimpleNamespace(prefill_tokens=prefill_tokens, slots=SimpleNamespace(context=context), shape=shape)


def test_a_processor_reads_a_few_paragraphs():
    """As a laptop is by default: what is found is what is read."""
    assert reading_of(model(PREFILL_TOKENS, CONTEXT), 2, "auto", is_server=False) == Reading(MIN_WORDS, FEW)


@pytest.mark.parametrize("context", [64, 256, 1024, 4096, 32_768])
@pytest.mark.parametrize("prefill", [1, 128, 500, 1_000, 8_192])
def test_two_tokens_a_word_fit_a_pass_and_half_a_row(prefill, context):
    words = reading_of(model(prefill, context), 2, "auto", is_server=False).words
    assert MIN_WORDS <= words <= MAX_WORDS
    assert words == MIN_WORDS or 2 * words <= min(prefill, context // 2)


def test_more_passages_are_read_where_rows_are_left():
    """One row of each session is the question's alone."""
    found = [reading_of(model(128, 1024), rows, "auto", is_server=False).passages for rows in range(1, 9)]
    assert found == sorted(found)
    assert (found[0], found[-1]) == (FEW, MANY)
    assert all(passages == FEW or passages + 1 <= rows for rows, passages in enumerate(found, start=1))


def test_a_server_reads_all_in_one_prompt():
    reading = reading_of(model(128, 64, SMOLLM2), 1, "auto", is_server=True)
    assert (reading.words > MIN_WORDS, reading.passages, reading.turns) == (True, MANY, True)


@pytest.mark.parametrize(
    ("shape", "turns", "reads"),
    [(SMOLLM2, "auto", False), (SMOLLM2, "always", True), (QWEN, "auto", True), (QWEN, "never", False)],
)
def test_a_small_model_reads_turns_where_there_are_no_passages(shape, turns, reads):
    """It repeats its earlier answers otherwise."""
    reading = reading_of(model(128, 1024, shape), 2, turns, is_server=False)
    prompt = Prompt(query="And it?", turns=[Turn(query="kala?", answer="mira")], system="Be kind.")
    assert reading.prompt(prompt, []) == prompt
    assert reading.prompt(prompt, ["duno"]).turns == (prompt.turns if reads else [])
    assert ("without earlier turns" in str(reading)) is not reads

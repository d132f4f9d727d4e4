"""Laws of how much is read for a question."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from exact import exact
from hocket_daemon.engine.reading import FEW, MANY, MAX_WORDS, MIN_WORDS, Reading, reading_of
from hocket_daemon.engine.settings import PREFILL_TOKENS

CONTEXT = exact().context


def model(prefill_tokens: int, context: int):
    return SimpleNamespace(prefill_tokens=prefill_tokens, slots=SimpleNamespace(context=context))


def test_a_processor_reads_a_few_paragraphs():
    """As a laptop is by default: what is found is what is read."""
    assert reading_of(model(PREFILL_TOKENS, CONTEXT), 2, is_server=False) == Reading(MIN_WORDS, FEW)


@pytest.mark.parametrize("context", [64, 256, 1024, 4096, 32_768])
@pytest.mark.parametrize("prefill", [1, 128, 500, 1_000, 8_192])
def test_two_tokens_a_word_fit_a_pass_and_half_a_row(prefill, context):
    words, _ = reading_of(model(prefill, context), 2, is_server=False)
    assert MIN_WORDS <= words <= MAX_WORDS
    assert words == MIN_WORDS or 2 * words <= min(prefill, context // 2)


def test_more_passages_are_read_where_rows_are_left():
    """One row of each session is the question's alone."""
    found = [reading_of(model(128, 1024), rows, is_server=False).passages for rows in range(1, 9)]
    assert found == sorted(found)
    assert (found[0], found[-1]) == (FEW, MANY)
    assert all(passages == FEW or passages + 1 <= rows for rows, passages in enumerate(found, start=1))


def test_a_server_reads_all_in_one_prompt():
    words, passages = reading_of(model(128, 64), 1, is_server=True)
    assert (words > MIN_WORDS, passages) == (True, MANY)

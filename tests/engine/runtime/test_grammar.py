"""Tokens that a grammar allows: those with which some text of it goes on, however the state was reached.

Tokens are characters, so that all texts of a small grammar can be listed.
"""

from __future__ import annotations

import itertools
import random
import threading

import pytest
from fake_model import BOS, EOS, FakeModel

from hocket_bus.errors import BadRequest, Unavailable
from hocket_client.schema import grammar_of
from hocket_daemon.engine.runtime.grammar import Grammar, Grammars, check_grammar

SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {"a": {"enum": ["x", "xy", 7]}, "b": {"type": "boolean"}},
    "required": ["a"],
    "additionalProperties": False,
}
TEXTS = [
    f'{{"a": {a}{b}}}' for a, b in itertools.product(('"x"', '"xy"', "7"), ("", ', "b": true', ', "b": false'))
]  # all that fit

MODEL = FakeModel()


def grammar(source: str = grammar_of(SCHEMA)) -> Grammar:
    found = Grammars(MODEL).of(source)
    assert found is not None
    return found


def ids_of(text: str) -> list[int]:
    return MODEL.continued(text)


def listed(before: str) -> set[int]:
    """The ids that may follow by the list of all texts."""
    nexts = {ids_of(text[len(before)])[0] for text in TEXTS if text.startswith(before) and text != before}
    return nexts | ({EOS} if before in TEXTS else set())


def test_every_prefix_of_a_fitting_text_allows_what_some_text_goes_on_with_and_nothing_else() -> None:
    found = grammar()
    prefixes = sorted({text[:end] for text in TEXTS for end in range(len(text) + 1)})
    assert len(prefixes) > 50
    for prefix in prefixes:
        assert set(found.allowed(ids_of(prefix)).tolist()) == listed(prefix), prefix


def test_what_is_allowed_depends_on_the_tokens_alone_not_on_the_way_there() -> None:
    """Drafts are rolled back and rewritten: a state that was left and reached again is the same."""
    found, rng = grammar(), random.Random(3)
    prefixes = [text[:end] for text in TEXTS for end in range(len(text) + 1)]
    for prefix in rng.choices(prefixes, k=200):
        assert set(found.allowed(ids_of(prefix)).tolist()) == listed(prefix)


def test_one_id_alone_is_told() -> None:
    found = grammar()
    assert found.only([]) == ids_of("{")[0]
    assert found.only(ids_of('{"a": ')) is None
    assert found.only(ids_of(TEXTS[-1])) == EOS


def test_all_ends_may_come_where_one_may() -> None:
    """A model may have several ids that end an answer."""
    model = FakeModel()
    model.eos = [EOS, BOS]
    found = Grammars(model).of(grammar_of(SCHEMA))
    assert found is not None
    assert found.allowed(ids_of(TEXTS[0])).tolist() == [BOS, EOS]


def test_ids_outside_the_grammar_end_in_an_error_and_spoil_nothing() -> None:
    found = grammar()
    for wrong in ("x", '{"a": 8', TEXTS[0] + "{"):
        with pytest.raises(Unavailable, match="cannot follow its grammar"):
            found.allowed(ids_of(wrong))
        assert set(found.allowed(ids_of('{"a": ')).tolist()) == listed('{"a": ')


def test_two_threads_may_ask_at_once() -> None:
    """The main thread asks what is known, while the compute thread still draws a draft that went stale."""
    found, wrong = grammar(), list[str]()

    def ask(seed: int) -> None:
        rng = random.Random(seed)
        for _ in range(300):
            text = rng.choice(TEXTS)
            prefix = text[: rng.randrange(len(text) + 1)]
            if set(found.allowed(ids_of(prefix)).tolist()) != listed(prefix):
                wrong.append(prefix)

    threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.parametrize("source", ["", "nonsense", "start: x", 'start: %json {"not": {}}', "start: %json {"])
def test_no_grammar_is_refused_in_one_line(source: str) -> None:
    with pytest.raises(BadRequest) as refused:
        check_grammar(source)
    assert "\n" not in str(refused.value)


def test_no_text_means_no_grammar() -> None:
    assert Grammars(MODEL).of("") is None

"""The two forms in which servers tell log-probabilities, and what is none of them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from telling_server import Form, Telling

from hocket_bus.errors import BadConfiguration, BadRequest, ProtocolError
from hocket_daemon.engine.backends.server.logprobs import Likeliest, body_of, parsed, refusal_of, size_of

VOCABULARY = 60
FORMS: list[Form] = ["llama", "vllm"]
IDS = [3, 1, 41]


def piece(token: int) -> bytes:
    return b"" if token < 2 else b" %d" % token


def server(form: Form) -> Telling:
    return Telling(0, form, VOCABULARY, piece)


def answered(form: Form, number: int, *, scored: bool = False) -> dict[str, Any]:
    return server(form).answer(json.loads(body_of(IDS, "m", number, scored=scored)))


def read(said: object, number: int) -> Likeliest:
    return parsed(json.dumps(said).encode(), IDS, number, VOCABULARY)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("number", [1, 20, VOCABULARY])
def test_both_say_the_same_of_the_likeliest(form: Form, number: int) -> None:
    """Ids that ascend and the model's own probabilities, cut to so many."""
    found, chances = read(answered(form, number), number), server(form).chances(IDS)
    assert found.ids.tolist() == sorted(id for id in np.argsort(-chances, kind="stable")[:number] if chances[id])
    np.testing.assert_allclose(found.probabilities, chances[found.ids], rtol=1e-6)
    assert all(text == piece(token) for token, text in found.fragments.items())
    assert found.fragments or chances.argmax() < 2


@pytest.mark.parametrize("form", FORMS)
def test_one_of_them_scores_the_prompt(form: Form) -> None:
    """All its tokens but the first, by what stands before each."""
    found = read(answered(form, 5, scored=True), 5).prompt
    if form == "llama":
        assert found is None
    else:
        assert found is not None
        expected = [server(form).chances(IDS[:end])[IDS[end]] for end in (1, 2)]
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_what_has_no_probability_or_no_place_is_left_out() -> None:
    """An output layer may be wider than the vocabulary; a probability may be below all numbers."""
    assert read(by_id({60: -0.5, 4: -1.5, 2: -9999.0}), 3).ids.tolist() == [4]


def by_id(logs: dict[int, float]) -> dict[str, Any]:
    top = {f"token_id:{token}": log for token, log in logs.items()}
    return {"choices": [{"logprobs": {"tokens": [f"token_id:{min(logs)}"], "top_logprobs": [top]}}]}


WITHOUT = {"choices": [{"text": " a"}]}
BY_TEXT = {"choices": [{"text": " a", "logprobs": {"tokens": [" a"], "top_logprobs": [{" a": -0.1}]}}]}


@pytest.mark.parametrize(
    ("said", "kind", "line"),
    [
        (WITHOUT, BadConfiguration, "returns no log-probabilities"),
        (BY_TEXT, BadConfiguration, "returns no log-probabilities"),
        (answered("llama", 3), BadConfiguration, "returns 3 of 5 log-probabilities"),
        (answered("vllm", 3), BadConfiguration, "returns 3 of 5 log-probabilities"),
        ({"choices": []}, BadConfiguration, "returns no log-probabilities"),
        ({"choices": 3}, ProtocolError, "not answer with text and log-probabilities"),
        ([], ProtocolError, "not answer with text and log-probabilities"),
    ],
)
def test_anything_else_is_one_line_with_a_remedy(said: object, kind: type[Exception], line: str) -> None:
    """Which repeats nothing that the server says."""
    with pytest.raises(kind, match=line) as caught:
        read(said, 5)
    assert caught.value.remedy  # type: ignore[attr-defined]


def test_what_is_no_probability_is_refused() -> None:
    """Above 1 alone or together."""
    for logs in ({3: 0.5}, {3: -0.1, 4: -0.1}):
        with pytest.raises(ProtocolError, match="invalid log-probabilities"):
            read(by_id(logs), len(logs))


def test_a_refusal_for_too_many_says_what_to_lower() -> None:
    """As vLLM words it; any other is what it is."""
    many = b'{"error": {"message": "Requested sample logprobs of 100, which is greater than max allowed: 20"}}'
    refused = refusal_of(400, many, "", 100)
    assert isinstance(refused, BadConfiguration)
    assert "lower [server] logprobs" in refused.remedy
    assert isinstance(refusal_of(400, b'{"error": {"type": "exceed_context_size_error"}}', "", 100), BadRequest)


def test_the_bytes_of_ids_are_those_in_the_body() -> None:
    """One id more makes the body so much longer."""
    for more in ([7], [49_151, 3]):
        longer = body_of([*IDS, *more], "m", 5, scored=False)
        assert len(longer) - len(body_of(IDS, "m", 5, scored=False)) == size_of(more)

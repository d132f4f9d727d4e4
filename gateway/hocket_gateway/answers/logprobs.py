"""Log-probabilities of an answer's tokens in each API's format. They are the mixture's of both sides."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from hocket_bus.messages import MAX_LOGPROBS, Logprob, Token

from ..http.refusals import Refusal


def wanted_logprobs(asked: bool | None, most: int | None) -> int | None:
    """Return how many likeliest tokens to list beside each token's own; None if not requested. Raises Refusal."""
    if most and not asked:
        raise Refusal(400, "top_logprobs needs logprobs", "set logprobs", "bad_request", param="top_logprobs")
    if most is not None and not 0 <= most <= MAX_LOGPROBS:
        text = f"top_logprobs is {most}"
        raise Refusal(400, text, f"use 0 to {MAX_LOGPROBS}", "bad_request", param="top_logprobs")
    return (most or 0) if asked else None


def entries(tokens: Sequence[Token]) -> list[dict[str, Any]]:
    """Return an entry for each token whose probability is known."""
    return [
        {**_entry(token.logprobs[0]), "top_logprobs": [_entry(each) for each in token.logprobs[1:]]}
        for token in tokens
        if token.logprobs
    ]


def columns(tokens: Sequence[Token], begin: int = 0) -> dict[str, Any]:
    """Return the entries as columns, as older completions have it, with each text's offset, from `begin` on."""
    known = [token for token in tokens if token.logprobs]
    texts = [_text(token.logprobs[0]) for token in known]
    return {
        "tokens": texts,
        "token_logprobs": [token.logprobs[0].logprob for token in known],
        "top_logprobs": [{_text(each): each.logprob for each in token.logprobs[1:]} for token in known],
        "text_offset": list(accumulate(map(len, texts), initial=begin))[:-1],
    }


def _entry(logprob: Logprob) -> dict[str, Any]:
    return {"token": _text(logprob), "logprob": logprob.logprob, "bytes": list(logprob.piece)}


def _text(logprob: Logprob) -> str:
    """Return a token's text; half a character is shown in its bytes alone."""
    return logprob.piece.decode(errors="replace")

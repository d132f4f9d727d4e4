"""Where each token comes from, told with the token: the same as at the end, as far as the asked side knows it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness import Pair, pair

from hocket_client import Done, Token
from waiting import WAIT_S

QUESTION = "kala mira sono?"


@pytest.fixture(scope="module")
def made(tiny_models: dict[str, Path]) -> Iterator[Pair]:
    with tempfile.TemporaryDirectory(prefix="hk") as folder, pair(Path(folder), tiny_models) as there:
        yield there


def asked(made: Pair, **options: object) -> tuple[list[Token], Done]:
    stream = made.client().ask(QUESTION, seed=5, max_tokens=12, unknown="answer", deadline_s=WAIT_S, **options)  # type: ignore[arg-type]
    return list(stream), stream.result()


@pytest.mark.parametrize(
    "options",
    [{}, {"alone": True}, {"documents": 0}, {"mode": "dispatch", "to": "device"}, {"mode": "dispatch", "to": "cloud"}],
)
def test_they_are_those_of_the_end(made: Pair, options: dict[str, object]) -> None:
    """By place, for each token; what the other side has is one sum, which its passages share at the end."""
    tokens, done = asked(made, shares=True, **options)
    places = [(each.document, each.ordinal) for each in tokens[0].places]
    assert not any(token.places for token in tokens[1:])
    assert len(places) == len({*places})
    for token, told in zip(tokens, done.token_sources or [[]] * len(tokens), strict=True):
        assert len(token.shares) == len(places) + 1
        by_place = dict(zip(places, token.shares, strict=False))
        for origin, share in zip(done.sources, told, strict=True):
            if origin.side == "device":
                assert by_place[origin.document, origin.ordinal] == pytest.approx(share, abs=1e-6)
        elsewhere = sum(share for origin, share in zip(done.sources, told, strict=True) if origin.side == "cloud")
        if told:
            assert token.shares[-1] == pytest.approx(elsewhere, abs=1e-3)


def test_who_does_not_ask_is_told_nothing(made: Pair) -> None:
    tokens, _ = asked(made)
    assert not any(token.places or token.shares for token in tokens)

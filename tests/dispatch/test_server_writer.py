"""Laws of a server's text as tokens: the same text however it is cut, and no blank at its end where another goes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hocket_bus.errors import HocketError, Unavailable
from hocket_bus.messages import Finish, Sampling
from hocket_daemon.dispatch.writers.server_writer import ServerWriter
from hocket_daemon.engine.generators.generator import TextRequest
from hocket_daemon.serving.stream.prefix import PrefixChain

PIECES = st.lists(st.text(alphabet="ab \t\u00a0\n.é\u0301水", max_size=4), max_size=8)
GONE = Unavailable("the server broke off")


class Letters:
    """A model of which each letter is a token."""

    def text(self, ids: list[int]) -> str:
        return "".join(map(chr, ids))

    def continued(self, text: str) -> list[int]:
        return list(map(ord, text))

    def prompt(self, text: str, _: str) -> list[int]:
        return self.continued(text)


class Written:
    """A server that says what a test says, the session that hears it, and the answer's tokens."""

    continues, usage = True, None

    def __init__(self) -> None:
        self.chain = PrefixChain(bytes(16), 0)
        self.requests: list[TextRequest] = []
        self.ended: list[Finish | HocketError] = []
        self.writer = ServerWriter(self, Letters(), TextRequest("Why?", Sampling()), self.chain, self)  # type: ignore[arg-type]
        self.writer.write()

    @property
    def text(self) -> str:
        return Letters().text(list(self.chain.ids))

    def generate(self, request: TextRequest, say: Callable[[str], None], end: Any, _: object) -> Written:
        self.requests.append(request)
        self.say, self.end = say, end
        return self

    def cancel(self) -> None:
        """Nothing comes of it any more."""

    def on_token(self, _: str, step: int, token: int, __: object) -> None:
        assert step == len(self.chain)
        self.chain.append(token)

    def on_failed(self, _: str, error: HocketError) -> None:
        self.ended.append(error)

    def on_finished(self, _: str, finish: Finish) -> None:
        self.ended.append(finish)


@given(fragments=PIECES, end=st.sampled_from(["eos", "length", GONE]))
def test_no_blank_is_lost_and_none_stands_where_another_side_goes_on(
    fragments: list[str], end: Finish | HocketError
) -> None:
    """Of a text that ends every blank is told; of one that breaks off none at its end, for who goes on writes one.

    Every text that broke off in a test did so within a word.
    """
    written, whole = Written(), "".join(fragments)
    for piece in fragments:
        written.say(piece)
    assert written.text == whole.rstrip(" \t\u00a0")
    written.end(end)
    assert written.ended == [end]
    assert written.text == (whole if end != GONE else whole.rstrip(" \t\u00a0"))


@pytest.mark.parametrize("stop", ["hold", "pause", "end"])
def test_blanks_of_an_earlier_stint_are_nobodys(stop: str) -> None:
    """Another side has written behind them meanwhile."""
    written = Written()
    written.say("The ")
    if stop == "end":
        written.writer.end("eos")
    else:
        getattr(written.writer, stop)()
    for letter in " kettle":
        written.chain.append(ord(letter))
    written.writer.write()
    assert written.requests[-1].prefix == "The kettle"
    written.say(" is")
    assert written.text == "The kettle is"

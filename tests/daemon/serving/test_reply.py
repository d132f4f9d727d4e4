"""Laws of the reader's end: every piece in its order, and one end, behind which nothing comes."""

from __future__ import annotations

import pytest
from fakes import ID, Reader, part

from hocket_bus.errors import Busy, HocketError, Unavailable
from hocket_bus.faults import MAX_CHARS
from hocket_bus.messages import Ask, Origin, Prompt, Sampling, Token
from hocket_daemon.serving.stream.reply import Reply, Sourced

EOS = 1


def ids(text: str) -> list[int]:
    return part("device", []).model.encode("", text, "")


def begun(max_tokens: int = 50, stop: list[str] | None = None, **asked: object) -> tuple[Reader, Reply]:
    reader, services = Reader(), part("device", []).services
    sampling = Sampling(max_tokens=max_tokens, seed=11)
    ask = Ask(request=ID, topic=ID, prompt=Prompt(query="?"), sampling=sampling, stop=stop or [], **asked)  # type: ignore[arg-type]
    return reader, reader.reply(ask, services)


def write(reply: Reply, tokens: list[int]) -> str | None:
    """Until the answer ends; how it did."""
    for token in tokens:
        finish = reply.add(token, "both")
        if finish is not None:
            reply.finish(finish, None)
            return finish
    return None


@pytest.mark.parametrize(
    ("tokens", "stop", "max_tokens", "finish", "text"),
    [
        ([*ids(" one two"), EOS, 9], [], 50, "eos", "one two"),
        (ids(" one. two"), ["."], 50, "stop", "one"),
        (ids("one two"), [], 5, "length", "one t"),
        (ids("one.."), ["..!"], 5, "length", "one.."),
        ([*ids("one.."), EOS], ["..!"], 50, "eos", "one.."),
    ],
)
def test_the_pieces_are_the_text(tokens: list[int], stop: list[str], max_tokens: int, finish: str, text: str) -> None:
    """Whatever ends it: EOS, a stop text, or the room. Half a stop text that never came is given out."""
    reader, reply = begun(max_tokens, stop)
    assert write(reply, tokens) == finish
    done = reader.done
    assert (done.finish, done.text, reply.finished) == (finish, text, finish)
    assert "".join(token.text for token in reader.tokens) == text
    assert [token.id for token in reader.tokens] == done.token_ids == tokens[: len(done.token_ids)]
    assert [token.step for token in reader.tokens] == list(range(len(done.token_ids)))
    assert (done.seed, done.mode, done.request) == (11, "aggregation", ID)


def test_nothing_is_published_before_it_is_asked_for_and_nothing_twice() -> None:
    """What is urgent comes between adding and publishing; times are of published tokens."""
    reader, reply = begun()
    reply.add(ids("a")[0], "both")
    reply.add(ids("b")[0], "solo")
    assert (reader.events, reply.times_s) == ([], [])
    reply.publish()
    reply.publish()
    assert [(token.text, token.source) for token in reader.tokens] == [("a", "both"), ("b", "solo")]
    assert reply.times_s == [token.t_s for token in reader.tokens]
    assert reply.times_s == sorted(reply.times_s)


def test_an_answer_ends_once() -> None:
    """With its result or with an error, whichever comes first; no token, notice or second end follows."""
    for first in ("finish", "fail"):
        reader, reply = begun()
        reply.add(ids("a")[0], "both")
        if first == "finish":
            reply.finish("cancelled", None)
        else:
            reply.fail(Unavailable("gone", "come again"))
        assert reply.closed
        reply.notice("too late")
        reply.fail(HocketError("again"))
        reply.finish("eos", None)
        assert [type(event) for event in reader.events[:-1]] == [Token]
        ended = reader.done.finish if first == "finish" else reader.failed.code
        assert reply.finished == ended == ("cancelled" if first == "finish" else "unavailable")


def test_an_error_comes_behind_what_was_written() -> None:
    """Published or not yet, every token is there; the error's words are cut to what a message carries."""
    reader, reply = begun()
    for token in ids("ab"):
        reply.add(token, "both")
        reply.publish()
    reply.add(ids("c")[0], "both")
    reply.fail(Busy("x" * 3 * MAX_CHARS, "wait"))
    assert "".join(token.text for token in reader.tokens) == "abc"
    assert (reader.failed.code, len(reader.failed.text), reader.failed.remedy) == ("busy", MAX_CHARS, "wait")
    assert [event.seq for event in reader.events] == [0, 1, 2, 3]  # type: ignore[attr-defined]


def test_a_notice_is_cut_to_what_a_message_carries() -> None:
    """In length and to Unicode; the answer goes on."""
    reader, reply = begun()
    reply.notice("y" * 3 * MAX_CHARS)
    reply.notice("half \ud800")
    assert [len(reader.notices[0]), reader.notices[1]] == [MAX_CHARS, "half ?"]
    assert write(reply, [EOS]) == "eos"


def test_a_notice_is_not_told_twice_in_a_row() -> None:
    """Once more it is, where something else was told between: a side that was back may be late again."""
    reader, reply = begun()
    for text in ("late", "late", "back", "late"):
        reply.notice(text)
    assert reader.notices == ["late", "back", "late"]


def test_figures_of_an_answer() -> None:
    """The first token's time and the mean gap are those of the stream; both are counted, errors by their kind."""
    reader, reply = begun(max_tokens=3)
    assert (reply.request, reply.tokens) == (ID, [])
    assert reply.age_s >= 0
    write(reply, ids("abc"))
    times_s = [token.t_s for token in reader.tokens]
    assert reader.done.ttft_s == times_s[0]
    assert reader.done.ms_per_token == pytest.approx((times_s[2] - times_s[0]) / 2 * 1000)
    alone, reply = begun()
    reply.finish("cancelled", None)
    assert alone.done.ms_per_token == 0
    assert alone.done.ttft_s >= 0


@pytest.mark.parametrize("ends_with", ["length", "busy"])
def test_ends_are_counted(ends_with: str) -> None:
    """An answer by how it finished and an error by its kind, each once."""
    reader, services = Reader(), part("device", []).services
    reply = reader.reply(Ask(request=ID, topic=ID, prompt=Prompt(query="?"), sampling=Sampling(max_tokens=1)), services)
    if ends_with == "length":
        write(reply, ids("a"))
    reply.fail(Busy("full"))
    counted = {name: value for name, value in services.counters.metrics().items() if value and "seconds" not in name}
    if ends_with == "length":
        assert counted == {'answers_total{finish="length"}': 1.0, "first_tokens_total": 1.0}
    else:
        assert counted == {'errors_total{kind="busy"}': 1.0}


def test_the_deadline_counts_from_the_question() -> None:
    """So that what is left of it shrinks, whoever holds the reply."""
    _, reply = begun(deadline_s=5.0)
    _, later = begun(deadline_s=50.0)
    assert later.deadline_s - reply.deadline_s >= 45.0


@pytest.mark.parametrize(
    ("origins", "unknown", "last", "is_told"),
    [(1, "say", EOS, True), (0, "say", EOS, False), (1, "answer", EOS, False), (1, "say", None, False)],
)
def test_an_answer_that_lacks_what_was_asked_for_says_so(
    origins: int, unknown: str, last: int | None, is_told: bool
) -> None:
    """Once it is whole, where it is from documents and no answer at any price was asked for."""
    reader, services = Reader(), part("device", []).services
    ask = Ask(
        request=ID, topic=ID, prompt=Prompt(query="Who built it?"), sampling=Sampling(max_tokens=50), unknown=unknown
    )  # type: ignore[arg-type]
    reply = reader.reply(ask, services)
    for token in [*ids("It was built in 1934."), *([last] if last is not None else [])]:
        reply.add(token, "both")
    sources = [Origin(side="device", document="a", ordinal=0, share=1.0)] * origins
    reply.finish("eos" if last is not None else "length", None, Sourced(sources, texts=["It was built in 1934."]))
    assert any("names nobody" in line for line in reader.notices) is is_told

"""Errors as messages: whatever an error says, its message is read as it was made, and stands for the same error."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from msgspec import inspect

from hocket_bus.errors import (
    BadConfiguration,
    BadMessage,
    BadRequest,
    Busy,
    Cancelled,
    DeadlineExceeded,
    Forbidden,
    HocketError,
    OtherVersion,
    ProtocolError,
    Unavailable,
    Untrusted,
)
from hocket_bus.faults import MAX_CHARS, MAX_RETRY_S, error_message, failed, notice_text, raised, refused
from hocket_bus.messages import Error, Failed, Message, Notice, Refused
from hocket_bus.wire import decode, encode

KINDS = (
    HocketError, BadRequest, BadConfiguration, Unavailable, Forbidden, DeadlineExceeded, Cancelled, ProtocolError,
    Untrusted, BadMessage, OtherVersion,
)  # fmt: skip
ODD = ["\ud800", "\x00", "\x1b[2J", "\r\n", "\U0001f3b5", "ß"]
PIECES = st.text(st.characters(), max_size=20) | st.sampled_from(ODD)
TEXTS = st.builds(lambda piece, times: piece * times, PIECES, st.sampled_from([1, 1_999, 2_000, 2_001, 10_000]))
ERRORS = st.builds(lambda kind, text, remedy: kind(text, remedy), st.sampled_from(KINDS), TEXTS, TEXTS)
BUSY = st.builds(Busy, TEXTS, TEXTS, st.floats())


def messages(error: HocketError) -> list[Error | Failed | Refused]:
    return [
        error_message(error),
        error_message(error, bytes(16)),
        failed(error, bytes(16), 3),
        refused(error, bytes(16), 1),
    ]


@given(ERRORS | BUSY)
def test_every_errors_message_is_read_and_stands_for_it(error: HocketError) -> None:
    """However long its text and remedy are and whatever is in them: the code comes back, and all that fits."""
    for message in messages(error):
        assert decode(encode(message)) == message
        back = raised(message)
        assert back.code == message.code == error.code
        assert (back.text, back.remedy) == (notice_text(error.text), notice_text(error.remedy))


@given(BUSY)
def test_when_to_try_again_comes_back(error: Busy) -> None:
    """As it is where it is a time that can be waited; else the nearest one, and at once for what is no number."""
    for message in messages(error):
        back = raised(message)
        assert isinstance(back, Busy)
        if isinstance(message, Failed):
            continue
        assert 0 <= back.retry_after_s <= MAX_RETRY_S
        assert back.retry_after_s == error.retry_after_s or not 0 <= error.retry_after_s <= MAX_RETRY_S


@given(TEXTS)
def test_a_notices_text_is_cut_to_its_bound(text: str) -> None:
    """What fits and is Unicode stays as it is."""
    notice = Notice(request=bytes(16), seq=0, text=notice_text(text))
    assert decode(encode(notice)) == notice
    if len(text) <= MAX_CHARS and not any("\ud800" <= character <= "\udfff" for character in text):
        assert notice.text == text


def test_the_bound_is_the_readers() -> None:
    """That of the messages themselves."""

    def longest(kind: type[Message], name: str) -> int | None:
        info = inspect.type_info(kind)
        assert isinstance(info, inspect.StructType)
        found = next(field.type for field in info.fields if field.name == name)
        assert isinstance(found, inspect.StrType)
        return found.max_length

    bounds = {longest(kind, name) for kind in (Error, Failed, Refused) for name in ("text", "remedy")}
    assert bounds | {longest(Notice, "text")} == {MAX_CHARS}

"""Laws of what is asked of a server that refuses fields: what it names goes, what it does not name stays."""

from __future__ import annotations

import json

import pytest

from hocket_bus.web.dialect import PLAIN

ASKED = {"model": "m", "prompt": "p", "max_tokens": 9, "temperature": 0.0, "top_p": 0.9, "seed": 5}
ASKED |= {"stream": True, "stream_options": {"include_usage": True}}


@pytest.mark.parametrize(
    ("status", "refusal", "gone", "come"),
    [
        (
            400,
            "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens'.",
            {"max_tokens"},
            {"max_completion_tokens"},
        ),
        (400, "Unrecognized request argument supplied: seed", {"seed"}, set()),
        (
            422,
            '{"detail":[{"loc":["body","stream_options"]},{"loc":["body","seed"]}]}',
            {"seed", "stream_options"},
            set(),
        ),
        (400, "'temperature' does not support 0 with this model; neither does top_p", {"temperature", "top_p"}, set()),
    ],
)
def test_a_field_that_a_refusal_names_goes(status: int, refusal: str, gone: set[str], come: set[str]) -> None:
    """Everything else is asked as before; the same refusal again names nothing more."""
    dialect = PLAIN.after(status, refusal.encode())
    assert dialect is not None
    spoken = dialect.spoken(ASKED)
    assert ASKED.keys() - spoken.keys() == gone
    assert spoken.keys() - ASKED.keys() == come
    assert {name: spoken[name] for name in ASKED.keys() - gone} == {name: ASKED[name] for name in ASKED.keys() - gone}
    assert dialect.after(status, refusal.encode()) is None


@pytest.mark.parametrize(
    "refusal", [b"", b"the prompt is too long: limit exceeded", b"proseeded max_tokens_x", b"\xff\xfe"]
)
def test_a_refusal_of_something_else_is_one(refusal: bytes) -> None:
    """Nor does any other status say anything of fields."""
    assert PLAIN.after(400, refusal) is None
    assert PLAIN.after(401, json.dumps(ASKED).encode()) is None
    assert PLAIN.spoken(ASKED) == ASKED


def test_what_must_be_asked_always_is() -> None:
    """Whatever a refusal names."""
    dialect = PLAIN.after(400, json.dumps(ASKED).encode())
    assert dialect is not None
    assert dialect.spoken(ASKED) == {"model": "m", "prompt": "p", "max_completion_tokens": 9, "stream": True}

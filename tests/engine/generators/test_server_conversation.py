"""What a server of text is told of a conversation, by either of OpenAI's two ways."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hocket_bus.messages import Sampling, Turn
from hocket_daemon.engine.generators.completions import body_of
from hocket_daemon.engine.generators.generator import TextRequest
from hocket_daemon.engine.settings import ServerSettings

TURNS = (Turn(query="When does it open?", answer="At “nine”."), Turn(query="Who says so?", answer="The sign."))
REQUEST = TextRequest("And when\ndoes it close?", Sampling(), turns=TURNS, system="Be kind.", passages=("Until six.",))


def asked(api: str, request: TextRequest = REQUEST) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(body_of(request, ServerSettings(url="http://127.0.0.1:1", api=api)).data)  # type: ignore[arg-type]
    return found


def test_a_chat_has_its_turns() -> None:
    """The system line first, passages with the question that they were found for."""
    roles = [message["role"] for message in asked("chat")["messages"]]
    assert roles == ["system", "user", "assistant", "user", "assistant", "user"]
    said = [message["content"] for message in asked("chat")["messages"]]
    assert said[:5] == ["Be kind.", "When does it open?", "At “nine”.", "Who says so?", "The sign."]
    assert said[5].endswith("Until six.\n\nAnd when\ndoes it close?")


def test_a_prompt_has_them_in_order() -> None:
    """Behind the passages, as questions and answers."""
    prompt, at = asked("completions")["prompt"], 0
    for part in ("Be kind.", "Until six.", *(text for turn in TURNS for text in (turn.query, turn.answer)), "And when"):
        at = prompt.index(part, at) + len(part)
    assert prompt.endswith("does it close?\nAnswer:")


@pytest.mark.parametrize("api", ["chat", "completions"])
def test_the_bytes_of_turns_are_those_that_a_request_without_them_lacks(api: str) -> None:
    """But for what stands around them; as the ledger counts them."""
    settings = ServerSettings(url="http://127.0.0.1:1", api=api)  # type: ignore[arg-type]
    whole = body_of(REQUEST, settings)
    turnless = body_of(
        TextRequest(REQUEST.prompt, REQUEST.sampling, system="Be kind.", passages=REQUEST.passages), settings
    )
    around = 2 * 60 if api == "chat" else 2 * 24
    assert 0 < whole.history_bytes <= len(whole.data) - len(turnless.data) <= whole.history_bytes + 2 * around
    assert (turnless.history_bytes, turnless.passage_bytes) == (0, whole.passage_bytes)

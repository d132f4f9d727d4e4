"""What a server's model thinks before a text: apart from it, whole and in order, and never beyond its budget unseen."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from asking import ASKED, PROMPT, World, fixed
from hypothesis import given
from hypothesis import strategies as st
from scripted_server import DONE, PLAIN, event, piece, serving, usage

from hocket_bus.errors import BadRequest
from hocket_bus.messages import Sampling
from hocket_daemon.engine.generators.completions import Streamed, body_of
from hocket_daemon.engine.generators.generation import Usage
from hocket_daemon.engine.generators.generator import TextRequest
from hocket_daemon.engine.settings import ServerSettings

REASONED = "Which bay? The second, says Inès – or\n\nthe 3rd."
THINKS = TextRequest(PROMPT, ASKED.sampling, session=ASKED.session, thinks=True)


def delta(**fields: object) -> bytes:
    return event({"choices": [{"index": 0, "delta": fields, "finish_reason": None}]})


def parts(text: str, *, nested: bool) -> bytes:
    thinking = [{"type": "text", "text": text}] if nested else text
    return delta(content=[{"type": "thinking", "thinking": thinking}])


FORMS: dict[str, Callable[[str], bytes]] = {
    "reasoning_content": lambda text: delta(reasoning_content=text, content=None),
    "reasoning": lambda text: delta(reasoning=text),
    "both names": lambda text: delta(reasoning=text, reasoning_content=text),
    "parts": lambda text: parts(text, nested=False),
    "parts of parts": lambda text: parts(text, nested=True),
    "tags": lambda text: piece(text, "chat"),
}


def thought(form: str, text: str, places: list[int]) -> bytes:
    """A thought in pieces, as a server of this form sends it."""
    whole = f"<think>\n{text}\n</think>\n\n" if form == "tags" else text
    ends = sorted({0, len(whole), *(place % (len(whole) + 1) for place in places)})
    return b"".join(FORMS[form](whole[at:end]) for at, end in zip(ends, ends[1:], strict=False))  # noqa: RUF007


@pytest.mark.parametrize("form", FORMS)
def test_a_text_is_the_same_without_its_thoughts(tmp_path: Path, form: str) -> None:
    """Its pieces, its end, its usage and the ledger; the thoughts come before it, whole and in order."""
    said = piece("The", "chat") + piece(" bay", "chat") + piece(None, "chat", "stop") + usage() + DONE
    heard, sums = [], []
    for before in (b"", thought(form, REASONED, [3, 9, 20, 31])):
        folder = tmp_path / str(len(heard))
        folder.mkdir()
        with serving(fixed(PLAIN, before + said)) as server:
            world = World(server.url, folder, api="chat", thinking=50)
            heard.append(world.hear(THINKS))
            sums.append({kind: size - len(server.requests[-1]) for kind, size in world.ledger.sums.items()})
    plain, other = heard
    assert plain.begun is not None
    assert other.begun is not None
    assert (other.fragments, other.ends, other.begun.usage) == (plain.fragments, plain.ends, plain.begun.usage)
    assert other.begun.usage == Usage(7, 3)
    assert sums == [{"query": 0}] * 2
    assert ("".join(plain.thoughts), "".join(other.thoughts)) == ("", REASONED)
    assert len(other.thoughts) > 1


@pytest.mark.parametrize("form", FORMS)
@given(places=st.lists(st.integers(0, 99)), text=st.text("ab </think>\nİ😀", max_size=20))
def test_a_thought_is_whole_wherever_it_is_cut(form: str, places: list[int], text: str) -> None:
    """But for the blanks at its ends."""
    text = text.replace("</think>", "")
    streamed, got, written = Streamed(THINKS, "chat"), "", ""
    for data in (thought(form, text, places) + piece("The bay", "chat") + piece(None, "chat", "stop")).split(b"\n\n"):
        if data:
            written += streamed.add(data.decode().removeprefix("data: "))
            got += streamed.thought
    assert (got, written) == (text.strip(), "The bay")


@pytest.mark.parametrize("thinking", [0, 700])
@pytest.mark.parametrize("api", ["chat", "completions"])
def test_a_server_is_asked_to_think_as_long_as_its_budget(api: str, thinking: int) -> None:
    """Beyond the tokens of the answer; by default not at all, and a text that is begun is gone on with at once."""
    settings = ServerSettings(url="http://127.0.0.1:1", model="m", api=api, thinking=thinking)  # type: ignore[arg-type]
    hasty = [TextRequest(PROMPT, Sampling(max_tokens=9)), TextRequest(PROMPT, Sampling(max_tokens=9), prefix="The")]
    for request in (THINKS, *hasty):
        asked = json.loads(body_of(request, settings).data)
        extra = thinking if request is THINKS else 0
        assert asked["max_tokens"] == 9 + extra
        assert asked.get("chat_template_kwargs") == ({"enable_thinking": extra > 0} if api == "chat" else None)


def test_the_default_budget_is_none() -> None:
    assert ServerSettings().thinking == 0


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("finish", ["length", None])
def test_a_thought_that_outlasts_its_budget_is_said_to(tmp_path: Path, form: str, finish: str | None) -> None:
    """Also where no reason is told, but as many tokens are counted as were asked for."""
    begun = thought(form, REASONED, [5]).replace(b"</think>", b"")
    counted = usage({"prompt_tokens": 7, "completion_tokens": 59})
    end = piece(None, "chat", "length") if finish else b""
    with serving(fixed(PLAIN, begun + end + counted + DONE)) as server:
        heard = World(server.url, tmp_path, api="chat", thinking=50).hear(THINKS)
    assert isinstance(heard.error, BadRequest)
    assert "[server] thinking" in heard.error.remedy
    assert heard.text == ""


def test_a_text_that_is_cut_behind_its_thought_is_a_text(tmp_path: Path) -> None:
    answer = thought("reasoning", REASONED, []) + piece("The", "chat") + piece(None, "chat", "length") + DONE
    with serving(fixed(PLAIN, answer)) as server:
        heard = World(server.url, tmp_path, api="chat").hear(THINKS)
    assert (heard.text, heard.ends, heard.thoughts) == ("The", ["length"], [REASONED])


@pytest.mark.parametrize("odd", [{"a": 1}, [{"text": 3}, 4], 5, ["x"]])
def test_a_thought_that_is_no_text_is_none(odd: object) -> None:
    streamed = Streamed(THINKS, "chat")
    for fields in ({"reasoning": odd}, {"content": [{"type": "thinking", "thinking": odd}]}):
        assert streamed.add(json.dumps({"choices": [{"delta": fields}]})) == ""
        assert (streamed.thought, streamed.has_thought) == ("", False)


def test_half_characters_of_a_thought_are_put_together() -> None:
    streamed, got = Streamed(THINKS, "chat"), ""
    for half in ("a\\ud83d", "\\ude00", "b\\udc00"):
        streamed.add('{"choices": [{"delta": {"reasoning": "%s"}}]}' % half)  # noqa: UP031 - braces
        got += streamed.thought
    assert got == "a😀b\ufffd"

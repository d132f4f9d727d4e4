"""A follow-up that the device's model writes again before it is searched."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from harness import Pair, pair
from hypothesis import given
from hypothesis import strategies as st
from reference import Reference

from exact import exact
from hocket_bus.messages import MAX_QUESTION_CHARS, Begin, Done, Prompt, Turn
from hocket_bus.wire import decode
from hocket_client import Client
from hocket_client.question import ask_message
from hocket_daemon.privacy.egress import EgressSettings, read
from hocket_daemon.privacy.history import HistoryPolicy
from hocket_daemon.serving.search.follow_up import search_text
from hocket_daemon.serving.sessions import rewriting
from hocket_daemon.serving.sessions.rewriting import INSTRUCTION, MAX_TOKENS, question_in
from hocket_lab.link.tap import Tap, messages
from waiting import WAIT_S

TURNS = [Turn(query="kala mira?", answer="duno sora.")]
QUESTION = "And it?"
SHORT = {"max_tokens": 6, "ignore_eos": True, "temperature": 0.7, "seed": 3, "deadline_s": WAIT_S}


def rewriting_pair(made: Pair, history: HistoryPolicy) -> Tap:
    """Its device rewrites; what it sends is recorded."""
    tap = made.stack.enter_context(Tap(made.endpoint("tap"), made.endpoint("cloud")))
    for side in ("device", "cloud"):
        made.start_retrieval(side)
    made.start_cloud()
    egress = EgressSettings(ledger=str(made.folder / "ledger"), history=history)
    model = exact(name=str(made.models["device"]), rewrites=True)
    made.start_device(link=made.endpoint("tap"), egress=egress, model=model, decisions=str(made.folder / "decisions"))
    return tap


def written(client: Client) -> str:
    """What the device's model makes of question and turns."""
    asked = INSTRUCTION.format(QUESTION)
    alone = client.ask(
        asked, turns=TURNS, alone=True, documents=0, temperature=0.0, max_tokens=MAX_TOKENS, deadline_s=WAIT_S
    )
    return question_in(alone.result().text)


def followed_up(client: Client, **options: object) -> tuple[Done, str | None]:
    """The answer, and what its record says was searched for."""
    done = client.ask(QUESTION, **SHORT | {"turns": TURNS} | options).result()  # type: ignore[arg-type]
    return done, client.explain(done.request, WAIT_S)["record"].get("searched as")


@pytest.mark.parametrize(("history", "is_shared"), [("all", True), ("seen", False), ("none", False)])
def test_what_the_model_writes_is_searched_and_told_as_the_turns_are(
    tiny_models: dict[str, Path], history: HistoryPolicy, is_shared: bool
) -> None:
    """The answer's tokens are those behind a search for it, and the ledger has it among the turns."""
    with tempfile.TemporaryDirectory(prefix="hk") as folder, pair(Path(folder), tiny_models, start=False) as made:
        tap, client = rewriting_pair(made, history), made.client()
        sought = written(client)
        assert sought
        done, searched = followed_up(client)
        assert searched == sought
        begun = [decode(frames) for recorded in tap.recorded() for frames in messages(recorded)]
        (begin,) = [message for message in begun if isinstance(message, Begin)]
        assert begin.prompt.sought == (sought if is_shared else "")
        if is_shared:
            ask = ask_message(QUESTION, topic=bytes(16), turns=TURNS, **SHORT)  # type: ignore[arg-type]
            ask = msgspec.structs.replace(ask, prompt=msgspec.structs.replace(ask.prompt, sought=sought))
            assert done.token_ids == Reference(tiny_models).answer(ask).ids
        made.stack.close()
        sent = sum(entry.size_bytes for entry in read(Path(folder) / "ledger") if entry.kind == "history")
        turns = sum(len(turn.query) + len(turn.answer) for turn in TURNS)
        assert sent == (turns + len(sought.encode()) if is_shared else 0)


@pytest.mark.parametrize(
    "mode", ["aggregation", *(pytest.param(mode, marks=pytest.mark.slow) for mode in ("dispatch", "auto", "graph"))]
)
def test_it_is_searched_in_every_mode(tiny_models: dict[str, Path], mode: str) -> None:
    """And a question that stands for itself, or reads nothing, is not written again."""
    with tempfile.TemporaryDirectory(prefix="hk") as folder, pair(Path(folder), tiny_models, start=False) as made:
        rewriting_pair(made, "seen")
        client = made.client()
        assert followed_up(client, mode=mode)[1] == written(client)
        assert followed_up(client, mode=mode, turns=[])[1] is None
        assert followed_up(client, mode=mode, documents=0)[1] is None


class Silent:
    """A model that writes nothing until nobody waits any more."""

    def __init__(self, done: Callable[[str], None]) -> None:
        self.cancel = lambda: done("")


def test_rules_say_what_is_searched_where_the_model_is_silent(
    tiny_models: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer comes all the same, and is that of a device which does not rewrite."""
    monkeypatch.setattr(rewriting, "WAIT_S", 0.05)
    monkeypatch.setattr(rewriting, "_by_model", lambda _, __, done: Silent(done))
    with tempfile.TemporaryDirectory(prefix="hk") as folder, pair(Path(folder), tiny_models, start=False) as made:
        rewriting_pair(made, "all")
        done, searched = followed_up(made.client())
        ask = ask_message(QUESTION, topic=bytes(16), turns=TURNS, **SHORT)  # type: ignore[arg-type]
        assert (done.token_ids, searched) == (Reference(tiny_models).answer(ask).ids, None)


def test_who_leaves_meanwhile_ends_it(tiny_models: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """And the next question has the place."""
    monkeypatch.setattr(rewriting, "_by_model", lambda _, __, done: Silent(done))
    with tempfile.TemporaryDirectory(prefix="hk") as folder, pair(Path(folder), tiny_models, start=False) as made:
        rewriting_pair(made, "all")
        client = made.client()
        stream = client.ask(QUESTION, turns=TURNS, **SHORT)  # type: ignore[arg-type]
        stream.cancel()
        assert stream.result().finish == "cancelled"
        assert client.ask("kala mira?", **SHORT).result().token_ids  # type: ignore[arg-type]


@given(text=st.text(max_size=2 * MAX_QUESTION_CHARS))
def test_a_question_is_one_line(text: str) -> None:
    """The first that says something, without quotation marks around it."""
    question = question_in(text)
    assert question in text
    assert len(question.splitlines()) <= 1
    assert len(question) <= MAX_QUESTION_CHARS
    assert question_in(f'\n "{question}" \nMore.') == (question or "More.")
    assert not question or search_text(Prompt(query="It?", turns=TURNS, sought=question)) == question

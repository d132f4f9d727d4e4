"""Conversations on a running pair: the tokens are the reference's, and turns leave as the policy says."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Literal

import pytest
from harness import WORDS, ListRetrieval, Pair, pair
from reference import Reference

from exact import exact
from hocket_bus.messages import Begin, Dispatch, FindMembers, Message, Prompt, Turn
from hocket_bus.wire import decode
from hocket_client import Client
from hocket_client.question import ask_message
from hocket_daemon.aggregation.settings import GroupSettings
from hocket_daemon.privacy.egress import EgressSettings, read
from hocket_daemon.privacy.history import CLOUD, History, HistoryPolicy
from hocket_lab.link import Conditions, start
from hocket_lab.link.tap import Tap, messages
from ports import free_port
from waiting import WAIT_S

SHORT = {"max_tokens": 6, "ignore_eos": True, "temperature": 0.7, "deadline_s": WAIT_S}


def turns(number: int) -> list[Turn]:
    """So many earlier turns, no two of them alike."""
    said = [" ".join(WORDS[(i * k + k + number) % len(WORDS)] for k in range(1, 5)) for i in range(2 * number)]
    return [Turn(query=f"{said[2 * i]}?", answer=f"{said[2 * i + 1]}.") for i in range(number)]


def tapped(made: Pair, history: HistoryPolicy = "seen", **options: object) -> Tap:
    """Start the pair with a tap in its wire."""
    tap = made.stack.enter_context(Tap(made.endpoint("tap"), made.endpoint("cloud")))
    for side in ("device", "cloud"):
        made.start_retrieval(side)
    made.start_cloud()
    egress = EgressSettings(ledger=str(made.folder / "ledger"), history=history)
    made.start_device(link=made.endpoint("tap"), egress=egress, **options)  # type: ignore[arg-type]
    return tap


def sent(tap: Tap) -> list[Message]:
    """What left the device."""
    return [decode(frames) for recorded in tap.recorded() for frames in messages(recorded)]


def size_bytes(turn: Turn) -> int:
    """Of its words."""
    return len(turn.query.encode()) + len(turn.answer.encode())


def told(tap: Tap) -> list[Turn]:
    """The turns that left with the last question."""
    return [message.prompt.turns for message in sent(tap) if isinstance(message, Begin | Dispatch)][-1]


@pytest.mark.parametrize("rtt_ms", [0, 40])
def test_a_question_behind_turns_has_the_reference_tokens(tiny_models: dict[str, Path], rtt_ms: int) -> None:
    """Coupled and synchronous, by every way of weighing, when both sides are told all turns."""
    reference, cloud = Reference(tiny_models), f"127.0.0.1:{free_port()}"
    with tempfile.TemporaryDirectory(prefix="hk") as folder, pair(Path(folder), tiny_models, start=False) as made:
        link = made.stack.enter_context(start("127.0.0.1:0", cloud))
        link.set(Conditions.symmetric(rtt_ms / 1000))
        for side in ("device", "cloud"):
            made.start_retrieval(side)
        made.trust(f"tcp://127.0.0.1:{link.port}")
        made.start_cloud(endpoint=f"tcp://{cloud}")
        made.start_device(link=f"tcp://127.0.0.1:{link.port}", egress=EgressSettings(history="all"))
        client = made.client()
        for number, weights in enumerate(("dynamic", "static", "likelihood", "off")):
            asked = SHORT | {"turns": turns(1 + number), "seed": number, "weights": weights}
            expected = reference.answer(ask_message("kala mira?", topic=bytes(16), **asked)).ids  # type: ignore[arg-type]
            for aggregation in ("coupled", "sync"):
                got = client.ask("kala mira?", aggregation=aggregation, **asked).result()  # type: ignore[arg-type]
                assert (got.token_ids, got.aggregation.solo_steps) == (expected, [])


@pytest.mark.parametrize(("documents", "form"), [(2, 0), (2, 1), (0, 0)])
def test_models_that_read_no_turns_search_with_them(
    tiny_models: dict[str, Path], monkeypatch: pytest.MonkeyPatch, documents: int, form: int
) -> None:
    """The tokens are those of the question alone behind what is found, by it or by what comes before it, too.

    Without passages turns are read.
    """
    monkeypatch.setattr(ListRetrieval, "form", form)
    reading, searching = Reference(tiny_models), Reference(tiny_models, reads_turns=False)
    with tempfile.TemporaryDirectory(prefix="hk") as folder, pair(Path(folder), tiny_models, start=False) as made:
        for side in ("device", "cloud"):
            made.start_retrieval(side)
        models = {side: exact(name=str(tiny_models[side]), turns="never") for side in ("device", "cloud")}
        made.start_cloud(model=models["cloud"])
        made.start_device(model=models["device"], egress=EgressSettings(history="all"))
        asked = SHORT | {"turns": turns(2), "documents": documents, "seed": 5}
        ask = ask_message("And it?", topic=bytes(16), **asked)  # type: ignore[arg-type]
        expected = (searching if documents else reading).answer(ask).ids
        assert made.client().ask("And it?", **asked).result().token_ids == expected  # type: ignore[arg-type]
        assert searching.answer(ask).ids != reading.answer(ask).ids


@pytest.mark.parametrize("mode", ["aggregation", "dispatch"])
def test_the_cloud_is_told_the_turns_that_it_has_read(tiny_models: dict[str, Path], mode: str) -> None:
    """A turn that both answered goes along with the next question, also behind a restart; one answered alone stays."""
    with tempfile.TemporaryDirectory(prefix="hk") as folder, pair(Path(folder), tiny_models, start=False) as made:
        tap = tapped(made)
        made.script = "cloud"
        client = made.client()
        chat = client.chat(mode=mode, **SHORT)  # type: ignore[arg-type]
        chat.ask("kala?").result()
        (public,) = chat.turns
        private = client.chat(mode=mode, alone=True, turns=chat.turns, **SHORT)  # type: ignore[arg-type]
        private.ask("mira?").result()
        both = client.chat(mode=mode, turns=private.turns, **SHORT)  # type: ignore[arg-type]
        both.ask("duno?").result()
        assert told(tap) == [public]
        assert len(both.turns) == 3
        ledger = Path(folder) / "ledger"
        made.stack.close()
        assert sum(entry.size_bytes for entry in read(ledger) if entry.kind == "history") == size_bytes(public)
        after = History("seen", ledger)
        assert after.shareable(Prompt(query="?", turns=both.turns), CLOUD).turns == [both.turns[0], both.turns[2]]


@pytest.mark.parametrize(("history", "number"), [("none", 0), ("seen", 0), ("all", 3)])
def test_turns_from_elsewhere_leave_where_all_may(
    tiny_models: dict[str, Path], history: HistoryPolicy, number: int
) -> None:
    """What a client says of the past is nobody's proof that the cloud has read it."""
    with tempfile.TemporaryDirectory(prefix="hk") as folder, pair(Path(folder), tiny_models, start=False) as made:
        tap = tapped(made, history)
        made.client().ask("kala?", turns=turns(3), **SHORT).result()  # type: ignore[arg-type]
        assert told(tap) == turns(3)[:number]


@pytest.mark.parametrize("with_", ["passages", "drafts"])
@pytest.mark.parametrize("number", [12, pytest.param(200, marks=[pytest.mark.long, pytest.mark.timeout(3600)])])
def test_no_turn_that_was_answered_alone_is_in_any_frame(
    tiny_models: dict[str, Path], number: int, with_: Literal["passages", "drafts"]
) -> None:
    """Of so many private turns no word that is theirs alone leaves, in whatever mode the conversation goes on.

    Nor with what is asked of whoever knows which devices of a group may help.
    """
    with tempfile.TemporaryDirectory(prefix="hk") as folder, pair(Path(folder), tiny_models, start=False) as made:
        tap = tapped(made, group=GroupSettings(with_=with_))
        client = made.client()
        for at in range(number):
            secret = f"canary{at:04}x"
            private = client.chat(alone=True, **SHORT)  # type: ignore[arg-type]
            private.ask(f"{secret} kala?").result()
            _goes_on(client, private.turns, ("aggregation", "dispatch", "auto", "graph")[at % 4])
        frames = [frame for recorded in tap.recorded() for each in messages(recorded) for frame in each]
        assert len([message for message in sent(tap) if isinstance(message, Begin | Dispatch)]) >= number // 2
        assert any(isinstance(message, FindMembers) for message in sent(tap)) is (with_ == "drafts")
        assert not [frame for frame in frames if b"canary" in frame]


def _goes_on(client: Client, before: list[Turn], mode: str) -> None:
    client.ask("And mira?", turns=before, mode=mode, **SHORT).result()  # type: ignore[arg-type]


def test_turns_that_do_not_fit_are_left_out_from_the_oldest(tiny_models: dict[str, Path]) -> None:
    """An answer comes however long the conversation is, and the latest turns are those that count."""
    with tempfile.TemporaryDirectory(prefix="hk") as folder, pair(Path(folder), tiny_models) as made:
        client, asked = made.client(), SHORT | {"alone": True, "temperature": 0.0, "documents": 0}
        long = [Turn(query="kala " * 1_000, answer="mira " * 1_000)]
        latest = turns(1)
        whole = client.ask("duno?", turns=[*long, *latest], **asked).result()  # type: ignore[arg-type]
        assert whole.token_ids == client.ask("duno?", turns=latest, **asked).result().token_ids  # type: ignore[arg-type]
        assert whole.token_ids != client.ask("duno?", **asked).result().token_ids  # type: ignore[arg-type]

"""What leaves the device: every byte is in the ledger, and what the policy keeps does not get out."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

import pytest
from harness import Pair, pair
from reference import Reference

from hocket_bus.errors import Unavailable
from hocket_bus.messages import CLASS_OF, Aggregated, Draft, Message, Target, Welcome
from hocket_bus.sockets import Bus, Event, Received
from hocket_bus.wire import decode
from hocket_client.question import ask_message
from hocket_daemon.aggregation.exchange.exchange import Exchange
from hocket_daemon.privacy.egress import EgressSettings, read
from hocket_lab.link.tap import Tap, encrypted_bytes, messages
from ports import free_port
from waiting import WAIT_S, until

QUESTION, AT = "kala mira?", tuple(f"tcp://127.0.0.1:{free_port()}" for _ in range(2))
OPTIONS: dict[str, object] = {"seed": 5, "max_tokens": 16, "ignore_eos": True, "temperature": 1.0}
MODES = ("coupled", "independent", "sync", "sync-both")


def start(made: Pair, **policy: bool) -> Tap:
    """A pair with a tap in the wire and a ledger."""
    tap = made.stack.enter_context(Tap(made.endpoint("tap"), made.endpoint("cloud")))
    for side in ("device", "cloud"):
        made.start_retrieval(side)
    made.start_cloud()
    egress = EgressSettings(ledger=str(made.folder / "ledger"), **policy)
    made.start_device(link=made.endpoint("tap"), egress=egress)
    return tap


def ask(made: Pair, aggregation: str = "coupled", **options: object) -> tuple[list[int], list[str]]:
    """Ids and notices of one answer."""
    stream = made.client().ask(
        QUESTION, aggregation=aggregation, deadline_s=WAIT_S, unknown="answer", **{**OPTIONS, **options}
    )  # type: ignore[arg-type]
    return stream.result().token_ids, stream.notices


def stop(made: Pair, tap: Tap) -> None:
    """All that the device has sent is recorded, its last words, too."""
    assert made.device is not None
    made.device.stop()
    until(tap.ended)


def left(tap: Tap) -> list[list[bytes]]:
    """The frames of all messages that went through the wire."""
    return [frames for recorded in tap.recorded() for frames in messages(recorded)]


def counted(frames: list[list[bytes]]) -> Counter[tuple[str, str]]:
    """Bytes by session and class, as the wire has them."""
    found: Counter[tuple[str, str]] = Counter()
    for each in frames:
        message: Message = decode(each)
        found[getattr(message, "session", b"").hex(), CLASS_OF[type(message)]] += sum(map(len, each))
    return found


@pytest.mark.parametrize("drafts", [True, False])
def test_the_ledger_holds_every_byte_on_the_wire(tiny_models: dict[str, Path], drafts: bool) -> None:
    """By session and class, greetings and pings included, whatever the aggregation."""
    with tempfile.TemporaryDirectory(prefix="hk") as folder:
        with pair(Path(folder), tiny_models, start=False) as made:
            tap = start(made, drafts=drafts)
            for aggregation in MODES:
                ask(made, aggregation)
            stop(made, tap)
        captured = counted(left(tap))
        written: Counter[tuple[str, str]] = Counter()
        for entry in read(Path(folder) / "ledger"):
            written[entry.session, entry.kind] += entry.size_bytes
        assert written == captured
        assert len({session for session, _ in captured}) == 1 + len(MODES)
        assert {kind for _, kind in captured} == {"query", "targets", "control"} | ({"drafts"} if drafts else set())


def test_encrypted_bytes_are_those_of_the_ledger(tiny_models: dict[str, Path]) -> None:
    """Over tcp the wire shows lengths only, and these agree."""
    with tempfile.TemporaryDirectory(prefix="hk") as folder:
        with pair(Path(folder), tiny_models, start=False) as made:
            tap = made.stack.enter_context(Tap(*AT))
            for side in ("device", "cloud"):
                made.start_retrieval(side)
            made.trust(*AT)
            made.start_cloud(endpoint=AT[1])
            made.start_device(link=AT[0], egress=EgressSettings(ledger=f"{folder}/ledger"))
            ask(made)
            stop(made, tap)
        captured = sum(map(encrypted_bytes, tap.recorded()))
        assert captured == sum(entry.size_bytes for entry in read(Path(folder) / "ledger"))
        assert captured > 1000


def test_without_drafts_the_tokens_are_the_same_and_no_distribution_leaves(tiny_models: dict[str, Path]) -> None:
    """The device aggregates alone, in every mode; ids equal the reference, without a solo step."""
    reference = Reference(tiny_models)
    with tempfile.TemporaryDirectory(prefix="hk") as folder, pair(Path(folder), tiny_models, start=False) as made:
        tap = start(made, drafts=False)
        for aggregation in MODES:
            expected = reference.answer(ask_message(QUESTION, topic=bytes(16), aggregation=aggregation, **OPTIONS))  # type: ignore[arg-type]
            assert ask(made, aggregation) == (expected.ids, [])
        messages = [decode(frames) for frames in left(tap)]
        assert not [message for message in messages if isinstance(message, Draft)]
        verdicts = [message for message in messages if isinstance(message, Aggregated)]
        assert verdicts
        assert not any(verdict.accepted_device for verdict in verdicts), "whether its draft was taken is its own"


@pytest.mark.parametrize("kept", ["query", "targets", "control"])
def test_what_no_answer_together_can_do_without_keeps_everything_at_home(
    tiny_models: dict[str, Path], kept: str
) -> None:
    """Not a byte leaves where memory may not, either; the notice and the error say why."""
    with tempfile.TemporaryDirectory(prefix="hk") as folder, pair(Path(folder), tiny_models, start=False) as made:
        tap = start(made, **{"memory": False, kept: False})
        ids, notices = ask(made)
        assert len(ids) == 16
        assert [notice for notice in notices if f"[egress] keeps {kept} on this device" in notice]
        with pytest.raises(Unavailable, match=rf"\[egress\] keeps {kept} on this device"):
            ask(made, require_cloud=True)
        assert tap.recorded() == []
        assert made.device is not None
        facts = made.device.board.facts()
        assert (facts["cloud"], facts["leaves this device"][:8]) == ("not used", "nothing:")


def test_tokens_beyond_the_end_of_the_answer_stay(tiny_models: dict[str, Path]) -> None:
    """A silent cloud is left with four drafts in hand; where the first of them ends the answer, the others stay."""
    heard: list[Event] = []
    with tempfile.TemporaryDirectory(prefix="hk") as folder, pair(Path(folder), tiny_models, start=False) as made:
        silent = made.stack.enter_context(Bus(heard.append))
        silent.serve(made.endpoint("cloud"), lambda hello: Welcome(role="cloud", epoch=1, tokenizer=hello.tokenizer))
        made.start_retrieval("device")
        made.start_device(peer_wait_s=2.0, relevance_temperature=0.1)
        asked = OPTIONS | {"weights": "dynamic"}  # by which the first token of this model is a letter
        whole = made.client().ask(QUESTION, alone=True, **asked).result()  # type: ignore[arg-type]
        ended = made.client().ask(QUESTION, stop=[whole.text.strip()[0]], **asked).result()  # type: ignore[arg-type]
        assert ended.finish == "stop"
        made.client().ask(QUESTION, **asked).result()  # type: ignore[arg-type]
    targets = [event.message for event in heard if isinstance(event, Received) and isinstance(event.message, Target)]
    last = targets[-1].session
    assert next(len(target.ids) for target in targets if target.session == last) > len(ended.token_ids)
    assert not [target for target in targets if target.session != last and len(target.ids) > len(ended.token_ids)]


def test_a_draft_that_is_sent_by_mistake_does_not_get_out(
    tiny_models: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The gate before the link fails closed: the request ends with the reason."""
    monkeypatch.setattr(Exchange, "sends_drafts", True)
    with tempfile.TemporaryDirectory(prefix="hk") as folder, pair(Path(folder), tiny_models, start=False) as made:
        tap = start(made, drafts=False)
        with pytest.raises(Unavailable, match="keeps drafts on this device"):
            ask(made)
        assert not [frames for frames in left(tap) if isinstance(decode(frames), Draft)]

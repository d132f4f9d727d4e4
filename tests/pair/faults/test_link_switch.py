"""The switch that cuts a device off: nothing leaves while it is cut, answers go on alone, and joined again it works."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from cluster import started
from harness import Pair, pair

from hocket_bus.errors import HocketError
from hocket_daemon.privacy.egress import EgressSettings, read
from hocket_lab.link.tap import Tap
from hocket_lab.rehearsal.held import HeldCompute
from hocket_tools.main import run
from waiting import WAIT_S, until

QUESTION = "kala mira?"
OPTIONS = {"seed": 5, "max_tokens": 40, "ignore_eos": True, "temperature": 1.0, "deadline_s": WAIT_S}


@contextmanager
def cuttable(models: dict[str, Path], *, hold_s: float = 0.0) -> Iterator[tuple[Pair, Tap]]:
    """A pair with a tap in the wire; `hold_s` is what each of the device's steps takes at least."""
    with tempfile.TemporaryDirectory(prefix="hk") as folder, pair(Path(folder), models, start=False) as made:
        tap = made.stack.enter_context(Tap(made.endpoint("tap"), made.endpoint("cloud")))
        for side in ("device", "cloud"):
            made.start_retrieval(side)
        made.start_cloud()
        start_device(made, hold_s)
        yield made, tap


def start_device(made: Pair, hold_s: float = 0.0) -> None:
    egress = EgressSettings(ledger=str(made.folder / "ledger"))
    made.start_device(link=made.endpoint("tap"), egress=egress, hold_s=hold_s)


def sizes(tap: Tap) -> list[int]:
    """Bytes of each connection so far; one more connection is one more entry."""
    return [len(recorded) for recorded in tap.recorded()]


def test_a_running_answer_goes_on_alone_with_its_prefix(tiny_models: dict[str, Path]) -> None:
    """The tokens before the cut are those of the pair; those behind it the device's, to the full length."""
    with cuttable(tiny_models, hold_s=0.02) as (made, _):
        whole = made.client().ask(QUESTION, **OPTIONS).result()  # type: ignore[arg-type]
        client = made.client()
        assert made.device is not None
        compute = made.device.services.compute
        assert isinstance(compute, HeldCompute)
        compute.decode_s = 0.5  # the end is far away until the link is cut
        stream = client.ask(QUESTION, **OPTIONS)  # type: ignore[arg-type]
        events = stream.__iter__()
        before = [next(events) for _ in range(4)]
        client.switch_link(cut=True, wait_s=WAIT_S)
        compute.decode_s = 0.0
        after = list(events)
        tokens = [*before, *after]
        assert len(tokens) == OPTIONS["max_tokens"]
        alone = next(at for at, token in enumerate(tokens) if token.source == "solo")
        assert [token.id for token in tokens[:alone]] == whole.token_ids[:alone]
        assert {token.source for token in tokens[alone:]} == {"solo"}
        assert any("cut on this device" in notice for notice in stream.notices)


@pytest.mark.parametrize(
    "mode", ["aggregation", *(pytest.param(mode, marks=pytest.mark.slow) for mode in ("auto", "dispatch", "graph"))]
)
def test_nothing_leaves_while_it_is_cut(tiny_models: dict[str, Path], mode: str) -> None:
    """No byte and no connection, in any mode, also where the machine has slept or the daemon reads its keys again."""
    with cuttable(tiny_models) as (made, tap):
        client = made.client()
        client.ask(QUESTION, **OPTIONS).result()  # type: ignore[arg-type]
        client.switch_link(cut=True, wait_s=WAIT_S)
        until(tap.ended)
        before = sizes(tap)
        assert sum(before) > 0
        assert made.device is not None
        made.device.bus.post(made.device.reload, *(each.link.on_wake for each in made.device.cluster.links))
        done = client.ask(QUESTION, mode=mode, **OPTIONS).result()  # type: ignore[arg-type]
        assert len(done.token_ids) == OPTIONS["max_tokens"]
        assert sizes(tap) == before
        status = client.status(WAIT_S)
        assert status.facts["cloud"] == "cut on this device: hocket alone off"
        assert status.metrics["link_cut"] == 1


def test_joined_again_the_pair_answers_as_before(tiny_models: dict[str, Path]) -> None:
    """Cut twice and joined twice is cut and joined."""
    with cuttable(tiny_models) as (made, tap):
        client = made.client()
        whole = client.ask(QUESTION, **OPTIONS).result()  # type: ignore[arg-type]
        for cut in (True, True, False, False):
            client.switch_link(cut=cut, wait_s=WAIT_S)
        until(lambda: client.status(WAIT_S).facts["cloud"].startswith("connected"))
        before = sum(sizes(tap))
        assert client.ask(QUESTION, **OPTIONS).result().token_ids == whole.token_ids  # type: ignore[arg-type]
        assert sum(sizes(tap)) > before
        assert client.status(WAIT_S).metrics["link_cut"] == 0


def test_what_was_cut_stays_cut_for_a_daemon_that_starts_again(tiny_models: dict[str, Path]) -> None:
    """Not a byte of its start reaches the cloud."""
    with tempfile.TemporaryDirectory(prefix="hk") as folder:
        with pair(Path(folder), tiny_models, start=False) as made:
            start_device(made)
            made.client().switch_link(cut=True, wait_s=WAIT_S)
        with pair(Path(folder), tiny_models, start=False) as made:
            tap = made.stack.enter_context(Tap(made.endpoint("tap"), made.endpoint("cloud")))
            made.start_retrieval("device")
            start_device(made)
            assert made.client().ask(QUESTION, **OPTIONS).result().token_ids  # type: ignore[arg-type]
            assert tap.recorded() == []
            made.start_cloud()
            made.client().switch_link(cut=False, wait_s=WAIT_S)
            made.join()


def test_the_command_cuts_and_joins(tiny_models: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    with cuttable(tiny_models) as (made, _):
        (made.folder / "device.toml").write_text(f'endpoint = "{made.endpoint("device")}"\n')
        for what, words in (("on", "answers alone"), ("off", "is restored")):
            assert run(["alone", what, "--home", str(made.folder)]) == 0
            assert words in capsys.readouterr().out
            assert made.client().status(WAIT_S).metrics["link_cut"] == float(what == "on")


def test_an_answers_record_has_what_left_for_it(tiny_models: dict[str, Path]) -> None:
    """By class, with the bytes of the ledger for its session, in order of time; an answer that is alone has none."""
    with tempfile.TemporaryDirectory(prefix="hk") as folder:
        ledger = Path(folder) / "ledger"
        with pair(Path(folder), tiny_models, start=False) as made:
            for side in ("device", "cloud"):
                made.start_retrieval(side)
            made.start_cloud()
            made.start_device(decisions=f"{folder}/decisions.db", egress=EgressSettings(ledger=str(ledger)))
            record, alone = (explained(made, alone=alone) for alone in (False, True))
        left = record["left"]
        assert left[0]["class"] == "query"
        assert [each["from_s"] for each in left] == sorted(each["from_s"] for each in left)
        assert all(0 <= each["from_s"] <= each["to_s"] for each in left)
        (session,) = record["sessions"]
        counted = {each.kind: (each.messages, each.size_bytes) for each in read(ledger) if each.session == session}
        assert {each["class"]: (each["messages"], each["bytes"]) for each in left} == counted
        assert "left" not in alone


def explained(made: Pair, *, alone: bool) -> dict[str, Any]:
    """The record of an answer, by the bus: it is there as soon as the answer is."""
    client = made.client()
    stream = client.ask(QUESTION, alone=alone, **OPTIONS)  # type: ignore[arg-type]
    stream.result()
    found = client.explain(stream.request, WAIT_S)
    assert found["record"]["question"] == QUESTION
    return dict(found["record"])


def test_what_is_not_recorded_is_not_known(tiny_models: dict[str, Path]) -> None:
    with cuttable(tiny_models) as (made, _), pytest.raises(HocketError, match="keeps no records"):
        made.client().explain(bytes(16))


@pytest.mark.slow
def test_no_answer_moves_to_another_cloud_daemon(tiny_models: dict[str, Path]) -> None:
    """A device with two of them is cut off from both at once: what has left by then is all that leaves."""
    with tempfile.TemporaryDirectory(prefix="hk") as folder, started(Path(folder), tiny_models) as fleet:
        fleet.settle()
        device, client = fleet.devices[0], fleet.clients[0]
        stream = client.ask(QUESTION, **OPTIONS)  # type: ignore[arg-type]
        events = iter(stream)
        assert next(events).source != "solo"
        client.switch_link(cut=True, wait_s=WAIT_S)
        left = dict(device.ledger.sums)
        assert list(events)[-1].source == "solo"
        assert device.ledger.sums == left
        assert not any(each.link.up for each in device.cluster.links)

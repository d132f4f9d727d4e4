"""A model of which a server tells the likeliest next tokens: what it says, what leaves for it, and how it fails."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from real_server import llama_server, needs_llama_server
from scripted_server import refusal, reset
from telling_server import Form, Telling, telling, whole

import hocket_models
from exact import exact
from hocket_bus.errors import (
    BadConfiguration,
    BadRequest,
    DeadlineExceeded,
    Forbidden,
    HocketError,
    ProtocolError,
    Unavailable,
)
from hocket_bus.messages import Prompt, Turn
from hocket_daemon.aggregation.mode import AggregationMode
from hocket_daemon.aggregation.settings import AggregationSettings
from hocket_daemon.engine.backends.server.logprob_model import LogprobModel
from hocket_daemon.engine.backends.server.logprobs import size_of
from hocket_daemon.engine.opening.engines import open_model, remote_model
from hocket_daemon.engine.preemption import Interrupt, Preempted
from hocket_daemon.engine.runtime.sequences import SequenceGroup, at_once, read, read_prompt
from hocket_daemon.engine.sampling.heads import made
from hocket_daemon.engine.segments import Contents, Segment
from hocket_daemon.engine.settings import ServerSettings
from hocket_daemon.privacy.egress import EgressSettings, Ledger, ServerPolicy
from hocket_daemon.privacy.link_switch import LinkSwitch
from hocket_daemon.serving.services import Services
from ports import free_port
from waiting import WAIT_S

FORMS: list[Form] = ["llama", "vllm"]
MANY = 40
TOLD = EgressSettings(passages=True, history="all")
QUESTION = Contents(0, 0, 0, 3, b"s")
VOCABULARY, SPECIAL = 400, 2


def opened(folder: Path, url: str, policy: ServerPolicy | None = None, **settings: object) -> LogprobModel:
    """A model with the tokenizer in `folder`."""
    asked = ServerSettings(url=url, model="m", **{"logprobs": MANY} | settings)  # type: ignore[arg-type]
    policy = policy or ServerPolicy(TOLD, Ledger(None), LinkSwitch())
    model = remote_model(exact(name=str(folder), engine="openai", slots=8), asked, "device", policy)
    assert isinstance(model, LogprobModel)
    return model


@contextmanager
def told(
    folder: Path, form: Form = "llama", policy: ServerPolicy | None = None, **settings: object
) -> Iterator[tuple[Telling, LogprobModel]]:
    """A server and the model that it tells of."""
    with telling(form, VOCABULARY, lambda _: b"") as server:
        model = opened(folder, server.url, policy, **settings)
        server.piece = lambda id: b"" if id < SPECIAL else model.piece(id)
        try:
            yield server, model
        finally:
            model.close()


def rows(model: LogprobModel, number: int, contents: Contents = QUESTION) -> list[int]:
    taken = model.slots.take(number)
    for row in taken:
        model.slots.declare(row, contents)
    return taken


@pytest.mark.parametrize("form", FORMS)
def test_heads_are_the_servers_probabilities_cut(tiny_models: dict[str, Path], form: Form) -> None:
    """Of each row behind all its tokens, after growing and rolling back, too; what is left out is missing."""
    with told(tiny_models["device"], form) as (server, model):
        first, second = rows(model, 2)
        model.read([Segment([first, second], [[5, 6, 7], [9]])])
        model.slots.roll_back(first, 2)
        found = model.read([Segment([first], [[8, 3]]), Segment([second], [[4]])])
        for head, ids in zip(found, ([5, 6, 8, 3], [9, 4]), strict=True):
            chances = server.chances(ids)
            expected = np.where(chances >= np.sort(chances)[-MANY], chances, 0)
            np.testing.assert_allclose(head.dense(model.vocabulary)[0], expected, rtol=1e-6)
        assert model.slots.lengths[first] == 4


def test_a_draft_says_how_much_was_left_out(tiny_models: dict[str, Path]) -> None:
    """Where fewer tokens are told than hold the wire's mass it has all of them, and `kept` is what they hold."""
    with told(tiny_models["device"]) as (server, model):
        both = rows(model, 2)
        heads = model.read([Segment(both, [[5], [9]])])[0]
        draft = made(heads, [0.25, 0.75], 0.999).distribution
        shares = [np.sort(server.chances([token]))[-MANY:].sum() for token in (5, 9)]
        assert draft.kept == pytest.approx(0.25 * shares[0] + 0.75 * shares[1], rel=1e-5)
        assert draft.kept < 0.999
        assert set(draft.ids) == {int(id) for row in (heads.ids if heads.ids is not None else []) for id in row}


@pytest.mark.parametrize("form", FORMS)
def test_behind_every_token_and_of_given_ids(tiny_models: dict[str, Path], form: Form) -> None:
    """One of the two tells how likely the prompt's own tokens were; the other has no likelihoods."""
    with told(tiny_models["device"], form) as (server, model):
        (row,) = rows(model, 1)
        every = model.read([Segment([row], [[5, 6, 7]], every=True)])[0]
        assert len(every) == 3
        np.testing.assert_allclose(every.at(1).probabilities.max(), server.chances([5, 6]).max(), rtol=1e-6)
        given = model.read([Segment([row], [[8, 9]], given=[[9, 2]])])[0].given
        if form == "llama":
            assert not len(given)
        else:
            exact_last = server.chances([5, 6, 7, 8, 9])
            last = exact_last[2] if exact_last[2] >= np.sort(exact_last)[-MANY] else None
            assert given[0] == pytest.approx(server.chances([5, 6, 7, 8])[9], rel=1e-5)
            assert last is None or given[1] == pytest.approx(last, rel=1e-5)


@pytest.mark.parametrize("form", FORMS)
def test_ids_of_another_model_are_refused(tiny_models: dict[str, Path], form: Form) -> None:
    """In one line that says what to do, before anything is made of them."""
    with told(tiny_models["device"], form) as (server, model):
        own = server.piece
        server.piece = lambda id: own(id + 1)
        (row,) = rows(model, 1)
        with pytest.raises(BadConfiguration, match="token ids differ") as caught:
            model.read([Segment([row], [[5]])])
        assert caught.value.remedy == "set [model] name to the model of [server]"


def test_fewer_than_asked_for_are_refused(tiny_models: dict[str, Path]) -> None:
    """The bound on what is left out would not be the one that was set."""
    with told(tiny_models["device"]) as (server, model):
        server.most = 20
        with pytest.raises(BadConfiguration, match="returns 20 of 40 log-probabilities"):
            model.read([Segment(rows(model, 1), [[5]])])


def stays(connection: socket.socket) -> None:
    """Say nothing until the other end has gone."""
    while connection.recv(1 << 16):
        pass


def half(connection: socket.socket) -> None:
    connection.sendall(whole({"choices": []})[:-5])


FAULTS = [
    pytest.param(stays, DeadlineExceeded, "has sent nothing for 0.2 s", id="silent"),
    pytest.param(half, (ProtocolError, Unavailable), "incomplete|broke the connection", id="half an answer"),
    pytest.param(reset, Unavailable, "broke the connection", id="breaks off"),
    pytest.param(lambda it: it.sendall(refusal(500)), Unavailable, "failed", id="fails"),
    pytest.param(lambda it: it.sendall(refusal(413)), BadRequest, "too long", id="refuses"),
    pytest.param(lambda it: it.sendall(whole([])), ProtocolError, "not answer with text", id="no text"),
]


@pytest.mark.parametrize(("fault", "kind", "line"), FAULTS)
def test_a_server_that_fails_is_one_error_and_rows_stay(
    tiny_models: dict[str, Path], fault: Callable[[socket.socket], object], kind: type[HocketError], line: str
) -> None:
    """In the middle of an answer; the next pass is as if that one had not been. Only silence must be waited for."""
    with told(tiny_models["device"], **({"piece_wait_s": 0.2} if fault is stays else {})) as (server, model):
        both = rows(model, 2)
        model.read([Segment(both, [[5, 9], [6, 9]])])  # with first_wait_s
        server.fault = fault
        with pytest.raises(kind, match=line) as caught:
            model.read([Segment(both, [[7], [8]])])
        assert "\n" not in str(caught.value)
        assert [model.slots.lengths[row] for row in both] == [2, 2]
        server.fault = None
        again = model.read([Segment(both, [[7, 3], [8, 3]])])[0]
        np.testing.assert_allclose(again.probabilities.max(axis=1)[0], server.chances([5, 9, 7, 3]).max(), rtol=1e-6)


def test_a_server_that_is_away_says_where_it_should_be(tiny_models: dict[str, Path]) -> None:
    """Nothing is waited for."""
    port = free_port()
    model = opened(tiny_models["device"], f"http://127.0.0.1:{port}")
    with pytest.raises(Unavailable, match=f"127.0.0.1:{port} cannot be reached: nothing listens there"):
        model.read([Segment(rows(model, 1), [[5]])])
    model.close()


def test_an_interrupt_ends_the_requests_at_once(tiny_models: dict[str, Path]) -> None:
    """The server sees that nobody waits; the rows are as they were."""
    with told(tiny_models["device"]) as (server, model):
        left, interrupt = threading.Event(), Interrupt()

        def wait(connection: socket.socket) -> None:
            interrupt.set()
            stays(connection)
            left.set()

        server.fault = wait
        (row,) = rows(model, 1)
        began_s = time.monotonic()
        with pytest.raises(Preempted):
            model.read([Segment([row], [[5]])], interrupt)
        assert left.wait(WAIT_S)
        assert time.monotonic() - began_s < WAIT_S
        assert model.slots.lengths[row] == 0


def test_connections_are_kept_and_one_that_was_ended_is_opened_again(tiny_models: dict[str, Path]) -> None:
    """As many as rows, however many passes; what a server ends between two of them is no failure."""
    with told(tiny_models["device"]) as (server, model):
        both = rows(model, 2)
        for token in range(5, 15):
            model.read([Segment(both, [[token], [token]])])
        assert len(server.connections) <= 2
        for connection in server.connections:
            connection.shutdown(socket.SHUT_RDWR)
        model.read([Segment(both, [[3], [4]])])
        assert len(server.requests) == 22


PROMPT = Prompt(query="duno kala?", turns=[Turn(query="mira?", answer="sola")])


@pytest.mark.parametrize("form", FORMS)
def test_the_ledger_has_every_byte_that_the_server_got(tiny_models: dict[str, Path], form: Form) -> None:
    """By class: ids of passages, of earlier turns and of the answer as what they are, all the rest as the question."""
    policy = ServerPolicy(TOLD, Ledger(None), LinkSwitch())
    with told(tiny_models["device"], form, policy) as (server, model):
        passages = ["kala mira duno", "tano meku"]
        group = at_once(model, read(model, PROMPT, passages, task="answer", room=20, alone=True, session=b"id"))
        sums = policy.ledger.sums
        assert sum(sums.values()) == server.sent
        layout = model.layout("answer")
        lead = len(layout.document(""))
        expected = sum(
            size_of(ids[lead:]) * sum(body["prompt"][: len(ids)] == ids for body in server.bodies)
            for ids in map(layout.document, passages)
        )
        assert sums["passages"] == expected
        assert "targets" not in sums
        assert sums["history"] % size_of(layout.turn(PROMPT.turns[0], layout.between)) == 0
        before = len(server.requests)
        model.read([group.roll_back([7, 12])])
        assert sum(sums.values()) == server.sent
        assert sums["targets"] == size_of([7, 12]) * (len(server.requests) - before)
        assert {each.kind for each in policy.ledger.trail([b"id".hex()])} == set(sums)


@pytest.mark.parametrize("kept", ["query", "targets", "passages", "history"])
def test_what_is_to_stay_does(tiny_models: dict[str, Path], kept: str) -> None:
    """The line says which key, and the server is not even connected to."""
    egress = EgressSettings(**{"passages": True, "history": "all", kept: "none" if kept == "history" else False})  # type: ignore[arg-type]
    with told(tiny_models["device"], policy=ServerPolicy(egress, Ledger(None), LinkSwitch())) as (server, model):
        with pytest.raises(Forbidden, match=f"keeps {kept} on this device"):
            read_all(model, ["kala mira"])
        assert not server.connections
        assert model.slots.take(8) == list(range(8))


def read_all(model: LogprobModel, passages: list[str]) -> SequenceGroup:
    return at_once(model, read(model, PROMPT, passages, task="answer", room=20))


def test_a_cut_link_is_kept_from_servers_elsewhere(tiny_models: dict[str, Path]) -> None:
    """One on this machine is asked all the same."""
    switch = LinkSwitch()
    switch.turn(cut=True)
    policy = ServerPolicy(TOLD, Ledger(None), switch)
    with told(tiny_models["device"], policy=policy) as (_, model):
        read_all(model, ["kala"]).close()
    elsewhere = opened(tiny_models["device"], "https://server.example", policy)
    with pytest.raises(Unavailable, match="the link is cut"):
        read_all(elsewhere, ["kala"])
    elsewhere.close()


def test_a_server_elsewhere_gets_no_other_devices_question() -> None:
    """A device drafts along for others of its group where what its model is told stays on its machine."""
    for is_here in (True, False):
        reader = SimpleNamespace(is_here=is_here)
        services = Services("device", *[None] * 7, reader=reader)  # type: ignore[arg-type]
        assert services.reads_here == is_here
        mode = AggregationMode(services, AggregationSettings())
        with pytest.raises(AssertionError if is_here else Unavailable):
            mode.accept(None, None)  # type: ignore[arg-type] # nothing is looked at before


def test_text_of_which_nobody_says_what_it_is_stays(tiny_models: dict[str, Path]) -> None:
    """Such as what is typed."""
    with told(tiny_models["device"]) as (server, model):
        with pytest.raises(BadRequest, match="returns no probabilities"):
            at_once(model, read_prompt(model, [5, 6], 4))
        assert not server.connections


@pytest.mark.slow
@needs_llama_server
def test_the_server_of_llama_cpp_says_what_the_same_file_says_here(gguf_file: Path, tmp_path: Path) -> None:
    """In float32 and by the same attention: within rounding, each cut to what was asked for."""
    here = open_model(exact(name=str(gguf_file), slots=2), "cloud")
    with llama_server(tmp_path, gguf_file, exact=True) as (_, port):
        model = opened(hocket_models.path("device"), f"http://127.0.0.1:{port}", logprobs=200)
        assert (model.fingerprint, model.vocabulary) == (here.fingerprint, here.vocabulary)
        (row,), (own,) = rows(model, 1), here.slots.take(1)
        ids = model.prompt("The bridge of Oakhaven was built by", "complete")
        for _ in range(12):
            told, whole_ = model.read([Segment([row], [ids])])[0], here.read([Segment([own], [ids])])[0]
            dense, full = told.dense(model.vocabulary)[0], whole_.probabilities[0]
            assert np.count_nonzero(dense) == 200
            assert set(np.flatnonzero(dense)) >= set(np.argsort(-full)[:150])
            np.testing.assert_allclose(dense[dense > 0], full[dense > 0], atol=1e-5)
            ids = [int(full.argmax())]
        model.close()
        here.close()  # type: ignore[union-attr]

"""Bad input and missing parts: one line that says what to do, no hang, and the daemons live on."""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import zmq
from harness import Pair, pair

from exact import exact
from hocket_bus import messages
from hocket_bus.errors import BadConfiguration, BadRequest, DeadlineExceeded, Unavailable
from hocket_bus.messages import Notice, Token
from hocket_bus.wire import decode
from hocket_client import Client
from hocket_daemon.config import DeviceSettings
from hocket_daemon.roles.device import DeviceDaemon
from hocket_daemon.serving.search import retrieval
from waiting import WAIT_S, until

SHORT = {"seed": 1, "max_tokens": 6, "ignore_eos": True, "deadline_s": WAIT_S}


@pytest.fixture(scope="module")
def running(tiny_models: dict[str, Path]) -> Iterator[Pair]:
    with tempfile.TemporaryDirectory(prefix="hk") as folder, pair(Path(folder), tiny_models) as made:
        yield made


@pytest.fixture
def parts(tiny_models: dict[str, Path]) -> Iterator[Pair]:
    """A pair of which the test starts what it wants."""
    with tempfile.TemporaryDirectory(prefix="hk") as folder, pair(Path(folder), tiny_models, start=False) as made:
        yield made


@pytest.fixture(autouse=True)
def _still_answering(request: pytest.FixtureRequest) -> Iterator[None]:
    """Whatever a test did to the running pair, the next question is answered by both sides."""
    yield
    if "running" in request.fixturenames:
        done = request.getfixturevalue("running").client().ask("kala?", require_cloud=True, **SHORT).result()
        assert len(done.token_ids) == 6


@pytest.mark.parametrize(
    ("question", "options", "expected"),
    [
        ("", {}, "question is empty"),
        ("  \n ", {}, "question is empty"),
        ("x" * 9000, {}, "9000 characters.*shorten"),
        ("kala " * 1500, {}, "more than the model's context.*shorten"),
        ("kala", {"weights": "heavy"}, "unknown weights 'heavy'.*off, static, dynamic"),
        ("kala", {"aggregation": "magic"}, "unknown aggregation 'magic'.*coupled, independent, sync, sync-both"),
        ("kala", {"max_tokens": 0}, "max_tokens is 0"),
        ("kala", {"temperature": -1.0}, "temperature is -1.0"),
        ("kala", {"top_p": 0.0}, "top_p is 0.0"),
        ("kala", {"documents": 65}, "documents is 65"),
        ("kala", {"max_tokens": 4000}, "lower --max-tokens"),
    ],
)
def test_questions_that_cannot_be_asked(
    running: Pair, question: str, options: dict[str, object], expected: str
) -> None:
    """Each is a BadRequest of one line with a remedy."""
    with pytest.raises(BadRequest, match=expected) as caught:
        running.client().ask(question, **options).result()
    assert "\n" not in str(caught.value)


def test_garbage_frames_are_answered_and_forgotten(running: Pair) -> None:
    """Random frames, mutated messages and twenty thousand frames: an error comes back, nothing dies."""
    rng = random.Random(3)
    context = zmq.Context()
    socket = context.socket(zmq.DEALER)
    socket.linger = 0
    socket.connect(running.endpoint("device"))
    for size in (1, 2, 3, 8, 9, 50):
        socket.send_multipart([rng.randbytes(rng.randint(0, 200)) for _ in range(size)])
        assert socket.poll(int(1000 * WAIT_S))
        reply = decode(socket.recv_multipart())
        assert isinstance(reply, messages.Error)
        assert reply.code == "bad_message"
    socket.send_multipart([b"HK\x63\x01", b"\x80"])
    assert socket.poll(int(1000 * WAIT_S))
    reply = decode(socket.recv_multipart())
    assert isinstance(reply, messages.Error)
    assert "version 99" in reply.text
    socket.send_multipart([b"x"] * 20_000)
    assert socket.poll(int(1000 * WAIT_S))
    context.destroy(linger=0)


def test_well_formed_messages_at_the_wrong_door_do_nothing(running: Pair) -> None:
    """Peer messages for unknown sessions, resumes of unknown streams, cancels of unknown requests."""
    client = running.client()
    made = os.urandom(16)
    link = client._connection
    link.send(messages.Target(session=made, epoch=0, first=0, ids=[1], digest=1))
    link.send(messages.End(session=made, reason="x"))
    link.send(messages.Cancel(request=made))
    link.send(messages.Passages(request=made, passages=[], scorer="", scorers=[], documents_total=0, seconds=0.0))
    stream = client.ask("kala?", **SHORT)
    link.send(messages.Cancel(request=made))
    assert len(stream.result().token_ids) == 6


def test_cancel_ends_the_stream_with_what_there_is(running: Pair) -> None:
    """The tokens so far come back, finish says why."""
    stream = running.client().ask("mira?", seed=2, max_tokens=400, ignore_eos=True)
    tokens = iter(stream)
    first = next(tokens)
    stream.cancel()
    done = stream.result()
    assert done.finish == "cancelled"
    assert done.token_ids[0] == first.id
    assert len(done.token_ids) < 400


def test_nobody_at_the_endpoint() -> None:
    """The client says what to start, and does not hang."""
    with pytest.raises(Unavailable, match="no daemon answers.*hocket up"):
        Client("ipc:///tmp/hocket-nobody-is-here", connect_s=0.3)


def test_a_dead_cloud_lets_the_device_answer_alone_and_say_so(parts: Pair) -> None:
    """With --require-cloud it is an error instead."""
    parts.start_retrieval("device")
    parts.start_device(connect_wait_s=0.2)
    stream = parts.client().ask("kala?", **SHORT)
    done = stream.result()
    assert (done.aggregation.method, done.aggregation.solo_steps) == ("alone", list(range(6)))
    assert any("cloud" in notice and "alone" in notice for notice in stream.notices)
    with pytest.raises(Unavailable, match="require-cloud|daemon"):
        parts.client().ask("kala?", require_cloud=True, **SHORT).result()


@pytest.mark.parametrize("empty", ["device", "cloud"])
def test_a_side_without_documents_is_no_error(parts: Pair, empty: str) -> None:
    """The other side's documents decide, and a notice says so."""
    for side in ("device", "cloud"):
        parts.start_retrieval(side, documents=0 if side == empty else 5)
    parts.start_cloud()
    parts.start_device()
    stream = parts.client().ask("kala?", **SHORT)
    done = stream.result()
    assert len(done.token_ids) == 6
    assert any("documents" in notice for notice in stream.notices)
    assert (done.aggregation.method == "alone") == (empty == "cloud")


@pytest.mark.parametrize("alone", [False, True])
def test_an_answer_without_documents_says_that_it_comes_from_none(parts: Pair, alone: bool) -> None:
    """It has no sources, and a notice says how to change that; zero documents on request needs no notice."""
    for side in ("device", "cloud"):
        parts.start_retrieval(side, documents=0)
    parts.start_cloud()
    parts.start_device()
    stream = parts.client().ask("kala?", alone=alone, **SHORT)
    done = stream.result()
    assert len(done.token_ids) == 6
    assert done.sources == []
    where = "on the device" if alone else "on either side"
    assert [notice for notice in stream.notices if f"no documents are ingested {where}" in notice]
    assert any("hocket ingest" in notice for notice in stream.notices)
    plain = parts.client().ask("kala?", documents=0, alone=alone, **SHORT)
    assert len(plain.result().token_ids) == 6
    assert plain.notices == []


def test_a_dead_retrieval_daemon_is_named(parts: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the device it is an error; on the cloud the device goes on alone and says why."""
    monkeypatch.setattr(retrieval, "RESTART_S", 0.0)  # nobody hopes that one is just starting
    parts.start_cloud()
    device = parts.start_device()
    with pytest.raises(Unavailable, match="device's retrieval daemon.*hocket up"):
        parts.client().ask("kala?", **SHORT).result()
    parts.start_retrieval("device")
    until(lambda: device._retrieval.up)
    stream = parts.client().ask("kala?", **SHORT)
    assert stream.result().aggregation.method == "alone"
    assert any("cloud's retrieval daemon" in notice for notice in stream.notices)


def test_mismatched_tokenizers_are_refused_with_a_remedy(parts: Pair) -> None:
    """Where one is of a kind that writes no words: the device answers alone, saying which setting to mend."""
    parts.start_retrieval("device")
    parts.start_retrieval("cloud")
    cloud = parts.start_cloud(model=parts.model("stranger"))
    vars(cloud.services.model)["writes_words"] = False  # as of SentencePiece
    parts.start_device()
    stream = parts.client().ask("kala?", **SHORT)
    assert stream.result().aggregation.method == "alone"
    assert any("different tokenizers" in notice and "[model]" in notice for notice in stream.notices)
    with pytest.raises(Unavailable, match="different tokenizers"):
        parts.client().ask("kala?", require_cloud=True, **SHORT).result()


def test_unequal_scorers_are_refused_with_a_remedy(parts: Pair) -> None:
    """Scores that mean different things must not be weighed against each other."""
    parts.start_retrieval("device")
    parts.start_retrieval("cloud", scorers="another")
    parts.start_cloud()
    parts.start_device()
    with pytest.raises(Unavailable, match="score relevance differently.*same embedder"):
        parts.client().ask("kala?", **SHORT).result()


def test_a_cloud_that_scores_otherwise_does_not_join_an_answer_that_has_begun(parts: Pair) -> None:
    """It comes while the device writes alone, and only its scorer is in common; the rest stays the device's alone."""
    parts.start_retrieval("device", scorers="list other")
    parts.start_retrieval("cloud", scorers="other")
    parts.start_device(hold_s=0.05, connect_wait_s=0.1)
    stream = parts.client().ask("kala?", seed=1, max_tokens=900, ignore_eos=True, deadline_s=WAIT_S)
    events = stream.events()
    next(event for event in events if isinstance(event, Token))
    parts.start_cloud()
    next(event for event in events if isinstance(event, Notice) and "another relevance scorer" in event.text)
    for _ in range(5):
        next(events)
    stream.cancel()
    done = stream.result()
    assert done.aggregation.method == "alone"
    assert done.aggregation.solo_steps == list(range(len(done.token_ids)))
    assert parts.client().ask("kala?", **SHORT).result().aggregation.method == "coupled"


def test_a_second_daemon_at_the_same_path_is_refused(running: Pair) -> None:
    """Binding an ipc path twice would silently steal it."""
    with pytest.raises(BadConfiguration, match="another daemon already listens"):
        running.start_device()


def test_a_deadline_ends_a_stream(running: Pair) -> None:
    """No request outlives what its client will wait."""
    with pytest.raises(DeadlineExceeded, match=r"within 0\.2 s"):
        running.client().ask("mira?", seed=2, max_tokens=900, ignore_eos=True, deadline_s=0.2).result()


def test_a_model_that_does_not_load_is_a_configuration_error(parts: Pair) -> None:
    """One line that names the key."""
    with pytest.raises(BadConfiguration, match=r"does not load.*\[model\] name"):
        parts.start_device(model=exact(name="/nowhere/at/all"))
    with pytest.raises(BadConfiguration, match="unknown dtype"):
        parts.start_device(model=parts.model("device", dtype="float8"))


def test_a_wrong_address_of_the_retrieval_daemon_is_a_configuration_error(parts: Pair) -> None:
    """Before the model is loaded."""
    settings = DeviceSettings(endpoint=parts.endpoint("device"), retrieval="/run/x", model=exact(name="/nowhere"))
    with pytest.raises(BadConfiguration, match="'/run/x' is not an endpoint"):
        DeviceDaemon(settings)


def test_to_require_a_cloud_where_there_is_none_is_an_error(parts: Pair) -> None:
    """None is configured; and one cannot ask for both."""
    parts.start_retrieval("device")
    settings = DeviceSettings(
        endpoint=parts.endpoint("device"), retrieval=parts.endpoint("device-retrieval"), model=parts.model("device")
    )
    parts.run(DeviceDaemon(settings))
    assert len(parts.client().ask("kala?", **SHORT).result().token_ids) == 6
    with pytest.raises(Unavailable, match="no cloud configured.*without --require-cloud"):
        parts.client().ask("kala?", require_cloud=True, **SHORT).result()
    with pytest.raises(BadRequest, match="exclude each other"):
        parts.client().ask("kala?", require_cloud=True, alone=True, **SHORT)

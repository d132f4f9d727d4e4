"""A pair of which one side's model is a server that tells log-probabilities: both write each answer, as any two do."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from harness import WORDS, ListRetrieval, Pair, pair
from reading_server import told_by_class
from real_server import listens, llama_server, needs_llama_server, started, vllm_serve
from scripted_server import reset
from telling_server import Form, Telling, telling
from vllm_here import needs_vllm

import hocket_models
from exact import exact
from hocket_bus.errors import HocketError, Unavailable
from hocket_bus.messages import Search, Side, other
from hocket_client import Client
from hocket_daemon.engine.backends.server.remote_model import RemoteModel
from hocket_daemon.engine.settings import ModelSettings, ServerSettings
from hocket_daemon.privacy.egress import EgressSettings, ServerEgressSettings
from hocket_daemon.roles.daemon import Daemon
from hocket_lab.link import Conditions, Link, start
from ports import free_port
from waiting import WAIT_S, until

QUESTIONS = [" ".join(WORDS[(i * k + k) % len(WORDS)] for k in range(1, 6)) + "?" for i in range(6)]
ASKED: dict[str, Any] = {"max_tokens": 16, "documents": 2, "deadline_s": WAIT_S}
SPECIAL, VOCABULARY, MANY = 2, 400, 60
SIDES: list[Side] = ["device", "cloud"]


@contextmanager
def opened(
    models: dict[str, Path], side: Side, server: ServerSettings, *, passages: bool = True, contrast: float = 0.0
) -> Iterator[tuple[Pair, Client, Link]]:
    """A running pair whose `side` has no weights, a client of its device, and the link between the sides."""
    cloud = f"127.0.0.1:{free_port()}"
    with tempfile.TemporaryDirectory(prefix="hk") as folder, pair(Path(folder), models, start=False) as made:
        link = made.stack.enter_context(start("127.0.0.1:0", cloud))
        for name in SIDES:
            made.start_retrieval(name)
        made.trust(f"tcp://127.0.0.1:{link.port}", f"tcp://{cloud}")
        policy = EgressSettings if side == "device" else ServerEgressSettings
        egress = policy(passages=passages, ledger=str(made.folder / "ledger"))
        remote = {"model": without_weights(made, side), "server": server, "egress": egress}
        made.start_cloud(endpoint=f"tcp://{cloud}", **remote if side == "cloud" else {})  # type: ignore[arg-type]
        here = remote if side == "device" else {}
        made.start_device(link=f"tcp://127.0.0.1:{link.port}", contrast=contrast, **here)  # type: ignore[arg-type]
        yield made, made.client(), link


def without_weights(made: Pair, side: Side) -> ModelSettings:
    folder = made.folder / f"{side}-tokenizer"
    shutil.copytree(made.models[side], folder, ignore=shutil.ignore_patterns("*.safetensors", "*.gguf", "config.json"))
    return exact(name=str(folder), engine="openai")


def daemon_of(made: Pair, side: Side) -> Daemon:
    daemon = made.device if side == "device" else made.cloud
    assert daemon is not None
    return daemon


@contextmanager
def told(
    models: dict[str, Path], side: Side, form: Form = "llama", **options: Any
) -> Iterator[tuple[Telling, Pair, Client, Link]]:
    """The same with a server that tells of ids what they alone decide."""
    waits = {name: options.pop(name) for name in ("first_wait_s", "piece_wait_s") if name in options}
    with telling(form, VOCABULARY, lambda _: b"") as server:
        asked = ServerSettings(url=server.url, model="m", logprobs=MANY, **waits)
        with opened(models, side, asked, **options) as (made, client, link):
            model = daemon_of(made, side).services.model
            server.piece = lambda id: b"" if id < SPECIAL else model.piece(id)
            yield server, made, client, link


def ids(client: Client, aggregation: str, temperature: float) -> list[list[int]]:
    found = []
    for number, question in enumerate(QUESTIONS):
        asked = {"aggregation": aggregation, "seed": number, "temperature": temperature, "require_cloud": True}
        done = client.ask(question, **asked, **ASKED).result()
        assert done.aggregation is not None
        assert done.aggregation.solo_steps == []
        assert {origin.side for origin in done.sources} == {"device", "cloud"}
        found.append(done.token_ids)
    return found


def every_way_gives_the_same(client: Client, link: Link, temperatures: tuple[float, ...]) -> None:
    expected = {temperature: ids(client, "sync", temperature) for temperature in temperatures}
    for rtt_s in (0.0, 0.04):
        link.set(Conditions.symmetric(rtt_s, 0.0, seed=1))
        for temperature, wanted in expected.items():
            assert ids(client, "coupled", temperature) == wanted


@pytest.mark.parametrize(
    ("side", "form", "contrast"),
    [
        pytest.param("device", "llama", 0.0, marks=pytest.mark.slow),
        pytest.param("cloud", "vllm", 0.5, marks=pytest.mark.slow),
        pytest.param("cloud", "llama", 0.0, marks=pytest.mark.slow),
        pytest.param("device", "vllm", 0.5, marks=pytest.mark.slow),
    ],
)
def test_every_way_gives_the_same_ids(tiny_models: dict[str, Path], side: Side, form: Form, contrast: float) -> None:
    """Near or far, coupled or in step, greedy or drawn; both sides' passages are sources; no byte is uncounted."""
    with told(tiny_models, side, form, contrast=contrast) as (server, made, client, link):
        every_way_gives_the_same(client, link, (0.0, 1.0))
        counted = ledger(made, side)
        assert counted.keys() == {"query", "passages", "targets"}
        assert server.sent <= sum(counted.values()) < 1.05 * server.sent  # some are given up as they leave
        facts = daemon_of(made, side).board.facts("")
        assert f"{MANY} log-probabilities a token, which reads questions and passages" in facts["compute"]
        assert reads_of(side, made, server)
        assert not reads_of(other(side), made, server)


def ledger(made: Pair, side: Side) -> dict[str, int]:
    daemon_of(made, side).ledger.write()
    return told_by_class(made.folder / "ledger")


def passages_of(side: Side, made: Pair) -> set[str]:
    shelf = ListRetrieval(made.endpoint(f"{side}-again"), side)
    searches = [Search(request=b"again", query=question, k=ASKED["documents"]) for question in QUESTIONS]
    found = {passage.text for search in searches for passage in shelf.answer(search).passages}
    shelf.close()
    return found


def reads_of(side: Side, made: Pair, server: Telling) -> set[str]:
    """Passages that this side alone has and the server got."""
    model = daemon_of(made, side).services.model
    prompts = [model.text(body["prompt"]) for body in server.bodies]
    others = "\n".join(passages_of(other(side), made))
    own = {passage for passage in passages_of(side, made) if passage not in others}
    assert own
    return {passage for passage in own if any(passage in prompt for prompt in prompts)}


def breaks_behind(server: Telling, requests: int, fault: Callable[[Any], object]) -> None:
    """Answer so many more, and then do something else for ever."""
    answer, left = server.answer, [requests]

    def count(asked: dict[str, Any]) -> dict[str, Any]:
        left[0] -= 1
        if left[0] <= 0:
            server.fault = fault
        return answer(asked)

    server.answer = count  # type: ignore[method-assign]


def stays(connection: Any) -> None:
    while connection.recv(1 << 16):
        pass


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "line"),
    [pytest.param(reset, "broke the connection", id="gone"), pytest.param(stays, "sent nothing", id="silent")],
)
def test_a_clouds_server_that_fails_leaves_the_device_to_go_on(
    tiny_models: dict[str, Path], fault: Callable[[Any], object], line: str
) -> None:
    """In the middle of an answer, with a notice; the next question is answered together again."""
    with told(tiny_models, "cloud", first_wait_s=2.0, piece_wait_s=0.5) as (server, _, client, _):
        breaks_behind(server, 14, fault)
        stream = client.ask(QUESTIONS[0], temperature=0.0, ignore_eos=True, **ASKED)
        done = stream.result()
        assert len(done.token_ids) == ASKED["max_tokens"]
        assert done.aggregation is not None
        assert 0 < len(done.aggregation.solo_steps) < ASKED["max_tokens"]
        assert any(line in notice for notice in stream.notices)
        del server.answer  # type: ignore[method-assign]
        server.fault = None
        ids(client, "coupled", 0.0)


def test_a_devices_server_that_fails_ends_the_answer_with_one_line(tiny_models: dict[str, Path]) -> None:
    """It leads; what was written stays, and the daemon answers the next question."""
    with told(tiny_models, "device") as (server, _, client, _):
        breaks_behind(server, 14, reset)
        with pytest.raises(Unavailable, match="broke the connection") as caught:
            client.ask(QUESTIONS[0], temperature=0.0, ignore_eos=True, **ASKED).result()
        assert "\n" not in str(caught.value)
        del server.answer  # type: ignore[method-assign]
        server.fault = None
        ids(client, "coupled", 0.0)


@pytest.mark.parametrize("side", SIDES)
def test_passages_stay_unless_their_owner_says_otherwise(tiny_models: dict[str, Path], side: Side) -> None:
    """A device says so itself; a cloud's device answers alone. The server is not even connected to."""
    with told(tiny_models, side, passages=False) as (server, _, client, _):
        stream = client.ask(QUESTIONS[0], **ASKED)
        if side == "device":
            with pytest.raises(HocketError, match="keeps passages on this device"):
                stream.result()
        else:
            assert {token.source for token in stream} == {"solo"}
            assert any("keeps passages on the cloud" in notice for notice in stream.notices)
        assert not server.connections


def test_a_server_of_other_ids_is_refused_in_one_line(tiny_models: dict[str, Path]) -> None:
    """The device answers alone, and says why."""
    with told(tiny_models, "cloud") as (server, made, client, _):
        own = server.piece
        server.piece = lambda id: own(id + 1)
        stream = client.ask(QUESTIONS[0], **ASKED)
        assert {token.source for token in stream} == {"solo"}
        assert any("token ids differ" in notice for notice in stream.notices)
        assert made.cloud is not None
        assert isinstance(made.cloud.services.model, RemoteModel)


@pytest.mark.slow
@needs_llama_server
def test_llama_cpps_server_answers_together_with_a_device(gguf_file: Path, tmp_path: Path) -> None:
    """Greedy, in float32: near or far, coupled or in step; both sides' passages are shown."""
    models = {"device": hocket_models.path("device"), "cloud": hocket_models.path("device")}
    with llama_server(tmp_path, gguf_file, rows=4, exact=True) as (_, port):
        server = ServerSettings(url=f"http://127.0.0.1:{port}", model="tiny", logprobs=300)
        with opened(models, "cloud", server) as (_, client, link):
            every_way_gives_the_same(client, link, (0.0,))


@pytest.mark.long
@pytest.mark.timeout(900)
@needs_vllm
def test_vllms_server_answers_together_with_a_device(tmp_path: Path) -> None:
    """The same of vLLM's own, which tells how likely each passage makes the question, too."""
    models = {"device": hocket_models.path("device"), "cloud": hocket_models.path("cloud")}
    port = free_port()
    command = [*vllm_serve(port, models["cloud"]), "--max-logprobs", "100"]
    with started(command, tmp_path) as process:
        until(lambda: listens(process, port), every_s=0.5)
        server = ServerSettings(url=f"http://127.0.0.1:{port}", model=str(models["cloud"]), logprobs=100)
        with opened(models, "cloud", server) as (_, client, link):
            every_way_gives_the_same(client, link, (0.0,))

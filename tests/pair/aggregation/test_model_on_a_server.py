"""A side whose model is a server: its passages are read there, if its owner allows it, and nothing goes uncounted."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from family import Family, family
from harness import ListRetrieval, Pair, pair
from reading_server import UNKNOWN, passage, prompt, question, reads, sent, texts, told_by_class
from real_server import SERVERS, listens, llama_server, needs_llama_server, started
from scripted_server import CHUNKED, PLAIN, Scripted, chunked, piece, refusal, reset, serving

from exact import exact
from hocket_bus.errors import BadConfiguration, BadRequest, DeadlineExceeded, HocketError, Unavailable, Untrusted
from hocket_bus.messages import Done, Passage, Passages, Search
from hocket_client import Client
from hocket_daemon.dispatch.settings import DispatchSettings
from hocket_daemon.engine.settings import ModelSettings, ServerSettings
from hocket_daemon.privacy.egress import EgressSettings, ServerEgressSettings
from hocket_lab.bench.privacy.canaries import grams
from hocket_retrieval.text.heads import Placed, headed
from ports import free_port
from waiting import WAIT_S, until

SCORER = "probability:test"
CODES = {"device": ("north", "zebra"), "cloud": ("south", "walrus")}
ASKED: dict[str, Any] = {"temperature": 0.0, "max_tokens": 40, "documents": 2, "deadline_s": WAIT_S}


def about_nothing(side: str) -> str:
    return f"The {side} side has a garden with two ponds."


def read() -> str:
    """The passages as the device's server reads them: each behind its file's name, unless it begins with it."""
    texts = (passage(*CODES["device"]), about_nothing("device"))
    return "".join(f"{headed(Placed(f'device-{at}', '', '', text))}\n\n" for at, text in enumerate(texts))


class Facts(ListRetrieval):
    """Finds what its side knows, and a passage about nothing."""

    def answer(self, search: Search) -> Passages:
        knows = f" {CODES[self.side][0]} " in search.query
        found = [
            (passage(*CODES[self.side]), 0.9 if knows else 0.1),
            (about_nothing(self.side), 0.05),
        ]
        passages = [
            Passage(document=f"{self.side}-{at}", title="", ordinal=0, text=text, score=score)
            for at, (text, score) in enumerate(found[: search.k])
        ]
        return Passages(
            request=search.request, passages=passages, scorer=SCORER, scorers=[SCORER], documents_total=2, seconds=0.0
        )


@pytest.fixture
def made(tiny_models: dict[str, Path]) -> Iterator[Pair]:
    with tempfile.TemporaryDirectory(prefix="hk") as folder, pair(Path(folder), tiny_models, start=False) as made:
        for side in ("device", "cloud"):
            made.stack.callback(Facts(made.endpoint(f"{side}-retrieval"), side).close)
        yield made


def remote(made: Pair, side: str) -> ModelSettings:
    """The model of a side whose weights are not on this machine."""
    folder = made.folder / f"{side}-tokenizer"
    if not folder.exists():
        shutil.copytree(made.models[side], folder, ignore=shutil.ignore_patterns("*.safetensors", "config.json"))
    return exact(name=str(folder), engine="openai")


def at(server: Scripted, api: str = "completions", **waits: float) -> ServerSettings:
    return ServerSettings(url=server.url, model="m", api=api, **waits)  # type: ignore[arg-type]


def device_alone(made: Pair, server: Scripted, api: str = "completions", **egress: bool) -> Client:
    """A device without weights and without a cloud that is there."""
    policy = EgressSettings(ledger=str(made.folder / "ledger"), **egress)
    made.start_device(model=remote(made, "device"), server=at(server, api), egress=policy)
    return made.client()


def served_cloud(made: Pair, server: Scripted, api: str = "completions", **device: object) -> Client:
    """A cloud without weights, whose passages may be told, and a device with a model of its own."""
    policy = ServerEgressSettings(passages=True, ledger=str(made.folder / "ledger"))
    made.start_cloud(model=remote(made, "cloud"), server=at(server, api), egress=policy)
    made.start_device(**device)  # type: ignore[arg-type]
    return made.client()


def ledger(made: Pair, side: str) -> dict[str, int]:
    """Bytes by class that the ledger has of the server, once they are written."""
    daemon = made.device if side == "device" else made.cloud
    assert daemon is not None
    daemon.ledger.write()
    return told_by_class(made.folder / "ledger")


def shares(done: Done) -> dict[str, float]:
    return {f"{origin.side} {origin.document}": origin.share for origin in done.sources}


@pytest.mark.parametrize("api", ["completions", "chat"])
@pytest.mark.parametrize("mode", ["aggregation", "dispatch"])
def test_a_device_answers_from_its_passages_without_weights(made: Pair, mode: str, api: str) -> None:
    """Alone: the answer is right, its sources are named by weight, and the ledger has what the socket has."""
    with serving(reads) as server:
        stream = device_alone(made, server, api, passages=True).ask(question("north"), mode=mode, alone=True, **ASKED)
        done = stream.result()
    assert (done.text, done.finish) == ("zebra", "eos")
    assert list(shares(done)) == ["device device-0", "device device-1"]
    assert sum(shares(done).values()) == pytest.approx(1, abs=0.01)
    assert shares(done)["device device-0"] > 0.9
    counted = ledger(made, "device")
    assert sum(counted.values()) == sent(server)
    told = read()
    assert told in prompt(server)
    assert counted["passages"] == len(json.dumps(told)) - 2
    assert counted.keys() == {"query", "passages"}


def test_passages_stay_unless_their_owner_says_otherwise(made: Pair) -> None:
    """By default: the error says which key, and no five words in a row of a passage are in anything that left."""
    with serving(reads) as server:
        client = device_alone(made, server)
        with pytest.raises(Unavailable, match="keeps passages on this device") as caught:
            client.ask(question("north"), alone=True, **ASKED).result()
        assert caught.value.remedy == "set passages = true there"
        assert not server.requests
        done = client.ask(question("north"), alone=True, **ASKED | {"documents": 0}).result()
        assert (done.text, done.sources) == (UNKNOWN, [])
        assert grams(texts(server)).isdisjoint(grams(passage("north", "zebra")))
        assert ledger(made, "device") == {"query": sent(server)}


def test_a_clouds_passages_stay_too(made: Pair) -> None:
    """Its device is told whose choice that is, and writes itself."""
    with serving(reads) as server:
        made.start_cloud(model=remote(made, "cloud"), server=at(server))
        made.start_device()
        made.script = "cloud"
        stream = made.client().ask(question("south"), mode="dispatch", **ASKED)
        assert {token.source for token in stream} == {"device"}
        assert any("keeps passages on the cloud" in notice for notice in stream.notices)
        assert not server.requests


@pytest.mark.parametrize("api", ["completions", "chat"])
def test_a_cloud_writes_from_its_passages_without_weights(made: Pair, api: str) -> None:
    """Dispatched: the device's reader sees the cloud's sources; nothing of the device's documents is at the server."""
    with serving(reads) as server:
        client = served_cloud(made, server, api)
        made.script = "cloud"
        stream = client.ask(question("south"), mode="dispatch", **ASKED)
        assert {token.source for token in stream} == {"cloud"}
        done = stream.result()
        assert (done.text, done.finish) == ("walrus", "eos")
        assert shares(done)["cloud cloud-0"] > 0.9
        counted = ledger(made, "cloud")
        assert counted.keys() == {"query", "passages"}
        assert sum(counted.values()) == sent(server)
        assert grams(texts(server)).isdisjoint(grams(passage("north", "zebra")))


@pytest.mark.parametrize(("api", "sources"), [("completions", {"device", "cloud"}), ("chat", {"device"})])
def test_the_cloud_goes_on_from_what_the_device_wrote(made: Pair, api: str, sources: set[str]) -> None:
    """With the answer so far as a prefix, of a class of its own; a chat cannot, and the device writes on."""
    with serving(reads) as server:
        moves = DispatchSettings(migration="overlap", budget=1.0)
        client = served_cloud(made, server, api, dispatch=moves, hold_s=0.2)  # it must not be done before the cloud
        made.script = "device,3:cloud"
        stream = client.ask(question("south"), mode="dispatch", **ASKED | {"max_tokens": 12, "ignore_eos": True})
        assert {token.source for token in stream} == sources
        assert len(stream.result().token_ids) == 12
        counted = ledger(made, "cloud")
        assert sum(counted.values()) == sent(server)
        assert ("targets" in counted) == (api == "completions")


@pytest.mark.parametrize("remote_side", ["device", "cloud"])
def test_where_nothing_can_be_aggregated_one_side_writes(made: Pair, remote_side: str) -> None:
    """The one that knows; the default mode says so in a line, and one that requires both is refused with what to do."""
    with serving(reads) as server:
        if remote_side == "cloud":
            client = served_cloud(made, server)
        else:
            made.start_cloud()
            policy = EgressSettings(passages=True)
            made.start_device(model=remote(made, "device"), server=at(server), egress=policy)
            client = made.client()
        gate, code = CODES[remote_side]
        stream = client.ask(question(gate), **ASKED)
        assert stream.result().text == code
        other = {"device": "cloud", "cloud": "device"}[remote_side]
        assert {token.source for token in client.ask(question(CODES[other][0]), **ASKED)} == {other}
        assert any(f"the {remote_side}'s model is a server" in notice for notice in stream.notices)
        with pytest.raises(BadRequest, match="returns no probabilities") as caught:
            client.ask(question(gate), require_cloud=True, **ASKED).result()
        assert caught.value.remedy == "ask without --require-cloud"


FAULTS = [
    pytest.param((refusal(401),), {}, Untrusted, id="the key is refused"),
    pytest.param((refusal(413),), {}, BadRequest, id="the prompt is too long"),
    pytest.param((PLAIN, piece("zeb"), reset), {}, Unavailable, id="half an answer"),
    pytest.param((CHUNKED, chunked(piece("zeb"))[:-5]), {}, Unavailable, id="half a chunk"),
    pytest.param((PLAIN, "stay"), {"first_wait_s": 0.2}, DeadlineExceeded, id="silence"),
    pytest.param((PLAIN, piece("zeb"), "stay"), {"piece_wait_s": 0.2}, DeadlineExceeded, id="silence in the middle"),
]


@pytest.mark.parametrize(("steps", "waits", "kind"), FAULTS)
def test_a_server_that_fails_ends_the_answer_with_one_line(
    made: Pair, steps: tuple[Any, ...], waits: dict[str, float], kind: type[HocketError]
) -> None:
    """Alone, where nobody else can write; what was written is not taken back."""
    with serving(lambda server: (server.until_left if step == "stay" else step for step in steps)) as server:
        policy = EgressSettings(passages=True)
        made.start_device(model=remote(made, "device"), server=at(server, **waits), egress=policy)
        stream = made.client().ask(question("north"), mode="dispatch", alone=True, **ASKED)
        written = []
        with pytest.raises(kind) as caught:
            written.extend(stream)
        assert "\n" not in str(caught.value)
        assert caught.value.remedy or isinstance(caught.value, Unavailable)
        assert "zeb".startswith("".join(token.text for token in written))


def test_a_cloud_whose_server_breaks_off_leaves_the_device_to_go_on(made: Pair) -> None:
    """Behind its last token, with a notice."""
    with serving(lambda _: (PLAIN, piece("walr"), reset)) as server:
        client = served_cloud(made, server)
        made.script = "cloud"
        stream = client.ask(question("south"), mode="dispatch", **ASKED | {"ignore_eos": True})
        sources = [token.source for token in stream]
        assert len(sources) == ASKED["max_tokens"]
        assert set(sources) == {"cloud", "device"}
        assert sources == sorted(sources)
        assert stream.result().text.startswith("walr")
        assert any("broke the connection" in notice for notice in stream.notices)


def test_a_side_needs_a_server_and_a_tokenizer(made: Pair, tmp_path: Path) -> None:
    """Each is asked for in one line, before anything is served."""
    with pytest.raises(BadConfiguration, match="there is no server"):
        made.start_device(model=remote(made, "device"))
    settings = ServerSettings(url="http://localhost:1", model="m")
    with pytest.raises(BadConfiguration, match="tokenizer is not on this machine"):
        made.start_device(model=exact(name=str(tmp_path), engine="openai"), server=settings)


@pytest.mark.long
@needs_llama_server
def test_llama_cpps_own_server_reads_the_passages(made: Pair, tmp_path: Path) -> None:
    """With SmolLM2, as its people have it; the ledger has the bytes of the passages."""
    with llama_server(tmp_path) as (_, port):
        it_reads_the_passages(made, ServerSettings(url=f"http://127.0.0.1:{port}", model="smollm2", api="chat"))


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("package", SERVERS)
def test_servers_of_others_read_the_passages(
    made: Pair, published_model: Path | None, tmp_path: Path, package: str
) -> None:
    """The same of transformers' and of vLLM's own, with the model of `--model`."""
    if published_model is None or find_spec(package) is None:
        pytest.skip(f"needs --model smollm2, and {package}")
    port = free_port()
    with started(SERVERS[package](port, published_model), tmp_path) as process:
        until(lambda: listens(process, port), every_s=0.5)
        it_reads_the_passages(
            made, ServerSettings(url=f"http://127.0.0.1:{port}", model=str(published_model), api="chat")
        )


def it_reads_the_passages(made: Pair, server: ServerSettings) -> None:
    """The answer is right, its source is shown, and the ledger has as many bytes as the passages take."""
    policy = EgressSettings(passages=True, ledger=str(made.folder / "ledger"))
    made.start_device(model=remote(made, "device"), server=server, egress=policy)
    done = made.client().ask(question("north"), alone=True, **ASKED).result()
    assert "zebra" in done.text
    assert shares(done)["device device-0"] > 0.9
    told = read()
    assert ledger(made, "device")["passages"] == len(json.dumps(told)) - 2


BOAT = (
    "The sailing boat Halcyon lies at berth 41 of the Marstal marina. "
    "The code of the harbour gate is pelican, and Inge Thorsen keeps the spare key of the Halcyon."
)
OF_BOAT = "Which code, asks the owner of the Halcyon at the Marstal marina, opens the harbour gate?"


def test_a_cloud_reads_what_other_devices_know(tiny_models: dict[str, Path]) -> None:
    """In the mode graph: a device's evidence is read by the server on the cloud's own machine, and is a source."""
    with (
        serving(reads) as server,
        tempfile.TemporaryDirectory(prefix="hk") as name,
        family(Path(name), tiny_models) as made,
    ):
        cloud = {
            "model": exact(name=str(tiny_models["cloud"]), engine="openai"),
            "server": at(server),
            "egress": ServerEgressSettings(passages=True),
        }
        made.start_cloud(["anna", "ben"], {"family": ["anna", "ben"]}, cloud, gather_s=30.0)
        made.start_device("anna", "The boiler in the cellar of Elm House was serviced in March.")
        made.start_device("ben", BOAT)
        made.wait_shared("ben")
        done, notices = ask(made, "anna", OF_BOAT)
        assert done.text == "pelican"
        assert done.routing is not None
        assert (done.routing.way, done.routing.matched) == ("devices", ["ben"])
        assert done.sources[0].device == "ben"
        assert any("the cloud's model is a server" in notice for notice in notices)


def ask(made: Family, name: str, text: str) -> tuple[Done, list[str]]:
    stream = made.devices[name].client().ask(text, mode="graph", **ASKED)
    return stream.result(), list(stream.notices)

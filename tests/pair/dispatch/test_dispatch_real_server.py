"""A device whose answers are dispatched to transformers' own server: streamed, moved both ways, and killed."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness import Pair, pair
from real_server import MODEL, listens, needs_serving, serve, started

from exact import exact
from hocket_client import Client
from hocket_daemon.dispatch.settings import DispatchSettings
from hocket_daemon.engine.settings import ServerSettings
from ports import free_port
from waiting import WAIT_S, until

pytestmark = [pytest.mark.long, needs_serving]
PROMPT, TOKENS = "The bridge of Oakhaven", 40
OPTIONS = {"mode": "dispatch", "task": "complete", "temperature": 0.0, "documents": 0, "seed": 1, "deadline_s": WAIT_S}


@pytest.fixture
def process(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    port = free_port()
    with started(serve(port), tmp_path) as running:
        until(lambda: listens(running, port))
        yield running, port


@pytest.fixture
def served(process: tuple[subprocess.Popen[str], int], tiny_models: dict[str, Path]) -> Iterator[Pair]:
    with tempfile.TemporaryDirectory(prefix="hk") as folder, pair(Path(folder), tiny_models, start=False) as made:
        made.start_retrieval("device")
        made.start_device(
            model=exact(name=str(MODEL)),
            server=ServerSettings(url=f"http://127.0.0.1:{process[1]}", model=str(MODEL)),
            dispatch=DispatchSettings(migration="overlap", price_input=1.0, price_output=1.0),
        )
        yield made


def ask(served: Pair, client: Client, script: str, tokens: int = TOKENS) -> tuple[list[str], str, str]:
    """Whose each token is, the text of the first side, and all of it."""
    served.script = script
    stream = client.ask(PROMPT, max_tokens=tokens, ignore_eos=True, **OPTIONS)
    read = list(stream)
    assert [token.step for token in read] == list(range(len(read)))
    done = stream.result()
    assert done.token_ids == [token.id for token in read]
    assert done.text == "".join(token.text for token in read)
    sources = [token.source for token in read]
    first = "".join(token.text for token in read if token.source == sources[0])
    return sources, first, done.text


def test_streams_and_moves(served: Pair) -> None:
    """One law after the other with one server, which takes most of the time to start."""
    client = served.client()
    sources, whole, _ = ask(served, client, "cloud")
    assert set(sources) == {"cloud"}
    assert len(sources) >= TOKENS - 1

    sources, first, _ = ask(served, client, "cloud,8:device")
    assert sources[:8] == ["cloud"] * 8
    assert sources[-1] == "device"
    assert whole.startswith(first)

    sources, first, text = ask(served, client, "device,8:cloud")
    assert sources[:8] == ["device"] * 8
    assert sources[-1] == "cloud"
    alone, _, own = ask(served, client, "device")
    assert set(alone) == {"device"}
    assert own.startswith(first)
    assert text.startswith(first)


@pytest.mark.parametrize(
    ("script", "read"),
    [
        pytest.param("cloud", 0, id="in the race"),
        pytest.param("cloud", 10, id="while it writes"),
        pytest.param("cloud,10:device", 10, id="while the device reads to take over"),
        pytest.param("device,5:cloud", 20, id="after the hand-over"),
    ],
)
def test_its_death_costs_no_token(
    served: Pair, process: tuple[subprocess.Popen[str], int], script: str, read: int
) -> None:
    """The device goes on at the exact prefix, and later questions are its own."""
    client, (running, _) = served.client(), process
    served.script = script
    stream = client.ask(PROMPT, max_tokens=400, ignore_eos=True, **OPTIONS)
    tokens = iter(stream)
    seen = [next(tokens) for _ in range(read)]
    running.kill()
    seen += list(tokens)
    assert [token.step for token in seen] == list(range(400))
    assert stream.result().token_ids == [token.id for token in seen]
    assert seen[-1].source == "device"
    sources, _, _ = ask(served, client, "cloud", tokens=5)
    assert set(sources) == {"device"}, "nobody listens there any more"

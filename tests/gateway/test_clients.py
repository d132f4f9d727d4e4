"""Clients that people have, unmodified, before a pair of real processes: each gets what the `openai` package gets.

`make clients` installs them into an environment of their own, since they need other versions of some packages.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest
from test_started import set_port, url

from hocket_gateway.access import people
from hocket_tools.main import run
from hocket_tools.pair import front, processes
from hocket_tools.pair.home import GATEWAY
from homes import running as running_pair
from ports import free_port
from waiting import WAIT_S

openai = pytest.importorskip("openai", reason="openai is not installed: hocket[dev]")

BIN = Path(__file__).parents[2] / ".venv-clients" / "bin"
PROGRAMS = Path(__file__).with_name("clients")
pytestmark = [
    pytest.mark.long,
    pytest.mark.programs,
    pytest.mark.skipif(not (BIN / "llm").exists(), reason="the clients are not installed: make clients"),
]
QUESTION = "Where does the heron stand?"
STARTS_S = 120.0  # a client imports much
OFFLINE = {  # what they would fetch, or report, of themselves
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_TELEMETRY": "False",
    "LANGSMITH_TRACING": "false",
    "DO_NOT_TRACK": "1",
}


@dataclass(frozen=True)
class Asked:
    """What each client is to ask, and where."""

    url: str
    key: str
    messages: tuple[dict[str, str], ...] = ({"role": "user", "content": QUESTION},)
    options: tuple[tuple[str, float], ...] = (("seed", 7), ("temperature", 0.8), ("max_tokens", 12))
    texts: tuple[str, ...] = ("A heron stands in the marsh.", "kala mira")

    def as_json(self) -> str:
        return json.dumps(asdict(self) | {"options": dict(self.options)})


@pytest.fixture(scope="module")
def asked(tiny_models: dict[str, Path]) -> Iterator[Asked]:
    """Of a gateway that asks for a key."""
    with running_pair(tiny_models) as home:
        try:
            front.configure(home)
            set_port(home, free_port(1))
            key = people.invite(home.at / "serve-keys.json", "anna")
            assert run(["up", "--home", str(home.at)]) == 0
            yield Asked(f"{url(home)}/v1", key)
        finally:
            processes.stop(home, [GATEWAY])


@pytest.fixture(scope="module")
def wanted(asked: Asked) -> dict[str, Any]:
    """By the `openai` package: text and tokens of an answer, whole and streamed, and vectors."""
    chat = {"model": "hocket", "messages": asked.messages, **dict(asked.options)}
    with openai.OpenAI(base_url=asked.url, api_key=asked.key, timeout=WAIT_S, max_retries=0) as client:
        whole = client.chat.completions.create(**chat)
        *fragments, last = client.chat.completions.create(**chat, stream=True, stream_options={"include_usage": True})
        vectors = client.embeddings.create(model="hocket-embeddings", input=asked.texts).data
    text = "".join(piece.choices[0].delta.content or "" for piece in fragments)
    return {
        "whole": [whole.choices[0].message.content, whole.usage.prompt_tokens, whole.usage.completion_tokens],
        "stream": [text, last.usage.prompt_tokens, last.usage.completion_tokens],
        "vectors": [each.embedding for each in vectors],
    }


def output(home: Path, program: str, *arguments: str, given: str = "") -> str:
    """What a program of the clients' environment writes; it reaches no other machine, and keeps its files in `home`."""
    own = {"HOME": str(home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "LLM_USER_PATH": str(home)}
    ended = subprocess.run(
        [str(BIN / program), *arguments],
        input=given,
        env=own | OFFLINE | {"PYTHONPATH": str(PROGRAMS)},
        cwd=home,
        capture_output=True,
        text=True,
        timeout=STARTS_S,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr[-4_000:]
    return ended.stdout


def test_the_answer_is_one_that_can_be_told_from_another(wanted: dict[str, Any]) -> None:
    """Else the other tests would show nothing."""
    text, read, written = wanted["whole"]
    assert text
    assert (read > written, written) == (True, 12)
    first, second = wanted["vectors"]
    assert first != second


@pytest.mark.parametrize("client", ["litellm", "langchain"])
def test_a_library_gets_the_same(client: str, asked: Asked, wanted: dict[str, Any], tmp_path: Path) -> None:
    """Whole, streamed, with the number of tokens, and vectors."""
    got = json.loads(output(tmp_path, "python", str(PROGRAMS / f"by_{client}.py"), given=asked.as_json()))
    assert [got["whole"], got["stream"]] == [wanted["whole"], wanted["stream"]]
    assert got["vectors"] == [pytest.approx(vector, abs=1e-6) for vector in wanted["vectors"]]


def test_an_agent_calls_its_tools_and_gets_a_structure(asked: Asked, tmp_path: Path) -> None:
    """Require any call, then a call of one tool by name, then a text."""
    got = json.loads(output(tmp_path, "python", str(PROGRAMS / "agent_of_langchain.py"), given=asked.as_json()))
    assert set(got["found"]) == {"bird", "stands"}
    (first, _), (second, result) = got["made"]
    assert first in ("weather", "clock")
    assert (second, result[:8]) == ("weather", "rain in ")
    assert got["last"]


@pytest.mark.parametrize("way", ["whole", "stream"])
def test_the_command_llm_gets_the_same(way: str, asked: Asked, wanted: dict[str, Any], tmp_path: Path) -> None:
    """By a model that its own file names; it logs the number of tokens."""
    model = {"model_id": "pair", "model_name": "hocket", "api_base": asked.url, "api_key_name": "hocket"}
    (tmp_path / "extra-openai-models.yaml").write_text(json.dumps([model]), encoding="utf-8")
    options = [word for name, value in asked.options for word in ("-o", name, str(value))]
    unstreamed = ["--no-stream"] if way == "whole" else []
    text = output(tmp_path, "llm", "-m", "pair", "--key", asked.key, *options, *unstreamed, QUESTION)
    (logged,) = json.loads(output(tmp_path, "llm", "logs", "list", "--json"))
    assert text == f"{logged['response']}\n"
    assert [logged["response"], logged["input_tokens"], logged["output_tokens"]] == wanted[way]


def test_a_program_that_reaches_for_another_machine_ends(tmp_path: Path) -> None:
    """What the tests above say of the network can fail."""
    for call in ("socket.create_connection(('192.0.2.1', 80), 1)", "socket.getaddrinfo('example.org', 80)"):
        with pytest.raises(AssertionError, match="wanted to reach"):
            output(tmp_path, "python", "-c", f"import socket; {call}")

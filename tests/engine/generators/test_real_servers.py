"""Servers that others wrote, as they are: transformers serve with a bundled model, llama.cpp's server with SmolLM2."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from asking import Heard
from mainthread import MainThread
from real_server import MODEL, listens, llama_server, needs_llama_server, needs_serving, serve, started

from hocket_bus.errors import BadConfiguration, BadRequest, Unavailable
from hocket_bus.messages import Sampling, Task
from hocket_daemon.engine.generators.generator import TextRequest
from hocket_daemon.engine.generators.openai import OpenAIGenerator, open_server
from hocket_daemon.engine.settings import ServerSettings
from hocket_daemon.privacy.egress import EgressSettings, Ledger
from ports import free_port
from waiting import WAIT_S, until

PROMPT = "The bridge of Oakhaven"


class Asker:
    """A generator for a server on this machine, and this thread as the main one."""

    def __init__(self, port: int, **settings: str) -> None:
        self.main, self.ledger = MainThread(), Ledger(None)
        usual = {"url": f"http://127.0.0.1:{port}", "model": str(MODEL)}
        told = ServerSettings(**(usual | settings))  # type: ignore[arg-type]
        made = open_server(told, self.main.post, EgressSettings(), self.ledger)
        assert made is not None
        self.generator: OpenAIGenerator = made

    def begin(self, tokens: int, prefix: str = "", task: Task = "complete", prompt: str = PROMPT) -> Heard:
        heard = Heard()
        sampling = Sampling(temperature=0.0, top_p=1.0, max_tokens=tokens)
        request = TextRequest(prompt, sampling, task, prefix=prefix)
        heard.begun = self.generator.generate(request, heard.fragments.append, heard.ends.append)
        return heard

    def hear(self, tokens: int, prefix: str = "", task: Task = "complete", prompt: str = PROMPT) -> Heard:
        heard = self.begin(tokens, prefix, task, prompt)
        self.main.until(lambda: bool(heard.ends))
        return heard


@pytest.mark.slow
@needs_serving
def test_transformers_serve_streams_stops_and_dies(tmp_path: Path) -> None:
    """One law after the other with one server, which takes most of the time to start."""
    port = free_port()
    with started(serve(port), tmp_path) as process:
        until(lambda: listens(process, port))
        asker = Asker(port)
        whole = its_text_is_streamed(asker, port)
        it_goes_on_from_a_prefix(asker, whole)
        it_is_free_once_it_is_left(asker, whole)
        it_refuses_with_a_remedy(port)
        its_death_is_one_error(asker, process, whole)


def its_text_is_streamed(asker: Asker, port: int) -> str:
    """In pieces, with its count; the same again."""
    heard = asker.hear(24)
    assert heard.ends == ["length"]
    assert len(heard.fragments) > 10
    assert heard.begun is not None
    assert heard.begun.usage is not None
    assert heard.begun.usage.completion_tokens == 24
    assert asker.hear(24).text == heard.text
    assert asker.ledger.sums["query"] > 2 * len(PROMPT)
    answer = Asker(port).hear(8, task="answer", prompt="Where is the bridge?")
    assert answer.text == answer.text.lstrip() != ""
    return heard.text


def it_goes_on_from_a_prefix(asker: Asker, whole: str) -> None:
    """Behind the first words of its own greedy text it writes the rest."""
    for words in (1, 3):
        prefix = "".join(f" {word}" for word in whole.split()[:words])
        assert whole.startswith(prefix)
        assert whole.startswith(prefix + asker.hear(4, prefix).text)


def it_is_free_once_it_is_left(asker: Asker, whole: str) -> None:
    """It has one text at a time, and serves the next one whole."""
    for _ in range(3):
        heard = asker.begin(900)
        asker.main.until(lambda: bool(heard.fragments))  # noqa: B023 - it is over before the next round
        assert heard.begun is not None
        heard.begun.cancel()
        assert heard.ends == ["cancelled"]
    assert asker.hear(24).text == whole


def it_refuses_with_a_remedy(port: int) -> None:
    """Another model, another path, a chat without a template."""
    assert isinstance(Asker(port, model="another").hear(4).error, BadRequest)
    wrong = Asker(port, url=f"http://127.0.0.1:{port}/nowhere")
    assert isinstance(wrong.hear(4).error, BadConfiguration)
    chat = Asker(port, api="chat").hear(4)
    assert isinstance(chat.error, Unavailable)
    assert not chat.fragments


def its_death_is_one_error(asker: Asker, process: subprocess.Popen[str], whole: str) -> None:
    """What came before is the beginning of the text; afterwards nobody is there."""
    heard = asker.begin(900)
    asker.main.until(lambda: len(heard.fragments) > 3)
    process.kill()
    asker.main.until(lambda: bool(heard.ends))
    assert isinstance(heard.error, Unavailable)
    assert whole.startswith(heard.text[: len(whole)])
    process.wait(WAIT_S)  # its system closes one socket after the other
    assert "listens" in asker.hear(4).error.text


@pytest.mark.long
@needs_llama_server
def test_the_server_of_llama_cpp_completes_and_chats(tmp_path: Path) -> None:
    """SmolLM2 has a template, so it can be asked by both ways; the laws are those of the other server."""
    with llama_server(tmp_path) as (process, port):
        asker, chat = Asker(port, model="smollm2"), Asker(port, model="smollm2", api="chat")
        said = chat.hear(24, task="answer", prompt="What is the largest planet?")
        assert "planet" in said.text
        assert said.begun is not None
        assert said.begun.usage is not None
        assert said.begun.usage.prompt_tokens > 5
        whole = asker.hear(24, prompt="The capital of France is").text
        assert whole.startswith(" Paris")
        assert whole.startswith(" Paris" + asker.hear(4, " Paris", prompt="The capital of France is").text)
        it_is_free_once_it_is_left(asker, asker.hear(24).text)
        its_death_is_one_error(asker, process, asker.hear(24).text)

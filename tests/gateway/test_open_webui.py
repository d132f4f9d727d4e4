"""Open WebUI itself, unmodified, in a browser: a question to a real pair, its sources, a follow-up, and a stop."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import browser as browsers
import httpx2
import pytest
from browser import ENTER, Browser
from test_started import set_port

from hocket_client import Client
from hocket_lab.rehearsal.daemon import PROGRAM as PROGRAM_HELD
from hocket_lab.rehearsal.daemon import Rehearsal
from hocket_tools.main import run
from hocket_tools.pair import front, processes
from hocket_tools.pair.home import GATEWAY, NAMES, Home
from hocket_tools.pair.up import bring_up
from ports import free_port
from processes import guarded
from waiting import WAIT_S, until

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / ".venv-open-webui" / "bin" / "open-webui"
SAMPLES = ROOT / "tools" / "hocket_tools" / "demo"
pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(1_800),
    pytest.mark.skipif(not PROGRAM.exists(), reason="Open WebUI is not installed: make open-webui"),
    pytest.mark.skipif(not browsers.IS_THERE, reason=browsers.WHY),
]
STEP_S = 0.3  # so that an answer can be stopped
QUESTION = "What is the town like where Linnea Varga lives?"
ANSWERS = "document.querySelectorAll('.chat-assistant')"
IDLE = "!document.querySelector('button[aria-label=Stop]')"
SOURCES = "[aria-label^=Toggle][aria-label$=sources]"
IN_FRONT = """(field => {
    const { x, y, width, height } = field.getBoundingClientRect();
    return document.elementFromPoint(x + width / 2, y + height / 2) === field;
})(document.querySelector('#password'))"""
OFFLINE = {  # nothing is fetched, and nothing is asked that the test did not ask
    "HF_HUB_OFFLINE": "1",
    "OFFLINE_MODE": "True",
    "RAG_EMBEDDING_ENGINE": "openai",
    "AUDIO_STT_ENGINE": "openai",
    "ENABLE_OLLAMA_API": "False",
    "ENABLE_VERSION_UPDATE_CHECK": "False",
    "ENABLE_TITLE_GENERATION": "False",
    "ENABLE_TAGS_GENERATION": "False",
    "ENABLE_FOLLOW_UP_GENERATION": "False",
    "ANONYMIZED_TELEMETRY": "False",
    "DO_NOT_TRACK": "true",
    "WEBUI_SECRET_KEY": "test",
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """A pair with the samples of `hocket demo` and its gateway; a decode step of the device takes STEP_S at least."""
    made = Home(tmp_path_factory.mktemp("hk") / "pair")
    made.prepare()
    front.configure(made)
    set_port(made, free_port(1))
    try:
        Rehearsal(decode_s=STEP_S).save(made.config("device"))
        bring_up(made, WAIT_S, lambda _: None, start=start)
        front.bring_up_gateway(made, WAIT_S)
        for side in ("device", "cloud"):
            assert run(["ingest", "--home", str(made.at), "--side", side, str(SAMPLES / side)]) == 0
        yield made
    finally:
        processes.stop(made, [*NAMES, GATEWAY])


@pytest.fixture(scope="module")
def chat(home: Home, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Open WebUI's page, at a new chat, without accounts."""
    with opened(home, tmp_path_factory.mktemp("open-webui"), WEBUI_AUTH="False") as window:
        welcomed(window)
        yield window


@contextmanager
def opened(home: Home, data: Path, **more: str) -> Iterator[Browser]:
    """Its first page."""
    port = free_port(1)
    address = front.address(front.serve_settings(home.at))
    own = {"DATA_DIR": str(data), "OPENAI_API_BASE_URL": f"http://{address}/v1", "OPENAI_API_KEY": "none"} | more
    command = [str(PROGRAM), "serve", "--host", "127.0.0.1", "--port", str(port)]
    with (
        (data / "log").open("wb") as log,
        guarded(subprocess.Popen(command, env=os.environ | OFFLINE | own, stdout=log, stderr=log)) as running,
    ):
        url = f"http://127.0.0.1:{port}"
        until(lambda: is_up(url) or running.poll() is not None, every_s=0.5)
        with browsers.browser() as window:
            window.resize(1280, 900)
            window.open(url)
            yield window
        running.terminate()


def welcomed(window: Browser) -> None:
    """What is new is put aside."""
    window.until("document.querySelector('#chat-input')")
    click(window, "Okay")


def click(window: Browser, text: str) -> None:
    found = f"[...document.querySelectorAll('button')].find(e => e.innerText.includes('{text}'))"
    window.until(found)
    window.run(f"{found}.click()")


def start(home: Home, name: str) -> int:
    return processes.start(home, name, PROGRAM_HELD if name == "device" else processes.PROGRAM)


def is_up(url: str) -> bool:
    with suppress(httpx2.TransportError):
        return httpx2.get(f"{url}/health", timeout=WAIT_S).status_code == 200
    return False


def ask(chat: Browser, question: str) -> str:
    number = chat.run(f"return {ANSWERS}.length")
    chat.type("#chat-input", question + ENTER)
    chat.until(f"{ANSWERS}.length > {number} && {IDLE} && {ANSWERS}[{number}].innerText.includes('Source')")
    return chat.texts(".chat-assistant")[-1]


def in_work(home: Home) -> int:
    with Client(home.endpoint("device")) as client:
        return int(client.status(WAIT_S).facts["requests in work"])


def test_a_question_its_sources_a_follow_up_and_a_stop(
    home: Home, chat: Browser, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """As a person has it; pictures stay in pytest's folder."""
    pictures = tmp_path_factory.mktemp("pictures")
    assert "Oakhaven" in ask(chat, QUESTION)
    assert any("saturday" in mark.lower() for mark in chat.texts(".chat-assistant p button"))  # what [1] has become
    chat.click(SOURCES)
    chat.until("document.querySelectorAll('[id^=source-]').length >= 2")
    shown = chat.texts(".chat-assistant")[-1]
    assert "saturday.md" in shown
    assert "oakhaven-town.md" in shown
    (pictures / "sources.png").write_bytes(chat.screenshot())
    assert ask(chat, "And how high is the lighthouse there?")
    (pictures / "follow-up.png").write_bytes(chat.screenshot())
    chat.type("#chat-input", QUESTION + ENTER)
    chat.until(f"!({IDLE}) && {ANSWERS}.length === 3")
    until(lambda: in_work(home) == 1)
    chat.click("button[aria-label=Stop]")
    chat.until(IDLE)
    until(lambda: in_work(home) == 0)
    assert '"finish": "left"' in home.log(GATEWAY).read_text(encoding="utf-8").splitlines()[-1]
    (pictures / "stopped.png").write_bytes(chat.screenshot())


def test_the_first_account_is_made_on_its_own_page(home: Home, tmp_path: Path) -> None:
    """It may ask at once."""
    with opened(home, tmp_path) as window:
        click(window, "Get started")
        window.until("document.querySelector('#password')")
        window.until(IN_FRONT)
        for field, value in (("name", "Anna"), ("email", "anna@example.org"), ("password", "correct horse" + ENTER)):
            window.type(f"#{field}", value)
        welcomed(window)
        assert "Oakhaven" in ask(window, QUESTION)

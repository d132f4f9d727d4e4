"""The gateway as `hocket up` starts it, beside the daemons of a pair."""

from __future__ import annotations

import json
import re
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from hocket_gateway.access import people
from hocket_tools.main import run
from hocket_tools.pair import front, processes
from hocket_tools.pair.home import GATEWAY, NAMES, Home
from homes import running as running_pair
from ports import free_port
from waiting import WAIT_S, until

pytestmark = [pytest.mark.programs, pytest.mark.slow]


@pytest.fixture(scope="module")
def home(tiny_models: dict[str, Path]) -> Iterator[Home]:
    """With a gateway at a port of its own."""
    with running_pair(tiny_models) as made:
        try:
            assert run(["up", "--serve", "--port", str(free_port(1)), "--home", str(made.at)]) == 0
            yield made
        finally:
            processes.stop(made, [GATEWAY])


def set_port(home: Home, port: int) -> None:
    text = home.config(GATEWAY).read_text(encoding="utf-8")
    home.config(GATEWAY).write_text(re.sub(r"(?m)^#?port = .*$", f"port = {port}", text), encoding="utf-8")


def url(home: Home) -> str:
    return f"http://{front.address(front.serve_settings(home.at))}"


def post(home: Home, question: str, **fields: str) -> dict[str, Any]:
    messages = [{"role": "user", "content": question}]
    asked = {"model": "hocket", "messages": messages, "max_tokens": 8} | fields
    return dict(httpx2.post(f"{url(home)}/v1/chat/completions", json=asked, timeout=WAIT_S).json())


def test_a_port_is_set_once(home: Home, capfd: pytest.CaptureFixture[str]) -> None:
    """Another one is written into the file, which says which there is; without a gateway there is none."""
    where = ["--home", str(home.at)]
    assert run(["up", "--serve", "--port", "1", *where]) == 2
    assert "serve.toml has port" in capfd.readouterr().err
    assert run(["up", "--port", "1", *where]) == 2
    assert "--serve" in capfd.readouterr().err


def test_it_answers_with_the_words_of_its_sources(home: Home) -> None:
    """From a real retrieval daemon, whose document is shown where the source says."""
    got = post(home, "Where does the heron stand?")
    results = {result["side"]: result for result in got["search_results"]}
    assert "heron stands in the marsh" in results["device"]["snippet"]
    assert results["cloud"]["snippet"] == ""
    shown = httpx2.get(results["device"]["url"], timeout=WAIT_S)
    assert "heron stands in the marsh" in shown.text
    shown = results["device"]["document"].strip("/")
    up = "../" * shown.count("/")
    hidden = f"{home.at}/device.toml".strip("/")
    for prefix in ("/", "%2f", f"{shown}/../{up}", f"{shown}%00/../{up}", f"{up}{up}".replace("/", "%2f")):
        refused = httpx2.get(f"{url(home)}/documents/{prefix}{hidden}", timeout=WAIT_S)
        assert (refused.status_code, refused.json()["error"]["code"]) == (404, "no_document")


def test_what_nothing_is_about_has_a_finish_of_its_own(home: Home) -> None:
    """Which the API's word for it hides; the answer is a sentence that says so, and has no source."""
    got = post(home, "kala mira?")
    assert (got["choices"][0]["finish_reason"], got["hocket"]["finish"]) == ("stop", "unknown")
    assert got["choices"][0]["message"]["content"]
    assert got["search_results"] == got["hocket"]["unsupported"] == []


def test_what_nothing_is_about_is_answered_where_that_is_wanted(home: Home) -> None:
    """Marked, or without a word; what else is wanted is refused."""
    for unknown, marked in (("mark", True), ("answer", False)):
        got = post(home, "kala mira?", unknown=unknown)
        assert got["hocket"]["finish"] != "unknown"
        assert any("not in your documents" in notice for notice in got["hocket"]["notices"]) is marked
    assert "unknown" in post(home, "kala mira?", unknown="shout")["error"]["message"]


def test_status_shows_it_and_up_leaves_it_running(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    pid = processes.running(home, GATEWAY)
    assert run(["up", "--home", str(home.at)]) == 0
    assert f"{url(home)}/v1" in capsys.readouterr().out
    assert processes.running(home, GATEWAY) == pid is not None
    assert run(["status", "--home", str(home.at), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)["daemons"][-1]
    assert (shown["name"], shown["pid"], shown["answering"]) == (GATEWAY, pid, True)
    assert shown["facts"]["keys"] == "not required"


def test_a_key_by_the_command_is_asked_for_by_the_gateway_that_runs(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["serve", "keys", "new", "anna", "--home", str(home.at)]) == 0
    bearer = {"authorization": f"Bearer {capsys.readouterr().out.strip()}"}
    try:
        assert httpx2.get(f"{url(home)}/v1/models", timeout=WAIT_S).status_code == 401
        assert httpx2.get(f"{url(home)}/v1/models", headers=bearer, timeout=WAIT_S).status_code == 200
    finally:
        (home.at / "serve-keys.json").unlink()
    assert people.listed(home.at / "serve-keys.json") == []


def test_one_that_cannot_listen_says_why_and_the_pair_goes_on(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    processes.stop(home, [GATEWAY])
    text = home.config(GATEWAY).read_text(encoding="utf-8")
    try:
        with socket.create_server(("127.0.0.1", 0)) as other:
            set_port(home, other.getsockname()[1])
            assert run(["up", "--home", str(home.at)]) == 78
            assert "cannot listen at" in capsys.readouterr().err
            assert run(["status", "--home", str(home.at)]) == 69
        assert all(processes.running(home, name) for name in NAMES)
    finally:
        home.config(GATEWAY).write_text(text, encoding="utf-8")
        assert run(["up", "--home", str(home.at)]) == 0


def test_it_ends_with_status_0(home: Home) -> None:
    """On SIGTERM, and is started again by `up`."""
    pid = processes.running(home, GATEWAY)
    assert pid is not None
    processes.send(pid, signal.SIGTERM)
    status: list[int | None] = [None]

    def has_ended() -> bool:
        status[0] = processes.exit_status(pid)
        return status[0] is not None

    until(has_ended)
    assert status == [0]
    assert run(["up", "--home", str(home.at)]) == 0


def test_down_ends_it_with_the_pair(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["down", "--home", str(home.at), "--wait", "1"]) == 0
    assert GATEWAY in capsys.readouterr().out
    assert processes.running(home, GATEWAY) is None

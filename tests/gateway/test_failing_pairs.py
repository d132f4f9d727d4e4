"""What a client gets while the pair is away, full, slow, or ends in the middle of an answer."""

from __future__ import annotations

import json
from pathlib import Path

import httpx2
import pytest
from harness import pair
from serving import SHORT, USER, gateway, served

from hocket_gateway import server
from hocket_gateway.http import sending
from hocket_gateway.settings import ServeSettings
from waiting import WAIT_S

CHAT = "/v1/chat/completions"
ALONE = {"model": "hocket-alone", "messages": USER, **SHORT}


def test_a_pair_that_does_not_run_is_a_503_until_it_does(tiny_models: dict[str, Path], tmp_path: Path) -> None:
    """With what to type; the models are listed all the same, and no restart of the gateway is needed."""
    with pair(tmp_path, tiny_models, start=False) as made:
        settings = ServeSettings(port=0, device=made.endpoint("device"))
        with gateway(settings) as port:
            url = f"http://127.0.0.1:{port}"
            for stream in (True, False):
                refused = httpx2.post(url + CHAT, json={**ALONE, "stream": stream}, timeout=WAIT_S)
                assert (refused.status_code, refused.json()["error"]["type"]) == (503, "server_error")
                assert "hocket up" in refused.json()["error"]["message"]
            assert httpx2.get(f"{url}/v1/models", timeout=WAIT_S).json()["data"][0]["hocket"] == {}
            made.start_retrieval("device")
            made.start_device()
            assert httpx2.post(url + CHAT, json=ALONE, timeout=WAIT_S).status_code == 200


@pytest.mark.parametrize("path", [CHAT, "/api/chat"])
def test_an_answer_that_fails_ends_with_the_error(tiny_models: dict[str, Path], path: str) -> None:
    """As the last line of its stream, in the API's shape."""
    with served(tiny_models, hold_s=0.05) as front:
        body = {**ALONE, "max_tokens": 200, "stream": True, "options": {"num_predict": 200}}
        with httpx2.stream("POST", front.url + path, json=body, timeout=WAIT_S) as stream:
            lines = stream.iter_lines()
            next(line for line in lines if "content" in line)
            assert front.pair.device is not None
            front.pair.device.stop()
            front.pair.device.stop()  # ends what is in work, too
            rest = [line.removeprefix("data: ") for line in lines if line and not line.startswith(":")]
        error = json.loads(rest[-1])["error"]
        assert (error["type"] == "server_error") if path == CHAT else isinstance(error, str)


def test_a_full_daemon_is_a_429_that_says_when(tiny_models: dict[str, Path]) -> None:
    with served(tiny_models, hold_s=0.05, max_sessions=1) as front:
        body = {**ALONE, "max_tokens": 200, "stream": True}
        with httpx2.stream("POST", front.url + CHAT, json=body, timeout=WAIT_S) as stream:
            lines = stream.iter_lines()  # it ends the answer when it is let go
            next(line for line in lines if "source" in line)
            for streamed in (True, False):
                refused = httpx2.post(front.url + CHAT, json={**ALONE, "stream": streamed}, timeout=WAIT_S)
                assert (refused.status_code, refused.json()["error"]["code"]) == (429, "busy")
                assert int(refused.headers["retry-after"]) >= 1


def test_a_slow_answer_is_kept_alive(tiny_models: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """By comments, which no client of events shows; lines of JSON have none."""
    monkeypatch.setattr(sending, "KEEP_ALIVE_S", 0.02)
    monkeypatch.setattr(server, "HEAD_S", 0.02)  # a request in work is no connection that asks nothing
    with served(tiny_models, hold_s=0.3) as front:
        body = {**ALONE, "max_tokens": 3, "stream": True, "options": {"num_predict": 3}}
        with httpx2.stream("POST", front.url + CHAT, json=body, timeout=WAIT_S) as stream:
            lines = list(stream.iter_lines())
        assert [line for line in lines if line.startswith(":")]
        assert all(line.startswith(("data: ", ":")) for line in lines if line)
        assert lines[-2:] == ["data: [DONE]", ""] or lines[-1] == "data: [DONE]"
        plain = httpx2.post(f"{front.url}/api/chat", json=body, timeout=WAIT_S).text
        assert all(json.loads(line) for line in plain.splitlines())

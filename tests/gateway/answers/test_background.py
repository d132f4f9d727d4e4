"""Responses in the background: cut-off readers read on, nothing is lost, and what is given up ends."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from serving import Served, served

from hocket_gateway.access import people
from hocket_gateway.answers import background
from waiting import WAIT_S, until

openai = pytest.importorskip("openai", reason="openai is not installed: hocket[dev]")

ASKED = {"model": "hocket-alone", "input": "kala mira?", "background": True}


@pytest.fixture(scope="module")
def slow(tiny_models: dict[str, Path]) -> Iterator[Served]:
    with served(tiny_models, hold_s=0.05) as there:
        yield there


@pytest.fixture(scope="module")
def client(slow: Served) -> Iterator[Any]:
    with openai.OpenAI(base_url=f"{slow.url}/v1", api_key="none", timeout=WAIT_S, max_retries=0) as there:
        yield there


@pytest.mark.parametrize("cut_at", [0, 5, 9])
def test_a_reader_that_was_cut_off_reads_on(slow: Served, client: Any, cut_at: int) -> None:
    """Every event once, in order, by the number of the last one; the question goes on meanwhile."""
    stream = client.responses.create(**ASKED, max_output_tokens=12, stream=True)
    first = [next(stream) for _ in range(cut_at + 1)]
    stream.close()
    id = first[0].response.id
    rest = list(client.responses.retrieve(id, stream=True, starting_after=first[-1].sequence_number))
    events = [*first, *rest]
    assert [event.sequence_number for event in events] == list(range(len(events)))
    text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    plain = slow.pair.client().ask("kala mira?", alone=True, max_tokens=12).result()
    assert text == plain.text == events[-1].response.output_text
    again = httpx2.get(
        f"{slow.url}/v1/responses/{id}?stream=true", headers={"last-event-id": str(len(events) - 2)}, timeout=WAIT_S
    )
    last, end = again.text.strip().split("\n\n")
    assert (f'"sequence_number":{len(events) - 1},' in last, end) == (True, "data: [DONE]")


def test_one_that_nobody_reads_goes_on_and_is_stored(slow: Served, client: Any) -> None:
    begun = client.responses.create(**ASKED, max_output_tokens=8)
    assert (begun.status, begun.background, begun.output) == ("in_progress", True, [])
    until(lambda: client.responses.retrieve(begun.id).status != "in_progress")
    ended = client.responses.retrieve(begun.id)
    assert ended.output_text
    after = client.responses.create(
        model="hocket-alone", input="limba?", previous_response_id=ended.id, max_output_tokens=4
    )
    assert after.output_text


def test_one_that_is_cancelled_or_deleted_ends(slow: Served, client: Any) -> None:
    """Its question too, and who follows it."""
    for end in ("cancel", "delete"):
        begun = client.responses.create(**ASKED, max_output_tokens=200)
        stream = client.responses.retrieve(begun.id, stream=True)
        until(lambda: slow.in_work() == 1)
        if end == "cancel":
            assert client.responses.cancel(begun.id).status == "cancelled"
            assert client.responses.cancel(begun.id).status == "cancelled"
        else:
            client.responses.delete(begun.id)
            assert httpx2.get(f"{slow.url}/v1/responses/{begun.id}", timeout=WAIT_S).status_code == 404
        assert len(list(stream)) < 100
        until(lambda: slow.in_work() == 0)
        refused = httpx2.post(
            f"{slow.url}/v1/responses", json={**ASKED, "previous_response_id": begun.id}, timeout=WAIT_S
        )
        assert refused.status_code == 404


def test_only_what_is_in_the_background_is_followed_or_cancelled(slow: Served, client: Any) -> None:
    plain = client.responses.create(model="hocket-alone", input="kala?", max_output_tokens=2)
    at = f"{slow.url}/v1/responses/{plain.id}"
    assert httpx2.get(f"{at}?stream=true", timeout=WAIT_S).json()["error"]["code"] == "no_events"
    assert httpx2.post(f"{at}/cancel", timeout=WAIT_S).json()["error"]["code"] == "not_in_background"
    begun = client.responses.create(**ASKED, max_output_tokens=2)
    wrong = httpx2.get(f"{slow.url}/v1/responses/{begun.id}?stream=true&starting_after=x", timeout=WAIT_S)
    assert (wrong.status_code, wrong.json()["error"]["param"]) == (400, "starting_after")


def test_one_is_nobody_elses(slow: Served) -> None:
    try:
        own, other = ({"authorization": f"Bearer {people.invite(slow.people, name)}"} for name in ("own", "other"))
        asked = {**ASKED, "max_output_tokens": 100}
        id = httpx2.post(f"{slow.url}/v1/responses", json=asked, headers=own, timeout=WAIT_S).json()["id"]
        at = f"{slow.url}/v1/responses/{id}"
        for method, path in (("GET", ""), ("GET", "?stream=true"), ("POST", "/cancel"), ("DELETE", "")):
            assert httpx2.request(method, at + path, headers=other, timeout=WAIT_S).status_code in (400, 404)
        people.revoke(slow.people, "own")
        until(lambda: slow.in_work() == 0)
    finally:
        slow.people.unlink()


def test_the_events_of_the_latest_are_held(slow: Served, client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the oldest can be read whole yet."""
    monkeypatch.setattr(background, "MAX_ENDED", 2)
    ids = []
    for _ in range(4):
        ids.append(client.responses.create(**ASKED, max_output_tokens=1).id)
        until(lambda: client.responses.retrieve(ids[-1]).status != "in_progress")
    client.responses.create(**ASKED, max_output_tokens=1)
    held = [httpx2.get(f"{slow.url}/v1/responses/{id}?stream=true", timeout=WAIT_S).status_code for id in ids]
    assert held == [400, 400, 200, 200]
    whole = httpx2.get(f"{slow.url}/v1/responses/{ids[0]}", timeout=WAIT_S).json()
    assert json.loads(json.dumps(whole))["status"] in ("completed", "incomplete")

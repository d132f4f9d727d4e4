"""`/v1/responses`, by the `openai` package and by the bytes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import httpx2
import pytest
from jsonschema import ValidationError
from response_schema import OF_A_RESPONSE, check_event
from serving import Served

from hocket_client import Turn
from hocket_gateway.access import people
from hocket_gateway.answers.response_store import MAX_STORED, ResponseStore, StoredResponse
from waiting import WAIT_S

openai = pytest.importorskip("openai", reason="openai is not installed: hocket[dev]")

SHORT = {"max_output_tokens": 8}
PLAIN = {"max_tokens": 8}
ORDER = [
    *("response.created", "response.in_progress", "response.output_item.added", "response.content_part.added"),
    *("response.output_text.delta", "response.output_text.annotation.added", "response.output_text.done"),
    *("response.content_part.done", "response.output_item.done", "response.incomplete"),
]


@pytest.fixture(scope="module")
def client(front: Served) -> Iterator[Any]:
    with openai.OpenAI(base_url=f"{front.url}/v1", api_key="none", timeout=WAIT_S, max_retries=0) as there:
        yield there


def post(front: Served, key: str = "", **body: object) -> httpx2.Response:
    headers = {"authorization": f"Bearer {key}"} if key else {}
    asked = {"model": "hocket", "input": "kala mira?", **SHORT, **body}
    return httpx2.post(f"{front.url}/v1/responses", json=asked, headers=headers, timeout=WAIT_S)


def test_the_package_gets_the_pairs_answer(front: Served, client: Any) -> None:
    """Whole and streamed, and what is stored is what was sent."""
    plain = front.pair.client().ask("kala mira?", max_tokens=8).result()
    whole = client.responses.create(model="hocket", input="kala mira?", **SHORT)
    assert (whole.output_text, whole.status) == (plain.text, "incomplete")
    assert whole.incomplete_details.reason == "max_output_tokens"
    assert whole.usage.output_tokens == 8
    assert client.responses.retrieve(whole.id).to_dict() == whole.to_dict()
    with client.responses.stream(model="hocket", input="kala mira?", **SHORT) as stream:
        text = "".join(event.delta for event in stream if event.type == "response.output_text.delta")
    assert text == plain.text


@pytest.mark.parametrize("asked", [{"top_logprobs": 2}, {"include": ["message.output_text.logprobs"]}])
def test_the_package_gets_log_probabilities(front: Served, client: Any, asked: dict[str, Any]) -> None:
    """In the part, as it is stored, and in the deltas of a stream."""
    most = asked.get("top_logprobs", 0)
    plain = list(front.pair.client().ask("kala mira?", max_tokens=8, logprobs=most))
    want = [[each.logprob for each in token.logprobs] for token in plain if token.logprobs]
    whole = client.responses.create(model="hocket", input="kala mira?", **SHORT, **asked)
    with client.responses.stream(model="hocket", input="kala mira?", **SHORT, **asked) as stream:
        deltas = [each for event in stream if event.type == "response.output_text.delta" for each in event.logprobs]
    for content in (whole.output[0].content[0].logprobs, deltas):
        told = [[each.logprob, *(top.logprob for top in each.top_logprobs)] for each in content]
        for got, wanted in zip(told, want, strict=True):
            assert got == pytest.approx(wanted, abs=1e-4)  # a row may have caught up in another pass
    assert client.responses.retrieve(whole.id).to_dict() == whole.to_dict()
    unasked = client.responses.create(model="hocket", input="kala mira?", **SHORT)
    assert unasked.output[0].content[0].logprobs == []


def test_events_come_in_order_with_their_numbers(front: Served) -> None:
    """Each named by its type; the last one has the whole response, as it is stored."""
    got = post(front, stream=True)
    *blocks, last = got.text.strip().split("\n\n")
    assert last == "data: [DONE]"
    pairs = [block.split("\n") for block in blocks]
    events = [json.loads(data.removeprefix("data: ")) for _, _, data in pairs]
    assert [name.removeprefix("event: ") for _, name, _ in pairs] == [event["type"] for event in events]
    assert [number for number, _, _ in pairs] == [f"id: {event['sequence_number']}" for event in events]
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    assert [kind for kind, _ in groupby(event["type"] for event in events)] == ORDER
    for event in events:
        check_event(event)
        with pytest.raises(ValidationError):
            check_event({**event, "sequence_number": "1"})
    whole = events[-1]["response"]
    stored = httpx2.get(f"{front.url}/v1/responses/{whole['id']}", timeout=WAIT_S).json()
    assert whole == stored
    (part,) = whole["output"][0]["content"]
    assert part["text"] == "".join(event["delta"] for event in events if event["type"] == ORDER[4])
    assert part["annotations"] == [event["annotation"] for event in events if event["type"] == ORDER[5]]
    begun = events[0]["response"]
    assert (begun["status"], set(whole) - set(begun)) == ("in_progress", {"hocket"})


@pytest.mark.parametrize(
    ("body", "last"),
    [
        ({"stop": ["a", "e", "i", "o", "u"], "max_output_tokens": 64}, "response.completed"),
        ({"top_logprobs": 2, "instructions": "duno", "metadata": {"a": "b"}, "user": "anna"}, "response.incomplete"),
        ({"background": True, "temperature": 0.8, "top_p": 0.5}, "response.incomplete"),
        ({"store": False, "model": "hocket-alone", "truncation": "auto"}, "response.incomplete"),
    ],
)
def test_every_event_fits_its_kind(front: Served, body: dict[str, Any], last: str) -> None:
    """Whatever is asked for; without any one field that a response must have, it does not."""
    lines = post(front, stream=True, **body).text.splitlines()
    events = [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: {")]
    assert events[-1]["type"] == last
    for event in events:
        check_event(event)
    for name in OF_A_RESPONSE:
        with pytest.raises(ValidationError):
            check_event({**events[-1], "response": without(events[-1]["response"], name)})


def without(response: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in response.items() if key != name}


def test_an_answer_that_ends_by_itself_is_complete(front: Served) -> None:
    """So is one that a text ends."""
    text = post(front).json()["output"][0]["content"][0]["text"]
    whole = post(front, stop=[text[3:6]]).json()
    assert (whole["status"], whole["incomplete_details"]) == ("completed", None)
    assert whole["completed_at"] >= whole["created_at"]


def test_a_response_goes_on_from_an_earlier_one(front: Served) -> None:
    """With what was asked and answered before, over two of them; instructions are for their own request alone."""
    client = front.pair.client()
    first = post(front, model="hocket-alone", instructions="duno").json()
    second = post(front, model="hocket-alone", input="limba?", previous_response_id=first["id"]).json()
    third = post(front, model="hocket-alone", input="tano?", previous_response_id=second["id"]).json()
    texts = [each["output"][0]["content"][0]["text"] for each in (first, second, third)]
    assert texts[0] == client.ask("kala mira?", system="duno", alone=True, max_tokens=8).result().text
    turns = [Turn(query="kala mira?", answer=texts[0]), Turn(query="limba?", answer=texts[1])]
    assert texts[1] == client.ask("limba?", turns=turns[:1], alone=True, max_tokens=8).result().text
    assert texts[2] == client.ask("tano?", turns=turns, alone=True, max_tokens=8).result().text


def test_messages_are_an_input(front: Served) -> None:
    said = [
        {"role": "developer", "content": "duno"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "kala?"}]},
    ]
    got = post(front, model="hocket-alone", input=said).json()["output"][0]["content"][0]["text"]
    assert got == front.pair.client().ask("kala?", system="duno", alone=True, max_tokens=8).result().text


def test_what_is_not_to_be_stored_is_not(front: Served) -> None:
    """Nor is what was deleted."""
    unstored = post(front, store=False).json()
    stored = post(front).json()
    assert (unstored["store"], stored["store"]) == (False, True)
    at = f"{front.url}/v1/responses/"
    assert httpx2.get(at + unstored["id"], timeout=WAIT_S).status_code == 404
    assert httpx2.delete(at + stored["id"], timeout=WAIT_S).json() == {
        "id": stored["id"],
        "object": "response",
        "deleted": True,
    }
    assert (
        httpx2.get(at + stored["id"], timeout=WAIT_S).status_code
        == httpx2.delete(at + stored["id"], timeout=WAIT_S).status_code
        == 404
    )
    refused = post(front, previous_response_id=stored["id"])
    assert (refused.status_code, refused.json()["error"]["param"]) == (404, "previous_response_id")


def test_a_response_is_nobody_elses(front: Served) -> None:
    """Neither to read, nor to delete, nor to go on from."""
    try:
        own, other = (people.invite(front.people, name) for name in ("own", "other"))
        id = post(front, own).json()["id"]
        for key, status in ((other, 404), (own, 200)):
            headers = {"authorization": f"Bearer {key}"}
            assert httpx2.get(f"{front.url}/v1/responses/{id}", headers=headers, timeout=WAIT_S).status_code == status
            assert post(front, key, previous_response_id=id).status_code == status
            assert (
                httpx2.delete(f"{front.url}/v1/responses/{id}", headers=headers, timeout=WAIT_S).status_code == status
            )
    finally:
        front.people.unlink()


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"tools": [{"type": "web_search"}]}, "tools[0]"),
        ({"top_logprobs": 21}, "top_logprobs"),
        ({"background": True, "store": False}, "background"),
        ({"conversation": "c"}, "conversation"),
        ({"text": {"format": {"type": "yaml"}}}, "text.format"),
        ({"input": []}, "input"),
        ({"input": [{"type": "function_call_output"}]}, "input[0]"),
        ({"input": [{"role": "user", "content": [{"type": "input_image"}]}]}, "input[0].content"),
        ({"input": None}, "input"),
        ({"metadata": {"a": 1}}, "metadata[...]"),
    ],
)
def test_what_cannot_be_given_is_refused_by_name(front: Served, body: dict[str, object], param: str) -> None:
    refused = post(front, "", **body)
    assert (refused.status_code, refused.json()["error"]["param"]) == (400, param)


def test_the_oldest_responses_go_and_no_byte_of_them_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hocket_gateway.answers.response_store.MAX_STORED", 3)
    assert MAX_STORED > 3
    store = ResponseStore(tmp_path / "responses.db")
    for number in range(5):
        store.put(StoredResponse(f"r{number}", "anna", "", b"[]", f"canary{number}".encode()))
    assert [store.find(f"r{number}", "anna") is not None for number in range(5)] == [False, False, True, True, True]
    assert store.forget("r2", "anna")
    assert not store.forget("r3", "bert")
    store.close()
    raw = (tmp_path / "responses.db").read_bytes()
    assert [f"canary{number}".encode() in raw for number in range(5)] == [False, False, False, True, True]

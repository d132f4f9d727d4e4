"""JSON by a schema and calls of tools, by the official packages: what comes fits, streamed or not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Literal

import jsonschema
import pytest
from pydantic import BaseModel
from response_schema import check_event
from serving import USER, Served

from hocket_daemon.serving.search.evidence import _IN_LANGUAGES, UNKNOWN
from hocket_gateway.answers.formats import begins_json
from hocket_gateway.answers.tool_turns import Message, spoken
from hocket_gateway.answers.tools import Call, CallStream, tools_of
from hocket_gateway.http.refusals import Refusal
from waiting import WAIT_S

openai = pytest.importorskip("openai", reason="openai is not installed: hocket[dev]")
ollama = pytest.importorskip("ollama", reason="ollama is not installed: hocket[dev]")

PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {"town": {"enum": ["kala", "mira"]}, "days": {"type": "integer", "minimum": 0, "maximum": 9}},
    "required": ["town", "days"],
    "additionalProperties": False,
}
WEATHER = {"type": "function", "function": {"name": "weather", "description": "Of a town", "parameters": PARAMETERS}}
CLOCK = {"type": "function", "function": {"name": "clock"}}
ANYWAY = {"unknown": "answer"}  # hocket's own: the toy's notes are about nothing


class Found(BaseModel):
    """A schema whose every text is short."""

    who: Literal["kala", "mira"]
    sure: bool


@pytest.fixture(scope="module")
def client(front: Served) -> Iterator[Any]:
    with openai.OpenAI(base_url=f"{front.url}/v1", api_key="none", timeout=WAIT_S, max_retries=0) as there:
        yield there


def test_the_package_parses_what_was_asked_for_streamed_and_whole(client: Any) -> None:
    for seed in range(3):
        asked = {"model": "hocket", "messages": USER, "seed": seed, "temperature": 1.0, "max_tokens": 80}
        asked |= {"response_format": Found, "extra_body": ANYWAY}
        choice = client.chat.completions.parse(**asked).choices[0]
        assert isinstance(choice.message.parsed, Found)
        assert (choice.finish_reason, choice.message.refusal) == ("stop", None)
        with client.chat.completions.stream(**asked) as stream:
            for _ in stream:
                pass
        streamed = stream.get_final_completion().choices[0].message
        assert (streamed.parsed, streamed.content) == (choice.message.parsed, choice.message.content)


def test_a_response_has_the_format_too(client: Any) -> None:
    asked = {"model": "hocket", "input": "kala mira?", "temperature": 0, "max_output_tokens": 80, "text_format": Found}
    found = client.responses.parse(**asked, extra_body=ANYWAY)
    assert isinstance(found.output_parsed, Found)
    assert found.text.format.type == "json_schema"


def test_any_object_may_be_asked_for(client: Any) -> None:
    asked = {"model": "hocket", "messages": USER, "temperature": 0, "max_tokens": 20, "extra_body": ANYWAY}
    text = client.chat.completions.create(**asked, response_format={"type": "json_object"}).choices[0].message.content
    assert text.startswith("{")


@pytest.mark.parametrize("choice", ["required", {"type": "function", "function": {"name": "weather"}}])
def test_a_call_that_must_be_made_fits_its_parameters(client: Any, choice: object) -> None:
    """The same call streamed: its name first, then the parts of its arguments."""
    for seed in range(4):
        asked = {"model": "hocket", "messages": USER, "seed": seed, "temperature": 1.0, "max_tokens": 120}
        asked |= {"tools": [WEATHER, CLOCK], "tool_choice": choice}
        whole = client.chat.completions.create(**asked).choices[0]
        (call,) = whole.message.tool_calls
        assert (whole.finish_reason, whole.message.content, whole.message.annotations) == ("tool_calls", None, [])
        if call.function.name == "weather":
            jsonschema.validate(json.loads(call.function.arguments), PARAMETERS)
        else:
            assert (choice, call.function.name, call.function.arguments) == ("required", "clock", "{}")
        chunks = list(client.chat.completions.create(**asked, stream=True))
        deltas = [each for chunk in chunks for each in chunk.choices[0].delta.tool_calls or ()]
        assert [each.function.name for each in deltas if each.function.name] == [call.function.name]
        assert deltas[0].id.startswith("call_")
        assert "".join(each.function.arguments or "" for each in deltas) == call.function.arguments
        assert not any(chunk.choices[0].delta.content for chunk in chunks)
        assert not any("annotations" in (chunk.choices[0].delta.model_extra or {}) for chunk in chunks)
        assert chunks[-1].choices[0].finish_reason == "tool_calls"


def test_a_call_that_may_be_made_is_one_or_is_a_text(client: Any) -> None:
    """Drawn anew for each seed: the toy does both."""
    kinds = set()
    for seed in range(12):
        asked = {"model": "hocket", "messages": USER, "seed": seed, "temperature": 2.0, "max_tokens": 60, "top_p": 1.0}
        message = client.chat.completions.create(**asked, tools=[WEATHER]).choices[0].message
        kinds.add("call" if message.tool_calls else "text")
        assert bool(message.tool_calls) != bool(message.content)
        assert not (message.content or "").startswith("{")
    assert "text" in kinds


RESPONSE_WEATHER = {"type": "function", **WEATHER["function"]}  # type: ignore[dict-item]
RESPONSE_CLOCK = {"type": "function", "name": "clock"}


@pytest.mark.parametrize("choice", ["required", {"type": "function", "name": "weather"}])
def test_a_response_is_a_call_that_fits_its_parameters(client: Any, choice: object) -> None:
    """The same streamed: an item with the name, then its arguments in parts; every event is of its kind."""
    for seed in range(3):
        asked = {"model": "hocket", "input": "kala mira?", "temperature": 1.0, "max_output_tokens": 120}
        asked |= {"tools": [RESPONSE_WEATHER, RESPONSE_CLOCK], "tool_choice": choice, "extra_body": {"seed": seed}}
        whole = client.responses.create(**asked)
        (item,) = whole.output
        assert (item.type, whole.status, whole.output_text) == ("function_call", "completed", "")
        if item.name == "weather":
            jsonschema.validate(json.loads(item.arguments), PARAMETERS)
        else:
            assert (choice, item.name, item.arguments) == ("required", "clock", "{}")
        events = list(client.responses.create(**asked, stream=True))
        for event in events:
            check_event(event.model_dump(mode="json", exclude_unset=True))
        assert [event.sequence_number for event in events] == list(range(len(events)))
        parts = [event.delta for event in events if event.type == "response.function_call_arguments.delta"]
        (added,) = [event.item for event in events if event.type == "response.output_item.added"]
        ended = events[-1].response
        assert (added.name, added.arguments, "".join(parts)) == (item.name, "", item.arguments)
        assert (ended.output[0].name, ended.output[0].arguments) == (item.name, item.arguments)
        assert not any(event.type == "response.output_text.delta" for event in events)


@pytest.mark.parametrize("stored", [False, True])
def test_a_response_goes_on_from_what_came_of_its_call(client: Any, stored: bool) -> None:
    """With the items sent back, or by the number of the stored one; both ask the models the same."""
    tools = {"tools": [RESPONSE_CLOCK], "temperature": 0, "model": "hocket", "max_output_tokens": 40}
    first = client.responses.create(input="kala mira?", tool_choice="required", **tools)
    (call,) = first.output
    output = {"type": "function_call_output", "call_id": call.call_id, "output": "noon"}
    sent = [output] if stored else [{"role": "user", "content": "kala mira?"}, call.model_dump(mode="json"), output]
    before = {"previous_response_id": first.id} if stored else {}
    second = client.responses.create(input=sent, tool_choice="none", **before, **tools)
    want = spoken([
        Message("user", "kala mira?"), Message("assistant", "", {"1": Call("clock", "{}")}),
        Message("tool", "noon", result_of="1"),
    ])  # fmt: skip
    asked = {"model": "hocket", "messages": want, "temperature": 0, "max_tokens": 40, "extra_body": {"marks": False}}
    assert second.output_text == client.chat.completions.create(**asked).choices[0].message.content
    assert second.output[-1].content[0].annotations == []
    third = client.responses.create(input="and mira?", previous_response_id=second.id, tool_choice="none", **tools)
    assert third.output[-1].type == "message"


def test_an_answer_to_what_a_tool_returned_cites_no_document(client: Any) -> None:
    """Neither by marks nor by annotations, streamed or not; the same answer without the result does."""
    call = {"id": "1", "type": "function", "function": {"name": "clock", "arguments": "{}"}}
    said = [*USER, {"role": "assistant", "content": None, "tool_calls": [call]}]
    returned = [*said, {"role": "tool", "tool_call_id": "1", "content": "noon"}]
    asked = {"model": "hocket", "temperature": 0, "max_tokens": 12, "extra_body": ANYWAY}
    for messages, is_cited in ((USER, True), (returned, False)):
        message = client.chat.completions.create(messages=messages, **asked).choices[0].message
        assert bool(message.annotations) is is_cited
        streamed = list(client.chat.completions.create(messages=messages, stream=True, **asked))
        deltas = [chunk.choices[0].delta.model_extra or {} for chunk in streamed if chunk.choices]
        assert any(delta.get("annotations") for delta in deltas) is is_cited


def test_a_result_of_no_call_is_refused(client: Any) -> None:
    output = {"type": "function_call_output", "call_id": "call_1", "output": "noon"}
    with pytest.raises(openai.BadRequestError, match="result of no earlier call"):
        client.responses.create(model="hocket", input=[output])


def test_what_came_of_a_call_is_told_with_the_question() -> None:
    calls = {"1": Call("weather", '{"town": "kala"}'), "2": Call("clock", "{}")}
    conversation = [
        Message("user", "Is it raining?"),
        Message("assistant", "", calls),
        Message("tool", "rain", result_of="1"),
        Message("tool", "noon", result_of="2"),
    ]
    _, asked, first, second = spoken(conversation)
    assert asked["content"].splitlines() == [
        '{"name": "weather", "arguments": {"town": "kala"}}',
        '{"name": "clock", "arguments": {}}',
    ]
    for told, parts in ((first, ("weather", "rain")), (second, ("clock", "noon"))):
        assert told["role"] == "user"
        assert all(part in told["content"] for part in (*parts, "Is it raining?"))
    with pytest.raises(Refusal):
        spoken([Message("user", "x"), Message("tool", "rain", result_of="1")])


def test_ollamas_package_gets_json_and_calls(front: Served) -> None:
    options = {"temperature": 1.0, "seed": 1, "num_predict": 120}
    with ollama.Client(host=front.url, timeout=WAIT_S) as there:
        found = there.chat(model="hocket", messages=USER, format=Found.model_json_schema(), options=options)
        assert Found.model_validate_json(found.message.content)
        for stream in (False, True):
            made = there.chat(model="hocket", messages=USER, tools=[WEATHER], options=options, stream=stream)
            parts = list(made) if stream else [made]
            calls = [call for part in parts for call in part.message.tool_calls or ()]
            text = "".join(part.message.content or "" for part in parts)
            assert bool(calls) != bool(text)
            for call in calls:
                jsonschema.validate(call.function.arguments, PARAMETERS)


@pytest.mark.parametrize("cut", range(1, 70, 3))
def test_a_call_is_the_same_however_its_text_is_split(cut: int) -> None:
    tools = tools_of([WEATHER], "required")
    assert tools is not None
    text = '{"name": "weather", "arguments": {"town": "kala", "days": 3}}'
    stream, names, arguments = CallStream(tools), list[str](), ""
    for at in range(0, len(text), cut):
        assert stream.add(text[at : at + cut]) == ""
        if (name := stream.begun()) is not None:
            names.append(name)
        arguments += stream.arguments()
    assert (names, arguments) == (["weather"], '{"town": "kala", "days": 3}')
    assert tools.call(text) == Call("weather", arguments)


def test_a_brace_within_a_text_begins_no_call() -> None:
    tools = tools_of([WEATHER], "auto")
    assert tools is not None
    stream = CallStream(tools)
    assert [stream.add(text) for text in ("Sets ", "{", '"a"}', " end")] == ["Sets ", "{", '"a"}', " end"]
    assert stream.begun() is None
    assert not stream.is_call


def test_a_sentence_in_place_of_json_is_told_by_its_first_letter() -> None:
    """In every language: nothing that says that nothing was found begins as JSON does."""
    assert not any(begins_json(text) for text in (UNKNOWN, *_IN_LANGUAGES.values()))
    assert all(begins_json(json.dumps(value)) for value in ({}, [], "x", 0, -1, True, False, None))

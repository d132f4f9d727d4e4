"""The events of a response as it is written, in Open Responses' order, each with its number."""

from __future__ import annotations

import itertools
from collections.abc import AsyncGenerator, Callable, Iterator
from typing import Any

from hocket_bus import as_json
from hocket_bus.messages import Done, Notice, Thought, Token, Waiting

from ..answers.citations import Citation
from ..answers.questions import Answer, of_token
from ..answers.shapes import DONE
from ..answers.tools import Call, CallStream
from ..gateway import Gateway
from ..http.refusals import Refusal
from .resource import Resource, flat, thought_part

Keep = Callable[[dict[str, Any]], None]


class _Events:
    def __init__(self, resource: Resource) -> None:
        self._resource = resource
        self._numbers = itertools.count()
        self._at = 0  # of the item that is being written
        self._thinks = self._writes = False
        self._calling = CallStream(resource.tools) if resource.tools is not None else None

    def event(self, kind: str, **fields: object) -> bytes:
        number = next(self._numbers)
        value = {"type": kind, "sequence_number": number, **fields}
        return f"id: {number}\nevent: {kind}\ndata: ".encode() + as_json.encoded(value) + b"\n\n"

    def in_part(self, kind: str, **fields: object) -> bytes:
        id = self._resource.reasoning_id if self._thinks else self._resource.message_id
        return self.event(kind, item_id=id, output_index=self._at, content_index=0, **fields)

    def begin(self) -> Iterator[bytes]:
        begun = self._resource.begun()
        yield self.event("response.created", response=begun)
        yield self.event("response.in_progress", response=begun)

    def of(self, event: Token | Thought | Waiting | Notice) -> Iterator[bytes]:
        """Yield the events with an event before the end: thoughts are an item before the message, or the call.

        The message begins with the first token, a call as soon as its name is known.
        """
        if isinstance(event, Thought):
            yield from self._think(event.text)
        elif isinstance(event, Token):
            yield from self._end_thoughts()
            if self._calling is not None:
                self._calling.add(event.text)
            if self._calling is not None and self._calling.is_call:
                yield from self._go_on_calling(self._calling)
            else:
                yield from self._write()
                told = {"delta": event.text, "logprobs": self._resource.logprobs([event])}
                yield self.in_part("response.output_text.delta", **told, hocket=of_token(event))

    def _go_on_calling(self, calling: CallStream) -> Iterator[bytes]:
        if (name := calling.begun()) is not None:
            item = self._resource.call("in_progress", Call(name, ""))
            yield self.event("response.output_item.added", output_index=self._at, item=item)
        if part := calling.arguments():
            yield self._of_call("response.function_call_arguments.delta", delta=part)

    def _of_call(self, kind: str, **fields: object) -> bytes:
        return self.event(kind, item_id=self._resource.call_item_id, output_index=self._at, **fields)

    def _think(self, text: str) -> Iterator[bytes]:
        if not self._thinks:
            self._thinks = True
            yield from self._added(self._resource.reasoning("in_progress", []), thought_part(""))
        yield self.in_part("response.reasoning_text.delta", delta=text)

    def _end_thoughts(self) -> Iterator[bytes]:
        if self._thinks:
            text = self._resource.thought()
            yield self.in_part("response.reasoning_text.done", text=text)
            yield self.in_part("response.content_part.done", part=thought_part(text))
            item = self._resource.reasoning("completed", [thought_part(text)])
            yield self.event("response.output_item.done", output_index=self._at, item=item)
            self._thinks, self._at = False, self._at + 1

    def _write(self) -> Iterator[bytes]:
        if not self._writes:
            self._writes = True
            yield from self._added(self._resource.message("in_progress", []), self._resource.part("", []))

    def _added(self, item: dict[str, Any], part: dict[str, Any]) -> Iterator[bytes]:
        yield self.event("response.output_item.added", output_index=self._at, item=item)
        yield self.in_part("response.content_part.added", part=part)

    def end(self, done: Done, citations: list[Citation], whole: dict[str, Any]) -> Iterator[bytes]:
        """Yield the events that end the last item, and the response."""
        yield from self._end_thoughts()
        last = whole["output"][-1]
        if last["type"] == "function_call":
            told = {name: last[name] for name in ("name", "arguments")}
            yield self._of_call("response.function_call_arguments.done", **told)
        else:
            yield from self._end_message(done, citations)
        yield self.event("response.output_item.done", output_index=self._at, item=last)
        yield self.event(f"response.{whole['status']}", response=whole)

    def _end_message(self, done: Done, citations: list[Citation]) -> Iterator[bytes]:
        yield from self._write()
        part = self._resource.part(done.text, citations)
        for index, annotation in enumerate(flat(citations)):
            yield self.in_part("response.output_text.annotation.added", annotation_index=index, annotation=annotation)
        yield self.in_part("response.output_text.done", text=done.text, logprobs=part["logprobs"])
        yield self.in_part("response.content_part.done", part=part)


async def events(gateway: Gateway, answer: Answer, resource: Resource, base: str, keep: Keep) -> AsyncGenerator[bytes]:
    """Yield all events; `keep` is called with the response as it ends, before its last event is sent."""
    made = _Events(resource)
    try:
        for piece in made.begin():
            yield piece
        async for event in answer.events():
            if isinstance(event, Done):
                citations = await gateway.citations(event, answer, base) if resource.is_cited else []
                whole = resource.ended(event, citations)
                keep(whole)
                for piece in made.end(event, citations, whole):
                    yield piece
            else:
                for piece in made.of(event):
                    yield piece
    except Refusal as refusal:
        failed = resource.failed(refusal)
        keep(failed)
        yield made.event("response.failed", response=failed)
    yield DONE
